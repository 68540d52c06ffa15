import { findAttribution } from '../../../core/catalog/abilities.js';
import type { RasterCollection } from '../../../core/catalog/collection.js';
import { listMosaicMembers } from '../../../core/catalog/raster-sources.js';
import { type Box, createBoxRing, uncrossed, unwrapped } from '../../../core/geometry/box.js';
import { CRS84, type Crs } from '../../../core/geometry/crs.js';
import type { BandInfo } from '../../../core/rasters/rasters.js';
import { mapSettings } from '../../../services/catalog/layers/map-settings.js';
import { storageExtent } from '../../../services/features/storage-extent.js';
import { type Granule, listGranules } from '../../../services/rasters/granules.js';
import {
  boxIn,
  CURRENT_VERSION,
  createSpatialReference,
  envelopeObject,
  extentIn,
  layerCrs,
} from '../layer-documents.js';
import { GEOSERVICES_LIMITS } from '../limits.js';

/** Documents of image services. */

export const IMAGE_FORMATS = [
  'jpgpng',
  'png',
  'png8',
  'png24',
  'png32',
  'jpg',
  'webp',
  'tiff',
  'lerc',
] as const;

/** GDAL's types as Esri names them. */
const PIXEL_TYPES: Readonly<Record<string, string>> = {
  Byte: 'U8',
  Int8: 'S8',
  UInt16: 'U16',
  Int16: 'S16',
  UInt32: 'U32',
  Int32: 'S32',
  Float32: 'F32',
  Float64: 'F64',
};

export const FIELDS = [
  { name: 'OBJECTID', type: 'esriFieldTypeOID', alias: 'OBJECTID', domain: null },
  { name: 'Name', type: 'esriFieldTypeString', alias: 'Name', domain: null, length: 200 },
  { name: 'AcquisitionDate', type: 'esriFieldTypeDate', alias: 'Acquisition date', domain: null },
] as const;

export function imageServiceDocument(collection: RasterCollection) {
  const { title, description, bands, raster } = collection;
  const crs = layerCrs(collection);
  const box = imageBox(collection, crs);
  const extent = box ? envelopeObject(box, crs) : extentIn([collection], crs);
  const { maxImageWidth, maxImageHeight } = mapSettings(collection.maps ?? {});
  const statistics = bands.map((band) => band.statistics);
  const all = statistics.every((one) => one !== undefined) ? statistics : [];
  const instants = listGranules(collection).flatMap(({ acquired }) => acquired ?? []);
  return {
    currentVersion: CURRENT_VERSION,
    serviceDescription: description,
    name: title,
    description,
    extent,
    initialExtent: extent,
    fullExtent: extent,
    spatialReference: createSpatialReference(crs),
    ...(instants.length === 0
      ? {}
      : {
          timeInfo: {
            startTimeField: 'AcquisitionDate',
            timeExtent: [Math.min(...instants), Math.max(...instants)],
            timeReference: null,
          },
        }),
    pixelSizeX: box ? (box[2] - box[0]) / raster.width : null,
    pixelSizeY: box ? (box[3] - box[1]) / raster.height : null,
    bandCount: bands.length,
    bandNames: bands.map(formatImageBandName),
    pixelType: findPixelType(bands),
    minPixelSize: 0,
    maxPixelSize: 0,
    copyrightText: findAttribution(collection) ?? '',
    serviceDataType: 'esriImageServiceDataTypeGeneric',
    minValues: all.map(({ min }) => min),
    maxValues: all.map(({ max }) => max),
    meanValues: all.map(({ mean }) => mean),
    stdvValues: all.map(({ stdDev }) => stdDev),
    objectIdField: 'OBJECTID',
    fields: FIELDS,
    capabilities: 'Image,Metadata,Catalog,Mensuration',
    mensurationCapabilities: 'Basic',
    ...(listMosaicMembers(raster.source) === undefined
      ? {}
      : { defaultMosaicMethod: 'None', allowedMosaicMethods: 'None,LockRaster', mosaicOperator: 'First' }),
    sortField: null,
    sortValue: null,
    maxRecordCount: GEOSERVICES_LIMITS.geoServicesRecords,
    maxImageHeight,
    maxImageWidth,
    hasHistograms: true,
    hasColormap: false,
    hasRasterAttributeTable: false,
    hasMultidimensions: false,
    supportsStatistics: true,
    allowRasterFunction: true,
    rasterFunctionInfos: FUNCTION_INFOS,
    rasterTypeInfos: [],
    supportsAdvancedQueries: false,
    allowAnalysis: false,
    singleFusedMapCache: false,
    exportTilesAllowed: false,
  };
}

/** Raster functions that need no arguments. */
export const FUNCTION_INFOS = [
  { name: 'None', description: 'The default rendering of the raster.', help: '' },
];

const formatImageBandName = ({ band, description }: BandInfo) => description || `Band_${band}`;

function findPixelType(bands: readonly BandInfo[]): string {
  return PIXEL_TYPES[bands[0]?.type ?? ''] ?? 'UNKNOWN';
}

/** Extent of the raster in the given CRS; undefined if it is unknown. */
export function imageBox(collection: RasterCollection, crs: Crs) {
  const own = storageExtent(collection);
  if (own && collection.storageCrs.epsg === crs.epsg) return own;
  return collection.extent84 && placedExtent(collection.extent84, crs);
}

/** Statistics of the bands, as read at publication: those of overviews if there are any. */
export function statisticsDocument({ bands }: RasterCollection) {
  const all = bands.flatMap(({ statistics }) => statistics ?? []);
  return {
    statistics: all.map(({ min, max, mean, stdDev }) => ({ min, max, mean, standardDeviation: stdDev })),
  };
}

export function keyProperties({ bands, raster }: RasterCollection) {
  return {
    DataType: 'Generic',
    ...(raster.acquired === undefined ? {} : { AcquisitionDate: raster.acquired }),
    BandProperties: bands.map((band) => ({
      BandName: formatImageBandName(band),
      ...(band.unit ? { Unit: band.unit } : {}),
      ...(band.noData === null ? {} : { NoDataValue: String(band.noData) }),
    })),
  };
}

/** The variables are the bands. A raster without time and level axes has none. */
export function dimensionsDocument({ bands, raster: { times, levels } }: RasterCollection) {
  const dimensions = [
    ...(times ? [dimension('StdTime', 'ISO8601', times.map(Date.parse))] : []),
    ...(levels ? [dimension('StdZ', levels.unit, levels.values)] : []),
  ];
  const variables = bands.map((band) => ({
    name: formatImageBandName(band),
    description: band.description,
    unit: band.unit,
    dimensions,
  }));
  return { multidimensionalInfo: { variables: dimensions.length === 0 ? [] : variables } };
}

function dimension(name: string, unit: string, values: readonly number[]) {
  const gaps = values.slice(1).map((value, i) => value - values[i]!);
  const isRegular = gaps.length > 0 && gaps.every((gap) => gap === gaps[0]);
  return {
    name,
    description: '',
    unit,
    values,
    hasRanges: false,
    dimensionSize: values.length,
    extent: [Math.min(...values), Math.max(...values)],
    hasRegularIntervals: isRegular,
    ...(isRegular ? { interval: gaps[0] } : {}),
  };
}

/** An extent in degrees in a CRS. Across the antimeridian longitudes continue beyond 180 degrees; other CRS end there. */
function placedExtent(extent84: Box, crs: Crs): Box {
  return boxIn(crs.geographic ? unwrapped(extent84) : uncrossed(extent84), CRS84, crs);
}

/** A raster of the catalogue: its footprint, and when it was taken. `id` counts from 1. */
export function catalogItem({ id: name, extent84, acquired }: Granule, id: number, crs: Crs | undefined) {
  const attributes = { OBJECTID: id, Name: name, AcquisitionDate: acquired ?? null };
  if (!crs) return { attributes };
  // Outer rings of GeoServices are clockwise.
  const ring = createBoxRing(placedExtent(extent84, crs)).reverse();
  return { attributes, geometry: { rings: [ring], spatialReference: createSpatialReference(crs) } };
}
