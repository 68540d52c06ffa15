import { findField, type ItemsTask, type PageKey, type SortKey } from '../../../../core/features/features.js';
import { type GeoPackageSource, hasIntegerIds } from '../../../../core/sources/vector-source.js';
import { exactNumber, INT64_MIN, toInt64 } from '../../../../core/values/exact-number.js';
import { quote, statement } from '../connection.js';
import { isUniform } from '../schema/uniform-times.js';
import { sortableSql } from './filter-sql.js';
import { type Query, quoteIdColumn, quoteRowColumn } from './window.js';

/** The order of a listing as SQL over the table alias `t`. Rows without a value come last, first when descending. */
export interface Order {
  /** Order in which rows are found: the reverse of the listing's order for a page before a key. */
  reading: string;
  /** Rows beyond the key, in the order of reading. */
  place: Query | undefined;
  /** FROM clause and order of a query of the rows `t` of the table `page`, in the order of the listing. */
  ofPage: string;
}

interface Key {
  /** The column, or the expression that sorts its values. */
  column: string;
  /** The same of a stored value that is the one parameter. */
  parameter: string;
  descending: boolean;
  /** An id never is null, and a plain comparison can use its index. */
  nullable: boolean;
}

type Value = Query['values'][number];

export function buildOrder(task: ItemsTask): Order {
  const source = task.source as GeoPackageSource;
  const sorted = (task.sort ?? []).length > 0;
  const row = quoteRowColumn(source);
  const backwards = task.before !== undefined;
  const keys = listKeys(source, task.sort);
  const place = task.before ?? task.after;
  // The rows of an unsorted page come from a query that names them `row`, and their ids `id` where that is not the same.
  const id = source.rowColumn ? 't.id' : 't.row';
  const reading = sorted ? keys : [{ column: id, parameter: '?', descending: false, nullable: false }];
  const turned = backwards ? reading.map((key) => ({ ...key, descending: !key.descending })) : reading;
  const table = `${quote(source.table)} t`;
  // Without a filter, no row is between the rows of a page, so one walk replaces a search for each row. Otherwise
  // CROSS JOIN looks the rows up in the order in which they were found.
  const walks = !sorted && task.filter === undefined && !backwards && !source.rowColumn;
  return {
    reading: orderBy(turned),
    place: place && beyond(turned, listValues(source, task.sort, place)),
    ofPage: walks
      ? `${table} WHERE ${row} >= (SELECT min(row) FROM page) ORDER BY ${row}`
      : `page CROSS JOIN ${table} ON ${row} = page.row${backwards ? ` ORDER BY ${orderBy(keys)}` : ''}`,
  };
}

function listKeys(source: GeoPackageSource, sort: readonly SortKey[] = []): Key[] {
  const keys = sort.map(({ field, descending }) => ({
    ...sortable(source, field),
    descending,
    nullable: true,
  }));
  return [...keys, { column: quoteIdColumn(source), parameter: '?', descending: false, nullable: false }];
}

/** Times that all have one form sort as text, by the index of their column. */
function sortable(source: GeoPackageSource, name: string): Pick<Key, 'column' | 'parameter'> {
  const type = findField(source, name)?.type;
  const column = `t.${quote(name)}`;
  const isTime = type === 'date-time' || type === 'date';
  if (!isTime || isUniform(source, name, type)) return { column, parameter: '?' };
  // Without OFFSET the expression would repeat the parameter.
  const parameter = `(SELECT ${sortableSql(type, 'v.a')} FROM (SELECT ? AS a LIMIT 1 OFFSET 0) AS v)`;
  return { column: sortableSql(type, column), parameter };
}

function orderBy(keys: readonly Key[]): string {
  return keys
    .map(({ column, descending, nullable }) => {
      const direction = descending ? ' DESC' : '';
      return nullable ? `${column}${direction} NULLS ${descending ? 'FIRST' : 'LAST'}` : column + direction;
    })
    .join(', ');
}

/** Rows after these values: greater in the first key, or the same there and greater in the next, and so on. */
function beyond(keys: readonly Key[], values: readonly Value[]): Query {
  const used: Value[] = [];
  const alternatives = keys.map((key, i) => {
    const same = keys.slice(0, i).map(({ column, parameter }, j) => {
      used.push(values[j]!);
      return `${column} IS ${parameter}`;
    });
    return [...same, after(key, values[i]!, used)].join(' AND ');
  });
  return { sql: `(${alternatives.map((condition) => `(${condition})`).join(' OR ')})`, values: used };
}

function after({ column, parameter, descending, nullable }: Key, value: Value, used: Value[]): string {
  if (value === null) return descending ? `${column} IS NOT NULL` : 'FALSE';
  used.push(value);
  if (!nullable) return `${column} ${descending ? '<' : '>'} ${parameter}`;
  return descending ? `${column} < ${parameter}` : `(${column} > ${parameter} OR ${column} IS NULL)`;
}

/** Values of a key as the columns store them. Integers are transferred as text with all their digits. */
function listValues(
  source: GeoPackageSource,
  sort: readonly SortKey[] = [],
  { values, id }: PageKey,
): Value[] {
  const stored = sort.map(({ field }, i): Value => {
    const value = values[i] ?? null;
    if (typeof value === 'boolean') return value ? 1 : 0;
    return isWhole(source, field) && typeof value === 'string' ? wholeNumber(value) : value;
  });
  return [...stored, hasIntegerIds(source) ? wholeNumber(id) : id];
}

/** Text that is not a 64-bit integer does not match any row; the minimum integer sorts before all rows. */
const wholeNumber = (text: string): bigint => toInt64(exactNumber(text)) ?? INT64_MIN;

function isWhole(source: GeoPackageSource, name: string): boolean {
  if (name === source.idColumn) return hasIntegerIds(source);
  return findField(source, name)?.type === 'integer';
}

/** The key of one row. */
export function readPageKey(source: GeoPackageSource, sort: readonly SortKey[] = [], id: string): PageKey {
  if (sort.length === 0) return { values: [], id };
  const columns = sort.map(({ field }) => {
    const column = quote(field);
    return isWhole(source, field) ? `CAST(${column} AS TEXT)` : column;
  });
  const sql = `SELECT ${columns.join(', ')} FROM ${quote(source.table)} WHERE ${quote(source.idColumn)} = ?`;
  const values = statement(source.path, sql)
    .raw()
    .get(hasIntegerIds(source) ? BigInt(id) : id) as PageKey['values'];
  return { values, id };
}
