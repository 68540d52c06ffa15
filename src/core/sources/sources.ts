import { isDatabase } from './database-url.js';

/**
 * Whether a source is read over HTTP: a URL, an object of S3 (`s3://bucket/key`) or Azure (`az://container/key`), or imagery
 * of a STAC API.
 */
export function isRemote(source: string): boolean {
  return /^(https?|s3|az):\/\//i.test(source) || isStacApi(source);
}

/** Whether a source is imagery of a STAC API: `stac+https://host/path?collections=…`. */
export function isStacApi(source: string): boolean {
  return /^stac\+https?:\/\//i.test(source);
}

/** Whether a source is a file or a folder. */
export function isPath(source: string): boolean {
  return !isDatabase(source) && !isRemote(source);
}

/** Vector files that name the rasters of a mosaic. */
export const TILE_INDEX = /\.tindex\.(gpkg|shp|fgb|geojson)$/i;
