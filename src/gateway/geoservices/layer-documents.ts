import type { CatalogSnapshot, Collection, VectorCollection } from '../../core/catalog/collection.js';
import type { Relationship } from '../../core/catalog/layer-settings.js';
import { type Box, globeExtent, imageWithin } from '../../core/geometry/box.js';
import { CRS84, type Crs } from '../../core/geometry/crs.js';
import { esriFields, findEsriGeometryType } from '../../core/geoservices/geoservices-features.js';
import type { Field } from '../../core/sources/vector-source.js';
import { exportDrawingInfo } from '../../core/styles/drawing-info/export.js';
import { transformBox } from '../../native/index.js';
import { findFieldType, getRelationshipFields } from '../../services/catalog/layers/relationship-fields.js';
import { esriLayer } from '../../services/replicas/layer-view.js';
import { GEOSERVICES_LIMITS } from './limits.js';

/** Documents of feature services and their layers, as clients of GeoServices read them. */

/** The version of ArcGIS Server whose documents these are like. */
export const CURRENT_VERSION = 11.2;

const EDITING = ['Create', 'Delete', 'Query', 'Update', 'Editing'].join();
const EDITABLE = {
  allowGeometryUpdates: true,
  supportsRollbackOnFailureParameter: true,
  supportsCalculate: true,
  supportsAppend: true,
  supportedAppendFormats: 'featureCollection',
};

/** Capabilities for clients: query, and editing if they may edit features. */
const chooseCapabilities = (isEditable: boolean) => (isEditable ? EDITING : 'Query');

const QUERY_FORMATS = 'JSON, geoJSON, PBF';

export function createSpatialReference({ epsg }: Crs) {
  // Clients of long standing know Web Mercator by the number that it had before EPSG gave it one.
  return epsg === 3857 ? { wkid: 102_100, latestWkid: epsg } : { wkid: epsg, latestWkid: epsg };
}

/** The CRS in the documents of a layer: its own if it has an EPSG code, otherwise WGS 84. */
export function layerCrs({ storageCrs }: Collection): Crs {
  return storageCrs.epsg > 0 ? storageCrs : CRS84;
}

export function serviceDocument(name: string, layers: readonly VectorCollection[], isEditable: boolean) {
  const crs = commonCrs(layers);
  const extent = extentIn(layers, crs);
  const entries = layers.map(layerEntry);
  return {
    currentVersion: CURRENT_VERSION,
    serviceDescription: name,
    hasVersionedData: false,
    maxRecordCount: GEOSERVICES_LIMITS.geoServicesRecords,
    supportedQueryFormats: QUERY_FORMATS,
    supportsRelationshipsResource: false,
    capabilities: chooseCapabilities(isEditable),
    description: '',
    copyrightText: '',
    spatialReference: createSpatialReference(crs),
    initialExtent: extent,
    fullExtent: extent,
    allowGeometryUpdates: isEditable,
    units: chooseEsriUnits(crs),
    syncEnabled: false,
    layers: entries.filter(({ type }) => type === 'Feature Layer'),
    tables: entries.filter(({ type }) => type === 'Table'),
  };
}

function commonCrs(layers: readonly Collection[]): Crs {
  const [first = CRS84, ...others] = layers.map(layerCrs);
  return others.every(({ epsg }) => epsg === first.epsg) ? first : CRS84;
}

function layerEntry(layer: VectorCollection) {
  const geometryType = findEsriGeometryType(esriLayer(layer));
  return {
    id: layer.layerId,
    name: layer.title,
    parentLayerId: -1,
    defaultVisibility: true,
    subLayerIds: null,
    minScale: 0,
    maxScale: 0,
    type: geometryType === undefined ? 'Table' : 'Feature Layer',
    ...(geometryType === undefined ? {} : { geometryType }),
  };
}

/**
 * `catalog` contains what the caller may read. A relationship is omitted if the caller may not read its other end.
 */
export function layerDocument(layer: VectorCollection, catalog: CatalogSnapshot, isEditable: boolean) {
  const esri = esriLayer(layer);
  const geometryType = findEsriGeometryType(esri);
  const fields = esriFields(esri);
  const crs = layerCrs(layer);
  return {
    currentVersion: CURRENT_VERSION,
    id: layer.layerId,
    name: layer.title,
    type: geometryType === undefined ? 'Table' : 'Feature Layer',
    description: layer.description,
    copyrightText: layer.about?.attribution ?? '',
    displayField: displayField(layer),
    defaultVisibility: true,
    minScale: 0,
    maxScale: 0,
    ...(geometryType === undefined
      ? {}
      : {
          geometryType,
          extent: extentIn([layer], crs),
          sourceSpatialReference: createSpatialReference(crs),
          drawingInfo: exportDrawingInfo(layer.style.layers).drawingInfo,
        }),
    hasM: false,
    hasZ: esri.hasZ,
    hasAttachments: layer.source.writable,
    htmlPopupType: 'esriServerHTMLPopupTypeAsHTMLText',
    objectIdField: esri.idColumn,
    uniqueIdField: { name: esri.idColumn, isSystemMaintained: true },
    globalIdField: '',
    typeIdField: '',
    fields: fields.map((field) => ({ ...field, domain: buildDomain(layer, field.name) })),
    ...buildTimeInfo(layer),
    relationships: listRelationships(layer, catalog),
    indexes: [],
    types: [],
    templates: isEditable ? [buildTemplate(layer)] : [],
    ...(isEditable ? EDITABLE : {}),
    maxRecordCount: GEOSERVICES_LIMITS.geoServicesRecords,
    standardMaxRecordCount: GEOSERVICES_LIMITS.geoServicesRecordsMax,
    tileMaxRecordCount: GEOSERVICES_LIMITS.geoServicesRecordsMax,
    maxRecordCountFactor: GEOSERVICES_LIMITS.geoServicesRecordsMax / GEOSERVICES_LIMITS.geoServicesRecords,
    supportedQueryFormats: QUERY_FORMATS,
    capabilities: chooseCapabilities(isEditable),
    supportsStatistics: true,
    supportsAdvancedQueries: true,
    supportsCoordinatesQuantization: true,
    supportsReturningQueryExtent: true,
    isDataVersioned: false,
    dateFieldsTimeReference: { timeZone: 'UTC', respectsDaylightSaving: false },
    advancedQueryCapabilities: {
      supportsPagination: true,
      supportsOrderBy: true,
      supportsDistinct: true,
      supportsCountDistinct: true,
      supportsStatistics: true,
      supportsReturningQueryExtent: true,
      supportsQueryWithDistance: true,
      supportsSqlExpression: false,
      supportsHavingClause: true,
      supportsPercentileStatistics: true,
      supportsReturningGeometryCentroid: geometryType !== undefined,
      supportsQueryWithResultType: true,
      supportsMaxRecordCountFactor: true,
      supportsPaginationOnAggregatedQueries: true,
      supportsTopFeaturesQuery: true,
      supportsQueryBins: true,
      supportsQueryDateBins: true,
    },
    queryBinsCapabilities: {
      supportsDateBin: true,
      supportsFixedIntervalBin: true,
      supportsAutoIntervalBin: true,
      supportsFixedBoundariesBin: true,
      supportsSplitBy: true,
      supportsStackBy: false,
      supportsSnapToData: false,
      supportsReturnFullIntervalBin: true,
      supportsFirstDayOfWeek: true,
      supportsNormalization: false,
      supportedStatisticTypes: [
        ...['COUNT', 'SUM', 'AVG', 'VAR', 'STDDEV', 'MIN', 'MAX'],
        ...['PERCENTILE_CONT', 'PERCENTILE_DISC'],
      ],
    },
  };
}

/**
 * Time fields from the settings. The time extent is omitted, because every document would have to read it from the
 * data.
 */
function buildTimeInfo({ source: { fields } }: VectorCollection) {
  const named = (bound: Field['bound']) => fields.find((field) => field.bound === bound)?.name ?? null;
  const [startTimeField, endTimeField] = [named('start'), named('end')];
  if (startTimeField === null && endTimeField === null) return {};
  return {
    timeInfo: {
      startTimeField,
      endTimeField,
      trackIdField: null,
      timeExtent: null,
      timeReference: { timeZone: 'UTC', respectsDaylightSaving: false },
      timeInterval: 0,
      timeIntervalUnits: 'esriTimeUnitsUnknown',
    },
  };
}

/** The number that a client knows a relationship by: that of the server it came from, or its place. */
export function relationshipId({ esriRelationshipId }: Relationship, place: number): number {
  return esriRelationshipId ?? place;
}

function listRelationships(layer: VectorCollection, catalog: CatalogSnapshot) {
  const all = (layer.relationships ?? []).map((one, place) => ({ one, place }));
  const open = all.filter(
    ({ one }) =>
      findFieldType(getRelationshipFields(one).own, layer) !== undefined &&
      catalog.byLayerId(one.relatedLayerId) !== undefined,
  );
  return open.map(({ one, place }) => buildRelationship(one, place));
}

function buildRelationship(relationship: Relationship, place: number) {
  const { name, cardinality, role, relatedLayerId } = relationship;
  return {
    id: relationshipId(relationship, place),
    name,
    relatedTableId: relatedLayerId,
    cardinality: CARDINALITIES[cardinality],
    role: role === 'origin' ? 'esriRelRoleOrigin' : 'esriRelRoleDestination',
    keyField: getRelationshipFields(relationship).own,
    composite: false,
  };
}

const CARDINALITIES: Readonly<Record<Relationship['cardinality'], string>> = {
  'one-to-one': 'esriRelCardinalityOneToOne',
  'one-to-many': 'esriRelCardinalityOneToMany',
  'many-to-many': 'esriRelCardinalityManyToMany',
};

/** Default values of a new feature. */
function buildTemplate({ title, source }: VectorCollection) {
  const fields = source.fields.filter(({ generated, isMasked }) => !generated && !isMasked);
  const attributes = Object.fromEntries(fields.map(({ name }) => [name, null]));
  return { name: title, description: '', prototype: { attributes }, drawingTool: chooseDrawingTool(source) };
}

function chooseDrawingTool({ geometryType }: VectorCollection['source']): string {
  if (geometryType.endsWith('Point')) return 'esriFeatureEditToolPoint';
  return geometryType.endsWith('LineString') ? 'esriFeatureEditToolLine' : 'esriFeatureEditToolPolygon';
}

/** The first text that may be shown as a name. */
export function displayField({ source }: VectorCollection): string {
  const names = source.fields.filter(({ type }) => type === 'string').map(({ name }) => name);
  return names.find((name) => /name|title/i.test(name)) ?? names[0] ?? source.idColumn;
}

function buildDomain({ source }: VectorCollection, name: string) {
  const field = source.fields.find((one) => one.name === name);
  if (field?.codedValues) return { type: 'codedValue', name, codedValues: field.codedValues };
  const [min, max] = field?.range ?? [null, null];
  return min === null || max === null ? null : { type: 'range', name, range: [min, max] };
}

/** Extent of layers; null if none of them has one. */
export function extentIn(layers: readonly Collection[], crs: Crs) {
  const boxes = layers.flatMap(({ extent84 }) => (extent84 ? [extent84] : []));
  if (boxes.length === 0) return null;
  const west = Math.min(...boxes.map((box) => (box[0] > box[2] ? -180 : box[0])));
  const east = Math.max(...boxes.map((box) => (box[0] > box[2] ? 180 : box[2])));
  const south = Math.min(...boxes.map((box) => box[1]));
  const north = Math.max(...boxes.map((box) => box[3]));
  const globe = globeExtent([west, south, east, north]);
  return globe ? envelopeObject(boxIn(globe, CRS84, crs), crs) : null;
}

/** A box of one CRS as one of another. */
export function boxIn(box: Box, from: Crs, to: Crs): Box {
  return from.epsg === to.epsg ? box : imageWithin(box, (one) => transformBox(one, from.proj, to.proj));
}

export function envelopeObject([xmin, ymin, xmax, ymax]: readonly number[], crs: Crs) {
  return { xmin, ymin, xmax, ymax, spatialReference: createSpatialReference(crs) };
}

export const chooseEsriUnits = ({ geographic }: Crs) => (geographic ? 'esriDecimalDegrees' : 'esriMeters');
