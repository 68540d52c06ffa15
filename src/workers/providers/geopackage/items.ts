import { hash } from 'node:crypto';
import type {
  CountTask,
  FeatureOutput,
  ItemResult,
  ItemsResult,
  ItemsTask,
  ItemTask,
} from '../../../core/features.js';
import { type Field, type GeoPackageSource, TaskFailure, type VectorSource } from '../../../core/tasks.js';
import { quote, statement } from './connection.js';
import { idsOf } from './filter.js';

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
  const source = task.source as GeoPackageSource;
  const { limit, offset } = task;
  if (task.sort || task.after || task.before || task.format !== 'geojson')
    throw new TaskFailure('invalid-input', 'Not supported yet.');
  const fields = chosen(source, task.fields);
  const ids = idsOf(source, task.filter);
  const id = `t.${quote(source.idColumn)}`;
  // Without a filter no row lies between the ids of a page: one walk instead of a search for each.
  const ofPage =
    task.filter !== undefined ? `${id} IN (SELECT id FROM page)` : `${id} >= (SELECT min(id) FROM page)`;
  const sql = `WITH page AS MATERIALIZED (SELECT id FROM (${ids.sql}) ORDER BY id LIMIT ? OFFSET ?)
    SELECT gr_geojson(?, ${arguments_(fields)}) AS features, count(*) AS returned, (SELECT count(*) FROM page) AS found
    FROM (SELECT ${columnList(source, fields, task.skipGeometry)} FROM ${quote(source.table)} t
      WHERE ${ofPage} ORDER BY ${id} LIMIT ?)`;
  const page = statement(source.path, sql);
  const { features, returned, found } = page.get(
    ...ids.values,
    limit + 1,
    offset,
    options(source, task, fields),
    limit,
  ) as PageRow;
  return { features: features ?? new Uint8Array(0), returned, more: found > limit };
}

/** One feature by id, or null. Ids that are not whole numbers name no feature. */
export function item(task: ItemTask): ItemResult | null {
  if (!/^-?\d{1,18}$/.test(task.id)) return null;
  const source = task.source as GeoPackageSource;
  const fields = chosen(source, task.fields);
  const id = BigInt(task.id);
  const shown = featureSql(source, fields, task.skipGeometry);
  const stored = featureSql(source, chosen(source, undefined));
  const found = statement(source.path, `SELECT ${shown} AS data, ${stored} AS stored`).get(
    options(source, task, fields),
    id,
    storedOptions(source),
    id,
  ) as { data: Buffer | null; stored: Buffer | null };
  if (!found.data || !found.stored || found.data.length === 0) return null;
  return { data: found.data, row: rowName(found.stored) };
}

/** An expression that writes one feature; its parameters are options and id. Of length 0 when there is none. */
export function featureSql(
  source: GeoPackageSource,
  fields: readonly Field[],
  skipGeometry?: boolean,
): string {
  return `(SELECT gr_geojson(?, ${arguments_(fields)}) FROM (SELECT ${columnList(source, fields, skipGeometry)}
    FROM ${quote(source.table)} t WHERE t.${quote(source.idColumn)} = ?))`;
}

/** Decimal places that tell any two stored positions apart. */
const EXACT = 15;

/** Writes a feature as it is stored: all attributes, in the CRS of the source, every digit. */
export function storedOptions(source: GeoPackageSource): string {
  const output = { crs: source.crs, swapAxes: false, precision: EXACT };
  return options(source, output, chosen(source, undefined));
}

/** The name of a stored row, from the feature that `storedOptions` writes. */
export function rowName(stored: Uint8Array): string {
  return hash('sha1', stored).slice(0, 16);
}

/** Features that the filter lets through. */
export function count(task: CountTask): number {
  const source = task.source as GeoPackageSource;
  const ids = idsOf(source, task.filter);
  const some =
    task.atMost === undefined ? ids.sql : `SELECT id FROM (${ids.sql}) LIMIT ${Math.floor(task.atMost)}`;
  return statement(source.path, `SELECT count(*) FROM (${some})`)
    .pluck()
    .get(...ids.values) as number;
}

export function chosen(source: VectorSource, names: readonly string[] | undefined): Field[] {
  const fields = names ? source.fields.filter((field) => names.includes(field.name)) : source.fields;
  return fields.slice(0, MAX_COLUMNS);
}

/** id, geometry and attributes as c0, c1, ... so that no name can clash. */
function columnList(source: GeoPackageSource, fields: readonly Field[], skipGeometry = false): string {
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

export function options(
  source: VectorSource,
  output: Pick<FeatureOutput, 'crs' | 'swapAxes' | 'precision'>,
  fields: readonly Field[],
): string {
  return JSON.stringify({
    fields: fields.map(({ name, type }) => ({ name, type })),
    from: source.crs,
    to: output.crs,
    swap: output.swapAxes,
    precision: output.precision,
  });
}
