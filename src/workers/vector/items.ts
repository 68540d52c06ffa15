import type { CountTask, Field, ItemsResult, ItemsTask, ItemTask, VectorSource } from '../../core/tasks.js';
import { quote, statement } from '../providers/geopackage/connection.js';
import { boxesInSource, matchingIds, type Query } from '../providers/geopackage/window.js';

/** Columns one SQL function call can take besides options, id and geometry. */
const MAX_COLUMNS = 90;

interface PageRow {
  features: Buffer | null;
  returned: number;
  /** Ids found, one more than the page holds when another page follows. */
  found: number;
}

/**
 * A page of features, written as GeoJSON inside the database: no row crosses into JavaScript. One statement, so that
 * features and counts are of one moment; the filter runs once.
 */
export function items(task: ItemsTask): ItemsResult {
  const { source, limit, offset } = task;
  const fields = chosen(source, task.fields);
  const ids = idsOf(task);
  const id = `t.${quote(source.idColumn)}`;
  // Without a filter no row lies between the ids of a page: one walk instead of a search for each.
  const ofPage = task.bbox ? `${id} IN (SELECT id FROM page)` : `${id} >= (SELECT min(id) FROM page)`;
  const sql = `WITH page AS MATERIALIZED (SELECT id FROM (${ids.sql}) ORDER BY id LIMIT ? OFFSET ?)
    SELECT gr_geojson(?, ${arguments_(fields)}) AS features, count(*) AS returned, (SELECT count(*) FROM page) AS found
    FROM (SELECT ${columnList(source, fields, task.skipGeometry)} FROM ${quote(source.table)} t
      WHERE ${ofPage} ORDER BY ${id} LIMIT ?)`;
  const page = statement(source.path, sql);
  const { features, returned, found } = page.get(
    ...ids.values,
    limit + 1,
    offset,
    options(task, fields),
    limit,
  ) as PageRow;
  return { features: features ?? new Uint8Array(0), returned, more: found > limit };
}

/** One feature by id, or null. Ids that are not whole numbers name no feature. */
export function item(task: ItemTask): Uint8Array | null {
  if (!/^-?\d{1,18}$/.test(task.id)) return null;
  const { source } = task;
  const fields = chosen(source, undefined);
  const row = `SELECT ${columnList(source, fields)} FROM ${quote(source.table)} t WHERE t.${quote(source.idColumn)} = ?`;
  const sql = `SELECT gr_geojson(?, ${arguments_(fields)}) FROM (${row})`;
  const found = statement(source.path, sql)
    .pluck()
    .get(options(task, fields), BigInt(task.id)) as Buffer | null;
  return found && found.length > 0 ? found : null;
}

/** Features whose geometry touches the box; all without one. */
export function count(task: CountTask): number {
  const ids = idsOf(task);
  return statement(task.source.path, `SELECT count(*) FROM (${ids.sql})`)
    .pluck()
    .get(...ids.values) as number;
}

function idsOf(task: CountTask): Query {
  const boxes = task.bbox && boxesInSource(task.source, task.bbox, task.bboxCrs ?? 'OGC:CRS84');
  return matchingIds(task.source, boxes);
}

export function chosen(source: VectorSource, names: readonly string[] | undefined): Field[] {
  const fields = names ? source.fields.filter((field) => names.includes(field.name)) : source.fields;
  return fields.slice(0, MAX_COLUMNS);
}

/** id, geometry and attributes as c0, c1, ... so that no name can clash. */
function columnList(source: VectorSource, fields: readonly Field[], skipGeometry = false): string {
  const geometry = skipGeometry ? 'NULL' : `t.${quote(source.geometryColumn)}`;
  const columns = [
    `t.${quote(source.idColumn)}`,
    geometry,
    ...fields.map((field) => `t.${quote(field.name)}`),
  ];
  return columns.map((column, i) => `${column} AS c${i}`).join(', ');
}

function arguments_(fields: readonly Field[]): string {
  return Array.from({ length: fields.length + 2 }, (_, i) => `c${i}`).join(', ');
}

function options(task: ItemTask | ItemsTask, fields: readonly Field[]): string {
  return JSON.stringify({
    fields: fields.map(({ name, type }) => ({ name, type })),
    from: task.source.crs,
    to: task.crs,
    swap: task.swapAxes,
    precision: task.precision,
  });
}
