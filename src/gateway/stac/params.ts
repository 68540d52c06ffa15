import Type from 'typebox';
import { hasFeatures } from '../../core/catalog/abilities.js';
import type { Collection } from '../../core/catalog/collection.js';
import { badParameter } from '../../core/errors/errors.js';
import type { Param } from '../../core/http/operation.js';
import {
  bboxParam,
  defineIntegerParam,
  defineListParam,
  defineTextParam,
  offsetParam,
  pathString,
} from '../../core/http/params.js';
import { LIMITS } from '../../core/kit/limits.js';
import { STAC_LIMITS } from '../../core/stac/limits.js';
import { parseJsonText } from '../../core/values/json-bounds.js';
import type { StacItems } from '../../services/stac/items.js';
import type { SurfaceDeps } from '../surface/common.js';
import { filterParams } from '../surface/crs-params.js';
import { stacDatetime } from './datetime.js';
import type { AskedFields, StacSortKey } from './search.js';

export interface StacDeps extends SurfaceDeps {
  stac: StacItems;
  /** Collections that the principal may read on any surface. */
  visibleEverywhere: SurfaceDeps['visible'];
  dataDir: string;
}

export const STAC_PATH = '/stac';
export const STAC_OPERATION = { surface: 'stac', protocol: 'STAC', permission: 'public' } as const;

export const stacCollectionParam = pathString('collectionId', 'Identifier of a collection.');
export const itemId = pathString('itemId', 'Identifier of an item.');

const MAX_PATHS = 100;
const MAX_SORT_KEYS = 8;
const MAX_NAMES = 1000;

const anyLimit = defineIntegerParam(
  'limit',
  { min: 1, max: Number.MAX_SAFE_INTEGER, default: STAC_LIMITS.stacDefault as number },
  {
    description: `Maximum number of items in the response. Values above ${STAC_LIMITS.stacMax} mean ${STAC_LIMITS.stacMax}.`,
  },
);

/** A limit above the maximum is not an error (OGC 17-069r4, 7.15.2). */
const limit: Param<number> = {
  ...anyLimit,
  schema: Type.Integer({ minimum: 1, maximum: STAC_LIMITS.stacMax, default: STAC_LIMITS.stacDefault }),
  parse: (raw) => Math.min(anyLimit.parse(raw), STAC_LIMITS.stacMax),
};

const token = defineTextParam(
  'token',
  { description: 'Position of the page, from a next or prev link.' },
  { maxLength: 4096 },
);

/** Members with a sign: `properties.gsd`, `+properties.gsd`, `-assets`. An escaped plus sign may arrive as a space. */
const fields: Param<AskedFields | undefined> = {
  name: 'fields',
  in: 'query',
  description: 'Item members to include (name or +name) and to exclude (-name).',
  schema: Type.Array(Type.String(), { maxItems: MAX_PATHS }),
  parse(raw) {
    if (raw === undefined) return undefined;
    const parts = raw.split(',').filter((part) => part.trim() !== '');
    if (parts.length > MAX_PATHS) throw badParameter('fields', `must have at most ${MAX_PATHS} entries`);
    const named = (isIncluded: boolean) =>
      parts.filter((part) => part.startsWith('-') !== isIncluded).map((part) => part.replace(/^[-+ ]/, ''));
    const [include, exclude] = [named(true), named(false)];
    // Only exclusions are given, so all other members are included.
    return include.length === 0 && exclude.length > 0 ? { exclude } : { include, exclude };
  },
};

const sortby: Param<StacSortKey[] | undefined> = {
  name: 'sortby',
  in: 'query',
  description: 'Properties to sort by: name or +name ascending, -name descending.',
  schema: Type.Array(Type.String(), { maxItems: MAX_SORT_KEYS }),
  parse(raw) {
    if (raw === undefined || raw === '') return undefined;
    const parts = raw.split(',');
    if (parts.length > MAX_SORT_KEYS)
      throw badParameter('sortby', `must have at most ${MAX_SORT_KEYS} properties`);
    return parts.map((part) => ({
      field: part.replace(/^[-+ ]/, ''),
      direction: part.startsWith('-') ? 'desc' : 'asc',
    }));
  },
};

/** A geometry as JSON text. */
const intersects: Param<unknown> = {
  name: 'intersects',
  in: 'query',
  description: 'A GeoJSON geometry that items share a point with.',
  schema: Type.String(),
  parse(raw) {
    if (raw === undefined) return undefined;
    try {
      return parseJsonText(raw);
    } catch {
      throw badParameter('intersects', 'must be JSON');
    }
  },
};

/** Forms send fields without a value. */
function withoutEmpty<T>(param: Param<T>): Param<T> {
  return { ...param, parse: (raw) => param.parse(raw === '' ? undefined : raw) };
}

/** `items`: the page of a collection. */
export const itemsQuery = {
  limit,
  offset: offsetParam,
  bbox: withoutEmpty(bboxParam),
  datetime: withoutEmpty(stacDatetime),
};

/** GET `search`. */
export const searchQuery = {
  ...itemsQuery,
  ...filterParams,
  intersects,
  ids: defineListParam('ids', MAX_NAMES, 'Only items with these ids.'),
  collections: {
    ...defineListParam('collections', MAX_NAMES, 'Only items of these collections.'),
    repeatable: true,
  },
  fields,
  sortby,
  token,
};

const name = Type.String({ maxLength: 256 });
/** A single name is the same as a list with one name. */
const names = Type.Optional(Type.Union([Type.Array(name, { maxItems: MAX_NAMES }), name]));
const paths = Type.Optional(
  Type.Union([Type.Array(Type.String({ maxLength: 256 }), { maxItems: MAX_PATHS }), Type.Null()]),
);

/** POST `search`. */
export const SearchBody = Type.Object(
  {
    bbox: Type.Optional(Type.Array(Type.Number(), { minItems: 4, maxItems: 6 })),
    intersects: Type.Optional(Type.Object({})),
    datetime: Type.Optional(Type.String()),
    collections: names,
    ids: names,
    limit: Type.Optional(Type.Integer({ minimum: 1 })),
    offset: Type.Optional(Type.Integer({ minimum: 0, maximum: LIMITS.offsetMax })),
    token: Type.Optional(Type.String({ maxLength: 4096 })),
    fields: Type.Optional(Type.Object({ include: paths, exclude: paths }, { additionalProperties: false })),
    sortby: Type.Optional(
      Type.Array(
        Type.Object(
          {
            field: Type.String({ minLength: 1, maxLength: 256 }),
            direction: Type.Optional(Type.Union([Type.Literal('asc'), Type.Literal('desc')])),
          },
          { additionalProperties: false },
        ),
        { maxItems: MAX_SORT_KEYS },
      ),
    ),
    filter: Type.Optional(Type.Union([Type.Object({}), Type.String(), Type.Boolean()])),
    'filter-crs': Type.Optional(Type.String({ maxLength: 256 })),
    'filter-lang': Type.Optional(Type.Union([Type.Literal('cql2-json'), Type.Literal('cql2-text')])),
  },
  { additionalProperties: false },
);

/** Collections whose rows are kept from this principal in part have no items for it: items show complete rows. */
export const readsWhole = (collection: Collection) =>
  !hasFeatures(collection) || collection.rule === undefined;
