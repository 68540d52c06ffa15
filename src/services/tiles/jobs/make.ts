import { setTimeout as pause } from 'node:timers/promises';
import { hasTilesAt } from '../../../core/catalog/collection.js';
import { ApiError } from '../../../core/errors/errors.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import { compress, decompress } from '../../uploads/compression.js';
import type { TileRequest } from '../request.js';
import type { Tile } from '../tile.js';
import { mapInOrder } from './in-order.js';
import { occupancy } from './occupancy.js';
import type { Position } from './tally.js';
import { type OccupancyCheck, type WalkStep, walk } from './walk.js';
import type { TileWork } from './work.js';

export interface MakingOptions {
  pools: Pools;
  signal: AbortSignal;
  concurrency: number;
  /** Start position. Default: the start of the walk. */
  from: Position | undefined;
  /** End position, at the side of a block. Default: the end of the walk. */
  to?: Position;
  make(request: TileRequest, signal: AbortSignal): Promise<Tile>;
  /** Resolves when there is room for one more tile. */
  room(): Promise<void>;
  /** Milliseconds of all pauses together before lossy tiles are rendered again. Default: one minute. */
  lossPatience?: number;
}

/** Result of an address, or of several that are empty together. */
export interface MadeStep {
  /** Position at which the walk resumes after this step. */
  position: Position;
  /** Addresses. */
  count: number;
  at?: { zoom: number; row: number; column: number };
  /** Undefined for empty addresses and failures. */
  body?: Uint8Array;
  failure?: Error;
  /** Whether it lacks rasters that could not be read. */
  isLossy?: boolean;
}

/** Pauses between attempts, milliseconds: together longer than a database takes to start again. */
const PAUSES = [100, 500, 2000, 5000, 10_000];
const LOSS_PATIENCE = 60_000;
/** Codes of errors that a retry can resolve. */
const PASSING: ReadonlySet<string> = new Set([
  'queue-full',
  'worker-lost',
  'store-unavailable',
  'unavailable',
  'deadline-exceeded',
]);

/**
 * Renders the tiles of a selection zoom by zoom, in the order of the Hilbert curve. A tile that cannot be rendered is
 * reported as a failure. A tile that lacks rasters after retries is reported as lossy. Rejects if the store remains
 * unavailable, and on abort.
 */
export async function* makeTiles(work: TileWork, options: MakingOptions): AsyncGenerator<MadeStep> {
  const patience = { left: options.lossPatience ?? LOSS_PATIENCE };
  for (const [zoom, ranges] of work.ranges) {
    if (options.from && zoom < options.from.zoom) continue;
    if (options.to && zoom > options.to.zoom) return;
    const from = options.from?.zoom === zoom ? options.from.next : 0;
    const to = options.to?.zoom === zoom ? options.to.next : undefined;
    const { level } = work.set.matrices[zoom]!;
    const collections = work.collections.filter((collection) => hasTilesAt(collection, level));
    // If no collection has tiles at this zoom, all addresses are empty.
    const occupied =
      collections.length > 0 ? occupancy(work, collections, options.pools, options.signal) : NOWHERE;
    const steps = walk({ set: work.set, zoom, ranges, from, to, occupied });
    yield* mapInOrder(steps, options.concurrency, (step) =>
      makeStep({ ...work, collections }, zoom, step, { ...options, patience }),
    );
  }
}

const NOWHERE: OccupancyCheck = async (boxes) => boxes.map(() => false);

interface PatientOptions extends MakingOptions {
  /** Shared by all tiles: a raster that is damaged is so in each of them. */
  patience: { left: number };
}

async function makeStep(
  work: TileWork,
  zoom: number,
  step: WalkStep,
  options: PatientOptions,
): Promise<MadeStep> {
  options.signal.throwIfAborted();
  const position = { zoom, next: step.next };
  if ('skipped' in step) return { position, count: step.skipped };
  const { row, column } = step;
  const at = { zoom, row, column };
  const request: TileRequest = {
    format: work.format,
    collections: work.collections,
    at: { set: work.set, ...at },
  };
  try {
    const tile = await patiently(request, options);
    const { isLossy } = tile;
    const body = tile.empty ? undefined : await archived(tile);
    return { position, count: 1, at, body, isLossy };
  } catch (error) {
    if (options.signal.aborted || !(error instanceof ApiError || error instanceof TaskFailure)) throw error;
    if (error.code === 'store-unavailable' || error.code === 'source-missing') throw error;
    return { position, count: 1, at, failure: error };
  }
}

/** The body with gzip. Archives contain gzip, regardless of the tile's source. */
async function archived({ body, encoding }: Tile): Promise<Uint8Array | undefined> {
  if (body === undefined || encoding === undefined || encoding === 'gzip') return body;
  return compress(await decompress(body, encoding), 'gzip');
}

async function patiently(request: TileRequest, options: PatientOptions): Promise<Tile> {
  const { signal, patience } = options;
  for (let attempt = 0; ; attempt++) {
    const wait = PAUSES[attempt];
    try {
      await options.room();
      const tile = await options.make(request, signal);
      if (!tile.isLossy || wait === undefined || wait > patience.left) return tile;
      patience.left -= wait;
    } catch (error) {
      const code = (error as { code?: unknown }).code;
      if (wait === undefined || typeof code !== 'string' || !PASSING.has(code)) throw error;
    }
    await pause(wait, undefined, { signal });
  }
}

/** Milliseconds between checks of the queues. */
const LOOK_MS = 5;

/** Gives priority to requests: no tile is started while any task is queued. */
export function yielding(pools: Pools, signal: AbortSignal): () => Promise<void> {
  return async () => {
    while (pools.status().some(({ name, queued }) => queued > 0 && name !== 'archive')) {
      signal.throwIfAborted();
      await pause(LOOK_MS);
    }
  };
}

/** Number of tiles rendered at the same time. One thread remains for requests. */
export function tileConcurrency(pools: Pools): number {
  const threads = pools.status().find(({ name }) => name === 'vector')?.workers ?? 1;
  return Math.max(1, threads - 1);
}
