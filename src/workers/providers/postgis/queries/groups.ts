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
import type { FeatureRow } from '../../../../core/features/features.js';
import { type Field, isDecimal, type PostgisSource } from '../../../../core/sources/vector-source.js';
import { readNumber, writeDigits } from '../../../../core/values/exact-number.js';
import type { Cancellation } from '../../../threads/cancellation.js';
import { groupOrder, groupPage } from '../../group-page.js';
import { withConnection } from '../connections/database.js';
import { SqlParams } from '../connections/params.js';
import { writeFieldSql } from '../schema/columns.js';
import { column, quote, writeTableSql } from '../schema/names.js';
import { buildWhere } from './filter.js';

/** A page of groups, by one statement. */
export async function groups(task: GroupsTask, cancellation?: Cancellation): Promise<GroupsResult> {
  const params = new SqlParams();
  const { columns, rows } = groupRows(task, params);
  const values = columns.map((field) => writeFieldSql(field, 'exact', params));
  const sql = `SELECT ${values.join(', ')} FROM ${rows} ORDER BY ${orderBy(task, columns)}
    LIMIT ${params.add(task.limit + 1, 'int8')} OFFSET ${params.add(task.offset, 'int8')}`;
  const found = await read(task, sql, params, cancellation);
  return groupPage(
    found.map((row) => plainNumbers(row, columns)),
    task.limit,
  );
}

/** Returns the number of groups. */
export async function groupCount(task: GroupCountTask, cancellation?: Cancellation): Promise<number> {
  const params = new SqlParams();
  const sql = `SELECT count(*)::float8 FROM ${groupRows(task, params).rows}`;
  const [row] = await read(task, sql, params, cancellation);
  return Number(row![0]);
}

function read({ source }: GroupCountTask, sql: string, params: SqlParams, cancellation?: Cancellation) {
  const { database } = source as PostgisSource;
  return withConnection(database, (connection) => connection.query(sql, params.values), {
    cancellation,
  }) as Promise<FeatureRow['values'][]>;
}

/** Table `t` of the matching groups, for a FROM clause. */
function groupRows(task: GroupCountTask, params: SqlParams): { columns: Field[]; rows: string } {
  const source = task.source as PostgisSource;
  const values = [
    ...task.groupBy.map((key) =>
      typeof key === 'string' ? groupValue(source, key) : binValue(source, key, params),
    ),
    ...task.statistics.map((statistic) => statisticValue(source, statistic, params)),
  ];
  const columns = groupColumns(source, task).map((field, i) => ({ ...field, sqlType: values[i]!.type }));
  const list = values.map(({ sql }, i) => `${sql} AS ${quote(columns[i]!.name)}`);
  // The positions of the columns are used, because a name would refer to a column of the table.
  const by = task.groupBy.length === 0 ? '' : ` GROUP BY ${task.groupBy.map((_, i) => i + 1).join(', ')}`;
  const where = buildWhere(source, task.filter, params);
  const table = `(SELECT ${list.join(', ')} FROM ${writeTableSql(source)} WHERE ${where}${by}) t`;
  const having = buildWhere(groupTable(source, columns), task.having, params);
  return { columns, rows: `(SELECT * FROM ${table} WHERE ${having}) t` };
}

/** Converts decimals to numbers. A decimal that a double cannot represent remains text. */
function plainNumbers(row: FeatureRow['values'], columns: readonly Field[]): FeatureRow['values'] {
  return row.map((value, i) => {
    if (typeof value !== 'string' || columns[i]!.type !== 'number') return value;
    const number = readNumber(value);
    return typeof number === 'number' ? number : value;
  });
}

interface Value {
  sql: string;
  /** Name of its type in the database. */
  type: string;
}

/**
 * Text by its code points, independent of the column's collation. Values that are shown as text are grouped as text.
 */
export function groupValue(source: PostgisSource, name: string): Value {
  const value = column(name);
  const field = source.fields.find((one) => one.name === name);
  const sqlType = field?.sqlType;
  switch (valueField(source, name).type) {
    case 'integer':
      return { sql: `${value}::int8`, type: 'bigint' };
    case 'number':
      // Digits beyond a double distinguish values.
      if (field && isDecimal(field)) return { sql: value, type: 'numeric' };
      // The double with the shortest digits of a `real`, as features show it.
      return { sql: `${value}${sqlType === 'real' ? '::text' : ''}::float8`, type: 'double precision' };
    case 'boolean':
      return { sql: value, type: 'boolean' };
    case 'date':
      return { sql: value, type: 'date' };
    case 'date-time':
      return { sql: value, type: sqlType ?? 'timestamp with time zone' };
    default:
      return { sql: `${value}::text COLLATE "C"`, type: 'text' };
  }
}

function binValue(source: PostgisSource, { field, limits }: BinKey, params: SqlParams): Value {
  const { sql, type } = groupValue(source, field);
  const isTime = /^(date|timestamp)/.test(type);
  // Integers and decimals are compared with all their digits.
  const form = type === 'bigint' || type === 'numeric' ? 'numeric' : 'float8';
  const number = isTime ? `(extract(epoch FROM ${sql}) * 1000)::float8` : `(${sql})::${form}`;
  const digits = limits.map(writeDigits);
  const all = params.add(`{${digits.join(',')}}`, `${form}[]`);
  const ends = `${params.add(digits[0]!, form)} AND ${params.add(digits.at(-1)!, form)}`;
  // The bucket of the last limit is the last bin.
  const bucket = `least(width_bucket(${number}, ${all}), ${limits.length - 1}) - 1`;
  return { sql: `CASE WHEN ${number} BETWEEN ${ends} THEN ${bucket} END::int8`, type: 'bigint' };
}

function statisticValue(source: PostgisSource, statistic: GroupStatistic, params: SqlParams): Value {
  const { type, field } = statistic;
  if (type === 'count') return { sql: `count(${column(field)})`, type: 'bigint' };
  const value = groupValue(source, field);
  const comparable = value.type === 'boolean' ? { sql: `${value.sql}::int::int8`, type: 'bigint' } : value;
  if (type === 'min' || type === 'max') return { ...comparable, sql: `${type}(${comparable.sql})` };
  // Sums of integers and decimals keep their digits.
  if (type === 'sum' && comparable.type !== 'double precision')
    return { sql: `sum(${comparable.sql})::numeric`, type: 'numeric' };
  if (type === 'percentile_disc')
    return { ...comparable, sql: percentileSql(statistic, comparable.sql, params) };
  return { sql: numberSql(statistic, comparable.sql, params), type: 'double precision' };
}

/** `value` keeps all digits: a percentile may be one of the values. */
function percentileSql({ type, percentile }: GroupStatistic, value: string, params: SqlParams): string {
  const { fraction, descending } = percentile!;
  return `${type}(${params.add(fraction, 'float8')}) WITHIN GROUP (ORDER BY ${value}${descending ? ' DESC' : ''})`;
}

/** PostgreSQL computes deviations of integers and decimals with all their digits. */
function numberSql(statistic: GroupStatistic, value: string, params: SqlParams): string {
  switch (statistic.type) {
    case 'sum':
    case 'avg':
      return `${statistic.type}(${value})::float8`;
    case 'stddev':
      return `stddev_samp(${value})::float8`;
    case 'var':
      return `var_samp(${value})::float8`;
    default:
      return percentileSql(statistic, `${value}::float8`, params);
  }
}

/** Groups without a value come last, first when descending, as in listings of features. */
function orderBy(task: GroupsTask, columns: readonly Field[]): string {
  const keys = groupOrder(task, columns).map(
    ({ field, descending }) => `${column(field)}${descending ? ' DESC' : ''}`,
  );
  return keys.length === 0 ? '1' : keys.join(', ');
}
