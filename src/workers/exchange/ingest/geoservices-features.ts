import { open, writeFile } from 'node:fs/promises';
import { TaskFailure } from '../../../core/errors/failure.js';
import type {
  GeoServicesField,
  GeoServicesIdsTask,
  GeoServicesLayer,
  GeoServicesPageTask,
  GeoServicesRelationship,
  GeoServicesTask,
  RemoteRequest,
} from '../../../core/exchange/ingest.js';
import type { FieldType, GeometryType } from '../../../core/sources/vector-source.js';
import { toUtcTime, writeEpochTime } from '../../../core/values/epoch-time.js';
import { isExactNumber } from '../../../core/values/exact-number.js';
import { type ExactMembers, stringifyExactly } from '../../../core/values/json.js';
import { refused } from '../../storage/remote/allowed-hosts.js';
import { parseWkid } from './discover/geoservices.js';
import { requireNoError, wellAnswered } from './discover/index.js';
import { parseRemoteGeometry } from './geoservices-geometry.js';
import { get, type RemoteAccess } from './http.js';
import {
  bigInteger,
  isObject,
  listJsonObjects,
  object,
  parseObject,
  type RemoteJson,
  readJsonInteger,
  string,
} from './json.js';
import { append, type FeatureJson } from './pages.js';

/** Layers of GeoServices: their descriptions, the ids of their features, and features by their ids. */

const GEOMETRY_TYPES: Readonly<Record<string, GeometryType>> = {
  esriGeometryPoint: 'Point',
  esriGeometryMultipoint: 'MultiPoint',
  esriGeometryPolyline: 'MultiLineString',
  esriGeometryPolygon: 'MultiPolygon',
};

const FIELD_TYPES: Readonly<Record<string, FieldType>> = {
  esriFieldTypeOID: 'integer',
  esriFieldTypeSmallInteger: 'integer',
  esriFieldTypeInteger: 'integer',
  esriFieldTypeBigInteger: 'integer',
  esriFieldTypeSingle: 'number',
  esriFieldTypeDouble: 'number',
  esriFieldTypeString: 'string',
  esriFieldTypeGUID: 'string',
  esriFieldTypeGlobalID: 'string',
  esriFieldTypeXML: 'string',
  esriFieldTypeTimeOnly: 'string',
  esriFieldTypeDateOnly: 'date',
  esriFieldTypeDate: 'date-time',
  esriFieldTypeTimestampOffset: 'date-time',
};

/** Characters of the name of a relationship. */
const NAME = 256;
/** Number of features of a page if the server does not state its limit. */
const PAGE = 1000;

/** Codes of domains, and values of renderers. */
const EXACT_MEMBERS = ['domain', 'value'];

/** Task `ingest.geoservicesLayer`. */
export async function describeLayer(task: GeoServicesTask, asking: RemoteAccess): Promise<GeoServicesLayer> {
  const layer = await askLayer(task, '', {}, asking, EXACT_MEMBERS);
  const type = string(layer['type']);
  const isTable = type === 'Table';
  const geometryType = isTable ? 'Geometry' : GEOMETRY_TYPES[String(layer['geometryType'])];
  if (!(isTable || type === 'Feature Layer') || geometryType === undefined)
    throw refused(
      `it is a ${(type ?? 'resource').slice(0, 40)} of ${String(layer['geometryType'] ?? 'no geometry').slice(0, 40)}`,
    );
  const fields = listJsonObjects(layer['fields']);
  const objectIdField =
    string(layer['objectIdField']) ??
    string(fields.find((field) => field['type'] === 'esriFieldTypeOID')?.['name']);
  if (objectIdField === undefined) throw refused('the layer has no field of object ids');
  const { count } = await askLayer(task, '/query', { where: task.where, returnCountOnly: 'true' }, asking);
  const total = readJsonInteger(count);
  if (total === undefined || total < 0) throw refused('it does not count the features of the layer');
  const isReadable = (field: RemoteJson) => FIELD_TYPES[String(field['type'])] !== undefined;
  const others = fields.filter((field) => !isReadable(field) && field['type'] !== 'esriFieldTypeGeometry');
  return {
    name: string(layer['name']) ?? 'layer',
    description: string(layer['description']),
    geometryType,
    hasZ: !isTable && layer['hasZ'] === true,
    isTable,
    hasAttachments: layer['hasAttachments'] === true,
    objectIdField,
    fields: fields.filter(isReadable).flatMap(readField),
    unreadable: others.flatMap((field) => string(field['name']) ?? []),
    drawingInfo: isObject(layer['drawingInfo']) ? layer['drawingInfo'] : undefined,
    relationships: listJsonObjects(layer['relationships']).map(readRelationship),
    srid:
      parseWkid(layer['sourceSpatialReference']) ?? parseWkid(object(layer['extent'])['spatialReference']),
    maxRecordCount: Math.max(1, readJsonInteger(layer['maxRecordCount']) ?? PAGE),
    count: total,
  };
}

function readField(field: RemoteJson): GeoServicesField[] {
  const name = string(field['name']);
  if (name === undefined) return [];
  const type = FIELD_TYPES[String(field['type'])]!;
  const domain = isObject(field['domain']) ? { domain: field['domain'] } : {};
  return [{ name, alias: string(field['alias']), type, ...domain }];
}

const CARDINALITIES: Readonly<Record<string, GeoServicesRelationship['cardinality']>> = {
  esriRelCardinalityOneToOne: 'one-to-one',
  esriRelCardinalityOneToMany: 'one-to-many',
  esriRelCardinalityManyToMany: 'many-to-many',
};

function readRelationship(one: RemoteJson): GeoServicesRelationship {
  const id = readJsonInteger(one['id']) ?? -1;
  return {
    id,
    name: (string(one['name']) ?? String(id)).slice(0, NAME),
    relatedLayerId: readJsonInteger(one['relatedTableId']) ?? -1,
    cardinality: CARDINALITIES[String(one['cardinality'])] ?? 'one-to-many',
    role: one['role'] === 'esriRelRoleDestination' ? 'destination' : 'origin',
    keyField: string(one['keyField']) ?? '',
  };
}

/** Task `ingest.geoservicesIds`. */
export async function listIds(task: GeoServicesIdsTask, asking: RemoteAccess): Promise<number> {
  const form = { where: task.where, returnIdsOnly: 'true' };
  const { objectIds } = await askLayer(task, '/query', form, asking, ['objectIds']);
  const ids = objectIds === null ? [] : objectIds;
  if (!Array.isArray(ids)) throw refused('it does not list object ids');
  const sorted = BigInt64Array.from(ids, (id) => {
    const value = bigInteger(id);
    if (value === undefined) throw refused('it does not list object ids');
    return value;
  }).sort();
  if (sorted.some((id, i) => i > 0 && id === sorted[i - 1])) throw refused('it lists an object id twice');
  await writeFile(task.idsPath, sorted);
  return sorted.length;
}

/** Task `ingest.geoservicesPage`: appends the features of some ids to a file, in the order of the ids. */
export async function appendGeoServicesPage(
  task: GeoServicesPageTask,
  asking: RemoteAccess,
): Promise<{ offset: number; count: number }> {
  const ids = await readIds(task);
  const features = new Map<bigint, FeatureJson>();
  // A server that returns fewer features than requested receives a request for the rest, independent of its stated
  // limit.
  for (let rest = [...ids]; rest.length > 0; ) {
    const page = await query(task, rest, asking);
    for (const [id, feature] of page) {
      if (features.has(id)) throw refused(`it returned the feature ${id} twice`);
      features.set(id, feature);
    }
    const left = rest.filter((id) => !features.has(id));
    if (left.length === rest.length)
      throw refused(`it lists the feature ${rest[0]}, but does not return it (${rest.length} are missing)`);
    rest = left;
  }
  const { offset, count } = await append(
    task.output,
    task.offset,
    [...ids].map((id) => features.get(id)!),
  );
  return { offset, count };
}

async function readIds({ idsPath, from, count }: GeoServicesPageTask): Promise<BigInt64Array> {
  const ids = new BigInt64Array(count);
  const file = await open(idsPath);
  try {
    const { bytesRead } = await file.read(new Uint8Array(ids.buffer), 0, ids.byteLength, from * 8);
    return ids.subarray(0, bytesRead / 8);
  } finally {
    await file.close();
  }
}

async function query(
  task: GeoServicesPageTask,
  ids: readonly bigint[],
  asking: RemoteAccess,
): Promise<[bigint, FeatureJson][]> {
  const { columns, objectIdField, hasZ, isTable, srid } = task;
  const page = await askLayer(
    task,
    '/query',
    {
      objectIds: ids.join(','),
      outFields: [...new Set([objectIdField, ...columns.map(({ field }) => field)])].join(','),
      ...(isTable
        ? { returnGeometry: 'false' }
        : {
            returnGeometry: 'true',
            returnZ: String(hasZ),
            returnM: 'false',
            returnTrueCurves: 'false',
            outSR: String(srid),
          }),
    },
    asking,
    ['attributes'],
  );
  if (!Array.isArray(page['features'])) throw refused('a page has no features');
  if (!isTable) requireWkid(page, srid);
  const pending = new Set(ids);
  return listJsonObjects(page['features']).map((feature) => {
    const id = bigInteger(object(feature['attributes'])[objectIdField]);
    if (id === undefined || !pending.delete(id))
      throw refused(
        `a page has the feature ${id ?? 'without an id'}, which was not requested, or has it twice`,
      );
    return [id, parseFeature(feature, id, task)];
  });
}

/** A server that ignores outSR returns coordinates in another CRS, and names it. */
export function requireWkid(page: RemoteJson, srid: number): void {
  const code = parseWkid(page['spatialReference']);
  if (code !== undefined && code !== srid) throw refused(`it returned EPSG:${code}, not EPSG:${srid}`);
  if (code === undefined && (page['features'] as unknown[]).length > 0)
    throw refused('its response has no coordinate reference system');
}

/** A feature of a response as GeoJSON. */
export function parseFeature(
  feature: RemoteJson,
  id: bigint,
  { columns, hasZ, isTable }: Pick<GeoServicesPageTask, 'columns' | 'hasZ' | 'isTable'>,
): FeatureJson {
  const attributes = object(feature['attributes']);
  const properties: Record<string, unknown> = {};
  for (const { name, field, type } of columns)
    properties[name] = readAttribute(attributes[field], type, field);
  return {
    id: String(id),
    geometry: JSON.stringify(isTable ? null : parseRemoteGeometry(feature['geometry'], hasZ)),
    properties: stringifyExactly(properties),
  };
}

function readAttribute(value: unknown, type: FieldType, field: string): unknown {
  if (value === null || value === undefined) return null;
  if (type === 'string') return typeof value === 'string' ? value : stringifyExactly(value);
  if (type === 'date') return String(value);
  if (type === 'date-time') return formatInstant(value, field);
  // NaN and infinity are texts.
  if (typeof value === 'string' && /^(NaN|-?Infinity)$/i.test(value)) return null;
  if (Number.isSafeInteger(value)) return value;
  const number = type === 'integer' ? bigInteger(value) : value;
  if (
    number === undefined ||
    (typeof number !== 'bigint' && typeof number !== 'number' && !isExactNumber(number))
  )
    throw refused(`the value of ${field} is not of the type ${type}`);
  return number;
}

/** Dates are milliseconds since 1970, or text. */
function formatInstant(value: unknown, field: string): string {
  const isNumber = typeof value === 'number' || isExactNumber(value);
  const time = isNumber ? writeEpochTime(value) : toUtcTime(String(value));
  if (time === undefined) throw refused(`the value of ${field} is not a date`);
  return time;
}

/**
 * Sends a form to a resource below the layer. Numbers in the exact members can be `ExactNumber`s. Temporary failures
 * are `store-unavailable`, in all forms in which servers report them.
 */
export async function askLayer(
  { url: text, timeoutMs, headers }: RemoteRequest,
  path: string,
  parameters: Readonly<Record<string, string>>,
  asking: RemoteAccess,
  exact: ExactMembers = [],
): Promise<RemoteJson> {
  const url = new URL(text);
  url.pathname += path;
  const form = { ...Object.fromEntries(url.searchParams), ...parameters, f: 'json' };
  url.search = '';
  const accept = { accept: 'application/json', ...headers };
  const answer = await get({ url: url.href, timeoutMs, headers: accept, form }, asking);
  const document = parseObject(wellAnswered(answer, url.href).bytes, exact);
  const code = readJsonInteger(object(document['error'])['code']);
  if (code !== undefined && (code >= 500 || code === 429))
    throw new TaskFailure('store-unavailable', `${url.host} returned ${code}.`);
  requireNoError(document);
  return document;
}
