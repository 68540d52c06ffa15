import type { RasterCollection } from '../../../core/collection.js';
import type { Crs } from '../../../core/crs.js';
import { badParameter } from '../../../core/errors.js';
import type { TimeRange } from '../../../core/params.js';
import type { RasterPosition, RasterSource } from '../../../core/rasters.js';
import type { Box } from '../../../core/tasks.js';
import { chooseRaster } from '../../services/rasters/choose.js';
import { windowIn84 } from '../../services/rasters/source-items.js';

/**
 * What of a coverage is read: one step of its time axis, or one acquisition batch of its rasters. A GeoTIFF holds one
 * instant, so `datetime` must select one step; without it the newest is read.
 */
export function sourceAt(
  collection: RasterCollection,
  datetime: TimeRange | undefined,
  bbox: Box | undefined,
  bboxCrs: Crs,
): { source: RasterSource; at?: RasterPosition } {
  if (datetime) checkSelection(collection, datetime);
  const window84 = bbox && (bboxCrs.geographic ? bbox : windowIn84(bbox, bboxCrs.proj));
  const chosen = chooseRaster(collection, { window84, datetime });
  if (!chosen) throw badParameter('datetime', 'selects nothing of this coverage; see its temporal extent');
  const { source, at } = chosen;
  return at ? { source, at } : { source };
}

function checkSelection({ raster }: RasterCollection, { start, end }: TimeRange): void {
  const { times, source, acquired } = raster;
  if (!times) {
    const dated = source.kind === 'mosaic' && source.members.some((member) => member.acquired !== undefined);
    if (!dated && acquired === undefined) throw badParameter('datetime', 'this coverage has no time axis');
    return;
  }
  const selected = times.filter((time) => {
    const instant = Date.parse(time);
    return instant >= (start ?? instant) && instant <= (end ?? instant);
  });
  if (selected.length > 1)
    throw badParameter('datetime', `selects ${selected.length} steps of the time axis; name one of them`);
}
