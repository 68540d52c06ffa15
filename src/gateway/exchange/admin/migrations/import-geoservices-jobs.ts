import Type, { type Static } from 'typebox';
import { SERVICE } from '../../../../core/access/access.js';
import { notFound } from '../../../../core/errors/errors.js';
import { EXCHANGE_LIMITS } from '../../../../core/exchange/limits.js';
import { type Exchange, type Principal, withoutSession } from '../../../../core/http/operation.js';
import { pathString } from '../../../../core/http/params.js';
import { LIMITS } from '../../../../core/kit/limits.js';
import { referenceProblem } from '../../../../services/connections/secrets.js';
import type { ImportResult, RemoteInput } from '../../../../services/exchange/import-input.js';
import { GEOSERVICES } from '../../../../services/exchange/remote/geoservices.js';
import type {
  GeoServicesReport,
  GeoServicesSource,
} from '../../../../services/exchange/remote/geoservices-source.js';
import type { SecretReferences } from '../../../../services/exchange/remote/secret-references.js';
import {
  buildImportQuery,
  endsImport,
  isOwnImport,
  requireJob,
} from '../../../../services/jobs/ownership.js';
import type { JobRow } from '../../../../stores/jobs/jobs.js';
import type { ServicesOf } from '../../../admin/deps.js';
import {
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
  TimestampSchema,
  timestamp,
} from '../../../admin/envelope.js';
import { createRowBuilders, jsonBody } from '../../../admin/kit.js';
import { requireReplaceable } from '../../../admin/layer-rights.js';
import { requireSrid } from '../../../admin/upload-form.js';
import {
  createMemberError,
  createSubmitOptions,
  requireSchema,
  requireTable,
} from '../../../connections/admin/remote-imports.js';
import { cancelMessage, percent } from '../../../jobs/admin/job-views.js';
import { parseServiceUrl } from './import-geoservices.js';

const SERVICES = ['access', 'catalog', 'connections', 'imports', 'jobs'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action, report } = createRowBuilders(SERVICES);

/** Imports of layers of GeoServices, as jobs. */

const S = Type.String();
const I = Type.Integer();
const OptionalInteger = Type.Union([I, Type.Null()]);
const OptionalObject = Type.Union([Type.Object({}), Type.Null()]);
const Reference = Type.Optional(
  Type.String({ maxLength: 1024, description: 'Secret in connections.secrets: env:NAME or file:/path.' }),
);
const Refused = Type.Optional(Type.String({ description: 'Not accepted. Send a reference to a secret.' }));

const Body = Type.Object({
  serviceUrl: Type.String({ minLength: 1, maxLength: LIMITS.urlBytes }),
  tableName: S,
  layerId: Type.Integer({ minimum: 0, maximum: 2_147_483_647 }),
  targetSchema: Type.Optional(Type.String({ description: 'Only main: the embedded store has one schema.' })),
  targetSrid: Type.Optional(Type.Integer({ default: 4326 })),
  serviceName: Type.Optional(
    Type.String({
      maxLength: 200,
      description: 'Service that the collection belongs to. Default: default.',
    }),
  ),
  autoPublish: Type.Optional(
    Type.Boolean({
      default: true,
      description: 'False: the collection is on no surface until its metadata has enabled: true.',
    }),
  ),
  overwriteExisting: Type.Optional(Type.Boolean({ default: false })),
  whereClause: Type.Optional(Type.String({ maxLength: LIMITS.geoServicesWhere })),
  outputFields: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { minItems: 1, maxItems: 1000 }),
  ),
  batchSize: Type.Optional(Type.Integer({ minimum: 1, maximum: EXCHANGE_LIMITS.geoServicesBatch })),
  maxRetries: Type.Optional(Type.Integer({ minimum: 0, maximum: 10, default: 3 })),
  requestTimeoutSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 3600, default: 120 })),
  credentials: Type.Optional(
    Type.Object({
      mode: Type.Optional(Type.Enum(['none', 'arcgis-token', 'token', 'basic'])),
      username: Type.Optional(Type.String({ maxLength: 256 })),
      password: Refused,
      passwordSecretReference: Reference,
      accessToken: Refused,
      accessTokenSecretReference: Reference,
    }),
  ),
});
type StartBody = Static<typeof Body>;

const Queued = Type.Object({ jobId: S, message: S, statusUrl: S, cancelUrl: S });

const Job = Type.Object({
  jobId: S,
  status: Type.Integer({
    description:
      '0 Queued 1 Discovering 2 RetrievingFeatures 3 CreatingTable 4 InsertingFeatures 5 Publishing 6 CopyingAttachments 7 Validating 8 Completed 9 NeedsReview 10 Failed 11 Cancelled',
  }),
  sourceKind: S,
  sourceServiceUrl: S,
  sourceUrl: S,
  sourceLayerId: I,
  sourceLayerName: OptionalStringSchema,
  tableName: S,
  serviceName: OptionalStringSchema,
  publishedLayerId: OptionalInteger,
  layerId: OptionalInteger,
  featuresProcessed: I,
  failedFeatures: I,
  attachmentsProcessed: I,
  failedAttachments: I,
  batchesCompleted: I,
  totalBatches: OptionalInteger,
  estimatedTotalFeatures: OptionalInteger,
  percentComplete: Type.Union([Type.Number(), Type.Null()]),
  currentPhase: OptionalStringSchema,
  startedAt: TimestampSchema,
  completedAt: OptionalTimestampSchema,
  errorMessage: OptionalStringSchema,
  warnings: Type.Array(S),
  reconciliationArtifact: OptionalObject,
  catalogReconciliationReport: OptionalObject,
});

const byId = { jobId: pathString('jobId', 'Id of the import job.') };
/** Name of such a job in messages. */
const KIND_NAME = 'GeoServices import job';
const MAX_JOBS = 200;

export const geoServicesImports = [
  action('POST /import/geoservices/start', 'Start GeoServices Import', {
    description:
      'Imports one layer, whole or not at all, as a job. Aliases, coded values, the description and the style come along; what cannot is a warning of the job.',
    body: jsonBody(Body),
    data: Queued,
    status: 202,
    errors: [400, 409, 503],
    answer: start,
  }),
  report('GET /import/geoservices/jobs', 'List GeoServices Import Jobs', {
    data: Type.Object({ jobs: Type.Array(Job) }),
    errors: [503],
    answer: async ({ principal }, deps) => ({
      jobs: (
        await deps.jobs.store.list({ ...buildImportQuery(principal), kinds: [GEOSERVICES], limit: MAX_JOBS })
      ).map((job) => buildView(job, deps)),
    }),
  }),
  report('GET /import/geoservices/jobs/{jobId}', 'Get GeoServices Import Job', {
    params: byId,
    data: Job,
    errors: [400, 404, 503],
    answer: async ({ params, principal }, deps) =>
      buildView(requireJob(await loadJob(params.jobId, deps), principal, isOwnImport, KIND_NAME), deps),
  }),
  action('POST /import/geoservices/jobs/{jobId}/cancel', 'Cancel GeoServices Import Job', {
    params: byId,
    data: Type.Object({ jobId: S, message: S }),
    errors: [400, 404, 409, 503],
    async answer({ params, principal }, deps) {
      const { id } = requireJob(await loadJob(params.jobId, deps), principal, endsImport, KIND_NAME);
      return { jobId: id, message: cancelMessage(await deps.jobs.cancel(id), 'import') };
    },
  }),
];

async function start(
  x: Exchange<Record<never, never>, StartBody>,
  deps: Deps,
): Promise<Static<typeof Queued>> {
  const { body } = x;
  const input = layerImport(body, deps.connections.settings.secrets, x.principal);
  if (input.replace) requireReplaceable([input.table], x.principal, deps);
  const { id } = await deps.imports.submitRemote(GEOSERVICES, input, createSubmitOptions(x));
  return {
    jobId: id,
    message: 'The layer is imported in the background.',
    statusUrl: `jobs/${id}`,
    cancelUrl: `jobs/${id}/cancel`,
  };
}

/** The options with which a job imports a layer. Throws 400 with the name of the member after `prefix`. */
export function layerImport(
  body: StartBody,
  secrets: readonly string[],
  principal: Principal,
  prefix = '',
): RemoteInput<GeoServicesSource> {
  requireSchema(`${prefix}targetSchema`, body.targetSchema);
  return {
    table: requireTable(`${prefix}tableName`, body.tableName),
    targetCrs: requireSrid('targetSrid', body.targetSrid ?? 4326),
    remote: parseSource(body, secrets, `${prefix}serviceUrl`),
    ...(body.overwriteExisting ? { replace: true, principal: withoutSession(principal) } : {}),
  };
}

function parseSource(body: StartBody, secrets: readonly string[], member: string): GeoServicesSource {
  const url = parseServiceUrl(body.serviceUrl, member);
  if (url.search !== '') throw createMemberError(member, 'must have no query');
  return {
    serviceUrl: url.href,
    layerId: body.layerId,
    targetSrid: body.targetSrid ?? 4326,
    where: body.whereClause?.trim() || '1=1',
    fields: body.outputFields,
    batchSize: body.batchSize,
    maxRetries: body.maxRetries ?? 3,
    requestMs: (body.requestTimeoutSeconds ?? 120) * 1000,
    credentials: readReferences(body.credentials ?? {}, secrets),
    ...(body.serviceName ? { service: body.serviceName } : {}),
    ...(body.autoPublish === false ? { disabled: true as const } : {}),
  };
}

function readReferences(
  credentials: NonNullable<StartBody['credentials']>,
  secrets: readonly string[],
): SecretReferences {
  const { mode, username, passwordSecretReference, accessTokenSecretReference } = credentials;
  for (const member of ['password', 'accessToken'] as const)
    if (credentials[member] !== undefined)
      throw createMemberError(`credentials.${member}`, 'is not allowed. Send a reference to a secret');
  for (const member of ['passwordSecretReference', 'accessTokenSecretReference'] as const) {
    const reference = credentials[member];
    const problem = reference === undefined ? undefined : referenceProblem(reference, secrets);
    if (problem !== undefined) throw createMemberError(`credentials.${member}`, problem);
  }
  if (passwordSecretReference !== undefined && username === undefined)
    throw createMemberError('credentials.username', 'is required with a password');
  return {
    mode,
    username,
    passwordReference: passwordSecretReference,
    tokenReference: accessTokenSecretReference,
  };
}

async function loadJob(id: string, { jobs }: Deps): Promise<JobRow> {
  const job = await jobs.get(id);
  if (job.kind !== GEOSERVICES) throw notFound(KIND_NAME, id);
  return job;
}

const STATES = { Queued: 0, Failed: 10, Cancelled: 11 } as const;
const PHASES: Readonly<Record<string, number>> = {
  fetch: 2,
  translate: 3,
  load: 4,
  publish: 5,
  attach: 6,
  settle: 7,
};

function convertStatus(
  { state, phase, warnings_json }: JobRow,
  reading: GeoServicesReport | undefined,
): number {
  if (state === 'Succeeded') return warnings_json === '[]' ? 8 : 9;
  if (state !== 'Running') return STATES[state];
  return reading === undefined ? 1 : (PHASES[phase ?? ''] ?? 1);
}

/** The saved report of a run: its checkpoint while it is running, then its result. */
function findReport({ result_json, checkpoint_json }: JobRow): GeoServicesReport | undefined {
  const saved = JSON.parse(result_json ?? checkpoint_json ?? '{}') as {
    report?: unknown;
    layerName?: string;
  };
  return (saved.report ?? (saved.layerName === undefined ? undefined : saved)) as
    | GeoServicesReport
    | undefined;
}

function buildView(job: JobRow, { catalog }: Deps): Static<typeof Job> {
  const { table, remote } = JSON.parse(job.input_json) as RemoteInput<GeoServicesSource>;
  const reading = findReport(job);
  const result = job.result_json === null ? undefined : (JSON.parse(job.result_json) as ImportResult);
  const collection = result && catalog().byId(table.toLowerCase());
  const layerId = collection?.layerId ?? null;
  return {
    jobId: job.id,
    status: convertStatus(job, reading),
    sourceKind: 'arcgis-geoservices-rest',
    sourceServiceUrl: remote.serviceUrl,
    sourceUrl: `${remote.serviceUrl}/${remote.layerId}`,
    sourceLayerId: remote.layerId,
    sourceLayerName: reading?.layerName ?? null,
    tableName: table,
    serviceName: collection?.service ?? remote.service ?? SERVICE,
    publishedLayerId: collection?.isDisabled ? null : layerId,
    layerId,
    featuresProcessed: result?.features ?? reading?.features ?? 0,
    failedFeatures: 0,
    attachmentsProcessed: reading?.attachments?.processed ?? 0,
    failedAttachments: reading?.attachments?.failed ?? 0,
    batchesCompleted: reading?.batches ?? 0,
    totalBatches: reading?.totalBatches ?? null,
    estimatedTotalFeatures: reading?.matched ?? null,
    percentComplete: job.state === 'Succeeded' ? 100 : percent(job),
    currentPhase: job.phase,
    startedAt: timestamp(job.started_at ?? job.created_at),
    completedAt: optionalTimestamp(job.completed_at),
    errorMessage: job.failure_message,
    warnings: JSON.parse(job.warnings_json) as string[],
    reconciliationArtifact: result && reading ? buildParity(result, reading) : null,
    catalogReconciliationReport: null,
  };
}

function buildParity({ features }: ImportResult, { matched, fields }: GeoServicesReport) {
  return {
    featureCount: { sourceCount: matched, targetCount: features, delta: features - matched },
    schema: { targetFieldNames: fields },
  };
}
