import { stat } from 'node:fs/promises';
import { extname } from 'node:path';
import type { RasterCollection } from '../../core/catalog/collection.js';
import { findOwnFile } from '../../core/catalog/raster-sources.js';
import type { RasterSource } from '../../core/rasters/rasters.js';
import { STAC_BASE, type StacItem } from '../../core/stac/stac.js';
import { formatInstant } from '../../core/values/instants.js';
import { describeCrs } from '../../native/index.js';
import { type Granule, listGranules } from '../rasters/granules.js';
import { eoBands, metresPerPixel, rasterBands } from './bands.js';
import { boxOutline, computeFootprint } from './footprint.js';

/** Items of published rasters (STAC 1.0.0): one for each file, member of a mosaic, or step of a time axis. */

const PROJECTION = 'https://stac-extensions.github.io/projection/v1.1.0/schema.json';
const EO = 'https://stac-extensions.github.io/eo/v1.1.0/schema.json';
/** Extensions of the data asset. */
const DATA_EXTENSIONS = [
  'https://stac-extensions.github.io/raster/v1.1.0/schema.json',
  EO,
  'https://stac-extensions.github.io/file/v2.1.0/schema.json',
];

/** Interval of rasters without a time, which match every time. Items must have a time. */
const ALWAYS = { start_datetime: '0001-01-01T00:00:00Z', end_datetime: '9999-12-31T23:59:59Z' };

export function rasterItems(collection: RasterCollection): Promise<StacItem[]> {
  return Promise.all(listGranules(collection).map((granule) => rasterItem(collection, granule)));
}

async function rasterItem(collection: RasterCollection, granule: Granule): Promise<StacItem> {
  const acquired = granule.acquired === undefined ? undefined : new Date(granule.acquired).toISOString();
  const time = acquired === undefined ? { datetime: null, ...ALWAYS } : { datetime: acquired };
  const resolution = metresPerPixel(collection);
  const data = await dataAsset(collection, granule);
  // Source of a scene from another STAC API.
  const { via, cloudCover: clouds } = granule.member ?? {};
  return {
    type: 'Feature',
    stac_version: '1.0.0',
    stac_extensions: [
      PROJECTION,
      ...(data['data'] ? DATA_EXTENSIONS : []),
      ...(clouds === undefined ? [] : [EO]),
    ],
    id: granule.id,
    collection: collection.id,
    geometry: granule.member ? boxOutline(granule.extent84) : computeFootprint(collection),
    bbox: granule.extent84,
    properties: {
      title: formatTitle(collection, granule),
      ...time,
      ...(resolution === undefined ? {} : { gsd: resolution }),
      ...projection(collection, granule),
      ...(clouds === undefined ? {} : { 'eo:cloud_cover': clouds }),
    },
    links: via === undefined ? [] : [{ rel: 'via', href: via, type: 'application/geo+json' }],
    assets: { ...data, ...services(collection, granule, acquired) },
  };
}

/** The title of the collection, with the time of a step of its time axis or the id of a scene. */
function formatTitle({ id, title }: RasterCollection, granule: Granule): string {
  if (granule.id === id) return title;
  const { time, acquired } = granule;
  if (time === undefined || acquired === undefined) return `${title}, ${granule.id}`;
  return `${title}, ${formatInstant(new Date(acquired).toISOString())}`;
}

/** A CRS without a code, spelled out. */
function describedCrs(crs: string): Record<string, unknown> {
  const { wkt, projjson } = describeCrs(crs);
  return { 'proj:wkt2': wkt, ...(projjson ? { 'proj:projjson': JSON.parse(projjson) } : {}) };
}

/** Projection metadata. Members of a mosaic have different grids, so only the CRS of the mosaic is known. */
function projection({ raster }: RasterCollection, { member }: Granule): Record<string, unknown> {
  const code = { 'proj:epsg': raster.epsg, ...(raster.epsg === null ? describedCrs(raster.crs) : {}) };
  if (member) return code;
  const [x, width, rowRotation, y, columnRotation, height] = raster.geoTransform;
  return {
    ...code,
    'proj:shape': [raster.height, raster.width],
    'proj:transform': [width, rowRotation, x, columnRotation, height, y],
    'proj:bbox': raster.extent,
  };
}

/** The file as an asset, if it is a local file that contains only this raster. */
async function dataAsset(collection: RasterCollection, granule: Granule): Promise<Record<string, object>> {
  const path = findDownloadPath(collection, granule);
  const size = path && (await stat(path).catch(() => undefined))?.size;
  if (!path || size === undefined) return {};
  const item = `${STAC_BASE}/stac/collections/${collection.id}/items/${encodeURIComponent(granule.id)}`;
  const { type, title } = FILES[findDriver(collection, granule)!]!;
  const data = {
    href: `${item}/assets/data`,
    type,
    title,
    roles: ['data'],
    'file:size': size,
    'raster:bands': rasterBands(collection),
    'eo:bands': eoBands(collection),
  };
  return { data };
}

/**
 * Drivers whose files can be downloaded: one file with one raster. A GeoPackage can contain more, and a VRT refers to
 * other files.
 */
const FILES: Readonly<Record<string, { type: string; title: string }>> = {
  GTiff: { type: 'image/tiff; application=geotiff', title: 'GeoTIFF' },
  COG: { type: 'image/tiff; application=geotiff; profile=cloud-optimized', title: 'Cloud optimized GeoTIFF' },
  netCDF: { type: 'application/netcdf', title: 'netCDF' },
  HDF5: { type: 'application/x-hdf5', title: 'HDF5' },
  JP2OpenJPEG: { type: 'image/jp2', title: 'JPEG 2000' },
  HFA: { type: 'application/octet-stream', title: 'Erdas Imagine' },
  AAIGrid: { type: 'text/plain', title: 'ASCII grid' },
};

/** Drivers by extension, because members of a mosaic can have different drivers. */
const DRIVERS: Readonly<Record<string, string>> = {
  '.tif': 'GTiff',
  '.tiff': 'GTiff',
  '.nc': 'netCDF',
  '.jp2': 'JP2OpenJPEG',
  '.img': 'HFA',
  '.asc': 'AAIGrid',
};

function findDriver({ raster }: RasterCollection, { member }: Granule): string | undefined {
  if (!member) return raster.driver;
  return 'path' in member.source ? DRIVERS[extname(member.source.path).toLowerCase()] : undefined;
}

/** The local file of a granule. Undefined if clients cannot download it unchanged. */
export function findDownloadPath(collection: RasterCollection, granule: Granule): string | undefined {
  const source: RasterSource = granule.member?.source ?? collection.raster.source;
  const driver = findDriver(collection, granule);
  if (driver === undefined || !FILES[driver]) return undefined;
  return findOwnFile(source);
}

/** Media type of the data assets of a collection; of one granule when that is given. */
export function getAssetMediaType(collection: RasterCollection, granule?: Granule): string {
  const driver = granule ? findDriver(collection, granule) : collection.raster.driver;
  return FILES[driver ?? '']?.type ?? 'application/octet-stream';
}

/** Links to the same data in the other APIs, at the time and location of the granule. */
function services(
  { id, layerId }: RasterCollection,
  { member, extent84 }: Granule,
  acquired: string | undefined,
): Record<string, object> {
  const time = acquired ? `&datetime=${acquired}` : '';
  const place = member ? `&bbox=${extent84.join(',')}` : '';
  return {
    coverage: {
      href: `${STAC_BASE}/ogc/coverages/collections/${id}/coverage?f=geotiff${place}${time}`,
      type: 'image/tiff; application=geotiff',
      title: 'Coverage',
      roles: ['data'],
    },
    tiles: {
      href: `${STAC_BASE}/tiles/${id}${acquired ? `?datetime=${acquired}` : ''}`,
      type: 'application/vnd.mapbox.tile+json',
      title: 'Tiles (TileJSON)',
      roles: ['tiles'],
    },
    thumbnail: {
      href: `${STAC_BASE}/ogc/maps/collections/${layerId}/map?f=png${place}${time}`,
      type: 'image/png',
      title: 'Map',
      roles: ['thumbnail', 'overview'],
    },
  };
}
