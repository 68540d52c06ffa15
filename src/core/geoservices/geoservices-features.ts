import type { Geometry, Position } from 'geojson';
import type { FeatureText } from '../edits/feature-text.js';
import {
  createEsriGeometry,
  type EsriGeometryType,
  esriGeometryType,
  parseEsriGeometry,
} from '../geometry/geoservices-geometry.js';
import type { Field, FieldType, GeometryType } from '../sources/vector-source.js';
import { writeEpochTime } from '../values/epoch-time.js';
import { isExactNumber } from '../values/exact-number.js';
import { parseJsonExactly, stringifyExactly } from '../values/json.js';
import { type JsonText, membersIn, readJsonText } from '../values/json-text.js';
import { type ObjectId, readObjectId } from '../values/object-id.js';

/** Features and fields of GeoServices JSON, in requests and responses. */

/** Layer properties that determine the form of its features. */
export interface EsriLayer {
  readonly idColumn: string;
  readonly geometryType: GeometryType;
  readonly hasZ: boolean;
  /** Fields as described to the caller. */
  readonly fields: readonly Field[];
}

export interface EsriFeature {
  attributes: Record<string, unknown>;
  geometry?: Record<string, unknown> | null;
}

/** Features as the writer of `esri-json` gives them, with the digits of all numbers. */
export function featuresIn(page: Uint8Array): EsriFeature[] {
  return parseJsonExactly(`[${Buffer.from(page).toString()}]`, 'all') as EsriFeature[];
}

export function esriFeature(text: FeatureText, layer: EsriLayer, wkid: number): EsriFeature {
  const properties = membersIn(text.properties)!;
  const attributes: Record<string, unknown> = { [layer.idColumn]: readObjectId(text.id) ?? null };
  for (const field of layer.fields) {
    const json = properties.get(field.name);
    if (json !== undefined) attributes[field.name] = esriValueIn(json, field.type);
  }
  const geometry = JSON.parse(text.geometry) as Geometry | null;
  return { attributes, geometry: geometry && createEsriGeometry(geometry, wkid) };
}

/** The value of a JSON text; what GeoServices have no type for stays the text. */
function esriValueIn(json: JsonText, type: FieldType): unknown {
  if (/^[[{]/.test(json)) return json;
  const value = parseJsonExactly(json, 'all');
  // In replicas, integers beyond 2^53 are strings.
  return isExactNumber(value) && /^-?\d+$/.test(String(value)) ? String(value) : esriValue(value, type);
}

/** Instants and days are milliseconds since 1970, booleans 0 and 1, and what GeoServices have no type for is its JSON text. */
export function esriValue(value: unknown, type: FieldType): unknown {
  if (value === null || value === undefined) return null;
  if (type === 'date-time' || type === 'date') return readMilliseconds(value);
  if (type === 'boolean') return value ? 1 : 0;
  if (isExactNumber(value)) return value;
  return typeof value === 'object' ? stringifyExactly(value) : value;
}

/** GeoPackage values that are not dates remain unchanged. A null would be a change when the client sends it back. */
function readMilliseconds(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const milliseconds = Date.parse(value);
  return Number.isNaN(milliseconds) ? value : milliseconds;
}

/**
 * `date` is not `esriFieldTypeDateOnly`, because clients that do not support this type (ArcGIS 11.2) would drop the
 * field.
 */
const TYPES: Readonly<Record<FieldType, string>> = {
  integer: 'esriFieldTypeBigInteger',
  number: 'esriFieldTypeDouble',
  string: 'esriFieldTypeString',
  boolean: 'esriFieldTypeSmallInteger',
  date: 'esriFieldTypeDate',
  'date-time': 'esriFieldTypeDate',
  binary: 'esriFieldTypeString',
  json: 'esriFieldTypeString',
  array: 'esriFieldTypeString',
};

/** Clients older than `esriFieldTypeBigInteger` read integers that fit 32 bits. */
const NARROW: Readonly<Record<string, string>> = {
  integer8: 'esriFieldTypeSmallInteger',
  integer16: 'esriFieldTypeSmallInteger',
  integer32: 'esriFieldTypeInteger',
  number32: 'esriFieldTypeSingle',
};

export interface EsriField {
  name: string;
  type: string;
  alias: string;
  nullable: boolean;
  editable: boolean;
  length?: number;
}

/** The key of a layer, then its fields. */
export function esriFields({ idColumn, fields }: EsriLayer): EsriField[] {
  const key = { name: idColumn, type: 'esriFieldTypeOID', alias: idColumn, nullable: false, editable: false };
  return [key, ...fields.map(createEsriField)];
}

export function createEsriField(field: Field): EsriField {
  const { name, title = name, type, nullable, maxLength } = field;
  return {
    name,
    type: NARROW[`${type}${field.bits}`] ?? TYPES[type],
    alias: title,
    nullable,
    editable: !field.generated && !field.isMasked,
    ...(maxLength === undefined ? {} : { length: maxLength }),
  };
}

export const findEsriGeometryType = ({ geometryType }: EsriLayer): EsriGeometryType | undefined =>
  esriGeometryType(geometryType);

/** A feature as a client sent it: its key, where it has one, and what it says. */
export interface SentFeature {
  readonly id: ObjectId | undefined;
  /** Attributes as JSON text, as in `FeatureInput`. */
  readonly values: Readonly<Record<string, JsonText>>;
  /** Undefined if the request does not contain a geometry. */
  readonly geometry: Geometry | null | undefined;
}

/**
 * Parses attributes and geometry of a feature. Values that do not fit their field are left for the store to reject.
 * Throws `GeoServicesGeometryError`.
 */
export function sentFeature(feature: EsriFeature, layer: EsriLayer): SentFeature {
  const fields = new Map(layer.fields.map((field) => [field.name, field]));
  const values: Record<string, JsonText> = {};
  let id: ObjectId | undefined;
  for (const [name, value] of Object.entries(feature.attributes)) {
    const field = fields.get(name);
    if (name === layer.idColumn) id = readObjectId(value);
    else values[name] = field ? storedValue(value, field.type) : stringifyExactly(value);
  }
  const { geometry } = feature;
  return {
    id,
    values,
    geometry: geometry === undefined ? undefined : sentGeometry(geometry, layer),
  };
}

/** An empty geometry is not the same as none. */
function sentGeometry(geometry: EsriFeature['geometry'], layer: EsriLayer): Geometry | null {
  const read = fitting(parseEsriGeometry(geometry, layer.hasZ), layer);
  if (read !== null || geometry === null || geometry === undefined) return read;
  const [, type = 'Point'] = MULTI_TYPES.find(([member]) => member in geometry) ?? [];
  const isSingle = type === `Multi${layer.geometryType}`;
  return { type: isSingle ? layer.geometryType : type, coordinates: [] } as unknown as Geometry;
}

const MULTI_TYPES = [
  ['points', 'MultiPoint'],
  ['paths', 'MultiLineString'],
  ['rings', 'MultiPolygon'],
] as const;

function storedValue(value: unknown, type: FieldType): JsonText {
  const isTime = type === 'date-time' || type === 'date';
  const text = isTime && typeof value === 'number' ? writeEpochTime(value) : undefined;
  if (text !== undefined) return JSON.stringify(type === 'date' ? text.split('T')[0] : text);
  if (type === 'boolean' && (value === 0 || value === 1)) return String(value === 1);
  if ((type === 'json' || type === 'array') && typeof value === 'string')
    return readJsonText(value) ?? JSON.stringify(value);
  return stringifyExactly(value);
}

/** Converts a multi geometry of one part to a single geometry, unless the layer requires multi geometries. */
function fitting(geometry: Geometry | null, { geometryType }: EsriLayer): Geometry | null {
  if (!geometry?.type.startsWith('Multi') || geometryType.startsWith('Multi')) return geometry;
  const { coordinates } = geometry as { coordinates: Position[] };
  if (coordinates.length !== 1) return geometry;
  return { type: geometry.type.slice('Multi'.length), coordinates: coordinates[0] } as unknown as Geometry;
}
