import { findField } from '../../../../core/features/features.js';
import type { ProcessFeatures } from '../../../../core/processes/feature-processes.js';
import type { PostgisSource } from '../../../../core/sources/vector-source.js';
import type { SqlParams } from '../connections/params.js';
import { buildWhere } from '../queries/filter.js';
import { writeRowColumns } from '../schema/columns.js';
import { keepFinite, writeTableSql } from '../schema/names.js';

/** Features of a process as parts of a statement, with the same rows and masks as a query of the features. */

/** Id, geometry and values, as an exact query selects them. */
export function listSelectedColumns(
  { source, fields }: ProcessFeatures,
  params: SqlParams,
  geometry = true,
): string[] {
  const all = fields.map((name) => findField(source, name)!);
  return writeRowColumns(source as PostgisSource, all, 'exact', params, geometry);
}

/** The table, called `t`, and the condition on its rows. */
export function writeRowsClause(
  { source, filter }: ProcessFeatures,
  params: SqlParams,
  ...more: string[]
): string {
  const conditions = [buildWhere(source as PostgisSource, filter, params), ...more];
  return `${writeTableSql(source as PostgisSource)} WHERE ${conditions.map((one) => `(${one})`).join(' AND ')}`;
}

/** SQL for features with a location: overlays and joins omit all other features. */
export const isSomewhere = ({ source }: ProcessFeatures) =>
  `NOT ST_IsEmpty(${keepFinite(source as PostgisSource)})`;

/** The features of the input as rows `a`: `id`, `geom`, and `f0`, `f1` ... for the values. */
export function inputRows(input: ProcessFeatures, params: SqlParams): string {
  const [id, geometry, ...values] = listSelectedColumns(input, params);
  const named = [`${id} AS id`, `${geometry} AS geom`, ...values.map((value, i) => `${value} AS f${i}`)];
  return `(SELECT ${named.join(', ')} FROM ${writeRowsClause(input, params, isSomewhere(input))}) a`;
}

/** The columns of `inputRows`. */
export const inputColumns = ({ fields }: ProcessFeatures) => [
  'a.id',
  'a.geom',
  ...fields.map((_, i) => `a.f${i}`),
];
