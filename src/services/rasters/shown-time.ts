import { hasCoverage, hasFeatures } from '../../core/catalog/abilities.js';
import type { Collection, RasterCollection } from '../../core/catalog/collection.js';
import type { Box } from '../../core/geometry/box.js';
import type { AcquisitionTime, TimeRange } from '../../core/http/params.js';
import { during } from '../filters/filters.js';
import { chooseRaster } from './choose.js';
import { listGranules } from './granules.js';

/** Restriction of the times of a response. */
export interface TimeChoice {
  readonly datetime: TimeRange | undefined;
  /** The acquisition batch of rasters. */
  readonly batch?: AcquisitionTime | undefined;
  readonly window84: Box | undefined;
}

/**
 * Value of Content-Datetime: the time, or the first and the last time, of the rasters that are shown, and the range
 * that selected features. Undefined if the shown data has no time.
 */
export function shownTime(collections: readonly Collection[], choice: TimeChoice): string | undefined {
  const { datetime } = choice;
  const instants = collections.flatMap((one) => (hasCoverage(one) ? instantsShown(one, choice) : []));
  const filtered = collections.some((one) => hasFeatures(one) && during(one.source, datetime) !== undefined);
  if (filtered && datetime) {
    const starts = [...instants, datetime.start ?? -Infinity];
    return interval(Math.min(...starts), Math.max(...instants, datetime.end ?? Infinity));
  }
  return instants.length === 0 ? undefined : interval(Math.min(...instants), Math.max(...instants));
}

function instantsShown(collection: RasterCollection, { batch, window84 }: TimeChoice): number[] {
  const raster = chooseRaster(collection, { datetime: batch, window84 });
  const used = new Set(raster?.used);
  return listGranules(collection).flatMap(({ id, acquired }) => (used.has(id) ? (acquired ?? []) : []));
}

/** An instant or an interval of RFC 3339, with `..` for an open end. */
export function interval(start: number, end: number): string {
  return start === end ? text(start) : `${text(start)}/${text(end)}`;
}

function text(instant: number): string {
  return Number.isFinite(instant) ? new Date(instant).toISOString() : '..';
}
