/** Open read-only raster datasets, kept for the next task. */

import { isDistant } from '../../core/catalog/raster-sources.js';
import { TaskFailure } from '../../core/errors/failure.js';
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
/** Times that a raster is read whose data changed, or whose mosaic lost a member, meanwhile. */
const MAX_ATTEMPTS = 4;
/** Selections of bands and overviews that a handle keeps: more than one task needs at once. */
const VIEWS = 32;
/** Uses in a lane, with those that wait: both lanes full of them leave half of an engine's places to other rasters. */
const LANE_LENGTH = 3;

/** One open dataset, used by one task at a time. */
export class RasterHandle {
  readonly #views = new Map<string, Dataset>();
  readonly #moved = new Map<string, RasterHandle>();
  readonly #opened: OpenRaster;
  /** Name the pixels: those of two handles with the same key and stamp are the same. */
  readonly key: string;
  readonly stamp: string;
  readonly origin: string;
  /** Ids of members of a mosaic that are left out, because they cannot be read. */
  readonly lost: readonly string[];
  /** Where on the raster it read last: blocks of there are still in memory. */
  lane: HandleLane | undefined;
  /** Lets others of the lane go on, with handles of their own: for what takes long. */
  leaveLane: () => void = () => {};

  constructor(
    { key, stamp, origin, lost = [] }: Pick<RasterOpener, 'key' | 'stamp' | 'origin' | 'lost'>,
    opened: OpenRaster,
  ) {
    this.lost = lost;
    this.key = key;
    this.origin = origin;
    this.stamp = stamp;
    this.#opened = opened;
  }

  /** As results tell it. */
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
   * The dataset with only these 1-based bands, in this order, or one overview of them. It reads through the handle's
   * dataset, overviews included, and lives as long as the handle has few others.
   */
  async bands(numbers: readonly number[], overview?: number): Promise<Dataset> {
    const count = this.dataset.bands.count();
    const isWhole = numbers.length === count && numbers.every((band, index) => band === index + 1);
    if (isWhole && overview === undefined) return this.dataset;
    const key = `${numbers.join(',')} ${overview}`;
    const view = this.#views.get(key) ?? (await this.#open(isWhole ? [] : numbers, overview));
    // The one that was used last is the last.
    this.#views.delete(key);
    this.#views.set(key, view);
    if (this.#views.size > VIEWS) this.#forgetOldest();
    return view;
  }

  /**
   * The raster where a window meets it: beside itself, moved by so many periods of its CRS. Itself where the window meets it
   * in its own place alone.
   */
  async movedBy(copies: readonly number[], period: number): Promise<RasterHandle> {
    if (copies.every((copy) => copy === 0)) return this;
    const key = copies.join();
    let moved = this.#moved.get(key);
    if (!moved) {
      const { dataset, close } = await repeated(this.dataset, copies, period);
      moved = new RasterHandle(this, { dataset, driver: this.driver, close });
      this.#moved.set(key, moved);
    }
    return moved;
  }

  #open(numbers: readonly number[], overview: number | undefined): Promise<Dataset> {
    const selection = numbers.flatMap((band) => ['-b', String(band)]);
    const level = overview === undefined ? [] : ['-ovr', String(overview)];
    return gdal.translateAsync('', this.dataset, ['-of', 'VRT', ...selection, ...level]);
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

/** What follows its neighbours on one handle, which has decoded their blocks. */
export interface HandleTurn {
  /** The better one; the other where too many wait for it. */
  lane: HandleLane;
  /** Ends the wait. */
  cancellation: Cancellation;
}

/**
 * Runs `use` with a handle that no other task uses meanwhile. A handle whose data was replaced is reopened.
 * Without `at` the newest time and the first level are read. Errors of GDAL that `use` lets through become
 * `source-unreadable`. Uses with a turn go by lanes where the raster is not distant and its lanes are not full.
 */
export async function withRaster<T>(
  source: RasterSource,
  use: (handle: RasterHandle) => Promise<T>,
  at?: RasterPosition,
  turn?: HandleTurn,
): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    let opening = await createOpening(source, at);
    // What is far away is waited for, not decoded: there uses do not follow each other.
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
  const handle = takeIdle(opening, lane) ?? new RasterHandle(opening, await opening.open());
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

/** After a failed read the driver's state is not to be trusted, and a file that misses something may get it (a world file). */
function isUsable(error: unknown): boolean {
  return error instanceof TaskFailure && error.code !== 'source-unreadable';
}

function damaged(error: unknown): TaskFailure {
  return unreadable('The raster could not be read: the file is damaged or incomplete.', error);
}

/** That of the lane, or one that the least is lost with: whose lane nobody follows, or was followed longest ago. */
function takeIdle({ key, stamp, origin }: RasterOpener, lane?: HandleLane): RasterHandle | undefined {
  closeStale(origin, stamp);
  const isOf = (handle: RasterHandle, of: HandleLane | undefined) => handle.key === key && handle.lane === of;
  let index = idle.findLastIndex((handle) => isOf(handle, lane));
  if (index < 0 && lane !== undefined) index = idle.findLastIndex((handle) => isOf(handle, undefined));
  if (index < 0) index = idle.findIndex((handle) => handle.key === key);
  return index < 0 ? undefined : idle.splice(index, 1)[0];
}

/** All at once: some libraries share what they know of a file among all that have it open. */
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
  idle.push(handle);
  if (idle.length > IDLE_TOTAL) idle.shift()!.close();
}

/** Closes what no task uses; to be called when no more tasks come, because GDAL crashes at exit over open views. */
export function closeIdleRasters(): void {
  for (const handle of idle.splice(0)) handle.close();
}
