import Type from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import type { Param, Principal } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { isInTenant, requireJob } from '../../../services/jobs/ownership.js';
import type { JobRow } from '../../../stores/jobs/jobs.js';
import type { ServicesOf } from '../../admin/deps.js';
import {
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
  TimestampSchema,
  timestamp,
} from '../../admin/envelope.js';
import { createRowBuilders, group } from '../../admin/kit.js';
import { cancelMessage, duration, percent, statusOrdinal } from '../../jobs/admin/job-views.js';

const SERVICES = ['jobs'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action, report } = createRowBuilders(SERVICES);

/** Operation types; the place in the list is the ordinal on the wire. */
const TYPES = [
  'Upload',
  'Import',
  'Ingest',
  'ExternalImport',
  'TileCache',
  'PMTilesArchive',
  'Export',
  'RasterImport',
  'Print',
  'Geoprocessing',
  'Publishing',
  'Orchestration',
  'Deployment',
  'PMTilesPublish',
  'TemporalCorrective',
];

const I = Type.Integer();
const Progress = {
  Status: Type.Integer({ minimum: 0, maximum: 4 }),
  StartedAt: TimestampSchema,
  CompletedAt: OptionalTimestampSchema,
  Duration: Type.String(),
  PercentComplete: Type.Union([Type.Number(), Type.Null()]),
  CurrentPhase: OptionalStringSchema,
  ErrorMessage: OptionalStringSchema,
  Warnings: Type.Array(Type.String()),
  JobId: Type.String(),
};
const Item = Type.Object({ operationId: Type.String(), type: I, ...Progress });
const Items = Type.Array(Item);

/** Maximum number of operations in a response: lists of operations in progress have no pages. */
const MOST = 1000;

const byId = { operationId: pathString('operationId', 'Id of the operation: the id of its job.') };

/** Operations in progress. */
export const activeOperations = group(
  { tag: 'Operations', scope: 'operations', envelope: 'raw', isForTenants: true },
  [
    report('GET /operations/active', 'List Active Operations', {
      params: { type: typeParam('type', 'query') },
      data: Type.Object({ Operations: Items, TotalCount: I, FilteredByType: Type.Union([I, Type.Null()]) }),
      errors: [400],
      async answer({ params, principal }, deps) {
        const jobs = await active(params.type, principal, deps);
        return { Operations: jobs, TotalCount: jobs.length, FilteredByType: params.type ?? null };
      },
    }),
    report('GET /operations/type/{operationType}', 'Get Operations By Type', {
      params: { operationType: typeParam('operationType', 'path') },
      data: Type.Object({ OperationType: I, Operations: Items, TotalCount: I }),
      errors: [400],
      async answer({ params, principal }, deps) {
        const jobs = await active(params.operationType, principal, deps);
        return { OperationType: params.operationType, Operations: jobs, TotalCount: jobs.length };
      },
    }),
    report('GET /operations/{operationId}', 'Get Operation Status', {
      params: byId,
      data: Type.Object(Progress),
      errors: [404],
      answer: async ({ params, principal }, deps) =>
        progressView(requireJob(await deps.jobs.get(params.operationId), principal, isInTenant)),
    }),
    action('POST /operations/{operationId}/cancel', 'Cancel Operation', {
      params: byId,
      data: Type.Object({ OperationId: Type.String(), Type: I, Message: Type.String() }),
      errors: [400, 404, 409, 503],
      async answer({ params, principal }, deps) {
        const { id } = requireJob(await deps.jobs.get(params.operationId), principal, isInTenant);
        const job = await deps.jobs.cancel(id);
        const message = cancelMessage(job, 'operation');
        return { OperationId: job.id, Type: convertType(job, deps), Message: message };
      },
    }),
  ],
);

/** An operation type by name or ordinal; the value is the ordinal. */
function typeParam(name: string, where: 'query' | 'path'): Param<number | undefined> {
  return {
    name,
    in: where,
    description: `Operation type by name or ordinal: ${TYPES.map((type, i) => `${i} ${type}`).join(', ')}.`,
    schema: Type.String(),
    required: where === 'path',
    parse(raw) {
      if (raw === undefined) return undefined;
      const ordinal = /^\d{1,2}$/.test(raw)
        ? Number(raw)
        : TYPES.findIndex((type) => type.toLowerCase() === raw.toLowerCase());
      if (ordinal >= 0 && ordinal < TYPES.length) return ordinal;
      throw badParameter(name, `must be one of ${TYPES.join(', ')} or an ordinal below ${TYPES.length}`);
    },
  };
}

async function active(type: number | undefined, { tenantId: tenant }: Principal, deps: Deps) {
  const rows = await deps.jobs.store.list({ states: ['Queued', 'Running'], tenant, limit: MOST });
  const items = rows.map((job) => ({
    operationId: job.id,
    type: convertType(job, deps),
    ...progressView(job),
  }));
  return type === undefined ? items : items.filter((item) => item.type === type);
}

/** Kinds that this version does not know count as orchestration. */
function convertType(job: JobRow, deps: Deps): number {
  return deps.jobs.kindOf(job.kind)?.operationType ?? TYPES.indexOf('Orchestration');
}

function progressView(job: JobRow) {
  return {
    JobId: job.id,
    Status: statusOrdinal(job),
    StartedAt: timestamp(job.started_at ?? job.created_at),
    CompletedAt: optionalTimestamp(job.completed_at),
    Duration: duration(job),
    PercentComplete: percent(job),
    CurrentPhase: job.phase,
    ErrorMessage: job.failure_message,
    Warnings: JSON.parse(job.warnings_json) as string[],
  };
}
