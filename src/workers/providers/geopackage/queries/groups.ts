import { passesAll } from '../../../../core/cql2/ast.js';
import { TaskFailure } from '../../../../core/errors/failure.js';
import {
  type BinKey,
  type GroupCountTask,
  type GroupStatistic,
  type GroupsResult,
  type GroupsTask,
  groupColumns,
  groupTable,
  valueField,
} from '../../../../core/features/feature-groups.js';
import type { FeatureQuery, FeatureRow } from '../../../../core/features/features.js';
import { LIMITS } from '../../../../core/kit/limits.js';
import type { Field, GeoPackageSource } from '../../../../core/sources/vector-source.js';
import { toDouble, toInt64 } from '../../../../core/values/exact-number.js';
import Database from '../../../../native/sqlite.js';
import { type Fragment, raw, sql } from '../../fragment.js';
import { groupOrder, groupPage } from '../../group-page.js';
import { quote, statement } from '../connection.js';
import { plainInteger } from '../schema/integers.js';
import { passingRows } from './filter.js';
import { GeoPackageFilterWriter, instantSql } from './filter-sql.js';
import { quoteRowColumn } from './window.js';

/** A page of groups, by one statement. */
export function groups(task: GroupsTask): GroupsResult {
  const { columns, rows } = groupRows(task);
  const query = sql`SELECT * FROM ${rows} ORDER BY ${orderBy(task, columns)} LIMIT ${bound(task.limit + 1)} OFFSET ${bound(task.offset)}`;
  const { rows: page, more } = read(task, query, (found) => groupPage(found, task.limit));
  return { rows: page.map((values) => shownValues(values, columns)), more };
}

/** Returns the number of groups. */
export function groupCount(task: GroupCountTask): number {
  const query = sql`SELECT count(*) FROM ${groupRows(task).rows}`;
  return read(task, query, (rows) => Number([...rows][0]![0]));
}

/** Returns the result of `take` for the rows of a statement. */
function read<T>(
  { source }: GroupCountTask,
  { sql: text, values }: Fragment,
  take: (rows: Iterable<FeatureRow['values']>) => T,
): T {
  try {
    const prepared = statement((source as GeoPackageSource).path, text)
      .raw()
      .safeIntegers();
    return take(plainRows(prepared.iterate(...values) as Iterable<FeatureRow['values']>));
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code === 'SQLITE_TOOBIG')
      throw new TaskFailure('too-large', 'There are too many values for percentiles.');
    throw error;
  }
}

function* plainRows(rows: Iterable<FeatureRow['values']>): Iterable<FeatureRow['values']> {
  for (const row of rows) yield row.map(plainInteger);
}

const bound = (value: number): Fragment => ({ sql: '?', values: [value] });

/** Table `t` of the matching groups, for a FROM clause. */
function groupRows(task: GroupCountTask): { columns: Field[]; rows: Fragment } {
  const source = task.source as GeoPackageSource;
  const columns = groupColumns(source, task);
  const values = [
    ...task.groupBy.map((key) => (typeof key === 'string' ? groupValue(source, key) : binValue(source, key))),
    ...task.statistics.map((statistic) => statisticSql(source, statistic)),
  ];
  const list = values.map((value, i) => sql`${value} AS ${quote(columns[i]!.name)}`);
  const table = sql`(SELECT ${commas(list)} FROM ${quote(source.table)} t WHERE ${writePassingCondition(source, task)}${groupBy(task)}) t`;
  if (passesAll(task.having)) return { columns, rows: table };
  const writer = new GeoPackageFilterWriter(groupTable(source, columns));
  return { columns, rows: sql`(SELECT * FROM ${table} WHERE ${writer.predicate(task.having!)}) t` };
}

function commas(parts: readonly Fragment[]): Fragment {
  return parts.slice(1).reduce((list, part) => sql`${list}, ${part}`, parts[0]!);
}

/**
 * Writes a condition with a deadline, because this is the only way to stop a SQLite statement whose client has
 * disconnected.
 */
export function writePassingCondition(source: GeoPackageSource, { filter }: FeatureQuery): Fragment {
  const before = sql`gr_before(${bound(Date.now() + LIMITS.requestDeadlineMs)})`;
  return passesAll(filter)
    ? before
    : sql`${before} AND ${quoteRowColumn(source)} IN (${passingRows(source, filter)})`;
}

/** GROUP BY with the positions of the columns, because a name would refer to a column of the table. */
function groupBy({ groupBy }: GroupCountTask): string {
  return groupBy.length === 0 ? '' : ` GROUP BY ${groupBy.map((_, i) => i + 1).join(', ')}`;
}

/** Values in one form for all producers. Text that is not an instant becomes NULL. */
export function groupValue(source: GeoPackageSource, name: string): Fragment {
  const column = `t.${quote(name)}`;
  switch (valueField(source, name).type) {
    case 'date':
      return raw(`date(${column})`);
    case 'date-time':
      return raw(`substr(${instantSql(column)}, 1, 23) || 'Z'`);
    case 'string':
      return raw(`CAST(${column} AS TEXT)`);
    default:
      return raw(number(column));
  }
}

function binValue(source: GeoPackageSource, { field, limits }: BinKey): Fragment {
  const { type } = valueField(source, field);
  const value = groupValue(source, field);
  // Days since noon of the first day of the Julian calendar, which SQLite counts in integer milliseconds.
  const number =
    type === 'date' || type === 'date-time'
      ? sql`round((julianday(${value}) - 2440587.5) * 86400000)`
      : value;
  const integers = limits.map((limit) => toInt64(limit));
  const areIntegers = integers.every((limit) => limit !== undefined);
  const { buffer } = areIntegers ? BigInt64Array.from(integers) : Float64Array.from(limits, toDouble);
  const blob = { sql: '?', values: [new Uint8Array(buffer)] };
  return sql`gr_bin(${number}, ${blob}, ${areIntegers ? '1' : '0'})`;
}

/** Columns can contain values of any type, independent of their declaration. */
const number = (column: string) => `CASE WHEN typeof(${column}) IN ('integer', 'real') THEN ${column} END`;

function statisticSql(source: GeoPackageSource, { type, field, percentile }: GroupStatistic): Fragment {
  const value = groupValue(source, field);
  switch (type) {
    case 'count':
    case 'min':
    case 'max':
    case 'avg':
      return sql`${type}(${value})`;
    case 'sum':
      return valueField(source, field).type === 'integer'
        ? wholeSum(value)
        : sql`sum(CAST(${value} AS REAL))`;
    case 'var':
      return sql`gr_var_samp(${value})`;
    case 'stddev':
      return sql`sqrt(gr_var_samp(${value}))`;
    default: {
      const { fraction, descending } = percentile!;
      return sql`gr_${type}(${value}, ${bound(fraction)}, ${descending ? '1' : '0'})`;
    }
  }
}

/**
 * Sum with all its digits, and a double beyond 64 bits, where SQLite's sum() fails. Integer columns can also contain
 * other numbers.
 */
function wholeSum(value: Fragment): Fragment {
  const part = (expression: string, type: string) =>
    sql`coalesce(sum(CASE typeof(${value}) WHEN '${type}' THEN ${value} ${expression} END), 0)`;
  const [high, low] = [part('/ 4294967296', 'integer'), part('% 4294967296', 'integer')];
  return sql`CASE WHEN count(${value}) > 0 THEN ${high} * 4294967296 + ${low} + ${part('', 'real')} END`;
}

/** Groups without a value come last, first when descending, as in listings of features. */
function orderBy(task: GroupsTask, columns: readonly Field[]): string {
  const keys = groupOrder(task, columns).map(
    ({ field, descending }) => `t.${quote(field)}${descending ? ' DESC NULLS FIRST' : ' NULLS LAST'}`,
  );
  return keys.length === 0 ? '1' : keys.join(', ');
}

function shownValues(values: FeatureRow['values'], columns: readonly Field[]): FeatureRow['values'] {
  return values.map((value, i) =>
    columns[i]!.type === 'boolean' && value !== null ? Number(value) !== 0 : value,
  );
}
