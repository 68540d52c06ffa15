import { hasCoverage } from '../../core/catalog/abilities.js';
import type { Collection, RasterCollection } from '../../core/catalog/collection.js';
import { isByRange, listMosaicMembers, ofMembers } from '../../core/catalog/raster-sources.js';
import type { Box } from '../../core/geometry/box.js';
import { boxesTouch } from '../../core/geometry/box.js';
import type { AcquisitionTime, AxisRange, TimeRange } from '../../core/http/params.js';
import type { RasterPosition, RasterSource } from '../../core/rasters/rasters.js';
import { type Granule, listGranules } from './granules.js';

/** Restriction of a raster collection. */
export interface RasterChoice {
  /** Window in CRS84. It can cross the antimeridian. */
  window84?: Box | undefined;
  datetime?: AcquisitionTime | undefined;
  /**
   * Part of the vertical axis, of which the first level is read. A raster without a vertical axis matches every
   * height.
   */
  heights?: AxisRange | undefined;
}

/** The part of a collection that a request selects. */
export interface ChosenRaster {
  readonly source: RasterSource;
  /** Undefined without a time axis. */
  readonly at?: RasterPosition;
  /** Ids of the STAC items that are read. */
  readonly used: readonly string[];
  /** Acquisition time in RFC 3339. Undefined if `datetime` was, or the time is unknown. */
  readonly acquired?: string;
}

/**
 * Restricts a raster collection to the part that a request selects. No other function does this.
 * - A mosaic: the newest acquisition within `datetime`, and its rasters that touch the window. Without `datetime`,
 *   all rasters.
 * - A time axis: the newest time step within `datetime`. Without `datetime`, the newest.
 * - A collection without times matches every `datetime`.
 * Undefined if there is no acquisition within `datetime`. A window without data leaves one raster, of which no pixel
 * will be visible. The acquisition time is part of the tile key, so there are at most as many keys as acquisitions.
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

/** The members of a mosaic that touch the window. */
function chooseVisible(
  collection: RasterCollection,
  members: readonly Granule[],
  window84: Box | undefined,
): Pick<ChosenRaster, 'source' | 'used'> {
  const { source } = collection.raster;
  const visible = window84 ? members.filter(({ extent84 }) => boxesTouch(extent84, window84)) : members;
  // Only a source that can lack members may have no member.
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

/** All members of a range. Undefined if there is no acquisition within it. */
function chooseWithin(
  collection: RasterCollection,
  datetime: TimeRange,
  window84: Box | undefined,
): ChosenRaster | undefined {
  const granules = listGranules(collection);
  const members = granules.filter((granule) => isInTimeRange(granule, datetime));
  const newest = newestIn(members, datetime);
  // If there are no granules yet, a later search can still find some.
  if (members.length === 0 && granules.length > 0) return undefined;
  return {
    ...chooseVisible(collection, members, window84),
    ...(newest === undefined ? {} : { acquired: new Date(newest).toISOString() }),
  };
}

/** Whether a granule is in a time range. A granule without a time is in every range. */
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
  /** The collections without rasters outside the acquisition. */
  readonly collections: readonly Collection[];
  /** The instant of the batch, or the range; undefined when there is none to choose. */
  readonly batch: AcquisitionTime | undefined;
}

/**
 * Restricts collections that are drawn together to a time range. Rasters that are selected by range show all data in
 * it. Other rasters show their newest acquisition within it.
 * Rasters with other times are not shown. Rasters without a time are not shown if another raster has a time and
 * acquisitions. Without a range, or if no raster is selected by range or has a time, the collections remain
 * unchanged.
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

/** The newest granule, by the comparison of the tasks. */
function findNewest(granules: readonly Granule[]): Granule {
  return granules.reduce((best, one) =>
    (one.acquired ?? -Infinity) >= (best.acquired ?? -Infinity) ? one : best,
  );
}
