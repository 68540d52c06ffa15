import { hasCoverage, hasFeatures, isDrawable } from '../../core/catalog/abilities.js';
import type { ArchiveCollection, Collection } from '../../core/catalog/collection.js';
import type { MapSettings } from '../../core/catalog/layer-settings.js';
import { and, type Expression } from '../../core/cql2/index.js';
import { ApiError, notFound } from '../../core/errors/errors.js';
import { uriOf } from '../../core/geometry/crs.js';
import type { Format } from '../../core/http/media.js';
import type { Exchange, Reply } from '../../core/http/operation.js';
import type { Batch, TimeRange } from '../../core/http/params.js';
import { requireEntitlement } from '../../core/kit/licensing.js';
import { releaseBytes } from '../../native/index.js';
import { mapSettings } from '../../services/catalog/layers/map-settings.js';
import { during } from '../../services/filters/filters.js';
import { renderImage } from '../../services/maps/render.js';
import { type Batched, newestBatch } from '../../services/rasters/choose.js';
import { rasterLook } from '../../services/rasters/looks.js';
import { shownTime } from '../../services/rasters/shown-time.js';
import {
  derivedFrom,
  lossHeaders,
  sourceItemHeaders,
  sourceItems,
  windowIn84,
} from '../../services/rasters/source-items.js';
import { withScenes } from '../../services/rasters/stac-imagery/windows.js';
import { styled } from '../../services/styles/named.js';
import type { SurfaceDeps } from '../surface/common.js';
import { background, formatOf, imageName, type MapParams, scaleOfDpi, symbolScale } from './params.js';
import { contentBox, type MapWindow, mapWindow } from './window.js';

/** What of a map its parameters do not say. */
export interface Drawing {
  /** The collection that it is a map of; absent for one of several. */
  readonly resource?: Collection;
  /** That which is negotiated when absent. */
  readonly format?: Format;
  /** That which the parameters say when absent. */
  readonly window?: MapWindow;
  /** Checked filters by the id of their collection: only these features are drawn. */
  readonly filters?: ReadonlyMap<string, Expression>;
  /** The value that is transparent where rasters are shown in their styles. */
  readonly nodata?: number | undefined;
}

/** Draws collections, bottom first, into one map. Throws 404 where there is nothing to draw. */
export async function drawMap(
  x: Exchange,
  deps: SurfaceDeps,
  addressed: readonly Collection[],
  asked: MapParams,
  { resource, format: chosen, window: stated, filters, nodata }: Drawing = {},
): Promise<Reply> {
  const params = { ...asked, ...defaultScale(asked, addressed[0]?.maps) };
  const settings = mapSettings(addressed[0]?.maps ?? {});
  const format = chosen ?? formatOf(x, settings);
  if (addressed.length === 0) throw new ApiError('not-found', 'There is no collection that can be drawn.');
  const { collections: narrowedTo, batch } = batchOf(deps, addressed, params);
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
    background: background(format, params, settings),
    format: imageName(format),
    quality: params.quality,
    filters: narrowed(filters, duringFilters(collections, params.datetime)),
    batch,
    look: rasterLook(collections, params),
    nodata,
  });
  return {
    status: 200,
    mediaType: image.mediaType,
    body: image.data,
    etag: image.tag,
    cacheControl: 'no-cache',
    headers: {
      'content-crs': `<${uriOf(window.crs, x.baseUrl)}>`,
      'content-bbox': contentBox(window).join(','),
      ...(time === undefined ? {} : { 'content-datetime': time }),
      ...lossHeaders(image),
      ...(batch ? batchHeaders(x, collections, batch, window) : {}),
    },
    sent: () => releaseBytes(image.data),
  };
}

/** The resolution that the service states, where the request says nothing. */
function defaultScale(
  { mmPerPixel, dpi, scale, scaleDenominator }: MapParams,
  settings: Partial<MapSettings> | undefined,
): Pick<MapParams, 'dpi'> | undefined {
  const isSaid = [mmPerPixel, dpi, scale, scaleDenominator].some((one) => one !== undefined);
  return isSaid || settings?.defaultDpi === undefined ? undefined : { dpi: scaleOfDpi(settings.defaultDpi) };
}

/** The temporal mosaic rule: with `datetime`, rasters of the newest acquisition batch only. Throws 402 and 404. */
function batchOf({ licensing }: SurfaceDeps, addressed: readonly Collection[], params: MapParams): Batched {
  if (params.datetime && addressed.some(hasCoverage)) requireEntitlement(licensing, 'raster.temporal-mosaic');
  const batched = newestBatch(addressed, params.datetime);
  if (batched.collections.length > 0) return batched;
  throw new ApiError('not-found', 'No raster was acquired within datetime.');
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

function batchHeaders(
  x: Exchange,
  collections: readonly Collection[],
  batch: Batch,
  { bbox, crs }: MapWindow,
): Record<string, string> {
  const items = sourceItems(collections, batch, windowIn84(bbox, crs.proj));
  const links = derivedFrom(items, `${x.baseUrl}/stac`);
  return { ...sourceItemHeaders(items, batch), ...(links ? { link: links } : {}) };
}

/** The collection as one of its styles draws it. */
export function inStyle(collection: Collection, styleId: string): Exclude<Collection, ArchiveCollection> {
  if (!isDrawable(collection))
    throw new ApiError('not-implemented', 'A tile archive is served as it is stored: it has no styles.');
  const style = styled(collection, styleId);
  if (!style) throw notFound('style', styleId.slice(0, 100));
  return style;
}
