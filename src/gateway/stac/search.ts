import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import { unreadFailure } from '../../core/catalog/unread.js';
import {
  and,
  bboxFilter,
  type Expression,
  equalsAny,
  type Operand,
  rangeFilter,
} from '../../core/cql2/index.js';
import { badParameter } from '../../core/errors/errors.js';
import type { SortKey } from '../../core/features/features.js';
import type { Box } from '../../core/geometry/box.js';
import { CRS84, type Crs, normaliseBox, requireReachable } from '../../core/geometry/crs.js';
import type { TimeRange } from '../../core/http/params.js';
import type { Field } from '../../core/sources/vector-source.js';
import { STAC_LIMITS } from '../../core/stac/limits.js';
import { GEOMETRY_COLUMN, HIDDEN, ITEM_FIELDS, type StacSearchTask } from '../../core/stac/stac.js';
import { checkFilter, parseFilter } from '../../services/filters/filters.js';
import { hasItems } from '../../services/stac/footprints.js';
import { readToken } from '../surface/page-token.js';
import { readsWhole } from './params.js';

export interface StacSortKey {
  field: string;
  direction: 'asc' | 'desc';
}

/** If `include` is absent, all members are returned; if it is empty, the default ones. */
export interface AskedFields {
  include?: readonly string[];
  exclude?: readonly string[];
}

/** A search, by whatever operation it came; all of it is checked here. */
export interface AskedSearch {
  bbox?: Box | undefined;
  intersects?: unknown;
  datetime?: TimeRange | undefined;
  ids?: readonly string[] | undefined;
  collections?: readonly string[] | undefined;
  limit: number;
  offset: number;
  token?: string | undefined;
  fields?: AskedFields | undefined;
  sortby?: readonly StacSortKey[] | undefined;
  /** Text, or CQL2 JSON that has been parsed. */
  filter?: unknown;
  filterLang: 'cql2-text' | 'cql2-json';
  filterCrs?: Crs | undefined;
}

/** Queryable fields by collection. */
export type Queryables = ReadonlyMap<string, readonly Field[]>;

/** The task of a search among what this catalog shows. Throws 400 naming the wrong parameter. */
export function createSearchTask(
  catalog: CatalogSnapshot,
  queryables: Queryables,
  query: AskedSearch,
  { path, base }: { path: string; base: string },
): StacSearchTask {
  if (query.bbox && query.intersects !== undefined)
    throw badParameter('intersects', 'cannot be combined with bbox');
  const searched = searchedIn(catalog, query.collections);
  const fields = listItemFields(queryables, searched);
  const sort = sortKeys(fields, query.sortby);
  const token = query.token === undefined ? undefined : readToken(query.token, sort.length);
  const filter = and(
    equalsAny('collection', searched),
    query.ids && equalsAny('id', query.ids),
    duringFilter(query.datetime),
    spatialFilter(query),
    ownFilter(fields, query),
  );
  return {
    path,
    base,
    fields: [...fields],
    limit: query.limit,
    offset: query.offset,
    count: STAC_LIMITS.stacCounted,
    filter,
    ...(sort.length > 0 ? { sort } : {}),
    ...(token ? { [token.direction]: token.key, offset: 0 } : {}),
    ...writtenFields(query.fields),
  };
}

/** Collections that do not exist, or not for this principal, have no items. Throws 503 for one whose source could not be read. */
function searchedIn(catalog: CatalogSnapshot, names: readonly string[] | undefined): string[] {
  const { collections } = catalog;
  const unread = names && unreadFailure(catalog, ({ id }) => names.includes(id));
  if (unread) throw unread;
  const all = collections.filter((one) => hasItems(one) && readsWhole(one)).map(({ id }) => id);
  return names ? all.filter((id) => names.includes(id)) : all;
}

/** The fields that filters on items of these collections may name. */
export function listItemFields(queryables: Queryables, collections: readonly string[]): readonly Field[] {
  const fields = new Map<string, Field>();
  for (const field of [...ITEM_FIELDS, ...collections.flatMap((id) => queryables.get(id) ?? [])])
    fields.set(field.name, field);
  return [...fields.values()];
}

function duringFilter(datetime: TimeRange | undefined): Expression | undefined {
  if (!datetime) return undefined;
  const { start, end } = datetime;
  return and(
    start === undefined ? undefined : rangeFilter(HIDDEN.end, { low: start }),
    end === undefined ? undefined : rangeFilter(HIDDEN.start, { high: end }),
  );
}

function spatialFilter({ bbox, intersects }: AskedSearch): Expression | undefined {
  if (bbox) return bboxFilter(GEOMETRY_COLUMN, normaliseBox('bbox', bbox, CRS84), CRS84.proj);
  if (intersects === undefined) return undefined;
  const tree = { op: 's_intersects', args: [{ property: GEOMETRY_COLUMN }, intersects] };
  const parsed = parseFilter('intersects', { text: tree, language: 'cql2-json' });
  return checkFilter('intersects', parsed, buildSchema([], CRS84));
}

function ownFilter(fields: readonly Field[], query: AskedSearch): Expression | undefined {
  if (query.filter === undefined || query.filter === '') return undefined;
  const tree = parseFilter('filter', { text: query.filter, language: query.filterLang });
  const names = new Set(fields.map(({ name }) => name));
  return checkFilter(
    'filter',
    plainNames(tree, names) as Expression,
    buildSchema(fields, onEarth(query.filterCrs)),
  );
}

function onEarth(filterCrs: Crs = CRS84): Crs {
  requireReachable({ 'filter-crs': filterCrs }, { storageCrs: CRS84 });
  return filterCrs;
}

const buildSchema = (fields: readonly Field[], filterCrs: Crs) => ({
  fields,
  idColumn: HIDDEN.row,
  geometryColumn: GEOMETRY_COLUMN,
  filterCrs,
});

/** `properties.gsd` is `gsd`: items have their properties in a member of that name. */
function plainName(name: string, names: ReadonlySet<string>): string {
  const inner = name.startsWith('properties.') ? name.slice('properties.'.length) : name;
  return !names.has(name) && names.has(inner) ? inner : name;
}

function plainNames(operand: Operand, names: ReadonlySet<string>): Operand {
  if (typeof operand !== 'object') return operand;
  if (Array.isArray(operand)) return operand.map((member: Operand) => plainNames(member, names));
  if ('property' in operand) return { property: plainName(operand.property, names) };
  if ('op' in operand) return { op: operand.op, args: operand.args.map((arg) => plainNames(arg, names)) };
  if (!('interval' in operand)) return operand;
  const [start, end] = operand.interval.map((one) => plainNames(one, names)) as [never, never];
  return { interval: [start, end] };
}

function sortKeys(fields: readonly Field[], keys: readonly StacSortKey[] = []): SortKey[] {
  const names = new Set(fields.filter(({ type }) => type !== 'json').map(({ name }) => name));
  return keys.map(({ field, direction }) => {
    const name = plainName(field, names);
    if (!names.has(name))
      throw badParameter('sortby', `'${field.slice(0, 60)}' is not a property that can be sorted`);
    return { field: name, descending: direction === 'desc' };
  });
}

/** Default members of items (Fields extension). */
const USUAL = [
  ...['type', 'stac_version', 'id', 'geometry', 'bbox', 'links', 'assets'],
  ...['datetime', 'start_datetime', 'end_datetime'].map((name) => `properties.${name}`),
];

function writtenFields(fields: AskedFields | undefined): Pick<StacSearchTask, 'include' | 'exclude'> {
  if (!fields) return {};
  const { include, exclude = [] } = fields;
  if (include === undefined && exclude.length > 0) return { exclude: [...exclude] };
  const within = (path: string) => exclude.some((left) => path === left || path.startsWith(`${left}.`));
  return include && include.length > 0
    ? { include: [...include], exclude: [...exclude] }
    : { include: USUAL.filter((path) => !within(path)), exclude: [...exclude] };
}

/** 400 for a filter in a language that it is not in. */
export function requireLanguage(
  filter: object | string | boolean | undefined,
  language: 'cql2-text' | 'cql2-json',
): void {
  if (filter === undefined) return;
  if ((typeof filter === 'string') !== (language === 'cql2-text')) {
    const detail =
      language === 'cql2-text'
        ? 'must be a string'
        : 'must be CQL2 JSON. Set filter-lang to cql2-text for a string';
    throw badParameter('filter', detail);
  }
}
