import Type, { type Static } from 'typebox';
import { unreadLayer, unreadNamed } from '../../../core/catalog/unread.js';
import { ApiError } from '../../../core/errors/errors.js';
import type { Box } from '../../../core/geometry/box.js';
import type { Principal } from '../../../core/http/operation.js';
import { flag, pathString } from '../../../core/http/params.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { WrittenContainer } from '../../../core/tiles/archives.js';
import { buildCaller } from '../../../services/access/identity/submitter.js';
import { requireNoTenant } from '../../../services/access/rules/restrictions.js';
import { isInTenant, requireJob } from '../../../services/jobs/ownership.js';
import {
  isArchiving,
  isMaking,
  TILE_OPERATIONS,
  type TileJobInput,
  type TileOperation,
} from '../../../services/tiles/jobs/input.js';
import type { TileJobs } from '../../../services/tiles/jobs/service.js';
import { usualFormat } from '../../../services/tiles/jobs/work.js';
import type { JobRow } from '../../../stores/jobs/jobs.js';
import type { ServicesOf } from '../../admin/deps.js';
import { BASE_PATH, createRowBuilders, group, jsonBody, resource } from '../../admin/kit.js';
import { cancelMessage } from '../../jobs/admin/job-views.js';
import { TileJob, tileJobView } from './tile-job-views.js';

const SERVICES = ['cache', 'jobs', 'tileJobs', 'visible'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action, implement } = createRowBuilders(SERVICES);

const S = Type.String();
const I = Type.Integer();
const name = Type.Optional(Type.String({ minLength: 1, maxLength: 256 }));
const zoom = Type.Optional(Type.Integer({ minimum: 0, maximum: LIMITS.tileZoom }));

const Start = Type.Object({
  operation: Type.Enum([...TILE_OPERATIONS]),
  layerId: Type.Optional(Type.Integer({ minimum: 0 })),
  serviceId: name,
  tileMatrixSetId: name,
  minZoom: zoom,
  maxZoom: zoom,
  bbox: Type.Optional(Type.Array(Type.Number(), { minItems: 4, maxItems: 4 })),
  maxTiles: Type.Optional(Type.Integer({ minimum: 1 })),
  format: name,
  style: name,
  generationId: name,
  container: Type.Optional(Type.Enum(['pmtiles', 'mbtiles', 'gpkg'])),
  concurrency: Type.Optional(Type.Integer({ minimum: 1, maximum: 64 })),
});
type StartBody = Static<typeof Start>;

/** Default zooms: those at which web maps usually show a country. */
const USUAL_ZOOMS = { minZoom: 0, maxZoom: 10 };
/** Maximum number of jobs in one response. */
const MOST = 500;

const byId = { jobId: pathString('jobId', 'Id of the tile job.') };
const statusUrl = (jobId: string) => `${BASE_PATH}/tile-operations/jobs/${jobId}`;

/** Seeding, archiving and eviction of tiles. */
export const tileJobOperations = group(
  { tag: 'Tile operations', scope: 'tile-operations', envelope: 'raw', isForTenants: true },
  [
    ...resource(
      '/tile-operations/jobs/{jobId}',
      {
        list: 'List Tile Operation Jobs',
        create: 'Start Tile Operation Job',
        get: 'Get Tile Operation Job Status',
      },
      {
        list: implement({
          params: { activeOnly: flag('activeOnly', true, 'Only jobs that have not ended.') },
          data: Type.Object({ Jobs: Type.Array(TileJob), TotalCount: I }),
          errors: [503],
          async answer({ params, principal }, { tileJobs }) {
            const rows = await tileJobs.list(params.activeOnly, MOST, principal.tenantId);
            return { Jobs: rows.map((row) => tileJobView(row, tileJobs.catalog)), TotalCount: rows.length };
          },
        }),
        create: implement({
          body: jsonBody(Start),
          status: 202,
          data: Type.Object({ JobId: S, StatusUrl: S, CancelUrl: S, Message: S }),
          errors: [400, 503],
          async answer({ body, principal, operation, correlationId }, deps) {
            const input = parseInput(body, deps, principal);
            const { id } = await deps.tileJobs.submit(input, principal, {
              ...buildCaller(principal, operation),
              correlationId,
            });
            return {
              JobId: id,
              StatusUrl: statusUrl(id),
              CancelUrl: `${statusUrl(id)}/cancel`,
              Message: `The job is queued: ${input.operation}.`,
            };
          },
        }),
        get: implement({
          params: byId,
          data: TileJob,
          errors: [404, 503],
          answer: async ({ params, principal }, { tileJobs }) =>
            tileJobView(await jobFor(params.jobId, principal, tileJobs), tileJobs.catalog),
        }),
      },
    ),
    action('POST /tile-operations/jobs/{jobId}/cancel', 'Cancel Tile Operation Job', {
      params: byId,
      data: Type.Object({ JobId: S, Message: S }),
      errors: [400, 404, 503],
      async answer({ params, principal }, { tileJobs, jobs }) {
        const { id } = await jobFor(params.jobId, principal, tileJobs);
        const job = await jobs.cancel(id).catch(conflictIsBadRequest);
        const message = cancelMessage(job, 'job');
        return { JobId: id, Message: message };
      },
    }),
    action('POST /tile-operations/jobs/{jobId}/retry', 'Retry Tile Operation Job', {
      params: byId,
      status: 202,
      data: Type.Object({ OriginalJobId: S, RetryJobId: S, StatusUrl: S }),
      errors: [400, 503],
      async answer({ params, principal }, { tileJobs, jobs }) {
        const { id } = await jobFor(params.jobId, principal, tileJobs).catch(conflictIsBadRequest);
        await jobs.retry(id).catch(conflictIsBadRequest);
        return { OriginalJobId: id, RetryJobId: id, StatusUrl: statusUrl(id) };
      },
    }),
    action('POST /tile-operations/evict', 'Evict Tile Cache', {
      description: 'Drops all tiles that are kept, in every level and process.',
      isForTenants: false,
      data: Type.Object({ Enabled: Type.Boolean(), Evicted: I, Scanned: I, Message: S }),
      errors: [503],
      async answer(_x, { cache }) {
        const { enabled, entries } = cache.status();
        if (!enabled) return { Enabled: false, Evicted: 0, Scanned: 0, Message: 'The tile cache is off.' };
        const dropped = await cache.invalidate({ kind: 'all' });
        return {
          Enabled: true,
          Evicted: dropped,
          Scanned: entries,
          Message: `${dropped} tiles were dropped.`,
        };
      },
    }),
  ],
);

/** Throws `not-found`, also for a job of another tenant. */
async function jobFor(id: string, principal: Principal, tileJobs: TileJobs): Promise<JobRow> {
  return requireJob(await tileJobs.get(id), principal, isInTenant, 'tile job');
}

/** The contract requires 400 in cases that are usually 404 or 409. */
function conflictIsBadRequest(error: unknown): never {
  if (error instanceof ApiError && (error.code === 'conflict' || error.code === 'not-found'))
    throw new ApiError('invalid-request', error.message);
  throw error;
}

function parseInput(body: StartBody, deps: Deps, principal: Principal): TileJobInput {
  const { operation } = body;
  requireTarget(body);
  if (body.style !== undefined && body.style !== 'default')
    throw new ApiError('invalid-request', 'styleId: must be default.');
  const collections = listCollections(body, deps, principal);
  const { minZoom = Math.min(USUAL_ZOOMS.minZoom, body.maxZoom ?? 0) } = body;
  const { maxZoom = Math.max(USUAL_ZOOMS.maxZoom, minZoom) } = body;
  if (minZoom > maxZoom) throw new ApiError('invalid-request', 'minZoom: must not be above maxZoom.');
  return {
    operation,
    collections: collections.map(({ id }) => id),
    tileMatrixSetId: body.tileMatrixSetId ?? 'WebMercatorQuad',
    minZoom,
    maxZoom,
    format: body.format?.toLowerCase() ?? usualFormat(collections),
    container: (body.container ?? 'pmtiles') as WrittenContainer,
    ...(body.layerId === undefined ? {} : { layerId: body.layerId }),
    ...(body.serviceId === undefined ? {} : { serviceId: body.serviceId }),
    ...(body.bbox === undefined ? {} : { bbox: computeBox(body.bbox) }),
    ...(body.maxTiles === undefined ? {} : { maxTiles: body.maxTiles }),
    ...(body.concurrency === undefined ? {} : { concurrency: body.concurrency }),
    ...(body.generationId === undefined ? {} : { generationId: body.generationId }),
  };
}

function requireTarget({ operation, layerId, serviceId }: StartBody): void {
  const needed = operation as TileOperation;
  if (isArchiving(needed) && layerId === undefined)
    throw new ApiError('invalid-request', `layerId: is required for ${operation}.`);
  if (isMaking(needed) && layerId === undefined && serviceId === undefined)
    throw new ApiError('invalid-request', `layerId: is required for ${operation}, or serviceId.`);
}

/** A service is the collection with that id; the whole dataset has no id. */
function listCollections(
  { layerId, serviceId }: StartBody,
  { tileJobs, visible }: Deps,
  principal: Principal,
) {
  const { catalog } = tileJobs;
  if (layerId !== undefined) {
    const collection = catalog.byLayerId(layerId);
    if (!collection)
      throw (
        unreadLayer(visible(principal), layerId) ??
        new ApiError('invalid-request', `layerId: there is no layer ${layerId}.`)
      );
    return [collection];
  }
  if (serviceId === undefined) {
    requireNoTenant(principal);
    return [];
  }
  const collection = catalog.byId(serviceId);
  if (!collection)
    throw (
      unreadNamed(visible(principal), serviceId) ??
      new ApiError('invalid-request', `serviceId: there is no service '${serviceId.slice(0, 100)}'.`)
    );
  return [collection];
}

/** West may be above east: across the antimeridian. */
function computeBox(numbers: number[]): Box {
  const [west, south, east, north] = numbers as [number, number, number, number];
  const inside = Math.abs(west) <= 180 && Math.abs(east) <= 180 && south >= -90 && north <= 90;
  if (!inside || south > north)
    throw new ApiError('invalid-request', 'bbox: must be [minLon, minLat, maxLon, maxLat] in degrees.');
  return [west, south, east, north];
}
