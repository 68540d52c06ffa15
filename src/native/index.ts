/**
 * The native part as TypeScript sees it: tile encoding, GeoJSON geometry, coordinate reference systems,
 * gzip, and the path of the SQLite extension. Built by `./run build`; every worker thread may import it.
 */

import { LRUCache } from 'lru-cache';
import type { Box } from '../core/geometry/box.js';
import type { CrsEntry } from '../core/geometry/crs.js';
import type { Merge } from '../core/rasters/rasters.js';
import type { Field } from '../core/sources/vector-source.js';
import { builtFile, nativeAddon } from './built.js';

/**
 * Column of a tile layer: its name, or name and type if the stored value does not show its type (booleans as 0/1).
 */
type LayerField = string | Pick<Field, 'name' | 'type'>;

export interface LayerOptions {
  /** Name of the layer in the tile. */
  layer: string;
  /** Attribute columns, in the order of the values of a row. */
  fields: readonly LayerField[];
  /** CRS of the geometries; anything PROJ reads. Coordinates are x,y ordered. */
  from: string;
  /** CRS of the tile matrix set. */
  to: string;
  /** Extent of the tile in `to`, x,y ordered. */
  bbox: Box;
  /** Grid units per tile side: 1 to 1048576. Default 4096. */
  extent?: number;
  /** Clip buffer in grid units: 0 to 1048576. Default 64. */
  buffer?: number;
  /** Douglas-Peucker tolerance in grid units. Default 0: keep every vertex that differs on the grid. */
  simplify?: number;
  /** The least important features are dropped beyond these. Bytes before compression, about. Default: no bound. */
  maxFeatures?: number;
  maxBytes?: number;
  /** Cells along a side, 1 to 256: the layer has squares with a `count` of points. Default: the features. */
  cells?: number;
  /** Deadline in milliseconds since 1970, after which `gr_mvt` throws. Default: none. */
  deadline?: number;
}

/** Value that a tile can contain. Dates become ISO 8601 text; null and undefined are omitted. */
export type LayerValue = string | number | bigint | boolean | Date | null | undefined;

/**
 * Row of a layer: feature id (omitted from the tile unless it is an integer >= 0), geometry (GeoPackage blob, WKB or
 * EWKB), values.
 */
export type LayerRow = readonly [id: LayerValue, geometry: Uint8Array | null, ...values: LayerValue[]];

interface NativeLayerEncoder {
  add(rows: readonly LayerRow[]): number;
  finish(): Buffer;
  readonly features: number;
  readonly dropped: number;
}

export interface CrsDescription {
  name: string;
  /** Absent if the CRS does not have a code, and PROJ does not find one with confidence. */
  authority?: string;
  code?: string;
  isGeographic: boolean;
  /** True when the authority defines northing or latitude as the first axis. */
  axisSwapped: boolean;
  /** Unit of the horizontal axes: `degree`, `metre`, `US survey foot` ... */
  unit: string;
  /** Metres per unit; for degrees along the equator of the CRS's ellipsoid. */
  metresPerUnit: number;
  /** WKT 2:2019, one line. */
  wkt: string;
  /** PROJJSON as text. Absent if the CRS cannot be expressed in it. */
  projjson?: string;
  /** WKT 1 as written by GDAL and GeoPackage. Absent if the CRS cannot be expressed in it. */
  wkt1?: string;
  /** West, south, east, north in degrees; west > east crosses the antimeridian. */
  areaOfUse?: Box;
  areaName?: string;
}

interface NativeAddon {
  LayerEncoder: new (options: string) => NativeLayerEncoder;
  geometryToGeoJson(blob: Uint8Array, options: string): string;
  geojsonToWkb(geometry: string, options: string): Buffer;
  wkbToGeoPackage(geometry: Uint8Array, srsId: number): Buffer;
  validateGeometry(geometry: Uint8Array): Invalidity | null;
  transformBox(minx: number, miny: number, maxx: number, maxy: number, from: string, to: string): Box;
  transformPoints(points: Float64Array, from: string, to: string): void;
  describeCrs(text: string, identifies: boolean): CrsDescription;
  listCrs(): CrsEntry[];
  namesFile(text: string): boolean;
  gzip(data: Uint8Array, level: number): Buffer;
  gunzip(data: Uint8Array, maxBytes: number): Buffer;
  gunzippedSize(data: Uint8Array, maxBytes: number): number;
  compressBytes(data: Uint8Array, coding: 'gzip' | 'zstd', level: number, windowLog: number): Promise<Buffer>;
  createZstdStream(level: number, windowLog: number): object;
  writeZstdStream(stream: object, data: Uint8Array, directive: number): Promise<Buffer>;
  unzstd(data: Uint8Array, maxBytes: number): Buffer;
  unzstdLater(data: Uint8Array, maxBytes: number): Promise<Buffer>;
  mvtToMlt(tile: Uint8Array): Buffer;
  mltToMvt(tile: Uint8Array): Buffer;
  encodePng(
    rgba: Uint8Array,
    stride: number,
    x: number,
    y: number,
    width: number,
    height: number,
  ): Promise<Buffer>;
  encodePicturePng: NativeAddon['encodePng'];
  encodeFewColorsPng(...image: Parameters<NativeAddon['encodePng']>): Promise<Buffer | undefined>;
  encodeTiffTiles(
    bands: readonly Samples[],
    width: number,
    height: number,
    side: number,
    overviews: number,
    nodata: number | undefined,
  ): Promise<TiffTiles>;
  mergeFunction(merge: Merge): Uint8Array;
  releaseBytes(bytes: Uint8Array): void;
  watchLoop(bounds: readonly number[]): Float64Array;
}

const addon = () => nativeAddon() as NativeAddon;

/** Path for better-sqlite3's `db.loadExtension()`. Throws when the extension is not built. */
export function sqliteExtensionPath(): string {
  return builtFile('graticule_sqlite.so');
}

/**
 * Builds one layer of a vector tile (Mapbox Vector Tile 2.1) from rows. Rows can be added in batches of any size. A
 * row whose geometry is null, unreadable or outside the tile is skipped. A collection of several kinds of geometry
 * becomes one feature per kind. Throws for wrong options or an unknown CRS.
 */
export class LayerEncoder {
  readonly #native: NativeLayerEncoder;

  constructor(options: LayerOptions) {
    this.#native = new (addon().LayerEncoder)(JSON.stringify(options));
  }

  /** Adds rows; returns how many of them the tile shows. Throws a TypeError for a row of the wrong length. */
  add(rows: readonly LayerRow[]): number {
    return this.#native.add(rows);
  }

  /** Features so far. */
  get features(): number {
    return this.#native.features;
  }

  /** Number of features that were omitted so far because the layer would be too large. `finish` can omit more. */
  get dropped(): number {
    return this.#native.dropped;
  }

  /**
   * Returns the tile with this one layer; of length 0 without features. Tiles of several layers are such tiles
   * concatenated. Call it once, at the end.
   */
  finish(): Buffer {
    return this.#native.finish();
  }
}

/** One layer from rows at hand: see {@link LayerEncoder}. */
export function encodeLayer(options: LayerOptions, rows: Iterable<LayerRow>): Buffer {
  const encoder = new LayerEncoder(options);
  encoder.add(Array.isArray(rows) ? rows : Array.from(rows));
  return encoder.finish();
}

export interface GeoJsonGeometryOptions {
  /** CRS of the geometry; anything PROJ reads. */
  from: string;
  /** CRS of the output. */
  to: string;
  /** Decimal places: 0 to 15. Default 7. */
  precision?: number;
  /** Write y,x: for CRS that are defined northing or latitude first. */
  swap?: boolean;
}

/**
 * Returns a GeoPackage blob, WKB or EWKB as the text of a GeoJSON geometry (RFC 7946). `null` if it is empty or
 * cannot be projected to the output CRS. Z is kept, M is not. Throws for bytes that are not a geometry and for an
 * unknown CRS.
 */
export function geometryToGeoJSON(blob: Uint8Array, options: GeoJsonGeometryOptions): string {
  return addon().geometryToGeoJson(blob, JSON.stringify(options));
}

export interface GeoJsonReadOptions {
  /** CRS of the GeoJSON; anything PROJ reads. */
  from: string;
  /** CRS of the result. */
  to: string;
  /** True when the text is y,x ordered: CRS that are defined northing or latitude first. */
  swap?: boolean;
  /** 2: z is dropped. 3: z is written, 0 where it is missing. Absent: z is written when any position has one. */
  dimension?: 2 | 3;
  /** Most positions: up to 1048576. Default 500000. */
  maxVertices?: number;
}

/** Error of a geometry, and the member that contains it. Without `place`: the complete geometry. */
export interface GeoJsonError extends Error {
  readonly place?: string;
}

/**
 * Converts a GeoJSON geometry (RFC 7946), given as object or text, to WKB: ISO, little endian, x,y ordered. Throws a
 * `GeoJsonError` whose message can be shown to a client and starts with the position: `coordinates/0/3 is not a
 * finite number`. Reasons are numbers that are not finite, open rings, rings with fewer than four positions, lines
 * with fewer than two, and a fourth ordinate. Further reasons are collections nested more than 16 deep, too many
 * positions, positions that cannot be projected to `to`, and unknown CRSs.
 */
export function geojsonToWkb(geometry: object | string, options: GeoJsonReadOptions): Buffer {
  const text = typeof geometry === 'string' ? geometry : JSON.stringify(geometry);
  return addon().geojsonToWkb(text, JSON.stringify(options));
}

/**
 * Returns WKB, EWKB or a GeoPackage blob as a GeoPackage blob. It has the x,y envelope unless it is a point, and the
 * empty flag if it is empty. Throws for bytes that are not a geometry.
 */
export function wkbToGeoPackage(geometry: Uint8Array, srsId: number): Buffer {
  return addon().wkbToGeoPackage(geometry, srsId);
}

/** Why a geometry is not valid, and where when that is a place. */
export interface Invalidity {
  reason: string;
  x?: number;
  y?: number;
}

/** Returns null for a valid geometry (OGC 06-103r4), according to GEOS. Throws for bytes that are not a geometry. */
export function validateGeometry(geometry: Uint8Array): Invalidity | null {
  return addon().validateGeometry(geometry);
}

/**
 * Returns the box that contains the image of a box, whose edges are densified. Both are x,y ordered. In a geographic
 * result, minx > maxx means that it crosses the antimeridian. Throws if it cannot be projected, or if a CRS is
 * unknown.
 */
export function transformBox(box: Box, from: string, to: string): Box {
  return addon().transformBox(box[0], box[1], box[2], box[3], from, to);
}

/**
 * Transforms x,y pairs in place. A position that cannot be projected becomes Infinity, Infinity. Throws for an
 * unknown CRS, and if there is no transformation between the two.
 */
export function transformPoints(points: Float64Array, from: string, to: string): void {
  addon().transformPoints(points, from, to);
}

/** A CRS without a code takes PROJ a fifth of a second to identify. */
const described = new LRUCache<string, Readonly<CrsDescription>>({ max: 1000 });

/**
 * Returns the description of a CRS. Accepts codes (`EPSG:4326`), URNs, URLs, WKT, PROJJSON and PROJ strings. Throws
 * for any other text.
 */
export function describeCrs(text: string): Readonly<CrsDescription> {
  let description = described.get(text);
  if (!description) described.set(text, (description = Object.freeze(addon().describeCrs(text, true))));
  return description;
}

/**
 * Returns the geographic and projected CRSs of EPSG that are not deprecated, in the order of their codes. Takes 0.2 s.
 */
export function listCrs(): CrsEntry[] {
  return addon()
    .listCrs()
    .sort((one, other) => Number(one.code) - Number(other.code));
}

/** Whether positions of a CRS are longitudes and latitudes. */
export function hasLongitudes(crs: string): boolean {
  try {
    return describeCrs(crs).isGeographic;
  } catch {
    return false;
  }
}

/**
 * Same for a CRS that a client defines. The search for a code is skipped if the text does not contain one, which
 * saves time, and the result is not cached.
 */
export function readCrs(text: string): Readonly<CrsDescription> {
  return addon().describeCrs(text, false);
}

/** Whether the definition of a CRS names a file by a path or URL, which PROJ would open. */
export function namesFile(crs: string): boolean {
  return addon().namesFile(crs);
}

/** Code of errors for contents above a limit, the same as in Node's zlib. */
export const TOO_LARGE = 'ERR_BUFFER_TOO_LARGE';

/**
 * Returns a vector tile as a MapLibre Tile, with each column in its shortest encoding. Throws for bytes that are not
 * a vector tile, and `TOO_LARGE`.
 */
export function mvtToMlt(tile: Uint8Array): Buffer {
  return addon().mvtToMlt(tile);
}

/**
 * Returns a MapLibre Tile as a vector tile. Nested properties are omitted. Throws for bytes that are not a MapLibre
 * Tile, and `TOO_LARGE`.
 */
export function mltToMvt(tile: Uint8Array): Buffer {
  return addon().mltToMvt(tile);
}

/** Compresses to one gzip member. Level 0 (stored) to 12 (smallest); 6 is as small as zlib's 6 in less time. */
export function gzip(data: Uint8Array, level = 6): Buffer {
  return addon().gzip(data, level);
}

/** Returns the contents of gzip data (RFC 1952). Throws for damaged data, and for more than `maxBytes`. */
export function gunzip(data: Uint8Array, maxBytes: number): Buffer {
  return addon().gunzip(data, maxBytes);
}

/** Same as {@link gunzip}, but returns only the number of bytes. */
export function gunzippedSize(data: Uint8Array, maxBytes: number): number {
  return addon().gunzippedSize(data, maxBytes);
}

/**
 * Compresses on another thread: gzip at levels 0 to 12, zstd at -7 to 19. The bytes must not change until it settles.
 * The window of Zstd has 2^`windowLog` bytes, at most 2^23. Default: the window of its level.
 */
export function compressBytes(
  data: Uint8Array,
  coding: 'gzip' | 'zstd',
  level: number,
  windowLog = 0,
): Promise<Buffer> {
  return addon().compressBytes(data, coding, level, windowLog);
}

/**
 * Returns the contents of zstd data (RFC 8878), with windows of at most 8 MiB. Throws for damaged data, and for more
 * than `maxBytes`.
 */
export function unzstd(data: Uint8Array, maxBytes: number): Buffer {
  return addon().unzstd(data, maxBytes);
}

/** Same as {@link unzstd}, on another thread. */
export function unzstdLater(data: Uint8Array, maxBytes: number): Promise<Buffer> {
  return addon().unzstdLater(data, maxBytes);
}

/** Directive of a write: wait for more data, flush all data so far, or end the data. */
const DIRECTIVES = { continue: 0, flush: 1, end: 2 } as const;

/** Zstd of data that comes in parts, off this thread. A part is written when the one before has come back. */
export class ZstdStream {
  readonly #native: object;

  constructor(level: number, windowLog: number) {
    this.#native = addon().createZstdStream(level, windowLog);
  }

  write(data: Uint8Array, directive: keyof typeof DIRECTIVES): Promise<Buffer> {
    return addon().writeZstdStream(this.#native, data, DIRECTIVES[directive]);
  }
}

/** Part of an image, in pixels. */
export interface PixelWindow {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/**
 * Returns a window of an RGBA image (4 bytes a pixel, not premultiplied, `stride` pixels a row) as PNG. It is encoded
 * on another thread, and the pixels must not change until it settles. Suitable for drawn maps, not for photographs,
 * because rows are not filtered. Throws for a window that is not in the image.
 */
export function encodePng(
  rgba: Uint8Array,
  stride: number,
  { x, y, width, height }: PixelWindow,
): Promise<Buffer> {
  return addon().encodePng(rgba, stride, x, y, width, height);
}

/** Same for raster data and photographs: rows are filtered, and the PNG image has only the channels that it needs. */
export function encodePicturePng(
  rgba: Uint8Array,
  stride: number,
  { x, y, width, height }: PixelWindow,
): Promise<Buffer> {
  return addon().encodePicturePng(rgba, stride, x, y, width, height);
}

/**
 * Same for an image with at most 256 colours. Undefined for other images. Fully transparent pixels do not have a
 * colour.
 */
export function encodeFewColorsPng(
  rgba: Uint8Array,
  stride: number,
  { x, y, width, height }: PixelWindow,
): Promise<Buffer | undefined> {
  return addon().encodeFewColorsPng(rgba, stride, x, y, width, height);
}

/**
 * Returns a pixel function for `gdal.addPixelFunc` that merges the values of its sources, which have one type.
 * Arguments: `noData`, which is ignored like NaN and is the result without values, and `isWhole` (0 or 1), whether
 * averages are rounded.
 */
export function mergeFunction(merge: Merge): Uint8Array {
  return addon().mergeFunction(merge);
}

/**
 * Frees the memory of unused bytes; the array is empty afterwards. V8 would otherwise count large arrays as growth of
 * its heap and mark the complete heap every few dozen arrays. Has no effect on bytes that share their memory.
 */
export function releaseBytes(bytes: Uint8Array): void {
  const { buffer } = bytes;
  if (buffer instanceof ArrayBuffer && bytes.byteLength > 0 && bytes.byteLength === buffer.byteLength)
    addon().releaseBytes(bytes);
}

/** Samples of one band, row by row from the top. */
export type Samples =
  | Uint8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array;

export interface TiffImage {
  /** Bands of one type. They must not change until the tiles are complete. */
  bands: readonly Samples[];
  width: number;
  height: number;
  /** Side of a tile in pixels; a multiple of 16. */
  side: number;
  /** Overviews are halved until one fits a tile, by every second pixel, or by the average of the valid pixels. */
  overviews: 'none' | 'nearest' | 'average';
  nodata?: number;
}

/**
 * Tiles of a GeoTIFF: pixel interleaved, predicted (2 for integers, 3 for floats), deflated; each between its size and
 * its last four bytes, as GDAL's COG layout has them.
 */
export interface TiffTiles {
  data: Uint8Array;
  /** Start of each tile in `data`: the tiles of the smallest overview first, the tiles of the image last. */
  offsets: Uint32Array;
  sizes: Uint32Array;
  /** Statistics of each band: number of valid samples, minimum, maximum, mean and deviation. */
  statistics: Float64Array;
}

/** Makes the tiles on another thread. Throws for bands that are not of one type and of the size of the image. */
export function encodeTiffTiles(image: TiffImage): Promise<TiffTiles> {
  const { bands, width, height, side, overviews, nodata } = image;
  const code = ['none', 'nearest', 'average'].indexOf(overviews);
  return addon().encodeTiffTiles(bands, width, height, side, code, nodata);
}

/** CPU milliseconds of the turns of an event loop. */
export interface LoopTurns {
  /** Event-loop iterations per bucket, not cumulative. The last bucket is above all bounds. */
  counts: number[];
  sum: number;
  count: number;
  /** The longest turn since this was last read. */
  largest: number;
}

/**
 * Measures every turn of this thread's event loop from now on: the CPU time that callbacks took between two polls.
 * Time in which the thread slept or was not scheduled does not count. The result reads the figures so far.
 */
export function watchLoop(bounds: readonly number[]): () => LoopTurns {
  const numbers = addon().watchLoop(bounds);
  const tail = bounds.length + 1;
  return () => {
    const largest = numbers[tail + 2]!;
    numbers[tail + 2] = 0;
    return {
      counts: [...numbers.subarray(0, tail)],
      sum: numbers[tail]!,
      count: numbers[tail + 1]!,
      largest,
    };
  };
}
