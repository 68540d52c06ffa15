import { uncrossed } from '../../../core/box.js';
import type { RasterCollection } from '../../../core/collection.js';
import { CRS84, type Crs, normaliseBox } from '../../../core/crs.js';
import { badParameter } from '../../../core/errors.js';
import { LIMITS } from '../../../core/limits.js';
import { PNG_FORMAT } from '../../../core/media.js';
import type { Exchange, Reply } from '../../../core/operation.js';
import { parseNumber } from '../../../core/params.js';
import type { Box, Pools } from '../../../core/tasks.js';
import { transformBox } from '../../../native/index.js';
import { runTask } from '../../services/run-task.js';
import { withQuery } from '../common.js';
import { COVERAGES_PATH } from './documents.js';

export interface CoverageParams {
  bbox: Box | undefined;
  bboxCrs: Crs | undefined;
  crs: Crs | undefined;
  properties: string | undefined;
  resolution: string | undefined;
  scaleFactor: number | undefined;
  scaleSize: string | undefined;
}

type Size = [number, number];

/** Reads a window of a coverage (contract: coverage retrieval parameters). */
export async function coverage(
  x: Exchange,
  pools: Pools,
  collection: RasterCollection,
  params: CoverageParams,
): Promise<Reply> {
  const crs = advertisedCrs(collection, 'crs', params.crs) ?? collection.storageCrs;
  const bboxCrs = advertisedCrs(collection, 'bbox-crs', params.bboxCrs) ?? CRS84;
  const bbox = params.bbox && windowOf(params.bbox, bboxCrs);
  const result = await runTask(x, pools, 'raster.coverage', {
    source: collection.raster.source,
    bbox,
    bboxCrs: bboxCrs.proj,
    crs: crs.proj,
    bands: bandsOf(collection, params.properties),
    size: outputSize(collection, params, bbox, bboxCrs),
    maxSize: LIMITS.coverageSide,
    format: x.format === PNG_FORMAT ? 'png' : 'geotiff',
  });
  return {
    status: 200,
    mediaType: result.mediaType,
    body: result.data,
    cacheControl: 'no-cache',
    headers: {
      'content-bbox': result.bbox.join(','),
      ...(crs.epsg === 4326 || crs.epsg === 0 ? {} : { 'content-crs': `<${crs.uri}>` }),
      link: linkHeader(x, collection),
    },
  };
}

function linkHeader(x: Exchange, collection: RasterCollection): string {
  const path = `${x.baseUrl}${COVERAGES_PATH}/collections/${collection.id}/coverage`;
  return x.operation.formats
    .map((format) => {
      const rel = format === x.format ? 'self' : 'alternate';
      return `<${withQuery(path, x.query, format.name)}>; rel="${rel}"; type="${format.mediaType.split(';')[0]}"`;
    })
    .join(', ');
}

function advertisedCrs(collection: RasterCollection, name: string, asked: Crs | undefined): Crs | undefined {
  if (!asked || collection.crs.some((crs) => crs.uri === asked.uri)) return asked;
  throw badParameter(name, 'is not offered by this coverage; see its crs list');
}

function windowOf(box: Box, crs: Crs): Box {
  const bbox = normaliseBox('bbox', box, crs);
  if (bbox[0] === bbox[2] || bbox[1] === bbox[3]) throw badParameter('bbox', 'has no area');
  return bbox;
}

/** `band_1,band_3` -> [1, 3], in the order asked; a band twice is an error. */
function bandsOf(collection: RasterCollection, properties: string | undefined): number[] | undefined {
  if (properties === undefined) return undefined;
  const bands = properties.split(',').map((name) => {
    const band = Number(/^band_(\d{1,5})$/.exec(name.trim())?.[1] ?? Number.NaN);
    if (!collection.bands.some((b) => b.band === band)) {
      throw badParameter('properties', `there is no band '${name.trim().slice(0, 40)}'`);
    }
    return band;
  });
  if (new Set(bands).size !== bands.length) throw badParameter('properties', 'names a band twice');
  return bands;
}

/** Output size in pixels from at most one of resolution, scale-factor and scale-size. */
function outputSize(
  collection: RasterCollection,
  params: CoverageParams,
  bbox: Box | undefined,
  bboxCrs: Crs,
): Size | undefined {
  const given = [params.resolution, params.scaleFactor, params.scaleSize].filter(
    (value) => value !== undefined,
  );
  if (given.length > 1)
    throw badParameter('scale-size', 'only one of resolution, scale-factor and scale-size may be given');
  if (params.scaleSize !== undefined) return parseScaleSize(params.scaleSize);
  const native = nativeResolution(collection);
  if (params.resolution !== undefined)
    return derived('resolution', collection, parseResolution(params.resolution), bbox, bboxCrs);
  if (params.scaleFactor === undefined) return undefined;
  const factor = params.scaleFactor;
  return derived('scale-factor', collection, [native[0] * factor, native[1] * factor], bbox, bboxCrs);
}

function nativeResolution({ raster }: RasterCollection): Size {
  return [
    (raster.extent[2] - raster.extent[0]) / raster.width,
    (raster.extent[3] - raster.extent[1]) / raster.height,
  ];
}

function parseResolution(raw: string): Size {
  const parts = raw.split(',').map(parseNumber);
  if (parts.length > 2 || parts.some((n) => n === undefined || n <= 0)) {
    throw badParameter('resolution', 'must be one positive number, or width,height');
  }
  return [parts[0]!, parts[1] ?? parts[0]!];
}

/** The guard of the contract: computed in the storage CRS, from the requested box or the whole extent. */
function derived(
  name: string,
  collection: RasterCollection,
  pixel: Size,
  bbox: Box | undefined,
  bboxCrs: Crs,
): Size {
  const extent = bbox
    ? clipped(collection, transformed(bbox, bboxCrs, collection))
    : collection.raster.extent;
  const size: Size = [
    Math.max(1, Math.round((extent[2] - extent[0]) / pixel[0])),
    Math.max(1, Math.round((extent[3] - extent[1]) / pixel[1])),
  ];
  if (size.some((side) => side > LIMITS.coverageSide)) {
    throw badParameter(
      name,
      `the output would be ${size[0]} x ${size[1]} pixels; at most ${LIMITS.coverageSide} a side`,
    );
  }
  return size;
}

function transformed(bbox: Box, crs: Crs, collection: RasterCollection): Box {
  try {
    return transformBox(uncrossed(bbox), crs.proj, collection.raster.crs);
  } catch {
    throw badParameter('bbox', 'cannot be expressed in the storage CRS of this coverage');
  }
}

function clipped({ raster }: RasterCollection, box: Box): Box {
  const [minx, miny, maxx, maxy] = raster.extent;
  const cut: Box = [
    Math.max(minx, box[0]),
    Math.max(miny, box[1]),
    Math.min(maxx, box[2]),
    Math.min(maxy, box[3]),
  ];
  return cut[0] < cut[2] && cut[1] < cut[3] ? cut : box;
}

/** `400,300`, or `x(400),y(300)`, or `Lon(400),Lat(300)`. */
function parseScaleSize(raw: string): Size {
  const plain = /^(\d{1,9}),(\d{1,9})$/.exec(raw.trim());
  const pairs = /^([a-z]+)\((\d{1,9})\),([a-z]+)\((\d{1,9})\)$/i.exec(raw.trim());
  const size = plain ? ([Number(plain[1]), Number(plain[2])] as Size) : pairs ? axisPairs(pairs) : undefined;
  if (!size) throw badParameter('scale-size', 'must be width,height or x(n),y(n)');
  if (size.some((side) => side < 1 || side > LIMITS.coverageSide)) {
    throw badParameter('scale-size', `each axis must be between 1 and ${LIMITS.coverageSide}`);
  }
  return size;
}

const X_AXES = new Set(['x', 'lon', 'long', 'e']);
const Y_AXES = new Set(['y', 'lat', 'n']);

function axisPairs(match: RegExpExecArray): Size | undefined {
  const first = match[1]!.toLowerCase();
  const second = match[3]!.toLowerCase();
  if (X_AXES.has(first) && Y_AXES.has(second)) return [Number(match[2]), Number(match[4])];
  if (Y_AXES.has(first) && X_AXES.has(second)) return [Number(match[4]), Number(match[2])];
  return undefined;
}
