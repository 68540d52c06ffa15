import { passesAll } from '../../../../core/cql2/ast.js';
import { type FeatureRow, findField, type RowsQuery } from '../../../../core/features/features.js';
import { type Field, type GeoPackageSource, hasIntegerIds } from '../../../../core/sources/vector-source.js';
import type { SqliteColumns } from '../../feature-store.js';
import { quote, reader } from '../connection.js';
import { plainInteger } from '../schema/integers.js';
import { passingRows } from './filter.js';
import { writeMaskedValue } from './masks.js';
import { type Query, quoteIdColumn, quoteRowColumn } from './window.js';

const BATCH = 1024;

/** Returns rows in batches, in the order in which they are stored. This is the order of the id, except in copies. */
export async function* rows(query: RowsQuery): AsyncGenerator<FeatureRow[]> {
  const source = query.source as GeoPackageSource;
  const row = quoteRowColumn(source);
  const where = buildWhere(source, query.filter);
  const geometry = query.geometry ? `t.${quote(source.geometryColumn)}` : 'NULL';
  const fields = listFields(source, query);
  const columns = [quoteIdColumn(source), geometry, ...fields.map(shownColumn)];
  const sql = `SELECT ${columns.join(', ')} FROM ${quote(source.table)} t${where.sql} ORDER BY ${row} LIMIT ?`;
  // The statement is prepared only for this read: a cached statement could be used again while its cursor is open.
  const cursor = reader(source.path)
    .prepare(sql)
    .safeIntegers()
    .raw()
    .iterate(...where.values, query.limit) as IterableIterator<unknown[]>;
  const booleans = fields.flatMap(({ type, mask }, i) => (type === 'boolean' && !mask ? [i] : []));
  let batch: FeatureRow[] = [];
  for (const columnValues of cursor) {
    const values = columnValues.slice(2).map(plainInteger);
    for (const i of booleans) if (values[i] !== null) values[i] = values[i] === 1;
    batch.push({
      id: plainInteger(columnValues[0]) as FeatureRow['id'],
      geometry: columnValues[1] as Uint8Array | null,
      values: values as FeatureRow['values'],
    });
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** If all rows match, the table is read without a subquery. */
function buildWhere(source: GeoPackageSource, filter: RowsQuery['filter']): Query {
  if (passesAll(filter)) return { sql: '', values: [] };
  const { sql, values } = passingRows(source, filter);
  return { sql: ` WHERE ${quoteRowColumn(source)} IN (${sql})`, values };
}

/** SQL of the id, geometry and attributes of a table, for a statement in another SQLite file that reads all rows. */
export function columns({ filter, ...query }: RowsQuery): SqliteColumns | undefined {
  const source = query.source as GeoPackageSource;
  if (!passesAll(filter) || source.rowColumn || !hasIntegerIds(source)) return undefined;
  return {
    path: source.path,
    table: quote(source.table),
    id: quoteIdColumn(source),
    geometry: `t.${quote(source.geometryColumn)}`,
    values: listFields(source, query).map(shownColumn),
  };
}

const listFields = (source: GeoPackageSource, { fields }: Pick<RowsQuery, 'fields'>) =>
  fields.map((name) => findField(source, name)!);

const shownColumn = (field: Field) => writeMaskedValue(`t.${quote(field.name)}`, field);
