import { plainFields } from '../../../core/access/field-masks.js';
import { readable, type VectorCollection } from '../../../core/catalog/collection.js';
import { and } from '../../../core/cql2/index.js';
import { badParameter } from '../../../core/errors/errors.js';
import type { FeatureQuery, ItemsTask, SortKey } from '../../../core/features/features.js';
import { type Crs, coordinatePrecision, defaultCrs } from '../../../core/geometry/crs.js';
import { findEsriGeometryType } from '../../../core/geoservices/geoservices-features.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { Field } from '../../../core/sources/vector-source.js';
import { geoServicesFilter } from '../../../services/geoservices/filter.js';
import { spatialReference } from '../../../services/geoservices/geometry.js';
import { scalarNumber } from '../../../services/geoservices/scalar.js';
import { esriLayer } from '../../../services/replicas/layer-view.js';
import { layerCrs } from '../layer-documents.js';
import { GEOSERVICES_LIMITS } from '../limits.js';
import {
  type Members,
  readChoiceMember,
  readFlagMember,
  readIntegerMember,
  readTextMember,
} from '../members.js';
import { fullQuantization, readQuantization } from './quantization.js';

/** Parameters of a layer query. Each reader throws 400 with the name of the parameter. */

export const QUERY_FORMATS = ['json', 'pjson', 'geojson', 'pbf'] as const;
export type QueryFormat = (typeof QUERY_FORMATS)[number];

export interface QueryRequest {
  readonly format: QueryFormat;
  /** Kind of result. */
  readonly answer: 'features' | 'count' | 'ids' | 'extent';
  /** With `extent`: also how many there are. */
  readonly counts: boolean;
  readonly query: FeatureQuery;
  readonly crs: Crs;
  /** Fields in the response, in the order of the layer. */
  readonly fields: readonly Field[];
  readonly task: ItemsTask;
  /** Whether a page without all matching features omits its features. */
  readonly wholeOnly: boolean;
}

const MAX_TEXT = 200;
export const MAX_FIELDS = 8000;
const MAX_DECIMALS = 15;
const MAX_KEYS = 10;

/** Unsupported parameters that change the result: they are refused if they have a value. */
const UNSUPPORTED = [
  ...['gdbVersion', 'historicMoment', 'relationParam', 'parameterValues', 'rangeValues', 'fullText'],
  'datumTransformation',
];
const UNSUPPORTED_FLAGS = ['returnM', 'returnTrueCurves'];

/** The features that a query is about. */
export function readFeatureQuery(layer: VectorCollection, members: Members): FeatureQuery {
  requireSupported(members);
  const { source, filter: rows } = readable(layer);
  const filter = and(rows, parseQueryFilter(layer, members));
  return { source, filter };
}

export function queryRequest(layer: VectorCollection, members: Members): QueryRequest {
  const query = readFeatureQuery(layer, members);
  const format = readChoiceMember(members, 'f', { values: QUERY_FORMATS, fallback: 'json' });
  const { fields: names } = readable(layer);
  const crs = outCrs(layer, members, format);
  const fieldNames = readTextMember(members, 'outFields', MAX_FIELDS);
  const fields = outFields(layer, fieldNames);
  const sort = buildSort(layer, readTextMember(members, 'orderByFields', MAX_FIELDS));
  const isWhole = names === undefined && fields === layer.source.fields;
  const countOnly = readFlagMember(members, 'returnCountOnly', false);
  const extentOnly = readFlagMember(members, 'returnExtentOnly', false);
  if (extentOnly && format === 'pbf')
    throw badParameter('f', 'cannot be pbf with returnExtentOnly. Use json');
  return {
    format,
    query,
    crs,
    fields,
    answer: buildAnswer(readFlagMember(members, 'returnIdsOnly', false), countOnly, extentOnly),
    counts: countOnly,
    wholeOnly: !readFlagMember(members, 'returnExceededLimitFeatures', true),
    task: {
      ...query,
      format: WRITERS[format],
      // GeoServices JSON and pbf write the id among the attributes in any case.
      ...(format === 'geojson' && asksForId(layer, fieldNames) ? { idProperty: layer.source.idColumn } : {}),
      crs: crs.proj,
      swapAxes: false,
      precision: readPrecision(members, crs),
      tolerance: readTolerance(members),
      z: readFlagMember(members, 'returnZ', false) && esriLayer(layer).hasZ,
      ...numbersOfAnswer(members, crs, format),
      // Clients have no type for layers of mixed geometries: only GeoJSON can represent them.
      skipGeometry:
        !readFlagMember(members, 'returnGeometry', true) ||
        (format !== 'geojson' && findEsriGeometryType(esriLayer(layer)) === undefined),
      ...(isWhole ? {} : { fields: fields.map(({ name }) => name) }),
      ...(sort.length > 0 ? { sort } : {}),
      limit: readRecordLimit(members),
      offset: readIntegerMember(members, 'resultOffset') ?? 0,
      maxBytes: LIMITS.geoServicesBytes,
    },
  };
}

const WRITERS = { json: 'esri-json', pjson: 'esri-json', geojson: 'geojson', pbf: 'esri-pbf' } as const;

/** Quantisation and centroids of the response. */
function numbersOfAnswer(
  members: Members,
  crs: Crs,
  format: QueryFormat,
): Pick<ItemsTask, 'centroid' | 'quantisation'> {
  const centroid = readFlagMember(members, 'returnCentroid', false);
  if (centroid && format === 'geojson')
    throw badParameter('returnCentroid', 'is not supported with f=geojson. Use f=json');
  const decimals = readPrecision(members, crs);
  const quantisation =
    readQuantization(members, crs, decimals) ??
    (format === 'pbf' ? fullQuantization(crs, decimals) : undefined);
  return { ...(centroid ? { centroid } : {}), ...(quantisation ? { quantisation } : {}) };
}

/** Without `resultRecordCount`, `resultType` and `maxRecordCountFactor` determine the limit. */
export function readRecordLimit(members: Members): number {
  const type = readChoiceMember(members, 'resultType', {
    values: ['none', 'standard', 'tile'],
    fallback: 'none',
  });
  const factor = readIntegerMember(members, 'maxRecordCountFactor') ?? 1;
  const max = GEOSERVICES_LIMITS.geoServicesRecordsMax;
  const usual = type === 'none' ? GEOSERVICES_LIMITS.geoServicesRecords * Math.max(factor, 1) : max;
  return Math.min(readIntegerMember(members, 'resultRecordCount') || usual, max);
}

function requireSupported(members: Members): void {
  const says = (name: string) => ![undefined, null, ''].includes(members[name] as string | null | undefined);
  const name =
    UNSUPPORTED.find(says) ?? UNSUPPORTED_FLAGS.find((flag) => readFlagMember(members, flag, false));
  if (name !== undefined) throw badParameter(name, 'is not supported');
}

function buildAnswer(ids: boolean, count: boolean, extent: boolean): QueryRequest['answer'] {
  if (extent) return 'extent';
  if (count) return 'count';
  return ids ? 'ids' : 'features';
}

/** The parameters of a query that say which features there are. Throws 400 naming the one that is wrong. */
export function parseQueryFilter(layer: VectorCollection, members: Members) {
  const { source } = layer;
  const schema = { ...source, fields: plainFields(source.fields), filterCrs: defaultCrs(layer) };
  const text = (name: string, max: number) => {
    const value = readTextMember(members, name, max);
    return value === undefined ? {} : { [name]: value };
  };
  return geoServicesFilter(
    {
      ...text('where', LIMITS.geoServicesWhere),
      now: Date.now(),
      objectIds: members['objectIds'],
      ...text('geometryType', MAX_TEXT),
      ...text('spatialRel', MAX_TEXT),
      reach: { ...text('distance', MAX_TEXT), ...text('units', MAX_TEXT) },
      ...text('time', MAX_TEXT),
      ...text('timeRelation', MAX_TEXT),
      geometry: members['geometry'],
      inSR: members['inSR'],
    },
    schema,
    layerCrs(layer),
  );
}

/** GeoJSON is in WGS 84 unless another CRS is requested, as RFC 7946 requires. */
function outCrs(layer: VectorCollection, members: Members, format: QueryFormat): Crs {
  const value = members['outSR'];
  if (value !== undefined && value !== null && value !== '') return spatialReference('outSR', value);
  return format === 'geojson' ? defaultCrs(layer) : layerCrs(layer);
}

function outFields({ source }: VectorCollection, text: string | undefined): readonly Field[] {
  if (text === undefined || text.trim() === '*') return text === undefined ? [] : source.fields;
  const names = new Map(source.fields.map((field) => [field.name.toLowerCase(), field]));
  names.set(source.idColumn.toLowerCase(), undefined as never);
  const choice = new Set<Field>();
  for (const part of text.split(',')) {
    const name = fieldName(part);
    if (name === '*') return source.fields;
    if (!names.has(name))
      throw badParameter('outFields', `'${part.trim().slice(0, 60)}' is not a field of the layer`);
    const field = names.get(name);
    if (field) choice.add(field);
  }
  return source.fields.filter((field) => choice.has(field));
}

/** A name of `outFields` without its quotes, in lower case. */
const fieldName = (part: string) =>
  part
    .trim()
    .replace(/^"(.*)"$/, '$1')
    .toLowerCase();

function asksForId({ source }: VectorCollection, text = ''): boolean {
  const names = text.split(',').map(fieldName);
  return names.includes('*') || names.includes(source.idColumn.toLowerCase());
}

function buildSort({ source }: VectorCollection, text: string | undefined): SortKey[] {
  if (text === undefined) return [];
  const fields = plainFields(source.fields).filter(({ type }) => !['json', 'array', 'binary'].includes(type));
  const sortable = new Map(fields.map(({ name }) => [name.toLowerCase(), name]));
  sortable.set(source.idColumn.toLowerCase(), source.idColumn);
  const keys = orderKeys(text, sortable);
  // The order of the id, which is that of every page.
  const isById = keys.length === 1 && keys[0]!.field === source.idColumn && !keys[0]!.descending;
  return isById ? [] : keys;
}

/** `NAME DESC, ...`. `sortable` has what may be named, by its name in lower case. */
export function orderKeys(
  text: string | undefined,
  sortable: ReadonlyMap<string, string>,
  parameter = 'orderByFields',
): SortKey[] {
  if (text === undefined || text.trim() === '') return [];
  const keys = text.split(',').map((part) => {
    const [, quoted, plain, order = ''] = /^\s*(?:"([^"]+)"|(\S+))(?:\s+(asc|desc))?\s*$/i.exec(part) ?? [];
    const field = sortable.get((quoted ?? plain ?? '').toLowerCase());
    if (field === undefined) {
      const key = part.trim().slice(0, 60);
      throw badParameter(
        parameter,
        `'${key}' is not a sort key. Use a sortable field, optionally followed by ASC or DESC`,
      );
    }
    return { field, descending: order.toLowerCase() === 'desc' };
  });
  if (keys.length > MAX_KEYS) throw badParameter(parameter, `must name at most ${MAX_KEYS} fields`);
  return keys;
}

/** Tolerance from `maxAllowableOffset`, in units of `outSR`; 0 keeps all positions. */
function readTolerance(members: Members): number {
  const name = 'maxAllowableOffset';
  const value = members[name];
  if (value === undefined || value === null || value === '') return 0;
  const tolerance = scalarNumber(name, value);
  if (!(tolerance >= 0 && tolerance < Number.POSITIVE_INFINITY))
    throw badParameter(name, 'must be a number of at least 0');
  return tolerance;
}

function readPrecision(members: Members, crs: Crs): number {
  const decimals = readIntegerMember(members, 'geometryPrecision');
  if (decimals === undefined) return coordinatePrecision(crs);
  return Math.min(decimals, MAX_DECIMALS);
}
