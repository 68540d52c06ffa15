import type { Position } from 'geojson';
import type { ForeignFile } from '../exchange/ogr.js';
import type { PictureComparison, PictureComparisonTask } from '../exchange/parity.js';
import type { Box } from '../geometry/box.js';
import type { StoreCredentials } from '../sources/object-stores.js';
import type { StacSource } from '../stac/stac-source.js';
import type { AnyNumber } from '../values/exact-number.js';
import type { Color } from './color-ramps.js';
import type { RasterLook } from './raster-look.js';
import type { RasterProcessResult, RasterProcessTask } from './raster-processes.js';

/** Rasters: where their pixels are, what is known of them, and the tasks that read them. */

/** A local file that GDAL reads as one raster. */
export interface FileRaster {
  kind: 'file';
  path: string;
  /** Tile table of a GeoPackage. */
  table?: string;
  /** CRS that is stated of it, whatever the file says. */
  crs?: string;
  /** CRS of a file that names none. */
  assumeCrs?: string;
}

/** A cloud optimized GeoTIFF that is read by ranges over HTTP. */
export interface RemoteRaster {
  kind: 'remote';
  url: string;
  /** Credentials, only in tasks and in the catalog. In the state, a raster refers to its connection. */
  credentials?: StoreCredentials;
  /** Set if the credentials of the environment must not be sent, because another user chose the URL. */
  isAnonymous?: true;
}

/** Bands of remote files with the same extent, as one raster on the finest pixels. */
export interface BandStack {
  kind: 'stack';
  parts: RemoteRaster[];
  /** 1-based, of the bands of all parts together; absent: all. */
  bands?: readonly number[];
}

/**
 * Variables of a multidimensional file (netCDF, HDF5, GRIB) or store (Zarr) that share one grid. Each variable is a
 * band; times and levels are not.
 */
export interface GriddedRaster {
  kind: 'gridded';
  /** A file, or the folder or URL of a store. */
  path: string;
  variables: string[];
}

/** A raster column of a PostGIS table. */
export interface PostgisRaster {
  kind: 'postgis-raster';
  /** libpq connection URL. It can contain a password, so it is never logged or sent to a client. */
  database: string;
  schema: string;
  table: string;
  column: string;
}

/** Merge methods of overlapping rasters, by the settings of a layer. */
export const MERGES = ['average', 'max', 'min'] as const;
/** All that there is. */
export const ALL_MERGES = [...MERGES, 'median', 'standard-deviation', 'count'] as const;
export type Merge = (typeof ALL_MERGES)[number];

/** Rasters of one layer, drawn over each other in this order: the last is on top. */
export interface RasterMosaic {
  kind: 'mosaic';
  members: MosaicMember[];
  /** In place of the order. */
  merge?: Merge;
  /**
   * GDAL types of the bands. Members with other types and unreadable members are skipped. Absent: an unreadable
   * member is an error.
   */
  bandTypes?: readonly string[];
  /** Members are the scenes that this finds in a window: whoever reads the mosaic searches for them first. */
  search?: StacSource;
  /** Order of searched members: the oldest on top. Default: the order of the source. */
  order?: 'oldest';
  /** A range of time selects all members of it; absent: the newest batch within it. */
  byRange?: true;
  /** Absent: around the members, on the pixels of the finest, in the CRS of the first. */
  grid?: RasterGrid;
}

/** Pixels that run from north to south. */
export interface RasterGrid {
  crs: string;
  /** Same as in `RasterInfo`, but without rotation. */
  geoTransform: [number, number, number, number, number, number];
  width: number;
  height: number;
}

export interface MosaicMember {
  /** Names it within the collection. */
  id: string;
  source: Exclude<RasterSource, RasterMosaic>;
  /** West, south, east, north. */
  extent84: Box;
  /** When its data was taken, in RFC 3339: members of the same instant are one acquisition batch. */
  acquired?: string;
  /** Item of a scene in its STAC API, and its cloud cover in per cent. */
  via?: string;
  cloudCover?: number;
}

export type RasterSource =
  | FileRaster
  | RemoteRaster
  | BandStack
  | GriddedRaster
  | PostgisRaster
  | RasterMosaic;

/** One slice of a raster with more axes than x and y, as indices into `RasterInfo.times` and `levels`. */
export interface RasterPosition {
  time?: number;
  level?: number;
}

export interface BandInfo {
  /** 1-based band number. */
  band: number;
  /** GDAL type name: Byte, UInt16, Int16, UInt32, Int32, Float32, Float64 ... */
  type: string;
  noData: number | null;
  description: string;
  /** GDAL colour interpretation: Red, Green, Blue, Alpha, Gray, Palette, Undefined ... */
  colorInterpretation: string;
  /** Unit of the values, when the file says so. */
  unit: string;
  /** Approximate statistics, from overviews when there are any. */
  statistics?: { min: number; max: number; mean: number; stdDev: number };
  /** Range of a sample of the values without the outermost 2 % on each side. Absent without values. */
  usualRange?: [number, number];
  /** Classes of the values with their colours in the file. Absent for quantities. */
  classes?: ThematicClass[];
}

/** Class of a thematic raster. */
export interface ThematicClass {
  value: number;
  /** Name in the file; otherwise the value. */
  name: string;
  color: Color;
}

/** Result of inspecting a raster file. */
export interface RasterInfo {
  source: RasterSource;
  driver: string;
  /** Columns and rows. */
  width: number;
  height: number;
  /** GDAL geotransform: x origin, pixel width, row rotation, y origin, column rotation, pixel height (negative). */
  geoTransform: [number, number, number, number, number, number];
  /** `EPSG:n` when the authority code is known, else WKT. */
  crs: string;
  epsg: number | null;
  extent: Box;
  extent84: Box;
  bands: BandInfo[];
  overviewCount: number;
  /** GDAL name of the compression: DEFLATE, JPEG ...; absent if there is none or it is unknown. */
  compression?: string;
  blockSize: [number, number];
  /** Instants of the time axis in RFC 3339, oldest first; absent without a time axis. */
  times?: string[];
  /** Vertical axis in file order; absent without one. */
  levels?: { name: string; unit: string; values: number[] };
  /** When the data was taken, as the file says, in RFC 3339. */
  acquired?: string;
  /** Revision of a remote raster, which changes with its content. */
  revision?: string;
}

/** Resampling methods with the names of GDAL. */
export const RESAMPLINGS = [
  'nearest',
  'bilinear',
  'cubic',
  'cubicspline',
  'lanczos',
  'average',
  'mode',
] as const;
export type Resampling = (typeof RESAMPLINGS)[number];

/** Rasters in one file or folder. */
export interface RasterLayers {
  /** Rasters. Default name: the file name. */
  layers: { name?: string; source: RasterSource }[];
  problems: { layer: string; reason: string }[];
}

export interface CoverageTask {
  source: RasterSource;
  /** Absent: the newest time, the first level. */
  at?: RasterPosition;
  /** Window in `bboxCrs`, x,y ordered; one of degrees crosses the antimeridian when minx > maxx. Absent: the whole grid. */
  bbox?: Box;
  bboxCrs?: string;
  /** Output CRS. */
  crs: string;
  /** 1-based bands in output order; absent: all. */
  bands?: number[];
  /**
   * Set if the output covers the complete `bbox`, also outside the raster. Requires `size`. Default: the part inside
   * the raster.
   */
  isWhole?: true;
  /** Output size in pixels, 0 for as many as the raster has there; absent: derived from the native resolution. */
  size?: [number, number];
  /** Pixel size x and y in units of the CRS of the raster, applied before reprojection. Not with `size`. */
  pixel?: [number, number];
  /** Pixel size x and y in units of `crs`; 0 means the native size. Not with `size` or `pixel`. */
  resolution?: [number, number];
  /** Absent: nearest for values that are names (colour tables, categories), else bilinear. */
  resampling?: Resampling;
  /** Estimated pixels of the output, which determine whether the task is heavy. */
  pixels?: number;
  /** Largest allowed output side, in pixels. */
  maxSize: number;
  /** Maximum bytes of the output before compression. */
  maxBytes: number;
  /** Output format. LERC covers the complete `bbox` and requires `size`. */
  format: 'geotiff' | 'png' | 'lerc';
  /** Rendering of PNG. Default: the selected bands in gray, or as red, green and blue. */
  look?: RasterLook;
  /** Displayed minimum and maximum by band, for PNG. */
  ranges?: RasterImageTask['ranges'];
  /** Maximum error of LERC values. Default: exact. */
  tolerance?: number;
  /** Absent: 2 where all pixels have values, else 1, whose values have 32 bits. */
  lercVersion?: 1;
}

/** Missing parts of a mosaic whose members can be unavailable. */
export interface Loss {
  /** Ids of the members that are not in the result; absent where all are. */
  lost?: readonly string[];
}

export interface CoverageResult extends Loss {
  /** Without bytes when they are in a file. */
  data: Uint8Array;
  /** File with a large result, which the receiver must delete. */
  file?: string;
  mediaType: string;
  /** Names the bytes; absent for those in a file. */
  tag?: string;
  width: number;
  height: number;
  /** Box in the CRS of the output, in x,y order; beyond 180 degrees across the antimeridian. */
  bbox: Box;
}

/** One drawing of a raster: its colours, or the shadows of its relief. */
export interface RasterStep {
  readonly look?: RasterLook;
  readonly hillshade?: Hillshade;
  readonly adjustment?: PixelAdjustment;
}

/** Relief shading of band 1, as MapLibre's `hillshade` layers have it. */
export interface Hillshade {
  /** Direction of the light in degrees clockwise from the top. */
  readonly azimuth: number;
  /** 0 to 1. */
  readonly exaggeration: number;
  /** Factor of the slopes. */
  readonly steepness: number;
  readonly shadow: Color;
  readonly highlight: Color;
  readonly accent: Color;
}

/** Changes of finished pixels, as the `raster-*` properties of MapLibre; what is absent changes nothing. */
export interface PixelAdjustment {
  readonly opacity?: number;
  readonly brightnessMin?: number;
  readonly brightnessMax?: number;
  readonly contrast?: number;
  readonly saturation?: number;
  /** Degrees. */
  readonly hueRotate?: number;
}

export interface RasterImageTask {
  source: RasterSource;
  /** Absent: the newest time, the first level. */
  at?: RasterPosition;
  /** Target window in `crs`, x,y ordered. */
  bbox: Box;
  crs: string;
  width: number;
  height: number;
  /** `raw` is RGBA, 4 bytes a pixel, row by row from the top, not premultiplied. */
  format: 'raw' | 'png' | 'jpeg' | 'webp' | 'tiff';
  quality?: number;
  cut?: TileSize;
  /** Rendering steps, bottom first. Default: the default rendering. */
  steps?: readonly RasterStep[];
  /** Metres along a pixel's width and height, in the middle of the window; needed by hillshades. */
  pixelMetres?: readonly [number, number];
  /**
   * Displayed minimum and maximum by band, for a source that is a part of the displayed raster. Otherwise each part
   * would be stretched by its own values.
   */
  ranges?: readonly (readonly [number, number] | null)[];
}

/** Pixels of the tiles that a PNG or WebP image is cut into, instead of being encoded whole; divides its size. */
export interface TileSize {
  width: number;
  height: number;
}

export interface ImageTile {
  /** Without bytes when it is empty. */
  data: Uint8Array;
  /** True when every pixel is fully transparent. */
  empty: boolean;
}

export interface ImageResult extends Loss {
  /** Without bytes when the image was cut. */
  data: Uint8Array;
  mediaType: string;
  /** Entity of the bytes. Absent if the bytes are not sent unchanged. */
  tag?: string;
  width: number;
  height: number;
  /** True when every pixel is fully transparent. */
  empty: boolean;
  /** Tiles of a divided image, row by row from the top left. */
  tiles?: ImageTile[];
}

/** Reads the pixel at one place, of several slices. */
export interface PositionTask {
  /** Longitude and latitude. */
  place: readonly [number, number];
  slices: { source: RasterSource; at?: RasterPosition }[];
}

export interface PositionResult extends Loss {
  /** By slice, the values by band: scaled to their unit, null without data. Integers have all their digits. Null for a slice that the place is not in, or that is lost. */
  values: ((AnyNumber | null)[] | null)[];
}

/** Counts stored band values. */
export interface HistogramTask {
  source: RasterSource;
  /** Absent: the newest time, the first level. */
  at?: RasterPosition;
  /** 1-based bands in output order; absent: all. */
  bands?: number[];
  /** Absent: a sample of the whole raster, as its statistics are of. */
  area?: HistogramArea;
}

export interface HistogramArea {
  /** In `crs`, x,y ordered; one of degrees crosses the antimeridian when minx > maxx. */
  bbox: Box;
  crs: string;
  /** Coordinates of a MultiPolygon in `crs`: only pixels with their centre inside. Default: the box. */
  polygons?: Position[][][];
  /** Pixel size, x and y, in units of the raster's CRS. Absent: its own. */
  pixel?: [number, number];
  /** Maximum pixels to read. */
  maxPixels: number;
}

export interface BandHistogram {
  count: number;
  min: number;
  max: number;
  mean: number;
  stdDev: number;
  /** Bins of equal width from `from` to `to`. */
  histogram: { from: number; to: number; counts: number[] };
}

/** Imports a raster as a cloud optimized GeoTIFF with overviews and statistics. */
export interface RasterImportTask extends ForeignFile {
  /** A GeoTIFF, PNG or JPEG. */
  path: string;
  /** File to create; must not exist. Removed again when the task fails. */
  output: string;
  /** CRS of a file that names none: anything PROJ reads. */
  crs?: string;
  /** Place of a file that does not say it, as in `RasterInfo`. */
  geoTransform?: RasterInfo['geoTransform'];
}

export interface RasterImportResult {
  /** Whether the file was a cloud optimized GeoTIFF before. */
  optimized: boolean;
  /** Properties that the file itself defines, so that the value of the task was not used. */
  ignored: ('crs' | 'geoTransform')[];
}

/** Tasks of the raster thread of engines. `raster.import` and `raster.process` run in separate processes. */
export interface RasterTasks {
  /** Lists what is in a tile index, a netCDF or HDF5 file, or the folder of a Zarr store. */
  'raster.layers': { input: { path: string }; output: RasterLayers };
  'raster.inspect': { input: { source: RasterSource }; output: RasterInfo };
  'raster.coverage': { input: CoverageTask; output: CoverageResult };
  'raster.position': { input: PositionTask; output: PositionResult };
  'raster.image': { input: RasterImageTask; output: ImageResult };
  /** Histogram of each band. Null if the band has no valid pixel in the area. */
  'raster.histograms': { input: HistogramTask; output: { bands: (BandHistogram | null)[] } };
  'raster.compare': { input: PictureComparisonTask; output: PictureComparison };
  'raster.import': { input: RasterImportTask; output: RasterImportResult };
  'raster.process': { input: RasterProcessTask; output: RasterProcessResult };
}
