import type { Expression } from '../cql2/ast.js';
import type { Field, VectorSource } from '../sources/vector-source.js';
import type { AnyNumber } from '../values/exact-number.js';
import type { ObjectId } from '../values/object-id.js';
import type { StatisticType } from './analytics.js';
import { type FeatureQuery, type FeatureRow, findField, type SortKey } from './features.js';

/** Statistics of groups of features, which stores compute: the tasks of the workers and their results. */

/** `count`, `min` and `max` are of values of any type that can be compared, the others of numbers and booleans, 0 and 1. */
export type GroupStatisticType = StatisticType | 'percentile_cont' | 'percentile_disc';

/** A number over the values of a field in a group. NULL is no value; `stddev` and `var` are those of a sample. */
export interface GroupStatistic {
  readonly type: GroupStatisticType;
  /** A field of the source, or its id column. */
  readonly field: string;
  /** For percentiles: 0 to 1, and whether the greatest value comes first. */
  readonly percentile?: { readonly fraction: number; readonly descending: boolean };
}

/** Features in groups by the bin that a value lies in: its number from 0, NULL where it lies in none. */
export interface BinKey {
  /** A field of numbers or times of the source, or its id column. */
  readonly field: string;
  /** Ascending, two at least; of times milliseconds since 1970. The last bin has its upper limit, too. */
  readonly limits: readonly AnyNumber[];
}

/** What is grouped: by the values of some fields, or all features as one group. */
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

/** The values of a group as fields, under names of their own: `g0`, `g1` ... of what is grouped by, `s0`, `s1` ... of statistics. */
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

/** A field of the source, or its id column as one: type and name alone. */
export function valueField(source: VectorSource, name: string): Pick<Field, 'name' | 'type' | 'nullable'> {
  if (name === source.idColumn) {
    const isNumber = (source.idType ?? 'integer') === 'integer';
    return { name, type: isNumber ? 'integer' : 'string', nullable: false };
  }
  const { type, nullable } = findField(source, name)!;
  return { name, type, nullable };
}

/**
 * Groups as rows of a table of their own, for what writes and reads filters: it has neither ids nor geometries.
 */
export function groupTable<S extends VectorSource>(source: S, fields: Field[]): S {
  return { ...source, fields, idColumn: '', geometryColumn: '', hasIndex: false };
}

/** The first features of each group, in an order. */
export interface TopTask extends FeatureQuery {
  /** Fields of the source, or its id column. */
  groupBy: readonly string[];
  /** Fields of the source, or its id column; then comes the id. */
  sort: readonly SortKey[];
  /** How many of a group. */
  count: number;
  /** How many there may be of all groups. */
  limit: number;
}

export interface TopResult {
  /** Ids of integers, in the order of the ids. */
  ids: ObjectId[];
  /** True when there are more than the limit. */
  more: boolean;
}
