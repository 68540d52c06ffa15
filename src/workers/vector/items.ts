import type { CountTask, Field, ItemsResult, ItemsTask, ItemTask, VectorSource } from '../../core/tasks.js';
import { quote, statement } from '../providers/geopackage/connection.js';
import { boxesInSource, type Condition, withinBoxes } from '../providers/geopackage/window.js';

/** Columns one SQL function call can take besides options, id and geometry. */
const MAX_COLUMNS = 90;

const ANY: Condition = { sql: '1', values: [] };

/** A page of features, written as GeoJSON inside the database: no row crosses into JavaScript. */
export function items(task: ItemsTask): ItemsResult {
  const { source, limit, offset } = task;
  const condition = conditionOf(task);
  const fields = chosen(source, task.fields);
  const page = `SELECT ${columnList(source, fields, task.skipGeometry)} FROM ${quote(source.table)} t
    WHERE ${condition.sql} ORDER BY t.${quote(source.idColumn)} LIMIT ? OFFSET ?`;
  const ahead = `SELECT count(*) FROM (SELECT 1 FROM ${quote(source.table)} t WHERE ${condition.sql} LIMIT ? OFFSET ?)`;
  const there = statement(source.path, ahead)
    .pluck()
    .get(...condition.values, limit + 1, offset) as number;
  const returned = Math.min(there, limit);
  const features =
    returned === 0
      ? null
      : (statement(source.path, `SELECT gr_geojson(?, ${arguments_(fields)}) FROM (${page})`)
          .pluck()
          .get(options(task, fields), ...condition.values, limit, offset) as Buffer | null);
  return { features: features ?? new Uint8Array(0), returned, more: there > limit };
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

export function count(task: CountTask): number {
  const { source } = task;
  const condition = conditionOf(task);
  const sql = `SELECT count(*) FROM ${quote(source.table)} t WHERE ${condition.sql}`;
  return statement(source.path, sql)
    .pluck()
    .get(...condition.values) as number;
}

function conditionOf(task: CountTask): Condition {
  if (!task.bbox) return ANY;
  return withinBoxes(task.source, boxesInSource(task.source, task.bbox, task.bboxCrs ?? 'OGC:CRS84'));
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
