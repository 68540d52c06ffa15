import { hash } from 'node:crypto';
import { unmasked } from '../../../../core/access/field-masks.js';
import type {
  CountTask,
  FeatureOutput,
  ItemResult,
  ItemsResult,
  ItemsTask,
  ItemTask,
} from '../../../../core/features/features.js';
import {
  type Field,
  fieldsNamed,
  type GeoPackageSource,
  hasIntegerIds,
} from '../../../../core/sources/vector-source.js';
import { readIntegerId } from '../../integer-ids.js';
import { END_IN, withinMs } from '../../time-limit.js';
import { readsGeometry, writerOptions } from '../../writer.js';
import { quote, statement } from '../connection.js';
import { passingInOrder, passingRows } from './filter.js';
import { writeMaskedValue } from './masks.js';
import { buildOrder, type Order, readPageKey } from './order.js';
import { type Query, quoteIdColumn, quoteRowColumn } from './window.js';

const WRITERS = {
  geojson: 'gr_geojson',
  csv: 'gr_csv',
  gml: 'gr_gml',
  'esri-json': 'gr_esri_json',
  'esri-pbf': 'gr_esri_pbf',
} as const;

interface PageRow {
  features: Buffer | null;
  returned: number;
  firstId: string | null;
  lastId: string | null;
  /** Number of matching rows: one more than the page contains if another page follows. */
  rowCount: number;
}

/**
 * A page of features, written inside the database: no row crosses into JavaScript. One statement, so that features and
 * counts are of one moment; the filter runs once.
 */
export function items(task: ItemsTask): ItemsResult {
  const source = task.source as GeoPackageSource;
  const { limit, offset } = task;
  const fields = fieldsNamed(source, task.fields);
  const order = buildOrder(task);
  const rows = pageRows(source, task, order);
  const writer = `${WRITERS[task.format]}(?, ${arguments_(fields)})`;
  const columns = columnList(source, fields, !readsGeometry(task));
  // `candidates` is read in its order: first the page, then the row that shows that another page follows.
  const sql = `WITH candidates AS MATERIALIZED (${rows.sql} LIMIT ? OFFSET ?),
    page AS MATERIALIZED (SELECT row FROM candidates LIMIT ?),
    written AS MATERIALIZED (SELECT ${writer} AS features FROM (
      SELECT ${columns} FROM ${order.ofPage} LIMIT ?))
    SELECT features, gr_written(features) AS returned, CAST(gr_first_id(features) AS TEXT) AS firstId,
      CAST(gr_last_id(features) AS TEXT) AS lastId, (SELECT count(*) FROM candidates) AS rowCount FROM written`;
  const page = statement(source.path, sql).get(
    ...rows.values,
    limit + 1,
    offset,
    limit,
    writerOptions(source, task, fields),
    limit,
  ) as PageRow;
  const { features, returned, firstId, lastId, rowCount } = page;
  const result = { features: features ?? new Uint8Array(0), returned, more: rowCount > returned };
  if (firstId === null || lastId === null) return result;
  return {
    ...result,
    first: readPageKey(source, task.sort, firstId),
    last: readPageKey(source, task.sort, lastId),
  };
}

/** The rows that pass, in the order of the page, from its place on. */
function pageRows(source: GeoPackageSource, task: ItemsTask, order: Order): Query {
  if (!task.sort?.length) {
    const passing = passingInOrder(source, task.filter, task.offset + task.limit + 1);
    const where = order.place ? ` WHERE ${order.place.sql}` : '';
    return {
      sql: `SELECT row FROM (${passing.sql}) t${where} ORDER BY ${order.reading}`,
      values: [...passing.values, ...(order.place?.values ?? [])],
    };
  }
  const passing = passingRows(source, task.filter);
  const row = quoteRowColumn(source);
  const conditions = [
    ...(task.filter === undefined ? [] : [`${row} IN (${passing.sql})`]),
    ...(order.place ? [order.place.sql] : []),
  ];
  const where = conditions.length > 0 ? ` WHERE ${conditions.join(' AND ')}` : '';
  return {
    sql: `SELECT ${row} AS row FROM ${quote(source.table)} t${where} ORDER BY ${order.reading}`,
    values: [...(task.filter === undefined ? [] : passing.values), ...(order.place?.values ?? [])],
  };
}

/** Returns one feature by id, or null. If ids are integers, other ids match no feature. */
export function item(task: ItemTask): ItemResult | null {
  const source = task.source as GeoPackageSource;
  const id = hasIntegerIds(source) ? readIntegerId(task.id) : task.id;
  if (id === undefined) return null;
  const fields = fieldsNamed(source, task.fields);
  const sql = featureSql(source, task.format, fields, task.skipGeometry);
  const stored = featureSql(source, 'geojson', fieldsNamed(unmasked(source), undefined));
  // A caller who cannot read all fields gets an ETag that does not depend on the other fields.
  const part = task.fields && {
    sql: featureSql(source, 'geojson', fields),
    options: partOptions(source, fields),
  };
  const passing = task.filter === undefined ? undefined : passingRows(source, task.filter);
  const row = `SELECT ${quoteRowColumn(source)} FROM ${quote(source.table)} t WHERE ${quoteIdColumn(source)} = ?`;
  const where = passing ? ` WHERE (${row}) IN (${passing.sql})` : '';
  const hit = statement(
    source.path,
    `SELECT ${sql} AS data, ${stored} AS stored, ${part?.sql ?? 'NULL'} AS part${where}`,
  ).get(
    writerOptions(source, task, fields),
    id,
    storedOptions(source),
    id,
    ...(part ? [part.options, id] : []),
    ...(passing ? [id, ...passing.values] : []),
  ) as { data: Buffer | null; stored: Buffer | null; part: Buffer | null } | undefined;
  if (!hit?.data || !hit.stored || hit.data.length === 0) return null;
  const name = rowName(hit.stored);
  return { data: hit.data, row: name, shown: hit.part ? rowName(hit.part) : name };
}

/**
 * SQL expression that writes one feature. Its parameters are options and id. The result has length 0 if there is no
 * feature.
 */
export function featureSql(
  source: GeoPackageSource,
  format: FeatureOutput['format'],
  fields: readonly Field[],
  skipGeometry?: boolean,
): string {
  return `(SELECT ${WRITERS[format]}(?, ${arguments_(fields)}) FROM (SELECT ${columnList(source, fields, skipGeometry)}
    FROM ${quote(source.table)} t WHERE ${quoteIdColumn(source)} = ?))`;
}

/** Decimal places that distinguish any two stored positions. */
const EXACT = 15;

/** Options that write a feature as stored: all attributes, in the source's CRS, with every digit. */
export function storedOptions(source: GeoPackageSource): string {
  return partOptions(source, fieldsNamed(unmasked(source), undefined));
}

function partOptions(source: GeoPackageSource, fields: readonly Field[]): string {
  const { crs } = source;
  const output = { format: 'geojson', crs, swapAxes: false, precision: EXACT, loss: true } as const;
  return writerOptions(source, output, fields);
}

/** The name of a stored row, from the feature that `storedOptions` writes. */
export function rowName(stored: Uint8Array): string {
  return hash('sha1', stored).slice(0, 16);
}

/** Features that the filter lets through. */
export function count(task: CountTask): number {
  const source = task.source as GeoPackageSource;
  const passing = passingRows(source, task.filter);
  const some =
    task.atMost === undefined
      ? passing.sql
      : `SELECT row FROM (${passing.sql}) LIMIT ${Math.floor(task.atMost)}`;
  const counting = statement(source.path, `SELECT count(*) FROM (${some})`).pluck();
  const read = () => counting.get(...passing.values) as number;
  if (task.withinMs === undefined) return read();
  return withinMs(statement(source.path, END_IN), task.withinMs, read);
}

/** id, geometry and attributes as c0, c1, ... so that no name can clash. */
function columnList(source: GeoPackageSource, fields: readonly Field[], skipGeometry = false): string {
  const geometry = skipGeometry ? 'NULL' : `t.${quote(source.geometryColumn)}`;
  const columns = [
    quoteIdColumn(source),
    geometry,
    ...fields.map((field) => writeMaskedValue(`t.${quote(field.name)}`, field)),
  ];
  return columns.map((column, i) => `${column} AS c${i}`).join(', ');
}

function arguments_(fields: readonly Field[]): string {
  return Array.from({ length: fields.length + 2 }, (_, i) => `c${i}`).join(', ');
}
