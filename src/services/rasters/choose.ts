import { hasCoverage } from '../../core/catalog/abilities.js';
import type { Collection, RasterCollection } from '../../core/catalog/collection.js';
import { isByRange, listMosaicMembers, ofMembers } from '../../core/catalog/raster-sources.js';
import type { Box } from '../../core/geometry/box.js';
import { boxesTouch } from '../../core/geometry/box.js';
import type { AcquisitionTime, AxisRange, TimeRange } from '../../core/http/params.js';
import type { RasterPosition, RasterSource } from '../../core/rasters/rasters.js';
import { type Granule, listGranules } from './granules.js';

/** What narrows a raster collection. */
export interface RasterChoice {
  /** CRS84; may lie across the antimeridian. */
  window84?: Box | undefined;
  datetime?: AcquisitionTime | undefined;
  /** Part of the vertical axis; the first level of it is taken. Of every height is what has no such axis. */
  heights?: AxisRange | undefined;
}

/** What of a collection a request means. */
export interface ChosenRaster {
  readonly source: RasterSource;
  /** Absent without a time axis. */
  readonly at?: RasterPosition;
  /** Ids of the STAC items that are read. */
  readonly used: readonly string[];
  /** Of the batch, in RFC 3339; absent when `datetime` was, or nothing tells. */
  readonly acquired?: string;
}

/**
 * The one place that narrows a raster collection to what a request means: the newest acquisition batch within
 * `datetime`, of that the rasters that touch the window; of a time axis the newest instant within `datetime`. Without
 * `datetime` all of a mosaic, or the newest instant. A collection that has no instants is of every time. Undefined when
 * nothing was acquired within `datetime`; a window that nothing lies in leaves one raster, of which nothing will be
 * seen. The instant of the batch is a part of the key of a tile, so there are no more keys than acquisitions.
 */
export function chooseRaster(
  collection: RasterCollection,
  { window84, datetime, heights }: RasterChoice,
): ChosenRaster | undefined {
  const granules = listGranules(collection);
  const { source } = collection.raster;
  if (isByRange(source) && datetime) return chooseWithin(collection, datetime.range ?? datetime, window84);
  const batch = datetime && newestIn(granules, datetime);
  if (datetime && batch === undefined && granules.some(({ acquired }) => acquired !== undefined))
    return undefined;
  const acquired = batch === undefined ? {} : { acquired: new Date(batch).toISOString() };
  if (listMosaicMembers(source)) {
    const members = batch === undefined ? granules : granules.filter((granule) => granule.acquired === batch);
    return { ...chooseVisible(collection, members, window84), ...acquired };
  }
  const granule =
    batch === undefined ? findNewest(granules) : granules.find((one) => one.acquired === batch)!;
  const level = findLevelIndex(collection, heights);
  const position = {
    ...(granule.time === undefined ? {} : { time: granule.time }),
    ...(level === undefined ? {} : { level }),
  };
  const at = Object.keys(position).length === 0 ? {} : { at: position };
  const isVisible = !window84 || boxesTouch(granule.extent84, window84);
  return { source, ...at, used: isVisible ? [granule.id] : [], ...acquired };
}

/** Of the members of a mosaic those that touch the window. */
function chooseVisible(
  collection: RasterCollection,
  members: readonly Granule[],
  window84: Box | undefined,
): Pick<ChosenRaster, 'source' | 'used'> {
  const { source } = collection.raster;
  const visible = window84 ? members.filter(({ extent84 }) => boxesTouch(extent84, window84)) : members;
  // What may miss members may have none.
  const candidates = visible.length > 0 || isByRange(source) ? visible : members.slice(0, 1);
  const isWhole = candidates.length === listGranules(collection).length;
  const narrowed = isWhole
    ? source
    : ofMembers(
        source,
        candidates.map(({ member }) => member!),
      );
  return { source: narrowed, used: visible.map(({ id }) => id) };
}

/** All of a range; undefined when nothing was acquired within it. */
function chooseWithin(
  collection: RasterCollection,
  datetime: TimeRange,
  window84: Box | undefined,
): ChosenRaster | undefined {
  const granules = listGranules(collection);
  const members = granules.filter((granule) => isInTimeRange(granule, datetime));
  const newest = newestIn(members, datetime);
  // Nobody knows what searches will find.
  if (members.length === 0 && granules.length > 0) return undefined;
  return {
    ...chooseVisible(collection, members, window84),
    ...(newest === undefined ? {} : { acquired: new Date(newest).toISOString() }),
  };
}

/** What is of no time is of every time. */
export const isInTimeRange = (
  { acquired }: Pick<Granule, 'acquired'>,
  range: TimeRange | undefined,
): boolean =>
  acquired === undefined || (acquired >= (range?.start ?? acquired) && acquired <= (range?.end ?? acquired));

/** Place of the first level within a range; undefined without a range, an axis, or such a level. */
export function findLevelIndex(
  { raster }: RasterCollection,
  heights: AxisRange | undefined,
): number | undefined {
  if (!heights || !raster.levels) return undefined;
  const { low = -Infinity, high = Infinity } = heights;
  const place = raster.levels.values.findIndex((value) => value >= low && value <= high);
  return place < 0 ? undefined : place;
}

/** Collections of which only one acquisition batch is shown. */
export interface BatchChoice {
  /** Without the rasters that have nothing of the batch. */
  readonly collections: readonly Collection[];
  /** The instant of the batch, or the range; undefined when there is none to choose. */
  readonly batch: AcquisitionTime | undefined;
}

/**
 * Narrows what is drawn together to a range: what is by range to all of it there, other rasters to their newest acquisition
 * batch within it. Those of other times, and those of no time beside some that have one and are in batches, too, are not
 * shown. Nothing changes without a range, or when no raster is by range or has an instant.
 */
export function newestBatch(
  collections: readonly Collection[],
  datetime: TimeRange | undefined,
): BatchChoice {
  if (!datetime) return { collections, batch: undefined };
  const rasters = collections.filter(hasCoverage);
  const ofRange = rasters.filter(({ raster }) => isByRange(raster.source));
  const granules = rasters.filter((one) => !ofRange.includes(one)).flatMap(listGranules);
  const isInBatches = granules.some(({ acquired }) => acquired !== undefined);
  const instant = newestIn(granules, datetime);
  const isShown = (one: RasterCollection) => {
    if (ofRange.includes(one)) return chooseWithin(one, datetime, undefined) !== undefined;
    return (
      !isInBatches || listGranules(one).some(({ acquired }) => acquired !== undefined && acquired === instant)
    );
  };
  const visible = collections.filter((one) => !hasCoverage(one) || isShown(one));
  const range = ofRange.length > 0 ? datetime : undefined;
  if (instant === undefined) return { collections: visible, batch: range };
  return { collections: visible, batch: { start: instant, end: instant, ...(range && { range }) } };
}

function newestIn(granules: readonly Granule[], { start, end }: TimeRange): number | undefined {
  let newest: number | undefined;
  for (const { acquired } of granules) {
    if (acquired === undefined || (newest !== undefined && acquired <= newest)) continue;
    if (acquired >= (start ?? acquired) && acquired <= (end ?? acquired)) newest = acquired;
  }
  return newest;
}

/** As the tasks have it: the newest time. */
function findNewest(granules: readonly Granule[]): Granule {
  return granules.reduce((best, one) =>
    (one.acquired ?? -Infinity) >= (best.acquired ?? -Infinity) ? one : best,
  );
}
