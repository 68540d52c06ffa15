import { isDatabase } from './database-url.js';

/** Whether a source is read over HTTP: a URL, or an object of S3 (`s3://bucket/key`) or Azure (`az://container/key`). */
export function isRemote(source: string): boolean {
  return /^(https?|s3|az):\/\//i.test(source);
}

/** Whether a source is a file or a folder. */
export function isPath(source: string): boolean {
  return !isDatabase(source) && !isRemote(source);
}

/** Vector files that name the rasters of a mosaic. */
export const TILE_INDEX = /\.tindex\.(gpkg|shp|fgb|geojson)$/i;
