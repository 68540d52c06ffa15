import Type from 'typebox';
import { badParameter } from '../../core/errors/errors.js';
import type { Exchange, Param } from '../../core/http/operation.js';
import {
  bboxParam,
  csvFormulas,
  datetimeParam,
  defineListParam,
  defineTextParam,
  limitParam,
  offsetParam,
  pathString,
} from '../../core/http/params.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { SortTerm } from '../../services/features/selection.js';
import { crsParam, filterParams } from '../surface/crs-params.js';
import { CSV_FORMAT } from './formats.js';

export const featuresCollectionParam = pathString('collectionId', 'Identifier of a collection.');
/** Text keys of tables can be long; the whole request has its own limit. */
const MAX_ID = 8192;
export const featureId = pathString('featureId', 'Identifier of a feature.', MAX_ID);
export const crs = crsParam('crs', 'CRS of the coordinates in the answer; CRS84 by default.');

/** Whether the response protects against formulas: only CSV, and only operations with this parameter. */
export function guardsFormulas({ format, params }: Pick<Exchange, 'format' | 'params'>): boolean {
  return format === CSV_FORMAT && (params as { csvFormulas?: boolean }).csvFormulas === true;
}

/** The limit as it came: an HTML page shows fewer features unless the client names a number. */
const limit = {
  ...limitParam,
  description: `Maximum number of features to return: 1 to ${LIMITS.itemsMax}.`,
  parse: (raw: string | undefined) => ({ value: limitParam.parse(raw), given: raw !== undefined }),
};

const MAX_SORT_KEYS = 8;
const SORT_KEY = /^([+ -]?)(.*?)(?: +(asc|desc))?$/is;

const sortby: Param<SortTerm[] | undefined> = {
  name: 'sortby',
  in: 'query',
  description: 'Properties to sort by: name, +name, name asc (ascending), -name, name desc (descending).',
  schema: Type.Array(Type.String(), { minItems: 1, maxItems: MAX_SORT_KEYS }),
  parse(raw) {
    if (raw === undefined) return undefined;
    const parts = raw.split(',');
    if (parts.length > MAX_SORT_KEYS)
      throw badParameter('sortby', `must have at most ${MAX_SORT_KEYS} properties`);
    return parts.map((part) => {
      // A plus sign that was not escaped arrives as a space.
      const [, sign, property, word] = SORT_KEY.exec(part)!;
      if (!property) throw badParameter('sortby', 'has an empty entry. Separate names by single commas');
      return { property, descending: sign === '-' || word?.toLowerCase() === 'desc' };
    });
  },
};

export const itemsParams = {
  collectionId: featuresCollectionParam,
  limit,
  offset: offsetParam,
  bbox: bboxParam,
  bboxCrs: crsParam('bbox-crs', 'CRS of the numbers in bbox; CRS84 by default.'),
  crs,
  datetime: datetimeParam,
  ...filterParams,
  ids: defineListParam('ids', LIMITS.itemsMax, 'Only features with these ids.'),
  properties: {
    ...defineListParam('properties', 1000, 'Only these properties of each feature.'),
    // A form sends each column separately.
    repeatable: true,
  },
  sortby,
  csvFormulas,
  token: defineTextParam(
    'token',
    { description: 'Position of the page, from a next or prev link.' },
    { maxLength: 4096 },
  ),
};
