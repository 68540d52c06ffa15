import { PbfWriter } from 'pbf';
import type { Quantisation } from '../../../core/features/features.js';
import type { Crs } from '../../../core/geometry/crs.js';
import type { EsriGeometryType } from '../../../core/geometry/geoservices-geometry.js';
import type { EsriField } from '../../../core/geoservices/geoservices-features.js';
import type { Reply } from '../../../core/http/operation.js';
import { isExactNumber, toDouble, toInt64 } from '../../../core/values/exact-number.js';
import { MAX_VARINT, writeVarint } from '../../../core/values/varints.js';
import { createSpatialReference } from '../layer-documents.js';

/** Query responses in Esri's FeatureCollection.proto. The stores write the features themselves. */

const MEDIA_TYPE = 'application/x-protobuf';
const VERSION = '1.0';

/**
 * The enumerations of FeatureCollection.proto, in order. Types from BigInteger on follow the numbering that ArcGIS
 * has added.
 */
const GEOMETRY_TYPES: readonly EsriGeometryType[] = [
  ...(['esriGeometryPoint', 'esriGeometryMultipoint', 'esriGeometryPolyline'] as const),
  'esriGeometryPolygon',
];
const NO_GEOMETRY = 127;
const FIELD_TYPES = [
  ...['SmallInteger', 'Integer', 'Single', 'Double', 'String', 'Date', 'OID', 'Geometry', 'Blob', 'Raster'],
  ...['GUID', 'GlobalID', 'XML', 'BigInteger', 'DateOnly', 'TimeOnly', 'TimestampOffset'],
].map((name) => `esriFieldType${name}`);
/** Field numbers of `Results` in a QueryResult. */
const RESULTS = { features: 1, count: 2, ids: 3 } as const;

/** Metadata before the features of a response. */
export interface FeatureResult {
  readonly idColumn: string;
  /** Undefined if the response has no geometries. */
  readonly geometryType: EsriGeometryType | undefined;
  readonly crs: Crs;
  readonly hasZ: boolean;
  readonly more: boolean;
  readonly quantisation: Quantisation;
  /** Fields of the attributes, in order. */
  readonly fields: readonly EsriField[];
}

/** `features` is the output of the writer `esri-pbf`. */
export function featuresPbf(result: FeatureResult, features: Uint8Array): Reply {
  const head = new PbfWriter();
  const { idColumn, geometryType, crs, hasZ, more, quantisation, fields } = result;
  head.writeStringField(1, idColumn);
  head.writeMessage(2, writeUniqueId, idColumn);
  head.writeVarintField(7, geometryType ? GEOMETRY_TYPES.indexOf(geometryType) : NO_GEOMETRY);
  head.writeMessage(8, writeSpatialReference, crs);
  head.writeBooleanField(9, more);
  head.writeBooleanField(10, hasZ);
  head.writeMessage(12, writeTransform, { ...quantisation, hasZ });
  for (const field of fields) head.writeMessage(13, writeField, field);
  return reply('features', head.finish(), features);
}

/** Features without geometries and ids, of values in the order of the fields. */
export function groupsPbf(
  fields: readonly Pick<EsriField, 'name' | 'type' | 'alias'>[],
  groups: readonly (readonly unknown[])[],
  more: boolean,
): Reply {
  const result = new PbfWriter();
  result.writeVarintField(7, NO_GEOMETRY);
  result.writeBooleanField(9, more);
  for (const field of fields) result.writeMessage(13, writeField, field);
  for (const values of groups) result.writeMessage(15, writeGroup, { fields, values });
  return reply('features', result.finish());
}

function writeGroup(
  { fields, values }: { fields: readonly Pick<EsriField, 'type'>[]; values: readonly unknown[] },
  message: PbfWriter,
): void {
  for (const [i, value] of values.entries())
    message.writeMessage(1, writeValue, { value, isDouble: fields[i]!.type === 'esriFieldTypeDouble' });
}

/** A value of NULL has no member. */
function writeValue({ value, isDouble }: { value: unknown; isDouble: boolean }, message: PbfWriter): void {
  if (typeof value === 'string') message.writeStringField(1, value);
  else if (typeof value === 'bigint') writeInteger(message, 8, (value << 1n) ^ (value >> 63n));
  else if (isExactNumber(value)) {
    const integer = isDouble ? undefined : toInt64(value);
    if (integer === undefined) message.writeDoubleField(3, toDouble(value));
    else writeInteger(message, 8, (integer << 1n) ^ (integer >> 63n));
  } else if (typeof value !== 'number' || !Number.isFinite(value)) return;
  else if (isDouble || !Number.isSafeInteger(value)) message.writeDoubleField(3, value);
  else message.writeSVarintField(8, value);
}

export function countPbf(count: number): Reply {
  const result = new PbfWriter();
  result.writeVarintField(1, count);
  return reply('count', result.finish());
}

/** `ids`: varints, in parts. */
export function idsPbf(idColumn: string, ids: readonly Uint8Array[]): Reply {
  const result = new PbfWriter();
  result.writeStringField(1, idColumn);
  const size = ids.reduce((sum, { length }) => sum + length, 0);
  result.writeTag(3, LENGTH_DELIMITED);
  result.writeVarint(size);
  return reply('ids', result.finish(), ...ids);
}

/** A member that is a varint. The writer of numbers would round integers of 64 bits. */
function writeInteger(message: PbfWriter, field: number, value: bigint): void {
  message.writeTag(field, VARINT);
  message.realloc(MAX_VARINT);
  message.pos = writeVarint(value, message.buf, message.pos);
}

/** Lengths first: no byte of the features is written twice. */
function reply(kind: keyof typeof RESULTS, ...parts: Uint8Array[]): Reply {
  const size = parts.reduce((sum, { length }) => sum + length, 0);
  const result = new PbfWriter();
  result.writeTag(RESULTS[kind], LENGTH_DELIMITED);
  result.writeVarint(size);
  const inner = result.finish();
  const outer = new PbfWriter();
  outer.writeStringField(1, VERSION);
  outer.writeTag(2, LENGTH_DELIMITED);
  outer.writeVarint(inner.length + size);
  const body = Buffer.concat([outer.finish(), inner, ...parts]);
  return { status: 200, mediaType: MEDIA_TYPE, body, cacheControl: 'no-store' };
}

const VARINT = 0;
const LENGTH_DELIMITED = 2;

function writeUniqueId(name: string, message: PbfWriter): void {
  message.writeStringField(1, name);
  message.writeBooleanField(2, true);
}

function writeSpatialReference(crs: Crs, message: PbfWriter): void {
  const { wkid, latestWkid } = createSpatialReference(crs);
  message.writeVarintField(1, wkid);
  message.writeVarintField(2, latestWkid);
}

function writeTransform(transform: Quantisation & { hasZ: boolean }, message: PbfWriter): void {
  message.writeVarintField(1, transform.upperLeft ? 0 : 1);
  message.writeMessage(2, writeScale, transform);
  message.writeMessage(3, writeTranslate, transform);
}

function writeScale({ scale, zScale, hasZ }: Quantisation & { hasZ: boolean }, message: PbfWriter): void {
  message.writeDoubleField(1, scale);
  message.writeDoubleField(2, scale);
  if (hasZ) message.writeDoubleField(4, zScale);
}

function writeTranslate({ x, y, hasZ }: Quantisation & { hasZ: boolean }, message: PbfWriter): void {
  message.writeDoubleField(1, x);
  message.writeDoubleField(2, y);
  if (hasZ) message.writeDoubleField(4, 0);
}

function writeField(
  { name, type, alias }: Pick<EsriField, 'name' | 'type' | 'alias'>,
  message: PbfWriter,
): void {
  message.writeStringField(1, name);
  message.writeVarintField(2, FIELD_TYPES.indexOf(type));
  message.writeStringField(3, alias);
}
