import { existsSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { basename, join, parse, resolve } from 'node:path';
import { type CatalogSnapshot, measureRules } from '../../../core/catalog/collection.js';
import { ApiError } from '../../../core/errors/errors.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import { makeFolder } from '../../../core/files/own-folder.js';
import type { Principal } from '../../../core/http/operation.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import { ARCHIVE_MEDIA_TYPES } from '../../../core/tiles/archives.js';
import type { JobRow } from '../../../stores/jobs/jobs.js';
import { type Derivations, requireCompleteAccess } from '../../access/rules/derivations.js';
import type { FolderNames } from '../../catalog/folder-names.js';
import type { JobEngine, SubmitOptions } from '../../jobs/engine.js';
import type { JobContext, JobKind, PartContext } from '../../jobs/kinds.js';
import { createCollectionId } from '../../kit/slug.js';
import { PUBLISHED, type Storage } from '../../storage/storage.js';
import * as metrics from '../../telemetry/metrics.js';
import type { CacheReach } from '../cache/levels.js';
import { makeTile } from '../make.js';
import type { TileRequest } from '../request.js';
import type { Tile } from '../tile.js';
import { checkContainer } from './describe.js';
import { exportTiles, type TileExportOptions } from './export.js';
import { isArchiving, isMaking, type TileJobInput } from './input.js';
import { tileConcurrency, yielding } from './make.js';
import { cutWork, mergePartTallies, PART_TILES, type PartResult, type TilePart } from './parts.js';
import { TOLD_FAILURES } from './progress.js';
import { seedTiles, type TileSeedOptions } from './seed.js';
import type { TileTally } from './tally.js';
import { counting, noting, notingRest, tellFailures } from './tally-notes.js';
import { type TileWork, tileWork } from './work.js';

export interface TileJobsDeps {
  pools: Pools;
  jobs: JobEngine;
  dataDir: string;
  storage: Storage;
  catalog(): CatalogSnapshot;
  /** The catalog as a principal may read it. */
  visible(principal: Principal): CatalogSnapshot;
  derivations: Pick<Derivations, 'record' | 'sourcesOf'>;
  cacheReach: CacheReach;
  /** The tile from the cache. A missing tile is rendered and cached. */
  warm(request: TileRequest): Promise<Tile>;
  /** Drops the cached tiles of a collection, or all; returns how many. */
  drop(layerId: number | undefined): Promise<number>;
  /** Names of collections in the data folders of several servers. Undefined with one server. */
  names?: Pick<FolderNames, 'refuse' | 'during' | 'release'>;
  /** Publishes the files in the folder of published archives. */
  reload(reason: string): Promise<void>;
}

interface ArchiveFile {
  /** Path of the file, or URL of the object. */
  path: string;
  bytes: number;
  /** Key of an object that all servers share. */
  key?: string;
}

/** State of a tile job while it runs, and at its end. */
export interface TileJobState {
  tally?: TileTally;
  archive?: ArchiveFile;
  /** Addresses a second in this run. */
  rate?: number;
  /** Cached tiles dropped. */
  dropped?: number;
}

/** Kind of the jobs that work on the cache. */
export const CACHE_JOB = 'tiles.cache';
const KINDS = [CACHE_JOB, 'tiles.archive', 'tiles.publish'] as const;
type TileJobKind = (typeof KINDS)[number];

/** Ordinals of TileCache, PMTilesArchive and PMTilesPublish on the wire. */
const ABOUT: Record<TileJobKind, { title: string; operationType: number }> = {
  'tiles.cache': { title: 'Tile cache', operationType: 4 },
  'tiles.archive': { title: 'Tile archive', operationType: 5 },
  'tiles.publish': { title: 'Publish a tile archive', operationType: 13 },
};

/**
 * Maximum number of attempts. A server that ends is not a fault of the job, and its tiles remain, so the number is
 * high.
 */
export const TILE_JOB_ATTEMPTS = 1000;

/** Share of writing in an archive job whose tiles all servers have rendered before. */
const WRITING = 0.1;

/**
 * Jobs that render tiles into the cache or into archives. Each process runs one at a time, with lower priority than
 * requests.
 */
export class TileJobs {
  readonly #deps: TileJobsDeps;
  readonly #archives: string;

  constructor(deps: TileJobsDeps) {
    this.#deps = deps;
    this.#archives = join(resolve(deps.dataDir), 'archives');
    for (const kind of KINDS) deps.jobs.register(this.#kind(kind));
  }

  get storage(): Storage {
    return this.#deps.storage;
  }

  get catalog(): CatalogSnapshot {
    return this.#deps.catalog();
  }

  /**
   * Submits a job. Throws `invalid-request` for tiles that cannot be rendered, and for layers that the caller cannot
   * read. Throws `forbidden` for layers that the caller can read only in part, because a job renders all rows.
   */
  async submit(input: TileJobInput, principal: Principal, options: SubmitOptions): Promise<JobRow> {
    this.#requireReadable(input, principal);
    if (isMaking(input.operation) || isArchiving(input.operation)) {
      const work = await this.#workOf(input);
      if (isArchiving(input.operation)) checkContainer(input.container, work);
      if (input.operation === 'publish' && !this.#deps.storage.publishes(input.container))
        throw new ApiError(
          'invalid-request',
          `An archive cannot be published as ${input.container} on this server.`,
        );
      if (input.operation === 'publish') await this.#requireOwnName(input);
    }
    const resources = input.collections.map((id) => `collection:${id}`);
    const { job } = await this.#deps.jobs.submit(chooseKind(input), input, { resources, ...options });
    await this.#noteQueue();
    return job;
  }

  /** Measures extents first: extents of layers with a permanent filter are known only after a request for them. */
  async #workOf(input: TileJobInput): Promise<TileWork> {
    await measureRules(input.collections.map((id) => this.catalog.byId(id)));
    return tileWork(input, this.catalog);
  }

  #requireReadable({ collections }: TileJobInput, principal: Principal): void {
    const visible = this.#deps.visible(principal);
    for (const id of collections) {
      const collection = visible.byId(id);
      if (!collection) throw new ApiError('invalid-request', `There is no collection '${id.slice(0, 100)}'.`);
      requireCompleteAccess(collection);
    }
  }

  /** Tile jobs, newest first. With `tenant`, only jobs of that tenant. */
  list(active: boolean, limit: number, tenant?: string): Promise<JobRow[]> {
    const states = active ? ['Queued', 'Running'] : undefined;
    return this.#deps.jobs.store.list({ kinds: KINDS, limit, tenant, ...(states ? { states } : {}) });
  }

  /** Throws `not-found`, also for a job of another kind. */
  async get(id: string): Promise<JobRow> {
    const job = await this.#deps.jobs.get(id);
    if (!(KINDS as readonly string[]).includes(job.kind))
      throw new ApiError('not-found', `There is no tile job '${id.slice(0, 100)}'.`);
    return job;
  }

  #kind(kind: TileJobKind): JobKind<TileJobInput, TileJobState> {
    return {
      kind,
      ...ABOUT[kind],
      console: 'TileCache',
      resumable: true,
      lane: 'tiles',
      isLong: true,
      maxAttempts: TILE_JOB_ATTEMPTS,
      ofFolder: kind !== CACHE_JOB || this.#deps.cacheReach !== 'all',
      partsAnywhere: kind !== CACHE_JOB,
      run: (context) => this.#measured(context),
      doPart: (context) => this.#seedPart(context),
      cleanup: (input, id) => this.#cleanup(input, id),
    };
  }

  async #measured(context: JobContext<TileJobInput>): Promise<TileJobState> {
    const began = performance.now();
    const { operation } = context.input;
    let status = 'failed';
    await this.#noteQueue();
    try {
      const result = await this.#run(context);
      status = 'completed';
      return result;
    } finally {
      if (context.signal.aborted) status = 'cancelled';
      metrics.tileJobs.cell(operation, status).inc();
      metrics.tileJobDuration.cell().observe(performance.now() - began);
      await this.#noteQueue();
    }
  }

  async #noteQueue(): Promise<void> {
    const waiting = await this.#deps.jobs.store.list({ kinds: KINDS, states: ['Queued'], limit: 1000 });
    metrics.tileJobQueue.cell().set(waiting.length);
  }

  #run(context: JobContext<TileJobInput>): Promise<TileJobState> {
    const { operation } = context.input;
    if (isMaking(operation)) return this.#seed(context);
    if (isArchiving(operation)) return this.#archive(context);
    return this.#drop(context);
  }

  async #seed(context: JobContext<TileJobInput>): Promise<TileJobState> {
    const work = await this.#workOf(context.input);
    const isShared = this.#deps.cacheReach !== 'process' && context.input.maxTiles === undefined;
    const seed = isShared ? () => this.#seedTogether(context, work, 1) : () => this.#seedAlone(context, work);
    const { tally, failures } = await context.step('seed', `Making up to ${work.total} tiles`, seed);
    await tellFailures(context, failures, tally);
    return { tally };
  }

  /**
   * Starts at the first tile even if an earlier run made progress, because a cache in memory was lost with its
   * process.
   */
  #seedAlone(context: JobContext<TileJobInput>, work: TileWork): Promise<PartResult> {
    const note = noting(context);
    const count = counting(0);
    return seedTiles(work, {
      ...this.#seeding(context),
      progress: (tally, rate) => {
        count(tally);
        note(tally, rate);
      },
    });
  }

  /** Lets each process that shares the cache render a part at a time. `share` is the part of the job's progress. */
  async #seedTogether(context: JobContext<TileJobInput>, work: TileWork, share: number): Promise<PartResult> {
    const note = noting(context, share);
    const began = performance.now();
    let before: number | undefined;
    const results = await context.divide(cutWork(work), (states) => {
      const tally = mergePartTallies(states, work.total);
      before ??= tally.processed;
      note(tally, (tally.processed - before) / ((performance.now() - began) / 1000));
    });
    const parts = results as PartResult[];
    const tally = mergePartTallies(
      parts.map((result) => ({ isDone: true, progress: undefined, result })),
      work.total,
    );
    return { tally, failures: parts.flatMap(({ failures }) => failures).slice(0, TOLD_FAILURES) };
  }

  async #seedPart(context: PartContext<TileJobInput>): Promise<PartResult> {
    const { from, to } = context.part as TilePart;
    const count = counting(0);
    return seedTiles(await this.#workOf(context.input), {
      ...this.#seeding(context),
      from,
      to,
      progress: (tally) => {
        count(tally);
        context.progress(tally);
      },
    });
  }

  #seeding({
    input,
    signal,
  }: {
    input: TileJobInput;
    signal: AbortSignal;
  }): Omit<TileSeedOptions, 'progress'> {
    const { pools } = this.#deps;
    return {
      pools,
      signal,
      from: undefined,
      concurrency: input.concurrency ?? tileConcurrency(pools),
      make: (request) => this.#deps.warm(request),
      room: yielding(pools, signal),
    };
  }

  async #archive(context: JobContext<TileJobInput>): Promise<TileJobState> {
    const { input } = context;
    const saved = (context.saved as TileJobState | undefined) ?? {};
    const state = saved.archive ? saved : await this.#archived(context, saved);
    await this.#store(context, state);
    if (input.operation === 'publish') await this.#deps.reload(`${state.archive!.path} was published`);
    const { path, bytes } = state.archive!;
    const about = { label: path.slice(path.lastIndexOf('/') + 1), kind: 'tile-archive' };
    await context.artifact({
      ...about,
      content_type: ARCHIVE_MEDIA_TYPES[input.container],
      size_bytes: bytes,
      location: path,
    });
    return state;
  }

  async #archived(context: JobContext<TileJobInput>, saved: TileJobState): Promise<TileJobState> {
    const path = this.#pathOf(context.input, context.id);
    await makeFolder(this.#archives);
    if (!existsSync(path)) return this.#write(context, path);
    // Completed by a run that died before it could say so.
    return { tally: saved.tally, archive: { path, bytes: (await stat(path)).size } };
  }

  async #write(context: JobContext<TileJobInput>, path: string): Promise<TileJobState> {
    const { input, signal } = context;
    const { pools } = this.#deps;
    const work = await this.#workOf(input);
    const isShared =
      this.#deps.cacheReach === 'all' && input.maxTiles === undefined && work.total > PART_TILES;
    if (isShared)
      await context.step('seed', `Having all servers make up to ${work.total} tiles`, () =>
        this.#seedTogether(context, work, 1 - WRITING),
      );
    const making = isShared ? this.#takingCached(context) : this.#makingAnew(context);
    const result = await context.step('archive', `Writing up to ${work.total} tiles`, () =>
      exportTiles(work, {
        ...making,
        pools,
        signal,
        output: path,
        container: input.container,
        concurrency: input.concurrency ?? tileConcurrency(pools),
        room: yielding(pools, signal),
        completing: (tally) => context.checkpoint({ tally }),
      }),
    );
    const { tally, archive } = result;
    await tellFailures(context, result.failures, tally);
    if (result.cut) await context.warn(`Ended after ${tally.tiles} tiles, as maxTiles asked for.`);
    const changed = work.collections.find(
      ({ id: one, version }) => this.catalog.byId(one)?.version !== version,
    );
    if (changed) await context.warn(`'${changed.id}' changed while its tiles were made.`);
    metrics.tileArchives.cell().inc();
    metrics.tileArchiveSize.cell().observe(archive.bytes);
    const state: TileJobState = { tally, archive: { path, bytes: archive.bytes } };
    await context.checkpoint(state);
    return state;
  }

  #makingAnew(context: JobContext<TileJobInput>): Pick<TileExportOptions, 'make' | 'progress'> {
    const { signal } = context;
    const note = noting(context);
    const count = counting();
    return {
      make: (request) => makeTile({ signal, timing: () => {} }, this.#deps.pools, request),
      progress: (tally, rate) => {
        count(tally);
        note(tally, rate);
      },
    };
  }

  /** Tiles that the shared cache has lost since then are rendered again. */
  #takingCached(context: JobContext<TileJobInput>): Pick<TileExportOptions, 'make' | 'progress'> {
    return { make: (request) => this.#deps.warm(request), progress: notingRest(context, WRITING) };
  }

  /** Moves the archive into the storage. A published archive replaces the one with the same name in one step. */
  async #store(context: JobContext<TileJobInput>, state: TileJobState): Promise<void> {
    const { input, id, signal } = context;
    const { storage } = this.#deps;
    const isPublished = input.operation === 'publish';
    if (isPublished) await this.#nameSources(input);
    const path = this.#pathOf(input, id);
    const key = isPublished ? PUBLISHED + publishedName(input) : `archives/${basename(path)}`;
    const title = isPublished ? `Publishing ${publishedName(input)}` : 'Storing the archive';
    const take = async () => {
      // If the file is missing, an earlier run has already stored it.
      if (existsSync(path))
        await storage.take(path, key, { mediaType: ARCHIVE_MEDIA_TYPES[input.container], signal });
      if (isPublished) await this.#removeOtherContainers(input);
    };
    const names = isPublished ? this.#deps.names : undefined;
    await context.step(isPublished ? 'publish' : 'store', title, () =>
      names ? names.during(publishedId(input), id, take) : take(),
    );
    state.archive = { ...state.archive!, key, path: storage.locate(key) };
    await context.checkpoint(state);
  }

  /** One collection has one archive. */
  async #removeOtherContainers(input: TileJobInput): Promise<void> {
    const { storage } = this.#deps;
    for (const container of CONTAINERS)
      if (container !== input.container && storage.publishes(container))
        await storage.remove(PUBLISHED + publishedName({ ...input, container }));
  }

  async #drop(context: JobContext<TileJobInput>): Promise<TileJobState> {
    const { operation, layerId } = context.input;
    const dropped = await context.step(operation, 'Dropping cached tiles', () => this.#deps.drop(layerId));
    if (operation === 'delete') await this.#removeArchives(context);
    return { dropped };
  }

  /** Removes the archives that jobs created and published for the collections. */
  async #removeArchives({ input }: JobContext<TileJobInput>): Promise<void> {
    const { jobs, storage, derivations, reload } = this.#deps;
    const removed = new Set<string>();
    for (const collection of input.collections) {
      const kinds = ['tiles.archive', 'tiles.publish'];
      const rows = await jobs.store.list({ kinds, resource: `collection:${collection}`, limit: 1000 });
      for (const { id, kind, input_json, result_json } of rows) {
        const { archive } = JSON.parse(result_json ?? '{}') as TileJobState;
        if (archive?.key !== undefined) await storage.remove(archive.key);
        else if (kind === 'tiles.publish') await rm(archive?.path ?? '', { force: true });
        else for (const { location } of await jobs.store.artifacts(id)) await rm(location, { force: true });
        if (kind === 'tiles.publish') removed.add(publishedId(JSON.parse(input_json) as TileJobInput));
      }
    }
    if (removed.size === 0) return;
    await reload(`${[...removed].join(', ')} was removed`);
    for (const id of removed) {
      await derivations.record(id, [], 'system');
      await this.#deps.names?.release(id);
    }
  }

  /** The archive is a copy of its collections, before it is published. */
  async #nameSources(input: TileJobInput): Promise<void> {
    const collections = input.collections.flatMap((id) => this.catalog.byId(id) ?? []);
    if (collections.length < input.collections.length)
      throw new TaskFailure('invalid-input', 'A collection of the archive is no longer published.');
    const { derivations } = this.#deps;
    await derivations.record(publishedId(input), derivations.sourcesOf(collections), 'system');
  }

  /** Throws `conflict` for a name that a collection has which is not this archive. */
  async #requireOwnName(input: TileJobInput): Promise<void> {
    const id = publishedId(input);
    const before = this.catalog.byId(id);
    if (before && parse(before.file).name !== parse(publishedName(input)).name)
      throw new ApiError(
        'conflict',
        `The collection '${id}' already exists. Choose another name for the archive.`,
      );
    await this.#deps.names?.refuse(id);
  }

  async #cleanup(input: TileJobInput, id: string): Promise<void> {
    if (!isArchiving(input.operation)) return;
    await this.#deps.pools.run('archive.discard', { output: this.#pathOf(input, id) });
  }

  #pathOf({ container }: TileJobInput, id: string): string {
    return join(this.#archives, `${id}.${container}`);
  }
}

const publishedName = ({ collections, container }: TileJobInput) =>
  `${collections.join('_').slice(0, 80)}-tiles.${container}`;

/** Kinds of archives that are published from a folder. */
const CONTAINERS = ['pmtiles', 'mbtiles'] as const;

/** The collection that a published archive becomes. */
const publishedId = (input: TileJobInput) => createCollectionId(parse(publishedName(input)).name);

function chooseKind({ operation }: TileJobInput): TileJobKind {
  if (operation === 'publish') return 'tiles.publish';
  return operation === 'archive' ? 'tiles.archive' : 'tiles.cache';
}
