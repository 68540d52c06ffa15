import { hasCoverage, hasFeatures, isDrawable } from '../../core/catalog/abilities.js';
import type { ArchiveCollection, Collection } from '../../core/catalog/collection.js';
import type { MapSettings } from '../../core/catalog/layer-settings.js';
import { and, type Expression } from '../../core/cql2/index.js';
import { ApiError, notFound } from '../../core/errors/errors.js';
import type { Format } from '../../core/http/media.js';
import type { AcquisitionTime, TimeRange } from '../../core/http/params.js';
import { type Licensing, requireEntitlement } from '../../core/licensing/entitlements.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { mapSettings } from '../catalog/layers/map-settings.js';
import { during } from '../filters/filters.js';
import type { TaskContext } from '../kit/run-task.js';
import { type BatchChoice, newestBatch } from '../rasters/choose.js';
import { rasterLook } from '../rasters/looks.js';
import { shownTime } from '../rasters/shown-time.js';
import { type SourceItem, sourceItems, windowIn84 } from '../rasters/source-items.js';
import { withScenes } from '../rasters/stac-imagery/windows.js';
import { styled } from '../styles/style-choice.js';
import { type RenderedImage, renderImage } from './render.js';
import { chooseBackground, dpiToScaleFactor, imageName, type MapRequest, symbolScale } from './request.js';
import { type MapWindow, mapWindow } from './window.js';

export interface MapDrawDeps {
  readonly pools: Pools;
  readonly licensing: Licensing;
}

/** Facts about a map that are not in its request. */
export interface MapContext {
  /** The collection of the map. Undefined for a map of several. */
  readonly resource?: Collection | undefined;
  readonly format: Format;
  /** Default: the window of the request. */
  readonly window?: MapWindow;
  /** Checked filters by the id of their collection: only these features are drawn. */
  readonly filters?: ReadonlyMap<string, Expression>;
  /** The value that is transparent where rasters are shown in their styles. */
  readonly nodata?: number | undefined;
}

/** A rendered map and facts about its content. */
export interface DrawnMap {
  readonly image: RenderedImage;
  readonly window: MapWindow;
  /** Instant or interval of the data; undefined for data without a time. */
  readonly time: string | undefined;
  /** The acquisition batch of rasters, and the items that they are. */
  readonly batch: AcquisitionTime | undefined;
  readonly items: readonly SourceItem[];
}

/** Draws collections, bottom first, into one map. Throws 404 if there is no data to draw. */
export async function drawMap(
  x: TaskContext,
  deps: MapDrawDeps,
  addressed: readonly Collection[],
  request: MapRequest,
  { resource, format, window: stated, filters, nodata }: MapContext,
): Promise<DrawnMap> {
  const params = { ...request, ...defaultScale(request, addressed[0]?.maps) };
  const settings = mapSettings(addressed[0]?.maps ?? {});
  if (addressed.length === 0)
    throw new ApiError(
      'not-found',
      'There is no collection that can be drawn. Use collections with features or rasters.',
    );
  const { collections: narrowedTo, batch } = parseBatch(deps, addressed, params);
  const window = stated ?? mapWindow(narrowedTo, params, resource);
  const window84 = windowIn84(window.bbox, window.crs.proj);
  const collections = await withScenes(deps.pools, narrowedTo, {
    window84,
    datetime: batch,
    signal: x.signal,
  });
  const time = shownTime(collections, { ...params, batch, window84 });
  const image = await renderImage(x, deps.pools, {
    collections,
    bbox: window.bbox,
    crs: window.crs.proj,
    width: window.width,
    height: window.height,
    scale: symbolScale(params),
    wraps: true,
    background: chooseBackground(format, params, settings),
    format: imageName(format),
    quality: params.quality,
    filters: narrowed(filters, duringFilters(collections, params.datetime)),
    batch,
    look: rasterLook(collections, params),
    nodata,
  });
  return { image, window, time, batch, items: batch ? sourceItems(collections, batch, window84) : [] };
}

/** Resolution of the service, if the request does not set one. */
function defaultScale(
  { mmPerPixel, dpi, scale, scaleDenominator }: MapRequest,
  settings: Partial<MapSettings> | undefined,
): Pick<MapRequest, 'dpi'> | undefined {
  const isSaid = [mmPerPixel, dpi, scale, scaleDenominator].some((one) => one !== undefined);
  return isSaid || settings?.defaultDpi === undefined
    ? undefined
    : { dpi: dpiToScaleFactor(settings.defaultDpi) };
}

/** The temporal mosaic rule: with `datetime`, rasters of the newest acquisition batch only. Throws 402 and 404. */
function parseBatch(
  { licensing }: MapDrawDeps,
  addressed: readonly Collection[],
  params: MapRequest,
): BatchChoice {
  if (params.datetime && addressed.some(hasCoverage)) requireEntitlement(licensing, 'raster.temporal-mosaic');
  const batched = newestBatch(addressed, params.datetime);
  if (batched.collections.length > 0) return batched;
  throw new ApiError('not-found', 'datetime: no raster was acquired in this interval. Use a longer one.');
}

function narrowed(
  filters: ReadonlyMap<string, Expression> | undefined,
  also: ReadonlyMap<string, Expression>,
): ReadonlyMap<string, Expression> {
  const both = new Map(also);
  for (const [id, filter] of filters ?? []) both.set(id, and(filter, both.get(id))!);
  return both;
}

function duringFilters(
  collections: readonly Collection[],
  datetime: TimeRange | undefined,
): Map<string, Expression> {
  const filters = new Map<string, Expression>();
  for (const collection of collections) {
    const filter = hasFeatures(collection) ? during(collection.source, datetime) : undefined;
    if (filter !== undefined) filters.set(collection.id, filter);
  }
  return filters;
}

/** The collection as one of its styles draws it. */
export function inStyle(collection: Collection, styleId: string): Exclude<Collection, ArchiveCollection> {
  if (!isDrawable(collection))
    throw new ApiError('not-implemented', 'A tile archive is served unchanged and has no styles.');
  const style = styled(collection, styleId);
  if (!style) throw notFound('style', styleId.slice(0, 100));
  return style;
}
