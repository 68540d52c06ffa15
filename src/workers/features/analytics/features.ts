import type { FeatureRow } from '../../../core/features/features.js';
import type { Field, VectorSource } from '../../../core/sources/vector-source.js';
import { parseJsonExactly, stringifyExactly } from '../../../core/values/json.js';
import { geometryToGeoJSON } from '../../../native/index.js';
import type { Value } from './statistics.js';

const CRS84 = 'OGC:CRS84';

/** A feature as GeoJSON text. `geometry` is GeoJSON text. */
export function feature(
  geometry: string,
  properties: Readonly<Record<string, unknown>>,
  id?: FeatureRow['id'],
): string {
  const head = id === undefined ? '' : `"id":${stringifyExactly(id)},`;
  return `{"type":"Feature",${head}"geometry":${geometry},"properties":${stringifyExactly(properties)}}`;
}

export function joinFeatureTexts(features: readonly string[]): Uint8Array {
  return new Uint8Array(Buffer.from(features.join(',')));
}

/** The geometry of a row in WGS 84; `null` when it cannot be read. */
export function writeRowGeometry(row: FeatureRow, source: VectorSource): string {
  if (row.geometry === null) return 'null';
  try {
    return geometryToGeoJSON(row.geometry, { from: source.crs, to: CRS84 });
  } catch {
    return 'null';
  }
}

/** The attributes of a row as GeoJSON has them. */
export function convertAttributes(
  row: FeatureRow,
  fields: readonly Field[],
  at: (name: string) => number,
): Record<string, unknown> {
  return Object.fromEntries(
    fields.map((field) => [field.name, convertAttribute(field, row.values[at(field.name)]!)]),
  );
}

/** JSON columns come as text; bytes are written in base64. */
export function convertAttribute({ type }: Field, value: Value | Uint8Array): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if ((type !== 'json' && type !== 'array') || typeof value !== 'string') return value;
  try {
    return parseJsonExactly(value, 'all');
  } catch {
    return value;
  }
}

/** The fields of a source that a task names, in the order of the source. */
export function namedFields(source: VectorSource, names: readonly string[]): Field[] {
  return source.fields.filter(({ name }) => names.includes(name));
}
