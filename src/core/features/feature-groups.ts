import type { Expression } from '../cql2/ast.js';
import type { Field, VectorSource } from '../sources/vector-source.js';
import type { AnyNumber } from '../values/exact-number.js';
import type { ObjectId } from '../values/object-id.js';
import type { StatisticType } from './analytics.js';
import { type FeatureQuery, type FeatureRow, findField, type SortKey } from './features.js';

/** Statistics of groups of features, which stores compute: the tasks of the workers and their results. */

/**
 * Type of a group statistic. `count`, `min` and `max` accept all comparable values, other types numbers and booleans
 * (0 and 1).
 */
export type GroupStatisticType = StatisticType | 'percentile_cont' | 'percentile_disc';

/** Statistic of field values in a group. Nulls are ignored; `stddev` and `var` are of a sample. */
export interface GroupStatistic {
  readonly type: GroupStatisticType;
  /** A field of the source, or its id column. */
  readonly field: string;
  /** Percentile: fraction from 0 to 1, and whether values are sorted in descending order. */
  readonly percentile?: { readonly fraction: number; readonly descending: boolean };
}

/** Key that groups features by the bin of a value: its number from 0; NULL outside all bins. */
export interface BinKey {
  /** A field of numbers or times of the source, or its id column. */
  readonly field: string;
  /** At least two limits, ascending, in milliseconds since 1970 for times. The last bin includes its upper limit. */
  readonly limits: readonly AnyNumber[];
}

/** Grouping by field values, or all features as one group. */
export interface Grouping {
  /** Fields of the source, its id column, or bins. */
  readonly groupBy: readonly (string | BinKey)[];
  readonly statistics: readonly GroupStatistic[];
}

export interface GroupCountTask extends FeatureQuery, Grouping {
  /** A condition on groups, whose properties are the names of `groupColumns`. It has been checked. */
  having?: Expression;
}

/** A page in the order of `sort`, whose fields are names of `groupColumns`, then of the values grouped by. */
export interface GroupsTask extends GroupCountTask {
  sort: readonly SortKey[];
  limit: number;
  offset: number;
}

export interface GroupsResult {
  /** In the order of `groupColumns`. */
  rows: FeatureRow['values'][];
  /** True when another group follows the last one. */
  more: boolean;
}

/** Columns of a group with generated names: `g0`, `g1` ... for the group keys, `s0`, `s1` ... for statistics. */
export function groupColumns(source: VectorSource, { groupBy, statistics }: Grouping): Field[] {
  const groups = groupBy.map((key, i): Field => ({ ...keyField(source, key), name: `g${i}` }));
  return [...groups, ...statistics.map((statistic, i) => statisticField(source, statistic, `s${i}`))];
}

function keyField(source: VectorSource, key: string | BinKey): Pick<Field, 'type' | 'nullable'> {
  return typeof key === 'string' ? valueField(source, key) : { type: 'integer', nullable: true };
}

const KEPT = new Set<Field['type']>(['date', 'date-time', 'string']);

function statisticField(source: VectorSource, { type, field }: GroupStatistic, name: string): Field {
  const { type: fieldType } = valueField(source, field);
  if (type === 'count') return { name, type: 'integer', nullable: false };
  const isValue = type === 'min' || type === 'max' || type === 'percentile_disc';
  if (!isValue) return { name, type: 'number', nullable: true };
  const isWhole = fieldType === 'integer' || fieldType === 'boolean';
  return { name, type: KEPT.has(fieldType) ? fieldType : isWhole ? 'integer' : 'number', nullable: true };
}

/** Type and name of a field or the id column of a source. */
export function valueField(source: VectorSource, name: string): Pick<Field, 'name' | 'type' | 'nullable'> {
  if (name === source.idColumn) {
    const isNumber = (source.idType ?? 'integer') === 'integer';
    return { name, type: isNumber ? 'integer' : 'string', nullable: false };
  }
  const { type, nullable } = findField(source, name)!;
  return { name, type, nullable };
}

/** Groups as a table without ids and geometries, for filter writers. */
export function groupTable<S extends VectorSource>(source: S, fields: Field[]): S {
  return { ...source, fields, idColumn: '', geometryColumn: '', hasIndex: false };
}

/** The first features of each group, in an order. */
export interface TopTask extends FeatureQuery {
  /** Fields of the source, or its id column. */
  groupBy: readonly string[];
  /** Fields of the source, or its id column; then comes the id. */
  sort: readonly SortKey[];
  /** Maximum groups of the page. */
  count: number;
  /** Maximum number of all groups. */
  limit: number;
}

export interface TopResult {
  /** Ids of integers, in the order of the ids. */
  ids: ObjectId[];
  /** True when there are more than the limit. */
  more: boolean;
}
