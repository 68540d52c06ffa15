import { badParameter } from '../../core/errors/errors.js';
import { GEOJSON_GEOMETRIES } from '../../core/geometry/geojson-types.js';
import { PROCESS_LIMITS } from '../../core/processes/limits.js';
import { stringifyExactly } from '../../core/values/json.js';
import { plainText } from '../../core/values/percent.js';
import { formatFeatureSet } from '../geoservices/feature-set.js';
import { parseSourceUrl } from '../uploads/remote-file.js';

/** Features or a raster in a request: by value, by reference, or a collection. */
export type SourceValue =
  /** GeoJSON, or a feature set of GeoServices. */
  | { kind: 'inline'; text: string; isFeatureSet?: true }
  /** A GeoTIFF in base64. */
  | { kind: 'inline-raster'; base64: string }
  | CollectionReference
  /** An output of another job. */
  | { kind: 'result'; jobId: string; output: string }
  /** A file of another server, of any format that is imported. */
  | { kind: 'remote'; url: string }
  /** An output of an earlier step of the same plan. */
  | { kind: 'step'; step: string; output: string };

export interface CollectionReference {
  kind: 'collection';
  id: string;
  filter?: unknown;
  filterLang: 'cql2-text' | 'cql2-json';
  /** Number of the registered raster of the collection to read. Default: all rasters. */
  raster?: number;
}

/**
 * Source in the form that jobs store. `file` is GeoJSON or a GeoTIFF in the request, `spool` the output of a step of
 * the job.
 */
export type SourceReference =
  | Exclude<SourceValue, { kind: 'inline' | 'inline-raster' }>
  | { kind: 'file'; path: string; isFeatureSet?: true }
  | { kind: 'spool'; path: string };

const TYPES: ReadonlySet<string> = new Set(['FeatureCollection', 'Feature', ...GEOJSON_GEOMETRIES]);

const RESULT_PATH = /^\/ogc\/processes\/jobs\/([\w-]+)\/results(?:\/([\w.-]+))?\/?(?:\?.*)?$/;
const COLLECTION_PATH = /^\/ogc\/(?:features|coverages)\/collections\/([^/?#]+)(?:\/(?:items|coverage))?\/?$/;

/** Throws 400 naming the input. Text is GeoJSON, which is read when the job runs. */
export function parseFeaturesInput(name: string, value: unknown, baseUrl: string): SourceValue {
  const at = `/inputs/${name}`;
  const text = typeof value === 'string' ? plainGeoJson(value) : undefined;
  if (text !== undefined) return { kind: 'inline', text };
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badParameter(at, 'must be GeoJSON, a link, or a collection');
  const members = value as Record<string, unknown>;
  // Features may have foreign members of any name.
  if (TYPES.has(String(members['type']))) {
    if (members['type'] === 'FeatureCollection' && !Array.isArray(members['features']))
      throw badParameter(`${at}/features`, 'must be an array');
    return { kind: 'inline', text: stringifyExactly(value) };
  }
  if (members['type'] === undefined && Array.isArray(members['features']))
    return { kind: 'inline', text: formatFeatureSet(`${at}/features`, members), isFeatureSet: true };
  if (typeof members['collection'] === 'string') return collectionReference(at, members, baseUrl);
  if (typeof members['href'] === 'string') return linkTo(at, members['href'], baseUrl);
  throw badParameter(
    at,
    'must be GeoJSON (a FeatureCollection, a Feature, a geometry), a link, or a collection',
  );
}

/** Text that is GeoJSON, or GeoJSON in base64; undefined for all other. */
function plainGeoJson(text: string): string | undefined {
  if (/^\s*\{/.test(text)) return text;
  // In base64, `{` starts with this letter.
  if (!text.startsWith('e') || !isBase64(text)) return undefined;
  const decoded = Buffer.from(text, 'base64').toString();
  return /^\s*\{/.test(decoded) ? decoded : undefined;
}

const isBase64 = (text: string) => /^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(text);

/** First characters of a TIFF or BigTIFF in base64, for both byte orders. */
const TIFF = /^(?:SUkqA|SUkrA|TU0AK)/;

/** Reads a raster input: a GeoTIFF in base64, a collection, or the result of another job. */
export function readRaster(name: string, value: unknown, baseUrl: string): SourceValue {
  const at = `/inputs/${name}`;
  if (typeof value === 'string' && TIFF.test(value) && isBase64(value))
    return { kind: 'inline-raster', base64: value };
  const { collection, href, filter, raster } = (
    typeof value === 'object' && value !== null ? value : {}
  ) as Record<string, unknown>;
  if (filter !== undefined) throw badParameter(`${at}/filter`, 'is only for features');
  if (raster !== undefined && !Number.isSafeInteger(raster))
    throw badParameter(`${at}/raster`, 'must be the number of a registered raster');
  if (typeof collection === 'string')
    return {
      ...collectionReference(at, { collection }, baseUrl),
      ...(raster === undefined ? {} : { raster: raster as number }),
    };
  const sent = typeof href === 'string' ? linkTo(at, href, baseUrl) : undefined;
  if (sent?.kind === 'result' || sent?.kind === 'collection') return sent;
  throw badParameter(
    at,
    'must be a collection of this server, the results of another job, or a GeoTIFF in base64',
  );
}

/** A list of rasters, by the names that their JSON pointers have. */
export function readRasters(
  name: string,
  value: unknown,
  baseUrl: string,
  steps: Readonly<Record<string, SourceValue>> = {},
): Record<string, SourceValue> {
  if (!Array.isArray(value) || value.length === 0 || value.length > PROCESS_LIMITS.processRasters)
    throw badParameter(`/inputs/${name}`, `must be a list of 1 to ${PROCESS_LIMITS.processRasters} rasters`);
  const names = value.map((_, i) => `${name}/${i}`);
  return Object.fromEntries(names.map((one, i) => [one, steps[one] ?? readRaster(one, value[i], baseUrl)]));
}

function collectionReference(
  at: string,
  members: Record<string, unknown>,
  baseUrl: string,
): CollectionReference {
  const name = String(members['collection']);
  const path = name.startsWith(`${baseUrl}/`) ? COLLECTION_PATH.exec(name.slice(baseUrl.length)) : undefined;
  if (/^https?:/i.test(name) && !path)
    throw badParameter(
      `${at}/collection`,
      'must be a collection of this server. Import the collection of another server first',
    );
  const language =
    members['filter-lang'] ?? (typeof members['filter'] === 'object' ? 'cql2-json' : 'cql2-text');
  if (language !== 'cql2-text' && language !== 'cql2-json')
    throw badParameter(`${at}/filter-lang`, 'must be cql2-text or cql2-json');
  const filter = members['filter'];
  return {
    kind: 'collection',
    id: path ? plainText(path[1]!) : name,
    filterLang: language,
    ...(filter === undefined || filter === '' ? {} : { filter }),
  };
}

function linkTo(at: string, href: string, baseUrl: string): SourceValue {
  const path = href.startsWith(`${baseUrl}/`) ? href.slice(baseUrl.length) : '';
  const result = RESULT_PATH.exec(path);
  if (result) return { kind: 'result', jobId: result[1]!, output: result[2] ?? 'features' };
  const collection = COLLECTION_PATH.exec(path);
  if (collection) return { kind: 'collection', id: plainText(collection[1]!), filterLang: 'cql2-text' };
  return { kind: 'remote', url: parseSourceUrl(`${at}/href`, href).href };
}
