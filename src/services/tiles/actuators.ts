import Type from 'typebox';
import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import { ApiError } from '../../core/errors/errors.js';
import type { Box } from '../../core/geometry/box.js';
import { LIMITS } from '../../core/kit/limits.js';
import { buildSubmitter } from '../access/identity/submitter.js';
import { type Actuator, chooseActor, defineActuator, parameterError } from '../actions/actuator.js';
import type { JobEngine } from '../jobs/engine.js';
import type { CacheControl } from './cache/cache-control.js';
import type { TileJobInput } from './jobs/input.js';
import type { TileJobs } from './jobs/service.js';
import { usualFormat } from './jobs/work.js';

interface SeedParameters {
  readonly collection: string;
  readonly minZoom: number;
  readonly maxZoom: number;
  readonly tileMatrixSetId?: string;
  /** Default: the usual format of the collection. */
  readonly format?: string;
  readonly bbox?: readonly number[];
  readonly maxTiles?: number;
}

interface SubmittedJob {
  readonly jobId: string;
}

/** Contents of the cache before it was emptied. */
interface EmptiedCache {
  readonly dropped: number;
  readonly entries: number;
}

const zoom = Type.Integer({ minimum: 0, maximum: LIMITS.tileZoom });
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

export interface TileActuatorDeps {
  readonly tileJobs: TileJobs;
  readonly jobs: JobEngine;
  readonly cache: CacheControl;
  catalog(): CatalogSnapshot;
}

/** Actions on cached tiles. */
export function createTileActuators(deps: TileActuatorDeps): readonly Actuator[] {
  return [createSeedActuator(deps), createEvictActuator(deps)];
}

function createSeedActuator({ tileJobs, jobs, catalog }: TileActuatorDeps): Actuator {
  const buildInput = ({ collection: id, ...about }: SeedParameters): TileJobInput => {
    const collection = catalog().byId(id);
    if (!collection) throw parameterError('collection', `there is no collection '${id.slice(0, 100)}'`);
    if (about.minZoom > about.maxZoom)
      throw parameterError('minZoom', `${about.minZoom} is above maxZoom ${about.maxZoom}`);
    return {
      ...{ operation: 'seed', collections: [id], layerId: collection.layerId, container: 'pmtiles' },
      ...{
        minZoom: about.minZoom,
        maxZoom: about.maxZoom,
        format: about.format ?? usualFormat([collection]),
      },
      tileMatrixSetId: about.tileMatrixSetId ?? 'WebMercatorQuad',
      ...(about.bbox === undefined ? {} : { bbox: about.bbox as unknown as Box }),
      ...(about.maxTiles === undefined ? {} : { maxTiles: about.maxTiles }),
    };
  };
  return defineActuator<SeedParameters>({
    kind: 'Seed',
    name: 'tiles.seed',
    version: 1,
    description: 'Renders tiles into the cache',
    permission: 'admin:tile-operations:write',
    parameters: Type.Object(
      {
        ...{ collection: Type.String(), minZoom: zoom, maxZoom: zoom },
        tileMatrixSetId: Type.Optional(Type.String({ maxLength: 100 })),
        format: Type.Optional(Type.String({ maxLength: 100 })),
        bbox: Type.Optional(Type.Array(Type.Number(), { minItems: 4, maxItems: 4 })),
        maxTiles: Type.Optional(Type.Integer({ minimum: 1 })),
      },
      { additionalProperties: false },
    ),
    async plan(parameters) {
      const input = buildInput(parameters);
      const { minZoom, maxZoom, collections } = input;
      return {
        summary: `Render the tiles of ${collections[0]} at the zooms ${minZoom} to ${maxZoom}.`,
        riskLevel: 'Low',
        targets: [`Layer/${collections[0]}`],
        blastRadius: 1,
        diff: [`Cached tiles of ${collections[0]}: missing tiles are added.`],
        dryRun: [`One tile job in ${input.tileMatrixSetId}, at most ${input.maxTiles ?? 'all'} tiles.`],
      };
    },
    // Tiles that are rendered twice are equal, so the job relies only on the collection.
    async preconditions({ collection: id }) {
      const collection = catalog().byId(id);
      return [{ resource: `Layer/${id}`, fingerprint: collection ? String(collection.layerId) : 'absent' }];
    },
    acts: 'repeatably',
    async act(parameters, action): Promise<SubmittedJob> {
      const actor = chooseActor(action);
      const { id } = await tileJobs.submit(buildInput(parameters), actor, {
        ...buildSubmitter(actor),
        ...{ owner: action.approvedBy, idempotencyKey: action.operationId },
      });
      return { jobId: id };
    },
    async verify(_parameters, result) {
      const { jobId } = result as SubmittedJob;
      const { state, failure_message: reason } = await jobs.get(jobId);
      if (state === 'Succeeded') return { state: 'verified', message: `The tile job ${jobId} succeeded.` };
      const isOver = state === 'Failed' || state === 'Cancelled';
      if (isOver) return { state: 'failed', message: `The tile job ${jobId} ended: ${reason ?? state}` };
      return { state: 'pending', message: `The tile job ${jobId} is ${state}.` };
    },
    verifyMs: DAY_MS,
    remedy: 'Inspect the tile job, and cancel it if it hangs.',
  });
}

function createEvictActuator({ cache }: TileActuatorDeps): Actuator {
  const count = async () => {
    const levels = await cache.levels();
    return cache.status().entries + levels.reduce((sum, { entries = 0 }) => sum + entries, 0);
  };
  return defineActuator<object>({
    kind: 'Seed',
    name: 'tiles.evict',
    version: 1,
    description: 'Drops all cached tiles, in memory, on disk and in Redis',
    permission: 'admin:tile-operations:write',
    parameters: Type.Object({}, { additionalProperties: false }),
    async plan() {
      const { enabled, bytes } = cache.status();
      if (!enabled) throw new ApiError('conflict', 'The tile cache is off. Set cache.bytes to use it.');
      const levels = await cache.levels();
      return {
        summary: 'Drop all cached tiles.',
        riskLevel: 'Medium',
        targets: ['TileCache/all'],
        blastRadius: cache.collections().length,
        diff: [
          `Memory of this server: ${bytes} bytes -> 0`,
          ...levels.map(
            ({ name, entries = 0, bytes: size = 0 }) => `${name}: ${entries} entries, ${size} bytes -> 0`,
          ),
        ],
        dryRun: ['The server renders the tiles again when clients request them.'],
      };
    },
    preconditions: async () => [],
    acts: 'repeatably',
    async act(): Promise<EmptiedCache> {
      const entries = await count();
      return { entries, dropped: await cache.invalidate({ kind: 'all' }) };
    },
    async verify(_parameters, result) {
      const { entries, dropped } = result as EmptiedCache;
      const now = await count();
      if (now < entries || entries === 0)
        return { state: 'verified', message: `${dropped} tiles were dropped; the cache has ${now} entries.` };
      return { state: 'pending', message: `The cache still has ${now} entries.` };
    },
    verifyMs: MINUTE_MS,
    remedy: 'Evict the tile cache, or delete the files of the disk cache while the server is stopped.',
  });
}
