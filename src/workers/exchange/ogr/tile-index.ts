/** Tile indexes: vector files that name the rasters of a mosaic, as `gdaltindex` writes them. */

import { realpath } from 'node:fs/promises';
import { basename, dirname, extname, resolve } from 'node:path';
import type { Feature } from 'gdal-async';
import { TaskFailure } from '../../../core/errors/failure.js';
import { isBelow } from '../../../core/files/folders.js';
import { around, type Box } from '../../../core/geometry/box.js';
import type { FileRaster, MosaicMember, RasterGrid, RasterLayers } from '../../../core/rasters/rasters.js';
import { TILE_INDEX } from '../../../core/sources/sources.js';
import { CRS84_NAME, type GdalCrs, getCrs, readDatasetCrs, transformGdalBox } from '../../gdal/crs.js';
import { unreadable } from '../../gdal/gdal.js';
import { getGeoreference } from '../../rasters/georeference.js';
import { withRaster } from '../../rasters/handles.js';
import { openVector } from './ogr.js';

/** Most rasters of an index. */
const MAX_MEMBERS = 100_000;
/** Attributes with the acquisition time of a raster. */
const ACQUIRED = ['acquired', 'datetime'];

/** Returns the mosaic of an index. Its rasters are in the index's folder or below, and the last one is on top. */
export async function tileIndex(path: string): Promise<RasterLayers> {
  const { members, outlines, crs } = await readIndex(path);
  if (members.length === 0) throw new TaskFailure('source-unreadable', 'The tile index names no raster.');
  const grid = await loadGrid(members[0]!.source as FileRaster, outlines, crs);
  const name = basename(path).replace(TILE_INDEX, '');
  return { layers: [{ name, source: { kind: 'mosaic', members, grid } }], problems: [] };
}

interface TileIndex {
  members: MosaicMember[];
  /** Extents of the members, in the CRS of the index. */
  outlines: Box[];
  crs: GdalCrs;
}

async function readIndex(path: string): Promise<TileIndex> {
  const dataset = await openVector(path);
  try {
    const layer = dataset.layers.get(0);
    const names = layer.fields.getNames();
    if (!names.includes('location'))
      throw new TaskFailure('source-unreadable', 'The tile index has no attribute location.');
    if ((await layer.features.countAsync()) > MAX_MEMBERS)
      throw new TaskFailure('too-large', 'The tile index names too many rasters.');
    const acquired = ACQUIRED.find((one) => names.includes(one));
    const crs = readDatasetCrs(layer) ?? getCrs(CRS84_NAME);
    const entries: IndexEntry[] = [];
    for await (const feature of layer.features) entries.push(foundIn(feature, crs, acquired));
    const root = await realpath(dirname(path));
    const members = await Promise.all(entries.map((one, index) => loadMember(one, index, root)));
    return { members, outlines: entries.map(({ outline }) => outline), crs };
  } catch (error) {
    throw unreadable('The tile index could not be read.', error);
  } finally {
    dataset.close();
  }
}

interface IndexEntry {
  location: string;
  outline: Box;
  extent84: Box;
  acquired?: string;
}

function foundIn(feature: Feature, crs: GdalCrs, acquired: string | undefined): IndexEntry {
  const location = String(feature.fields.get('location'));
  const geometry = feature.getGeometry();
  if (!geometry) throw new TaskFailure('source-unreadable', `${location} has no outline in the tile index.`);
  const { minX, minY, maxX, maxY } = geometry.getEnvelope();
  const outline: Box = [minX, minY, maxX, maxY];
  const extent84 = transformGdalBox(outline, crs, getCrs(CRS84_NAME));
  if (!extent84) throw new TaskFailure('source-unreadable', `${location} has no position on the globe.`);
  const when = acquired === undefined ? undefined : findInstant(feature.fields.get(acquired));
  return { location, outline, extent84, ...(when !== undefined && { acquired: when }) };
}

/** OGR's number for UTC. Other zones are offsets in quarters of an hour; 0 and 1 mean no zone. */
const UTC = 100;

function findInstant(value: unknown): string | undefined {
  if (typeof value === 'object' && value !== null) {
    const {
      year,
      month,
      day,
      hour = 0,
      minute = 0,
      second = 0,
      timezone = UTC,
    } = value as Record<string, number>;
    const offset = timezone > 1 ? (timezone - UTC) * 15 : 0;
    return new Date(Date.UTC(year!, month! - 1, day, hour, minute - offset, second)).toISOString();
  }
  const ms = Date.parse(String(value));
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

async function loadMember(
  { location, extent84, acquired }: IndexEntry,
  index: number,
  root: string,
): Promise<MosaicMember> {
  // Links are resolved, because a link must not lead outside the folder either.
  const path = await realpath(resolve(root, location)).catch(() => undefined);
  if (path === undefined) throw new TaskFailure('source-missing', `${location} does not exist.`);
  if (!isBelow(path, root))
    throw new TaskFailure('source-unreadable', `${location} is outside the folder of the tile index.`);
  const id = `${basename(path, extname(path))}-${index + 1}`;
  return { id, source: { kind: 'file', path }, extent84, ...(acquired !== undefined && { acquired }) };
}

/** On the pixels and in the CRS of the first raster, around all outlines. */
async function loadGrid(first: FileRaster, outlines: readonly Box[], indexCrs: GdalCrs): Promise<RasterGrid> {
  const { crs, geoTransform } = await withRaster(first, async ({ dataset }) => {
    const place = getGeoreference(dataset);
    if (!place.northUp) throw new TaskFailure('source-unreadable', 'The first raster is rotated.');
    return place;
  });
  const boxes = outlines.map((outline) => transformGdalBox(outline, indexCrs, crs));
  if (boxes.includes(null))
    throw new TaskFailure('source-unreadable', 'A raster is outside the area of the CRS of the first.');
  const [west, south, east, north] = (boxes as Box[]).reduce(around);
  const [x0, dx, , y0, , dy] = geoTransform;
  const left = Math.floor((west - x0) / dx + 1e-3);
  const top = Math.floor((north - y0) / dy + 1e-3);
  return {
    crs: crs.text,
    geoTransform: [x0 + left * dx, dx, 0, y0 + top * dy, 0, dy],
    width: Math.max(1, Math.ceil((east - x0) / dx - 1e-3) - left),
    height: Math.max(1, Math.ceil((south - y0) / dy - 1e-3) - top),
  };
}
