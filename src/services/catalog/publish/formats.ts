import { basename, extname } from 'node:path';
import type { ArchiveContainer } from '../../../core/tiles/archives.js';

/** Files of tables by the store that reads them where they are. */
export const TABLES: ReadonlyMap<string, string> = new Map([['.gpkg', 'geopackage']]);

/** Extensions of raster files that GDAL reads. */
export const RASTER = new Set([
  '.tif',
  '.tiff',
  '.jp2',
  '.img',
  '.asc',
  '.vrt',
  '.hgt',
  '.dt0',
  '.dt1',
  '.dt2',
  // Georeferenced by a world file. Images without georeference are reported by name.
  ...['.png', '.jpg', '.jpeg', '.webp', '.gif'],
]);
/** Extensions of files that can contain several grids, with time and level axes. */
export const GRIDDED = new Set(['.nc', '.nc4', '.cdf', '.h5', '.hdf5', '.he5']);
/** Vector files of which a copy is made. */
const OGR = new Set([
  ...['.geojson', '.json', '.geojsonl', '.ndjson', '.geojsons', '.topojson'],
  ...['.shp', '.fgb', '.csv', '.tsv', '.psv', '.gml', '.kml', '.gpx'],
  ...['.dxf', '.dgn', '.tab', '.mif', '.xlsx', '.ods', '.parquet', '.geoparquet'],
]);
/** ZIP archives of such files. */
const ZIPPED = new Set(['.zip', '.shz', '.kmz']);
const GZIP = '.gz';

export const ARCHIVE: ReadonlyMap<string, ArchiveContainer> = new Map([
  ['.mbtiles', 'mbtiles'],
  ['.pmtiles', 'pmtiles'],
]);

/** Folders that are one source: of grids, and of tables. */
export const GRID_FOLDER = '.zarr';
const TABLE_FOLDER = '.gdb';

const OTHER_ARCHIVE = 'Archives of this kind are not opened. Unpack it.';
const DATABASE = 'Databases of this kind are not supported. Copy its layers into a GeoPackage (ogr2ogr).';
const OPENSTREETMAP =
  'OpenStreetMap extracts are not supported. Load it into PostGIS (osm2pgsql) or a GeoPackage.';
const POINT_CLOUD = 'Point clouds are not supported. Convert it to a raster or to points in a GeoPackage.';
const WAVELETS =
  'Rasters of this kind need a library that is not free. Translate it to GeoTIFF or JPEG 2000.';

/** Extensions of geospatial files that are not read, with the remedy. */
const NOT_READ: ReadonlyMap<string, string> = new Map([
  ...['.7z', '.rar', '.tar', '.tgz', '.bz2', '.xz', '.zst', '.tar.gz'].map(
    (end) => [end, OTHER_ARCHIVE] as const,
  ),
  ...['.sqlite', '.sqlite3', '.mdb', '.accdb', '.e00'].map((end) => [end, DATABASE] as const),
  ...['.osm', '.osm.pbf', '.osm.gz', '.o5m'].map((end) => [end, OPENSTREETMAP] as const),
  ...['.las', '.laz', '.e57', '.ply'].map((end) => [end, POINT_CLOUD] as const),
  ...['.ecw', '.sid'].map((end) => [end, WAVELETS] as const),
  ...['.grib', '.grib2', '.grb', '.grb2'].map(
    (end) => [end, 'GRIB is not supported. Translate it to netCDF or GeoTIFF (gdal_translate).'] as const,
  ),
  ['.hdf', 'HDF4 is not supported. Translate it to netCDF or GeoTIFF (gdal_translate).'],
  ['.dwg', 'DWG is not supported. Save it as DXF.'],
  ['.xls', 'Excel files of the old kind are not supported. Save it as .xlsx.'],
  ['.jml', 'OpenJUMP files are not supported. Save it as GeoPackage.'],
  ['.000', 'Nautical charts (S-57) are not supported. Copy their layers into a GeoPackage (ogr2ogr).'],
]);

/**
 * Reason why files with this name are not published although they contain geospatial data. Undefined for all other
 * files.
 */
export function reasonNotRead(path: string): string | undefined {
  const name = basename(path).toLowerCase();
  const [, two = '', one = ''] = /((?:\.[^.]+)?)(\.[^.]+)$/.exec(name) ?? [];
  const reason = NOT_READ.get(two + one) ?? NOT_READ.get(one);
  if (reason !== undefined) return reason;
  return one === GZIP && holdsRaster(two) ? 'Compressed rasters are not supported. Unpack it.' : undefined;
}

function holdsRaster(extension: string): boolean {
  return [RASTER, GRIDDED, TABLES, ARCHIVE, new Set(['.shp'])].some((set) => set.has(extension));
}

/** Whether a copy is made of a file: what is served of it then is the copy. */
export function isCopied(path: string): boolean {
  const extension = extname(path).toLowerCase();
  return OGR.has(extension) || ZIPPED.has(extension) || isTableFolder(path) || isGzipped(path);
}

/** A vector file that gzip has compressed: `roads.geojson.gz`. Shapefiles are several files. */
export function isGzipped(path: string): boolean {
  if (extname(path).toLowerCase() !== GZIP) return false;
  const inner = extname(path.slice(0, -GZIP.length)).toLowerCase();
  return OGR.has(inner) && !SEVERAL_FILES.has(inner);
}
const SEVERAL_FILES = new Set(['.shp', '.tab', '.mif', '.xlsx', '.ods', '.parquet', '.geoparquet']);

export function isZipped(path: string): boolean {
  return ZIPPED.has(extname(path).toLowerCase());
}

export function isTableFolder(path: string): boolean {
  return path.toLowerCase().endsWith(TABLE_FOLDER);
}

/** Whether a file can be published. */
export function isSource(path: string): boolean {
  const extension = extname(path).toLowerCase();
  return isCopied(path) || [TABLES, RASTER, GRIDDED, ARCHIVE].some((set) => set.has(extension));
}

/** The file name without the parts that identify the format. */
export function getFileStem(path: string): string {
  const name = basename(path, extname(path));
  return isGzipped(path) ? basename(name, extname(name)) : name;
}
