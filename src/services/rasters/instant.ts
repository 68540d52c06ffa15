import type { RasterCollection } from '../../core/catalog/collection.js';
import { badParameter } from '../../core/errors/errors.js';
import { type Box, wrapBox } from '../../core/geometry/box.js';
import type { Crs } from '../../core/geometry/crs.js';
import type { AxisRange, TimeRange } from '../../core/http/params.js';
import type { RasterPosition, RasterSource } from '../../core/rasters/rasters.js';
import { chooseRaster, findLevelIndex } from './choose.js';
import { shownTime } from './shown-time.js';
import { windowIn84 } from './source-items.js';

/** Restriction of a coverage in dimensions other than the horizontal ones. */
export interface CoverageSubset {
  readonly datetime?: TimeRange | undefined;
  readonly heights?: AxisRange | undefined;
}

/** Source and time of a coverage to read. */
export interface ReadSource {
  readonly source: RasterSource;
  readonly at?: RasterPosition;
  /** Value of Content-Datetime. Undefined for a coverage without times. */
  readonly time?: string | undefined;
}

/**
 * Selects one time step and one level, or one acquisition of the rasters. A GeoTIFF contains one time step, so
 * `datetime` must select one. Default: the newest. A coverage without times matches every `datetime`.
 */
export function sourceAt(
  collection: RasterCollection,
  { datetime, heights }: CoverageSubset,
  place: { bbox: Box; bboxCrs: Crs } | undefined,
): ReadSource {
  if (datetime) checkSelection(collection, datetime);
  if (heights && findLevelIndex(collection, heights) === undefined)
    throw badParameter('subset', 'selects no level of this coverage. Its domain lists the levels');
  const window84 = computeWindow84(place);
  const choice = chooseRaster(collection, { window84, datetime, heights });
  if (!choice)
    throw badParameter(
      'datetime',
      'selects no time step of this coverage. Its temporal extent lists the range',
    );
  const { source, at } = choice;
  const time = shownTime([collection], { datetime, batch: datetime, window84 });
  return at ? { source, at, time } : { source, time };
}

/** A window in CRS84; undefined for all of a coverage. */
export function computeWindow84(place: { bbox: Box; bboxCrs: Crs } | undefined): Box | undefined {
  return (
    place && (place.bboxCrs.geographic ? wrapBox(place.bbox) : windowIn84(place.bbox, place.bboxCrs.proj))
  );
}

function checkSelection({ raster }: RasterCollection, { start, end }: TimeRange): void {
  const selected = (raster.times ?? []).filter((time) => {
    const instant = Date.parse(time);
    return instant >= (start ?? instant) && instant <= (end ?? instant);
  });
  if (selected.length > 1)
    throw badParameter('datetime', `selects ${selected.length} time steps. Select one`);
}
