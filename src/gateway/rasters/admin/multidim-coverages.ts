import { extname } from 'node:path';
import Type, { type Static } from 'typebox';
import { ApiError } from '../../../core/errors/errors.js';
import { pathString } from '../../../core/http/params.js';
import { buildCaller } from '../../../services/access/identity/submitter.js';
import {
  EXTENSIONS,
  type MultidimCoverage,
  type MultidimFormat,
} from '../../../services/catalog/rasters/multidim.js';
import { isInTenant, requireJob } from '../../../services/jobs/ownership.js';
import { PROVIDERS, requireKey, type StorageProvider } from '../../../services/storage/places.js';
import type { JobRow } from '../../../stores/jobs/jobs.js';
import type { ServicesOf } from '../../admin/deps.js';
import {
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
  TimestampSchema,
  timestamp,
} from '../../admin/envelope.js';
import { BASE_PATH, createRowBuilders, group } from '../../admin/kit.js';
import { defineRegistrations, longId, nullable, REGISTRATION } from './registrations.js';

const SERVICES = ['rasters'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action, report } = createRowBuilders(SERVICES);

const S = Type.String();
const I = Type.Integer();
const FORMATS = Object.keys(EXTENSIONS) as MultidimFormat[];

const View = Type.Object({
  id: I,
  layerId: I,
  name: S,
  description: OptionalStringSchema,
  provider: Type.Enum([...PROVIDERS]),
  bucket: S,
  objectKey: S,
  format: Type.Enum(FORMATS),
  variables: Type.Array(S),
  variableCount: nullable(I),
  srid: nullable(I),
  status: OptionalStringSchema,
  metadataScannedAt: OptionalTimestampSchema,
  createdAt: TimestampSchema,
});

const Register = Type.Object({
  ...REGISTRATION,
  provider: Type.Enum([...PROVIDERS]),
  objectKey: Type.String({ minLength: 1 }),
  format: Type.Enum(FORMATS),
  variables: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: 64 })),
});

const ScanJob = Type.Object({
  jobId: S,
  status: Type.Enum(['queued', 'provisioning', 'running', 'succeeded', 'failed', 'cancelled']),
  statusUrl: S,
  coverage: Type.Union([View, Type.Null()]),
  error: OptionalStringSchema,
});

const idParams = { id: longId('id', 'multidimensional coverage') };

/** Files with more axes than x and y. */
export const multidimCoverages = group(
  { tag: 'Multidimensional coverages', scope: 'multidim-coverages', envelope: 'raw', isForTenants: true },
  [
    ...defineRegistrations({
      path: '/multidim-coverages',
      idParams,
      nouns: { singular: 'Multidimensional Coverage', plural: 'Multidimensional Coverages' },
      description: 'Variables of one grid, which become bands. Default: all variables of the first grid.',
      view: View,
      body: Register,
      getRegistry: ({ rasters }) => rasters.multidim,
      buildRequest: parseRegistration,
      describe: view,
    }),
    report('GET /multidim-coverages/jobs/{jobId}', 'Get Multidimensional Coverage Scan Job', {
      params: { jobId: pathString('jobId', 'Id of the scan job.') },
      data: ScanJob,
      errors: [404, 503],
      answer: async ({ params, principal }, deps) =>
        jobView(
          requireJob(await deps.rasters.multidim.job(params.jobId), principal, isInTenant, 'scan job'),
          deps,
        ),
    }),
    action('POST /multidim-coverages/{id}/refresh', 'Refresh Multidimensional Coverage Metadata', {
      params: idParams,
      data: ScanJob,
      status: 202,
      errors: [404, 503],
      async answer({ params, principal, operation, correlationId }, deps) {
        const options = { ...buildCaller(principal, operation), correlationId };
        return jobView(await deps.rasters.multidim.refresh(params.id, options), deps);
      },
    }),
  ],
);

function parseRegistration({
  createLayer = false,
  description,
  variables = [],
  objectKey,
  ...body
}: Static<typeof Register>) {
  requireKey('objectKey', objectKey);
  const format = body.format as MultidimFormat;
  if (!EXTENSIONS[format].includes(extname(objectKey).toLowerCase()))
    throw new ApiError(
      'invalid-request',
      `objectKey: must end with ${EXTENSIONS[format].join(', ')} for ${format}.`,
    );
  return {
    ...body,
    provider: body.provider as StorageProvider,
    format,
    key: objectKey,
    wanted: [...new Set(variables)],
    createLayer,
    description: description || null,
  };
}

function view({ registration, grids, ...coverage }: MultidimCoverage): Static<typeof View> {
  const { id, layerId, name, description, scannedAt, createdAt } = coverage;
  const isRead = grids.length > 0;
  return {
    id,
    layerId,
    name,
    description,
    provider: registration.provider,
    bucket: registration.bucket,
    objectKey: registration.key,
    format: registration.format,
    variables: isRead ? registration.variables : registration.wanted,
    variableCount: isRead ? registration.variableCount : null,
    srid: grids[0]?.epsg ?? null,
    status: isRead ? null : 'reader-not-enabled',
    metadataScannedAt: optionalTimestamp(scannedAt),
    createdAt: timestamp(createdAt),
  };
}

const STATUS = {
  Queued: 'queued',
  Running: 'running',
  Succeeded: 'succeeded',
  Failed: 'failed',
  Cancelled: 'cancelled',
} as const;

async function jobView(job: JobRow, { rasters }: Deps): Promise<Static<typeof ScanJob>> {
  const { id } = JSON.parse(job.input_json) as { id: number };
  // The coverage may have been unregistered in the meantime.
  const coverage =
    job.state === 'Succeeded' ? await rasters.multidim.get(id).catch(() => undefined) : undefined;
  return {
    jobId: job.id,
    status: STATUS[job.state],
    statusUrl: `${BASE_PATH}/multidim-coverages/jobs/${job.id}`,
    coverage: coverage ? view(coverage) : null,
    error: job.failure_message,
  };
}
