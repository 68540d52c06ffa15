import Type, { type Static } from 'typebox';
import { ApiError } from '../../../core/errors.js';
import { LIMITS } from '../../../core/limits.js';
import type { Exchange, Reply } from '../../../core/operation.js';
import { pathString } from '../../../core/params.js';
import { json } from '../../../core/reply.js';
import type { ImportInput, ImportResult } from '../../../services/import.js';
import { IMPORT_FORMATS, importFormatOf } from '../../../services/import-formats.js';
import { nameOf, reasonNotRead } from '../../../services/publish/formats.js';
import { receiveUpload, type Upload } from '../../../services/upload.js';
import type { JobRow } from '../../../stores/jobs.js';
import type { AdminDeps } from '../deps.js';
import {
  errorDocs,
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
  TimestampSchema,
  timestamp,
} from '../envelope.js';
import { percent } from '../job-views.js';
import { action, BASE_PATH, group, report } from '../kit.js';
import { parseUploadForm, type UploadForm, UploadFormSchema } from '../upload-form.js';

const S = Type.String();
const Job = Type.Object({
  jobId: S,
  status: S,
  statusUrl: S,
  cancelUrl: S,
  tableName: S,
  percentComplete: Type.Union([Type.Number(), Type.Null()]),
  currentPhase: OptionalStringSchema,
  featureCount: Type.Union([Type.Integer(), Type.Null()]),
  errorMessage: OptionalStringSchema,
  warnings: Type.Array(S),
  createdAt: TimestampSchema,
  startedAt: OptionalTimestampSchema,
  completedAt: OptionalTimestampSchema,
});
const Queued = Type.Object({ jobId: S, statusUrl: S, cancelUrl: S, message: S });
const Imported = Type.Object({
  success: Type.Boolean(),
  tableName: S,
  featureCount: Type.Integer(),
  format: S,
  jobId: S,
});

const I = Type.Integer();
const ImportLimits = Type.Object({
  maxFileSizeBytes: I,
  batchSize: I,
  maxMemoryBytes: I,
  backgroundJobThresholdBytes: I,
  maxPreviewSizeBytes: I,
  maxPreviewFeatures: I,
  maxPreviewCountScan: I,
  streamBufferSize: I,
  useTransactions: Type.Boolean(),
  continueOnError: Type.Boolean(),
  maxFeaturesPerFile: I,
  maxArchiveEntries: I,
  maxArchiveEntryBytes: I,
  maxArchiveExtractedBytes: I,
  maxArchiveCompressionRatio: Type.Number(),
  maxRetainedUploads: I,
  maxRetainedUploadBytes: I,
  retainedUploadSeconds: I,
});

const IMPORT_LIMITS: Static<typeof ImportLimits> = {
  maxFileSizeBytes: LIMITS.uploadBytes,
  batchSize: LIMITS.importBatch,
  maxMemoryBytes: LIMITS.importMemoryBytes,
  backgroundJobThresholdBytes: LIMITS.importForegroundBytes,
  maxPreviewSizeBytes: 0,
  maxPreviewFeatures: 0,
  maxPreviewCountScan: 0,
  streamBufferSize: LIMITS.uploadBuffer,
  useTransactions: true,
  continueOnError: false,
  maxFeaturesPerFile: LIMITS.importFeatures,
  maxArchiveEntries: LIMITS.archiveEntries,
  maxArchiveEntryBytes: LIMITS.archiveEntryBytes,
  maxArchiveExtractedBytes: LIMITS.archiveBytes,
  maxArchiveCompressionRatio: LIMITS.archiveRatio,
  maxRetainedUploads: LIMITS.keptUploads,
  maxRetainedUploadBytes: LIMITS.keptUploadBytes,
  retainedUploadSeconds: LIMITS.keptUploadMs / 1000,
};

const byId = { jobId: pathString('jobId', 'Id of the import job.') };

/** Import of uploaded files. */
export const imports = group({ tag: 'Import', scope: 'import', envelope: 'raw' }, [
  report('GET /import/formats', 'Get Supported Import Formats', {
    data: Type.Object({ supportedExtensions: Type.Array(S), formatDescriptions: Type.Record(S, S) }),
    answer: () => ({
      supportedExtensions: Object.keys(IMPORT_FORMATS),
      formatDescriptions: Object.fromEntries(
        Object.entries(IMPORT_FORMATS).map(([extension, { description }]) => [extension, description]),
      ),
    }),
  }),
  action('POST /import/preview', 'Preview a Geospatial File'),
  report('GET /import/limits', 'Get Import Limits', {
    description: 'The members of previews are 0: previews are not made yet.',
    data: ImportLimits,
    answer: () => IMPORT_LIMITS,
  }),
  report('GET /import/jobs', 'List Active Import Jobs', {
    data: Type.Object({ jobs: Type.Array(Job) }),
    errors: [503],
    answer: async (_x, deps) => ({ jobs: (await deps.imports.list(true)).map(jobView) }),
  }),
  report('GET /import/jobs/{jobId}', 'Get Import Job Status', {
    params: byId,
    data: Job,
    errors: [400, 404, 503],
    answer: async ({ params }, deps) => jobView(await deps.imports.get(params.jobId)),
  }),
  action('POST /import/jobs/{jobId}/cancel', 'Cancel an Import Job', {
    params: byId,
    data: Type.Object({ jobId: S, message: S }),
    errors: [400, 404, 409, 503],
    async answer({ params }, deps) {
      const { id } = await deps.imports.get(params.jobId);
      const job = await deps.jobs.cancel(id);
      return {
        jobId: id,
        message: job.state === 'Cancelled' ? 'The import is cancelled.' : 'The import is being cancelled.',
      };
    },
  }),
  action('POST /import/upload', 'Upload and Import a Geospatial File', {
    description:
      'A .zip holds one data set: a shapefile, a file geodatabase, or a file of another format that is imported. SourceSrid goes before what the file says of its CRS. ' +
      'OverwriteExisting replaces a collection that was imported before; it is served until the new data is whole.',
    body: {
      schema: UploadFormSchema,
      mediaTypes: ['multipart/form-data'],
      required: true,
      maxBytes: LIMITS.uploadBytes,
      streamed: true,
    },
    responses: {
      200: { description: 'Imported.', content: { 'application/json': Imported } },
      202: { description: 'Taken; the job imports it.', content: { 'application/json': Queued } },
      ...errorDocs([400, 409, 413, 415, 422, 503]),
    },
    reply: upload,
  }),
  report('GET /import/uploads', 'List Active Import Uploads'),
  action('POST /import/uploads/{uploadId}/cancel', 'Cancel Import Upload'),
  report('GET /import/uploads/{uploadId}/progress', 'Get Import Upload Progress'),
]);

async function upload(x: Exchange, deps: AdminDeps): Promise<Reply> {
  const rules = {
    directory: deps.imports.uploads,
    maxBytes: LIMITS.uploadBytes,
    extensions: new Set(Object.keys(IMPORT_FORMATS)),
    refusalOf: reasonNotRead,
  };
  const file = await receiveUpload({ contentType: x.header('content-type'), bytes: x.upload }, rules);
  const { form, job } = await submit(x, file, deps).catch(async (error: unknown) => {
    await deps.imports.discard(file.path);
    throw error;
  });
  if (form.forceBackground || file.size > LIMITS.importForegroundBytes) return queued(job);
  return imported(await deps.jobs.finished(job.id, x.signal), file);
}

/** Until the job is durable the file is ours to remove. */
async function submit(
  x: Exchange,
  file: Upload,
  deps: AdminDeps,
): Promise<{ form: UploadForm; job: JobRow }> {
  const form = parseUploadForm(file.fields);
  const input: ImportInput = {
    file: file.path,
    table: form.tableName,
    title: titleOf(file.fileName),
    targetCrs: form.targetCrs,
    owned: true,
  };
  if (form.sourceCrs !== undefined) input.sourceCrs = form.sourceCrs;
  if (form.overwriteExisting) input.replace = true;
  const owner = `${x.principal.kind}:${x.principal.id}`;
  return { form, job: await deps.imports.submit(input, { owner, correlationId: x.correlationId }) };
}

/** The client's name for the file: the one on disk says nothing to people. */
function titleOf(fileName: string): string {
  return nameOf(fileName).replace(/\p{C}/gu, '').slice(0, 200);
}

function queued({ id }: JobRow): Reply {
  const { statusUrl, cancelUrl } = links(id);
  const message = 'The file is imported in the background.';
  return json(
    { jobId: id, statusUrl, cancelUrl, message } satisfies Static<typeof Queued>,
    'application/json',
    202,
  );
}

function imported(job: JobRow, file: Upload): Reply {
  if (job.state !== 'Succeeded') throw failure(job);
  const { table, features, format: fileFormat } = JSON.parse(job.result_json!) as ImportResult;
  const format = fileFormat ?? importFormatOf(file.path)!.name;
  return json({
    success: true,
    tableName: table,
    featureCount: features,
    format,
    jobId: job.id,
  } satisfies Static<typeof Imported>);
}

/** What the client's file is to blame for is 422 or a conflict; the rest is ours. */
function failure(job: JobRow): ApiError {
  const message = job.failure_message ?? `The import ended: ${job.state}.`;
  switch (job.failure_code) {
    case 'conflict':
    case 'cancelled':
      return new ApiError('conflict', message);
    case 'invalid-input':
    case 'source-unreadable':
    case 'too-large':
    case 'no-data':
    case 'unprocessable':
      return new ApiError('unprocessable', message);
    case 'storage-full':
    case 'insufficient-storage':
      return new ApiError('insufficient-storage', message);
    case 'internal':
      return new ApiError('internal', message);
    default:
      return new ApiError('unavailable', message);
  }
}

function links(jobId: string) {
  const statusUrl = `${BASE_PATH}/import/jobs/${jobId}`;
  return { statusUrl, cancelUrl: `${statusUrl}/cancel` };
}

const STATUS_WORDS: Readonly<Record<string, string>> = { Running: 'Processing', Succeeded: 'Completed' };

function jobView(job: JobRow): Static<typeof Job> {
  const result = job.result_json === null ? undefined : (JSON.parse(job.result_json) as ImportResult);
  const { table } = JSON.parse(job.input_json) as ImportInput;
  return {
    jobId: job.id,
    status: STATUS_WORDS[job.state] ?? job.state,
    ...links(job.id),
    tableName: table,
    percentComplete: percent(job),
    currentPhase: job.phase,
    featureCount: result?.features ?? null,
    errorMessage: job.failure_message,
    warnings: JSON.parse(job.warnings_json) as string[],
    createdAt: timestamp(job.created_at),
    startedAt: optionalTimestamp(job.started_at),
    completedAt: optionalTimestamp(job.completed_at),
  };
}
