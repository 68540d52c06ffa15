import { plainFields } from '../../../core/access/field-masks.js';
import { readable, type VectorCollection } from '../../../core/catalog/collection.js';
import { and, bboxFilter } from '../../../core/cql2/index.js';
import { ApiError, badParameter } from '../../../core/errors/errors.js';
import type { FeatureQuery, ItemsTask } from '../../../core/features/features.js';
import type { Box } from '../../../core/geometry/box.js';
import { CRS84, type Crs, defaultCrs, normaliseBox, requireReachable } from '../../../core/geometry/crs.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { type Field, hasIntegerIds } from '../../../core/sources/vector-source.js';
import { resolveCrs } from '../../../native/crs.js';
import {
  type FeatureSelection,
  chosenFields as findFields,
  selectFeatures,
} from '../../features/selection.js';
import type { CollectionView } from '../../features/view.js';
import { geoServicesFilter } from '../../geoservices/filter.js';
import { type ExportFormat, type ExportName, getExportFormat } from './formats.js';

/** Parameters of an export request. */
export interface ExportRequest {
  format: ExportName;
  /** A condition in SQL. */
  where?: string;
  /** Longitudes and latitudes, or the coordinates of data without a place on Earth. */
  bbox?: Box;
  /** Names of attributes. Default: all. */
  outFields?: string[];
  outSR?: string;
  /** CSV only: strings that spreadsheets interpret as formulas get a leading apostrophe. */
  guardsFormulas?: boolean;
}

/** Parameters of an export of selected features (OGC API Features). */
export interface SelectionExport {
  format: ExportName;
  selection: FeatureSelection;
  /** Names of attributes. Default: all. */
  properties?: readonly string[];
  /** CRS of the coordinates. */
  crs?: Crs;
  /** CSV only: as in `ExportRequest`. */
  guardsFormulas?: boolean;
}

/** Plan for reading a collection for an export. */
export interface ExportPlan {
  readonly format: ExportName;
  readonly collection: VectorCollection;
  readonly query: FeatureQuery;
  readonly fields: readonly Field[];
  readonly crs: Crs;
  readonly task: ItemsTask;
}

/** Decimal places that keep a tenth of a millimetre. */
const IN_DEGREES = 9;
const IN_METRES = 4;
/** Bytes that are read, and sent, at a time; and features. */
const PART_BYTES = 524_288;
const PART_FEATURES = 5000;

/** Plans an export. Throws 400 with the name of the wrong parameter. `collection` is the caller's restricted view. */
export function planExport(collection: VectorCollection, request: ExportRequest): ExportPlan {
  const { outSR } = request;
  const output = outSR === undefined ? undefined : resolveCrs('outSR', outSR);
  requireReachable({ outSR: output }, collection);
  const crs = outputCrs(collection, request.format, { name: 'outSR', crs: output });
  if (request.format === 'shapefile' && collection.source.geometryType === 'GeometryCollection')
    throw badParameter(
      'format',
      'cannot be shapefile, which has no geometry collections. Use for example geopackage',
    );
  const chosen = chosenFields(collection, request.outFields);
  return buildPlan(collection, request, { query: buildQuery(collection, request), chosen, crs });
}

/** Plans an export of selected features. Throws 400 with the name of the wrong parameter. */
export function planSelection(view: CollectionView, request: SelectionExport): ExportPlan {
  const { visible, source } = view;
  const { selection, properties, format } = request;
  const { bboxCrs, filterCrs } = selection;
  requireReachable({ crs: request.crs, 'bbox-crs': bboxCrs, 'filter-crs': filterCrs }, visible);
  const crs =
    format === 'csv' && request.crs === undefined
      ? defaultCrs(visible)
      : outputCrs(visible, format, { name: 'crs', crs: request.crs });
  const query = { source, filter: selectFeatures(view, selection) };
  return buildPlan(visible, request, { query, chosen: findFields(view, properties), crs });
}

function buildPlan(
  collection: VectorCollection,
  { format, guardsFormulas }: Pick<ExportRequest, 'format' | 'guardsFormulas'>,
  { query: asked, chosen, crs }: { query: FeatureQuery; chosen: readonly Field[]; crs: Crs },
): ExportPlan {
  const { query, fields } = withKey(getExportFormat(format), asked, chosen);
  const isCsv = format === 'csv';
  const part = partTask(query, { format: isCsv ? 'csv' : 'geojson', crs, fields });
  const task = isCsv && guardsFormulas ? { ...part, guardsFormulas: true } : part;
  return { format, collection, query, fields, crs, task };
}

/** Reads keys that are not integers as a field, for formats whose features have integers as ids or none. */
export function withKey(
  { driver }: ExportFormat,
  query: FeatureQuery,
  fields: readonly Field[],
): { query: FeatureQuery; fields: readonly Field[] } {
  const { source } = query;
  const { idColumn, idType, generatedIds } = source;
  const isField = source.fields.some(({ name }) => name === idColumn);
  if (!driver || hasIntegerIds(source) || isField) return { query, fields };
  // Columns of `character(n)` are read as text, without the blanks at their end.
  const sqlType = idType === 'uuid' ? 'uuid' : 'character';
  const key: Field = generatedIds?.key ?? { name: idColumn, type: 'string', nullable: false, sqlType };
  const keyed = { ...source, fields: [key, ...source.fields] };
  return { query: { ...query, source: keyed }, fields: [key, ...fields] };
}

/** The task that reads the first part of an export that is written as one document. */
export function partTask(
  query: FeatureQuery,
  { format, crs, fields }: Pick<ExportPlan, 'crs' | 'fields'> & Pick<ItemsTask, 'format'>,
): ItemsTask {
  return {
    ...query,
    format,
    crs: crs.proj,
    swapAxes: false,
    precision: crs.geographic ? IN_DEGREES : IN_METRES,
    fields: fields.map(({ name }) => name),
    limit: PART_FEATURES,
    maxBytes: PART_BYTES,
    offset: 0,
  };
}

function outputCrs(
  collection: VectorCollection,
  format: ExportName,
  { name, crs }: { name: string; crs: Crs | undefined },
): Crs {
  if (getExportFormat(format).inDegrees) {
    if (crs && crs.epsg !== CRS84.epsg)
      throw badParameter(name, `must be 4326, because ${format} has longitudes and latitudes`);
    requireReachable({ format: CRS84 }, collection);
    return CRS84;
  }
  return crs ?? (format === 'geojson' ? defaultCrs(collection) : collection.storageCrs);
}

function chosenFields({ source }: VectorCollection, names: string[] | undefined): readonly Field[] {
  if (!names || names.includes('*')) return source.fields;
  const missing = names.find(
    (name) => name !== source.idColumn && !source.fields.some((field) => field.name === name),
  );
  if (missing !== undefined)
    throw badParameter('outFields', `'${missing.slice(0, 60)}' is not a field of the layer`);
  return source.fields.filter(({ name }) => names.includes(name));
}

function buildQuery(collection: VectorCollection, { where, bbox }: ExportRequest): FeatureQuery {
  const { source, filter: rows } = readable(collection);
  const crs = defaultCrs(collection);
  const schema = { ...source, fields: [...plainFields(collection.source.fields)], filterCrs: crs };
  const own = geoServicesFilter(where === undefined ? {} : { where }, schema, collection.storageCrs);
  const box = bbox && bboxFilter(source.geometryColumn, normaliseBox('bbox', bbox, crs), crs.proj);
  const filter = and(rows, box, own);
  return { source, filter };
}

/** Number of exported features, if it is known: the request has no filter and the feature count is exact. */
export function findExportCount({ collection, query }: ExportPlan): number | undefined {
  const all = query.filter === undefined && !collection.countEstimated;
  return all ? collection.featureCount : undefined;
}

/** Above this an export is a job. */
export const isLong = (features: number) => features > LIMITS.exportFeatures;

/** Name of the file, from that of the collection. */
export function createExportFileName({ collection, format }: ExportPlan): string {
  return `${layerName(collection)}.${getExportFormat(format).ending}`;
}

/** A name that every format takes for its layer. */
export function layerName({ id }: Pick<VectorCollection, 'id'>): string {
  return (
    id
      .replace(/\W/g, '_')
      .replace(/^(?=\d)/, '_')
      .slice(0, 60) || 'layer'
  );
}

/** Error for data that OGR cannot write. The request is at fault, not the server. */
export function refusal(format: ExportName): ApiError {
  return new ApiError(
    'unprocessable',
    `The layer cannot be written as ${format}, which does not support its geometries or values. Use another format.`,
  );
}
