import {
  and,
  bboxFilter,
  Cql2Error,
  check,
  type Expression,
  equals,
  idsFilter,
  type Scalar,
} from '../../core/cql2/index.js';
import { badParameter, fieldFailure } from '../../core/errors/errors.js';
import { adviseName } from '../../core/errors/near-names.js';
import type { SortKey } from '../../core/features/features.js';
import type { Box } from '../../core/geometry/box.js';
import { type Crs, defaultCrs, normaliseBox } from '../../core/geometry/crs.js';
import type { TimeRange } from '../../core/http/params.js';
import type { Field } from '../../core/sources/vector-source.js';
import { readNumber } from '../../core/values/exact-number.js';
import { checkFilter, during, parseFilter } from '../filters/filters.js';
import { type CollectionView, filterOptions } from './view.js';

/** Selection of features by a request. Every restricting parameter becomes part of one CQL2 tree. */
export interface FeatureSelection {
  bbox: Box | undefined;
  bboxCrs: Crs | undefined;
  datetime: TimeRange | undefined;
  filter: string | undefined;
  filterLang: 'cql2-text' | 'cql2-json';
  filterCrs: Crs | undefined;
  ids: string[] | undefined;
  /** Query parameters beyond those of the operation: each must name a queryable. */
  others: ReadonlyMap<string, string>;
}

/** The features that exist in the view and pass. Throws 400 naming the wrong parameter. */
export function selectFeatures(view: CollectionView, params: FeatureSelection): Expression | undefined {
  const { source } = view.collection;
  const { bbox, bboxCrs = defaultCrs(view.collection) } = params;
  const box = bbox && bboxFilter(source.geometryColumn, normaliseBox('bbox', bbox, bboxCrs), bboxCrs.proj);
  // A form that was left empty sends an empty filter.
  const filter = params.filter
    ? checkFilter(
        'filter',
        parseFilter('filter', { text: params.filter, language: params.filterLang }),
        filterOptions(view, params.filterCrs),
      )
    : undefined;
  const equalities = [...params.others].map(([name, value]) => queryable(view, name, value));
  const ids = params.ids && idsFilter(source, params.ids);
  return and(
    view.rows,
    ids,
    box,
    during({ fields: view.queryables }, params.datetime),
    filter,
    ...equalities,
  );
}

/** `?name=value`: the property equals the value (OGC 17-069r4, 7.15.5). */
function queryable(view: CollectionView, name: string, text: string): Expression {
  const field = view.queryables.find((candidate) => candidate.name === name);
  if (!field) {
    const detail = `is neither a parameter of this operation nor a queryable of this collection.${adviseName(
      name,
      view.queryables.map((one) => one.name),
    )}`;
    throw fieldFailure('unknown-parameter', [{ name, detail }]);
  }
  try {
    return check(equals(name, buildScalar(field, text)), filterOptions(view));
  } catch (error) {
    if (error instanceof Cql2Error) throw badParameter(name, error.message);
    throw error;
  }
}

function buildScalar({ name, type }: Field, text: string): Scalar {
  if (type === 'integer' || type === 'number') {
    const value = readNumber(text.trim());
    if (value === undefined) throw badParameter(name, 'must be a number');
    return value;
  }
  if (type === 'boolean') {
    const value = text.toLowerCase();
    if (value !== 'true' && value !== 'false') throw badParameter(name, 'must be true or false');
    return value === 'true';
  }
  if (type === 'binary' || type === 'json' || type === 'array')
    throw badParameter(name, `cannot be compared, because it has the type ${type}. Use filter`);
  return text;
}

/** An attribute to sort by, as a client names it. */
export interface SortTerm {
  property: string;
  descending: boolean;
}

/** Sort keys, which must be fields of the view. Throws 400 for other fields. */
export function sortKeys(view: CollectionView, keys: readonly SortTerm[] | undefined): SortKey[] {
  const { idColumn } = view.collection.source;
  return (keys ?? []).map(({ property, descending }) => {
    const field = view.queryables.find(({ name }) => name === property);
    if (!field && property !== idColumn)
      throw badParameter('sortby', `there is no property '${property.slice(0, 60)}'`);
    if (field && ['json', 'array', 'binary'].includes(field.type))
      throw badParameter('sortby', `'${property}' cannot be sorted`);
    return { field: property, descending };
  });
}

/** The fields of a response, in the order of the collection. Throws 400 for unknown names. */
export function chosenFields(view: CollectionView, names: readonly string[] | undefined): readonly Field[] {
  if (!names) return view.fields;
  for (const name of names) {
    if (!view.fields.some((field) => field.name === name))
      throw badParameter('properties', `there is no property '${name.slice(0, 60)}'`);
  }
  return view.fields.filter((field) => names.includes(field.name));
}
