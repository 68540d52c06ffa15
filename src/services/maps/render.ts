import { hasCoverage, hasFeatures } from '../../core/catalog/abilities.js';
import {
  type Collection,
  type RasterCollection,
  readable,
  type VectorCollection,
} from '../../core/catalog/collection.js';
import { listDrawnRanges } from '../../core/catalog/default-look.js';
import { listMosaicMembers } from '../../core/catalog/raster-sources.js';
import { and, type Expression } from '../../core/cql2/index.js';
import { ApiError } from '../../core/errors/errors.js';
import type { Box } from '../../core/geometry/box.js';
import type { AcquisitionTime, AxisRange } from '../../core/http/params.js';
import type { MapLayer } from '../../core/maps/maps.js';
import type { RasterLook } from '../../core/rasters/raster-look.js';
import type { ImageResult, RasterImageTask, RasterStep, TileSize } from '../../core/rasters/rasters.js';
import { styleFacts } from '../../core/styles/facts.js';
import { styleText } from '../../core/styles/model.js';
import { rasterSteps } from '../../core/styles/raster-steps.js';
import { scaleToZoom } from '../../core/styles/zoom.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { describeCrs, releaseBytes } from '../../native/index.js';
import { runTask, type TaskContext } from '../kit/run-task.js';
import { chooseRaster } from '../rasters/choose.js';
import { windowIn84 } from '../rasters/source-items.js';
import { withScenes } from '../rasters/stac-imagery/windows.js';
import { groundSize, listWrappedWindows } from './ground.js';

export interface ImageRequest {
  /** Bottom first. */
  collections: readonly Collection[];
  /** x,y ordered, in `crs`. */
  bbox: Box;
  crs: string;
  width: number;
  height: number;
  /** CSS colour or `transparent`. */
  background: string;
  format: 'png' | 'jpeg' | 'webp' | 'tiff';
  quality?: number;
  /** Scale of symbols relative to 96 dpi. Default: 1. */
  scale?: number;
  /** Whether the map continues beyond the antimeridian, if the CRS of the map has it at both of its sides. */
  wraps?: boolean;
  /** Cuts the image into tiles. */
  cut?: TileSize;
  /** Checked filters by the id of their collection: only these features are drawn. */
  filters?: ReadonlyMap<string, Expression>;
  /** The acquisition time of the rasters. Default: all of a mosaic, the newest time of a series. */
  batch?: AcquisitionTime | undefined;
  /** Rendering of the raster among the collections. */
  look?: RasterLook | undefined;
  /** The value that is transparent in rasters with their default style. Not together with `look`. */
  nodata?: number | undefined;
  /** Part of the vertical axis of rasters. Default: their first level. */
  heights?: AxisRange | undefined;
}

export interface RenderedImage extends ImageResult {
  /** Bytes of the vector tiles that the image was drawn from. */
  readonly vectorBytes: number;
}

/** Metres of a pixel of 96 dpi, as the standards have it. */
const PIXEL_METRES = 0.00028;
/** Grid units per pixel of the vector data that a map is drawn from: finer than antialiasing shows. */
const UNITS_PER_PIXEL = 16;
/** Minimum pixels that symbols can extend beyond the edge. */
const MARGIN_PIXELS = 16;
/**
 * Maximum buffer of the encoder. Maps that are hundreds of times as wide as high lose some symbols that extend into
 * them.
 */
const MAX_BUFFER = 2 ** 20;
/** Three eighths of a pixel, as MapLibre has it: at small scales half of the positions of a quarter of a pixel. */
const SIMPLIFY = (3 / 8) * UNITS_PER_PIXEL;

/**
 * Draws collections into one image. Vector data is clipped, projected and generalised to the pixel grid by the
 * encoder of the vector tiles, rasters are warped to the same window, Mapnik puts both together. A single
 * raster skips Mapnik.
 */
export async function renderImage(
  x: TaskContext,
  pools: Pools,
  request: ImageRequest,
): Promise<RenderedImage> {
  const { bbox, crs, width, height, format, quality, scale = 1, cut } = request;
  const searched = { window84: windowIn84(bbox, crs), datetime: request.batch, signal: x.signal };
  const collections = await withScenes(pools, request.collections, searched);
  const [only] = collections;
  const windows = request.wraps ? listWrappedWindows(bbox, crs) : [bbox];
  if (
    windows.length === 1 &&
    collections.length === 1 &&
    hasCoverage(only) &&
    request.background === 'transparent'
  ) {
    const task = { ...parseRaster(only, request), bbox, crs, width, height, format, quality, cut };
    const { layerId } = only;
    return { ...(await runTask(x, pools, 'raster.image', task, { layerId })), vectorBytes: 0 };
  }
  const lost: string[] = [];
  const layers = await Promise.all(
    collections.flatMap((collection) =>
      windows.map((window, i) => findLayer(x, pools, collection, { ...request, bbox: window }, i, lost)),
    ),
  );
  const vectorBytes = layers.reduce(
    (sum, layer) => sum + (layer?.kind === 'vector' ? layer.tile.byteLength : 0),
    0,
  );
  const task = {
    width,
    height,
    background: request.background,
    layers: layers.filter((layer) => layer !== undefined),
    tileExtent: computeGrid(request),
    zoom: computeZoom(request),
    scale,
    format,
    quality,
    cut,
    bbox,
    crs,
  };
  const layerId = only && collections.length === 1 ? only.layerId : 'several';
  const image = await runTask(x, pools, 'map.render', task, { layerId });
  // The engine has copied all layers, otherwise it could not have drawn.
  for (const layer of layers) if (layer) releaseBytes(layer.kind === 'vector' ? layer.tile : layer.rgba);
  return { ...image, vectorBytes, ...(lost.length > 0 && { lost }) };
}

async function findLayer(
  x: TaskContext,
  pools: Pools,
  collection: Collection,
  request: ImageRequest,
  part: number,
  lost: string[],
): Promise<MapLayer | undefined> {
  if (hasFeatures(collection)) return vectorLayer(x, pools, collection, request, part);
  if (!hasCoverage(collection))
    throw new ApiError(
      'not-implemented',
      'Tile archives cannot be drawn into maps. Request their tiles instead.',
    );
  const { bbox, crs, width, height } = request;
  const task = { ...parseRaster(collection, request), bbox, crs, width, height, format: 'raw' as const };
  const image = await runTask(x, pools, 'raster.image', task, { layerId: collection.layerId });
  lost.push(...(image.lost ?? []));
  return image.empty ? undefined : { kind: 'raster', rgba: image.data };
}

/**
 * The part of a collection to read for an image. Callers have already removed collections without data of the
 * acquisition.
 */
function parseRaster(
  collection: RasterCollection,
  request: ImageRequest,
): Pick<RasterImageTask, 'source' | 'at' | 'steps' | 'pixelMetres' | 'ranges'> {
  const { bbox, crs, batch, look, nodata, heights } = request;
  const { source } = collection.raster;
  // The window only selects members.
  const isMosaic = listMosaicMembers(source) !== undefined;
  const window84 = isMosaic ? windowIn84(bbox, crs) : undefined;
  const raster = chooseRaster(collection, { window84, datetime: batch, heights });
  if (!raster) throw new ApiError('not-found', `${collection.id} has no raster of this time.`);
  // Other levels have other values.
  const ranges = raster.at?.level ? undefined : listDrawnRanges(collection);
  const steps = look ? [{ look }] : withNodata(rasterSteps(collection.style, computeZoom(request)), nodata);
  return {
    source: raster.source,
    ...(raster.at && { at: raster.at }),
    ...(steps && { steps }),
    ...(steps?.some(({ hillshade }) => hillshade) && { pixelMetres: pixelMetres(request) }),
    ...(ranges && { ranges }),
  };
}

/** Steps that draw no relief leave pixels of the value out. */
function withNodata(steps: readonly RasterStep[] | undefined, nodata: number | undefined) {
  if (nodata === undefined) return steps;
  return (steps ?? [{}]).map((step) => (step.hillshade ? step : { ...step, look: { ...step.look, nodata } }));
}

/** Metres along the sides of a pixel in the middle of the image, over the ground. */
function pixelMetres({ bbox, crs, width, height }: ImageRequest): [number, number] {
  const [along, across] = groundSize(bbox, crs);
  return [along / width, across / height];
}

async function vectorLayer(
  x: TaskContext,
  pools: Pools,
  collection: VectorCollection,
  request: ImageRequest,
  part: number,
): Promise<MapLayer | undefined> {
  const { reach, names } = styleFacts(collection.style);
  const { source, filter, fields } = readable(collection);
  const { maxFeaturesPerLayer = 0 } = collection.maps ?? {};
  const narrowed = and(filter, request.filters?.get(collection.id));
  const allowed = fields ?? source.fields.map(({ name }) => name);
  const { data } = await runTask(x, pools, 'vector.tile', {
    layers: [
      {
        // Layers of one name would be one to Mapnik; no collection is called like the second part of a map.
        name: part === 0 ? collection.id : `\ue001${part}${collection.id}`,
        version: collection.rule?.version ?? collection.version,
        cursor: collection.cursor,
        source,
        fields: names ? allowed.filter((name) => names.has(name)) : allowed,
        filter: narrowed,
        ...(maxFeaturesPerLayer > 0 ? { maxFeatures: maxFeaturesPerLayer } : {}),
      },
    ],
    crs: request.crs,
    bbox: request.bbox,
    extent: computeGrid(request),
    buffer: computeBuffer(request, reach),
    simplify: SIMPLIFY,
    encoding: 'identity',
  });
  if (data.byteLength === 0) return undefined;
  return { kind: 'vector', tile: data, style: styleText(collection.style) };
}

/** Grid units along either side: the grid is stretched to the shape of the image. */
function computeGrid({ width, height }: ImageRequest): number {
  return Math.max(width, height) * UNITS_PER_PIXEL;
}

/** Grid units around the image from which a symbol may reach into it: where they are smallest, there are the most. */
function computeBuffer({ width, height, scale = 1 }: ImageRequest, reach: number): number {
  const unitsPerPixel = (UNITS_PER_PIXEL * Math.max(width, height)) / Math.min(width, height);
  return Math.min(Math.ceil(Math.max(MARGIN_PIXELS, reach) * scale * unitsPerPixel), MAX_BUFFER);
}

/** The zoom that expressions of styles see, to a hundredth: from the scale in the middle of the image. */
function computeZoom({ bbox, crs, width, scale = 1 }: ImageRequest): number {
  const metres = ((bbox[2] - bbox[0]) / width) * describeCrs(crs).metresPerUnit * scale;
  return Math.round(scaleToZoom(metres / PIXEL_METRES) * 100) / 100;
}
