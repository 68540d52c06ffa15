/** Open read-only raster datasets, kept for the next task. */

import { isDistant } from '../../core/catalog/raster-sources.js';
import { TaskFailure } from '../../core/errors/failure.js';
import { HoldGroup, inHoldGroup } from '../../core/observability/task-scope.js';
import type { Loss, RasterPosition, RasterSource } from '../../core/rasters/rasters.js';
import { type Dataset, gdal, unreadable } from '../gdal/gdal.js';
import { getQueueLength, oneAtATime } from '../gdal/lock.js';
import type { Cancellation } from '../threads/cancellation.js';
import { repeated } from './pixels/continuous.js';
import { createOpening } from './sources/index.js';
import type { OpenRaster, RasterOpener } from './sources/opener.js';

/** Idle handles on one raster: GDAL runs one call at a time per dataset, so each of the parallel tasks needs its own. */
const IDLE_PER_RASTER = 8;
const IDLE_TOTAL = 64;
/** Maximum reads of a raster whose data changes, or whose mosaic loses a member, during the read. */
const MAX_ATTEMPTS = 4;
/** Selections of bands and overviews that a handle keeps: more than one task needs. */
const VIEWS = 32;
/** Maximum running and waiting uses in a lane. Two full lanes leave half of an engine's capacity to other rasters. */
const LANE_LENGTH = 3;

/** One open dataset, used by one task at a time. */
export class RasterHandle {
  readonly #views = new Map<string, Dataset>();
  readonly #moved = new Map<string, RasterHandle>();
  readonly #opened: OpenRaster;
  /** Identifies the pixels together with `stamp`: two handles with the same key and stamp read the same pixels. */
  readonly key: string;
  readonly stamp: string;
  readonly origin: string;
  /** Ids of mosaic members that are omitted because they cannot be read. */
  readonly lost: readonly string[];
  /** Area of the raster that it read last, whose blocks are still in memory. */
  lane: HandleLane | undefined;
  /** Its datasets, which are kept and taken together. */
  readonly holds: HoldGroup;
  /** Lets other uses of the lane continue with other handles. Call it before long operations. */
  leaveLane: () => void = () => {};

  constructor(
    { key, stamp, origin, lost = [] }: Pick<RasterOpener, 'key' | 'stamp' | 'origin' | 'lost'>,
    opened: OpenRaster,
    holds = new HoldGroup(),
  ) {
    this.holds = holds;
    this.lost = lost;
    this.key = key;
    this.origin = origin;
    this.stamp = stamp;
    this.#opened = opened;
  }

  /** Omitted members in the form of results. */
  get loss(): Loss {
    return this.lost.length === 0 ? {} : { lost: this.lost };
  }

  /** The same raster by way of another dataset, which stays the caller's. */
  over(dataset: Dataset): RasterHandle {
    return new RasterHandle(this, { dataset, close: () => {} });
  }

  get dataset(): Dataset {
    return this.#opened.dataset;
  }

  get driver(): string {
    return this.#opened.driver ?? this.dataset.driver.description;
  }

  /**
   * Returns the dataset with only these 1-based bands, in this order, or one overview of them. It reads through the
   * handle's dataset, including overviews. It remains open as long as the handle has few other selections.
   */
  async bands(numbers: readonly number[], overview?: number): Promise<Dataset> {
    const count = this.dataset.bands.count();
    const isWhole = numbers.length === count && numbers.every((band, index) => band === index + 1);
    if (isWhole && overview === undefined) return this.dataset;
    const key = `${numbers.join(',')} ${overview}`;
    const view = this.#views.get(key) ?? (await this.#open(isWhole ? [] : numbers, overview));
    // The most recently used view is the last.
    this.#views.delete(key);
    this.#views.set(key, view);
    if (this.#views.size > VIEWS) this.#forgetOldest();
    return view;
  }

  /**
   * Returns the raster at the positions where a window meets it: repetitions of the raster, shifted by multiples of
   * its CRS period. Returns the handle unchanged if the window meets only the original position.
   */
  async shiftToCopies(copies: readonly number[], period: number): Promise<RasterHandle> {
    if (copies.every((copy) => copy === 0)) return this;
    const key = copies.join();
    let moved = this.#moved.get(key);
    if (!moved) {
      const { dataset, close } = await inHoldGroup(this.holds, () => repeated(this.dataset, copies, period));
      moved = new RasterHandle(this, { dataset, driver: this.driver, close }, this.holds);
      this.#moved.set(key, moved);
    }
    return moved;
  }

  #open(numbers: readonly number[], overview: number | undefined): Promise<Dataset> {
    const selection = numbers.flatMap((band) => ['-b', String(band)]);
    const level = overview === undefined ? [] : ['-ovr', String(overview)];
    const args = ['-of', 'VRT', ...selection, ...level];
    return inHoldGroup(this.holds, () => gdal.translateAsync('', this.dataset, args));
  }

  #forgetOldest(): void {
    const [key, view] = this.#views.entries().next().value!;
    this.#views.delete(key);
    view.close();
  }

  close(): void {
    // Views first: they read from the dataset, and GDAL crashes at exit when they outlive it.
    for (const moved of this.#moved.values()) moved.close();
    this.#moved.clear();
    for (const view of this.#views.values()) view.close();
    this.#views.clear();
    this.#opened.close();
  }
}

/** Least recently used handles are at the front. */
const idle: RasterHandle[] = [];

/** Two are as many as an engine has cores. */
export type HandleLane = 0 | 1;

/** Request for the handle that has decoded the blocks of neighbouring windows. */
export interface HandleTurn {
  /** The better one; the other where too many wait for it. */
  lane: HandleLane;
  /** Ends the wait. */
  cancellation: Cancellation;
}

/**
 * Runs `use` with a handle that no other task uses at the same time. A handle whose data was replaced is reopened.
 * Default of `at`: the newest time and the first level. GDAL errors that `use` does not catch become
 * `source-unreadable`. Uses with a turn use lanes if the raster is not remote and its lanes are not full.
 */
export async function withRaster<T>(
  source: RasterSource,
  use: (handle: RasterHandle) => Promise<T>,
  at?: RasterPosition,
  turn?: HandleTurn,
): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    let opening = await createOpening(source, at);
    // Remote data costs waiting, not decoding, so uses do not queue for a handle.
    const lane = turn && !isDistant(source) ? findLane(opening.key, turn.lane) : undefined;
    const line = opening.exclusive ?? (lane === undefined ? undefined : formatLine(opening.key, lane));
    const waits = line !== undefined && getQueueLength(line) > 0;
    const inLine = async (leave: () => void) => {
      // The data may have been replaced during the wait.
      if (waits) opening = await createOpening(source, at);
      return withHandle(opening, use, lane, opening.exclusive === undefined ? leave : undefined);
    };
    try {
      if (line === undefined) return await withHandle(opening, use);
      return await oneAtATime(line, inLine, turn?.cancellation);
    } catch (error) {
      if (isUsable(error)) throw error;
      const { failure, changed = false } = (await opening.outcome?.(error)) ?? {};
      if (!changed || attempts === MAX_ATTEMPTS) throw failure ?? damaged(error);
    }
  }
}

const formatLine = (key: string, lane: HandleLane) => `${key} ${lane}`;

function findLane(key: string, lane: HandleLane): HandleLane | undefined {
  const other: HandleLane = lane === 0 ? 1 : 0;
  return [lane, other].find((one) => getQueueLength(formatLine(key, one)) < LANE_LENGTH);
}

async function withHandle<T>(
  opening: RasterOpener,
  use: (handle: RasterHandle) => Promise<T>,
  lane?: HandleLane,
  leave: () => void = () => {},
): Promise<T> {
  const handle = takeIdle(opening, lane) ?? (await openHandle(opening));
  handle.holds.take();
  if (lane !== undefined) handle.lane = lane;
  handle.leaveLane = () => {
    handle.lane = undefined;
    leave();
  };
  try {
    const result = await use(handle);
    giveBack(handle);
    return result;
  } catch (error) {
    if (isUsable(error)) giveBack(handle);
    else handle.close();
    throw error;
  }
}

async function openHandle(opening: RasterOpener): Promise<RasterHandle> {
  const holds = new HoldGroup();
  return new RasterHandle(opening, await inHoldGroup(holds, () => opening.open()), holds);
}

/** After a failed read the driver's state is not to be trusted, and a file that misses something may get it (a world file). */
function isUsable(error: unknown): boolean {
  return error instanceof TaskFailure && error.code !== 'source-unreadable';
}

function damaged(error: unknown): TaskFailure {
  return unreadable('The raster could not be read: the file is damaged or truncated. Copy it again.', error);
}

/**
 * Takes an idle handle: the handle of the lane, or else the least valuable one. That is a handle without a lane, or
 * the one that was used longest ago.
 */
function takeIdle({ key, stamp, origin }: RasterOpener, lane?: HandleLane): RasterHandle | undefined {
  closeStale(origin, stamp);
  const isOf = (handle: RasterHandle, of: HandleLane | undefined) => handle.key === key && handle.lane === of;
  let index = idle.findLastIndex((handle) => isOf(handle, lane));
  if (index < 0 && lane !== undefined) index = idle.findLastIndex((handle) => isOf(handle, undefined));
  if (index < 0) index = idle.findIndex((handle) => handle.key === key);
  return index < 0 ? undefined : idle.splice(index, 1)[0];
}

/**
 * Closes all stale handles together, because some libraries share cached data of a file among all its open handles.
 */
function closeStale(origin: string, stamp: string): void {
  for (let index = idle.length - 1; index >= 0; index--) {
    const handle = idle[index]!;
    if (handle.origin !== origin || handle.stamp === stamp) continue;
    idle.splice(index, 1);
    handle.close();
  }
}

function giveBack(handle: RasterHandle): void {
  const same = idle.filter((other) => other.key === handle.key).length;
  if (same >= IDLE_PER_RASTER) {
    handle.close();
    return;
  }
  handle.holds.keep('raster handles');
  idle.push(handle);
  if (idle.length > IDLE_TOTAL) idle.shift()!.close();
}

/**
 * Closes the handles that no task uses. Call it when no more tasks follow, because GDAL crashes at exit over open
 * views.
 */
export function closeIdleRasters(): void {
  for (const handle of idle.splice(0)) handle.close();
}
