import type { RasterCollection } from '../../core/catalog/collection.js';
import { isMergedByRange, listMosaicMembers, ofMembers } from '../../core/catalog/raster-sources.js';
import type { Box } from '../../core/geometry/box.js';
import type { TimeRange } from '../../core/http/params.js';
import { RASTER_LIMITS } from '../../core/rasters/limits.js';
import type { Loss, PositionTask } from '../../core/rasters/rasters.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { AnyNumber } from '../../core/values/exact-number.js';
import { runTask, type TaskContext } from '../kit/run-task.js';
import { isInTimeRange } from './choose.js';
import { type Granule, listGranules } from './granules.js';
import { withItsScenes } from './stac-imagery/windows.js';

/** Values of all bands at one place and one time. */
interface PositionStep {
  /** RFC 3339. Undefined for values without a time. */
  readonly time: string | undefined;
  readonly values: readonly (AnyNumber | null)[];
}

export interface PositionSteps extends Loss {
  /** Oldest first. */
  readonly steps: readonly PositionStep[];
  /** Number of times within the requested range. If there are more than the limit, the newest are read. */
  readonly matched: number;
}

export interface PositionChoice {
  /** Longitude and latitude. */
  readonly place: readonly [number, number];
  readonly datetime: TimeRange | undefined;
  /** Times that are read, the newest ones. */
  readonly most?: number;
}

/** The values at a position by time. Undefined outside the raster. */
export async function valuesByTime(
  x: TaskContext,
  pools: Pools,
  collection: RasterCollection,
  { place, datetime, most = RASTER_LIMITS.positionSteps }: PositionChoice,
): Promise<PositionSteps | undefined> {
  const window84 = [...place, ...place] as const;
  const searched = await withItsScenes(pools, collection, { window84, datetime, signal: x.signal });
  const groups = groupsAt(searched, place, datetime);
  const read = groups.slice(-most);
  if (read.length === 0) return undefined;
  const slices = read.map(({ granules }) => buildSlice(searched, granules));
  const { values, lost } = await runTask(
    x,
    pools,
    'raster.position',
    { place, slices },
    { layerId: collection.layerId },
  );
  const steps = read.flatMap(({ time }, i) => {
    const value = values[i];
    return value
      ? [{ time: time === undefined ? undefined : new Date(time).toISOString(), values: value }]
      : [];
  });
  return steps.length === 0 ? undefined : { steps, matched: groups.length, ...(lost && { lost }) };
}

interface Group {
  readonly time: number | undefined;
  readonly granules: readonly Granule[];
}

/** The rasters that contain a position, by acquisition time. If no raster has a time, they are one group. */
function groupsAt(
  collection: RasterCollection,
  place: readonly [number, number],
  datetime: TimeRange | undefined,
): Group[] {
  const there = listGranules(collection).filter(({ extent84 }) => holds(extent84, place));
  // Values merged from all times have no time.
  if (isMergedByRange(collection.raster.source)) {
    const within = there.filter((one) => isInTimeRange(one, datetime));
    return within.length === 0 ? [] : [{ time: undefined, granules: within }];
  }
  const timed = there.filter(({ acquired }) => acquired !== undefined);
  if (timed.length === 0) return there.length === 0 ? [] : [{ time: undefined, granules: there }];
  const { start = -Infinity, end = Infinity } = datetime ?? {};
  const groups = new Map<number, Granule[]>();
  for (const granule of timed) {
    const time = granule.acquired!;
    if (time < start || time > end) continue;
    groups.set(time, [...(groups.get(time) ?? []), granule]);
  }
  return [...groups].sort(([a], [b]) => a - b).map(([time, granules]) => ({ time, granules }));
}

function holds([west, south, east, north]: Box, [longitude, latitude]: readonly [number, number]): boolean {
  const within =
    west <= east ? longitude >= west && longitude <= east : longitude >= west || longitude <= east;
  return within && latitude >= south && latitude <= north;
}

/** A mosaic of the members with one acquisition time, in drawing order; otherwise the slice of the time axis. */
function buildSlice(
  { raster }: RasterCollection,
  granules: readonly Granule[],
): PositionTask['slices'][number] {
  const { source } = raster;
  if (listMosaicMembers(source))
    return {
      source: ofMembers(
        source,
        granules.map(({ member }) => member!),
      ),
    };
  const time = granules.at(-1)?.time;
  return time === undefined ? { source } : { source, at: { time } };
}
