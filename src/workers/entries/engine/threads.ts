/** The two threads of an engine that run native code, each from its first task on, and the tasks that they run. */

import { Piscina } from 'piscina';
import { isDistant } from '../../../core/catalog/raster-sources.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { WorkerReport } from '../../../core/observability/worker-report.js';
import type { ImageResult, RasterSource } from '../../../core/rasters/rasters.js';
import type { TaskInput, TaskWork } from '../../../core/tasks/tasks.js';
import { type LaneTaskOptions, TaskLane } from '../../engine/lane.js';
import type { EngineTaskName } from '../../engine/wire.js';
import { Cancellation } from '../../threads/cancellation.js';
import { failureFrom, type TaskResponse } from '../../threads/failure.js';
import { movableBuffers, type ThreadTask } from '../../threads/thread.js';

/** Half of libuv's threads. */
const DISTANT_CONCURRENCY = 2;
/** Maximum number of parallel heavy tasks, which leaves half of libuv's threads to the other tasks. */
const MAX_HEAVY = 2;
/** Additional tasks of each lane, for callers with a key. */
const RESERVED = 2;

export interface EngineThreadsOptions {
  /** Concurrent tasks of the raster thread. */
  rasterConcurrency: number;
  mapConcurrency: number;
  maxQueue: number;
  graceMs: number;
  onStuck: (reason: string) => void;
  /** A thread ended: its native code cannot be loaded again in this process. */
  onLost: (reason: string) => void;
}

export interface EngineTaskOptions extends LaneTaskOptions {
  onProgress?: (fraction: number) => void;
  /** Correlation id of the request that the task runs for. */
  request?: string;
  /** Called with the time of the work in each thread. */
  onWork?: (work: TaskWork) => void;
}

/** Exactly one thread that stays until the process ends: a second one could not load the same native code. */
function singleThread(
  name: string,
  file: URL,
  concurrency: number,
  onLost: (reason: string) => void,
): Piscina {
  const pool = new Piscina({
    filename: file.href,
    minThreads: 1,
    maxThreads: 1,
    idleTimeout: Number.POSITIVE_INFINITY,
    concurrentTasksPerWorker: concurrency,
    // Waiting on an atomic would stop the thread's event loop, and with it the calls that still run.
    atomics: 'disabled',
    recordTiming: false,
  });
  pool.on('error', (error: unknown) => onLost(`the ${name} thread failed: ${String(error)}`));
  for (const thread of pool.threads)
    thread.on('exit', (code) => onLost(`the ${name} thread ended with code ${code}`));
  return pool;
}

export class EngineThreads {
  #rasterThread: Piscina | undefined;
  #mapThread: Piscina | undefined;
  readonly #options: EngineThreadsOptions;
  readonly #rasterLane: TaskLane;
  /**
   * Lane of rasters that wait for other servers. It leaves libuv's threads, on which GDAL's calls run, to other
   * tasks.
   */
  readonly #distantLane: TaskLane;
  readonly #mapLane: TaskLane;

  constructor(options: EngineThreadsOptions) {
    this.#options = options;
    const { rasterConcurrency, mapConcurrency, maxQueue, graceMs, onStuck } = options;
    this.#rasterLane = new TaskLane({
      name: 'raster',
      concurrency: rasterConcurrency,
      reserved: RESERVED,
      heavy: MAX_HEAVY,
      maxQueue,
      graceMs,
      onStuck,
    });
    this.#distantLane = new TaskLane({
      name: 'distant',
      concurrency: DISTANT_CONCURRENCY,
      reserved: 1,
      heavy: 1,
      maxQueue,
      graceMs,
      onStuck,
    });
    this.#mapLane = new TaskLane({
      name: 'map',
      concurrency: mapConcurrency,
      reserved: RESERVED,
      heavy: MAX_HEAVY,
      maxQueue,
      graceMs,
      onStuck,
    });
  }

  /** GDAL's: a server of vector data needs neither its memory nor the half second of processor time that loading takes. */
  get #raster(): Piscina {
    const { rasterConcurrency, onLost } = this.#options;
    const file = new URL('../raster.js', import.meta.url);
    return (this.#rasterThread ??= singleThread(
      'raster',
      file,
      rasterConcurrency + DISTANT_CONCURRENCY + 2 * RESERVED,
      onLost,
    ));
  }

  /** Mapnik's. */
  get #map(): Piscina {
    const { mapConcurrency, onLost } = this.#options;
    const file = new URL('../map.js', import.meta.url);
    return (this.#mapThread ??= singleThread('map', file, mapConcurrency + RESERVED, onLost));
  }

  /** Number of tasks that native code runs, including abandoned tasks. */
  get running(): number {
    return this.#rasterLane.running + this.#distantLane.running + this.#mapLane.running;
  }

  /** Closes the files that stayed open; no task may follow. */
  async close(): Promise<void> {
    if (this.#rasterThread) await this.#call(this.#rasterThread, 'close', null, new Cancellation());
  }

  /** Reports of the threads that run. */
  async look(): Promise<readonly WorkerReport[]> {
    const threads = [this.#rasterThread, this.#mapThread].filter((thread) => thread !== undefined);
    const looks = threads.map((thread) => this.#call(thread, 'engine.look', {}, new Cancellation()));
    return (await Promise.all(looks)) as WorkerReport[];
  }

  /** Runs one task. Rejects with `TaskFailure`. */
  run(task: EngineTaskName, input: unknown, options: EngineTaskOptions): Promise<unknown> {
    if (task === 'map.render') return this.#render(input as TaskInput<'map.render'>, options);
    const { source } = input as { source?: RasterSource };
    const lane = source && isDistant(source) ? this.#distantLane : this.#rasterLane;
    const call = (cancellation: Cancellation) => this.#call(this.#raster, task, input, cancellation, options);
    return lane.run(call, options);
  }

  /** Georeferenced TIFFs are drawn by Mapnik and written by GDAL, which live on different threads. */
  async #render(input: TaskInput<'map.render'>, options: EngineTaskOptions): Promise<unknown> {
    const started = performance.now();
    const task = { ...input, format: input.format === 'tiff' ? 'raw' : input.format };
    const image = (await this.#mapLane.run(
      (cancellation) => this.#call(this.#map, 'map.render', task, cancellation, options),
      options,
    )) as ImageResult;
    if (input.format !== 'tiff') return image;
    const { width, height, bbox, crs } = input;
    const tiff = { rgba: image.data, width, height, bbox, crs };
    const left =
      options.deadlineMs === undefined ? undefined : options.deadlineMs - (performance.now() - started);
    const data = await this.#rasterLane.run(
      (cancellation) => this.#call(this.#raster, 'raster.encode-tiff', tiff, cancellation, options),
      { ...options, deadlineMs: left },
    );
    return { ...image, data, mediaType: 'image/tiff; application=geotiff' };
  }

  async #call(
    pool: Piscina,
    task: string,
    input: unknown,
    cancellation: Cancellation,
    { request, onWork }: Pick<EngineTaskOptions, 'request' | 'onWork'> = {},
  ): Promise<unknown> {
    const message: ThreadTask = { task, input, flag: cancellation.shared, request };
    let result: TaskResponse;
    try {
      result = await pool.run(message, { transferList: movableBuffers(input) });
    } catch (error) {
      throw new TaskFailure('worker-lost', 'The worker that ran the task stopped. Retry.', String(error));
    }
    if (result.work) onWork?.(result.work);
    if (result.ok) return result.value;
    throw failureFrom(result.failure);
  }
}
