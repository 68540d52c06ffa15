import Type, { type Static } from 'typebox';
import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import type { Exchange, Reply } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { buildSubmitter } from '../../../services/access/identity/submitter.js';
import { findUploadRefusal, IMPORT_FORMATS } from '../../../services/exchange/import-formats.js';
import type { ImportInput, ImportResult } from '../../../services/exchange/import-input.js';
import type { ImportPreview } from '../../../services/exchange/import-preview.js';
import { MAX_SAMPLE } from '../../../services/exchange/import-sample.js';
import { buildImportQuery, endsImport, isOwnImport, requireJob } from '../../../services/jobs/ownership.js';
import { receiveUpload } from '../../../services/uploads/upload.js';
import type { JobRow } from '../../../stores/jobs/jobs.js';
import type { ServicesOf } from '../../admin/deps.js';
import {
  errorDocs,
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
  TimestampSchema,
  timestamp,
} from '../../admin/envelope.js';
import { createRowBuilders, group } from '../../admin/kit.js';
import { parseUploadForm, UploadFormSchema } from '../../admin/upload-form.js';
import { cancelMessage, percent } from '../../jobs/admin/job-views.js';
import { IMPORT_RESPONSES, importLinks, importUpload, MergeSchema } from './import-form.js';
import { PreviewSchema, previewReceived, UploadSchema, uploadView } from './upload-views.js';

const SERVICES = ['access', 'catalog', 'imports', 'jobs', 'pools', 'uploads', 'visible'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action, report } = createRowBuilders(SERVICES);

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
  merge: Type.Optional(MergeSchema),
  createdAt: TimestampSchema,
  startedAt: OptionalTimestampSchema,
  completedAt: OptionalTimestampSchema,
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
  batchSize: EXCHANGE_LIMITS.importBatch,
  maxMemoryBytes: LIMITS.importMemoryBytes,
  backgroundJobThresholdBytes: EXCHANGE_LIMITS.importForegroundBytes,
  maxPreviewSizeBytes: EXCHANGE_LIMITS.previewBytes,
  // All features of a file are counted.
  maxPreviewFeatures: MAX_SAMPLE,
  maxPreviewCountScan: EXCHANGE_LIMITS.importFeatures,
  streamBufferSize: LIMITS.uploadBuffer,
  useTransactions: true,
  continueOnError: false,
  maxFeaturesPerFile: EXCHANGE_LIMITS.importFeatures,
  maxArchiveEntries: LIMITS.archiveEntries,
  maxArchiveEntryBytes: LIMITS.archiveEntryBytes,
  maxArchiveExtractedBytes: LIMITS.archiveBytes,
  maxArchiveCompressionRatio: LIMITS.archiveRatio,
  maxRetainedUploads: LIMITS.keptUploads,
  maxRetainedUploadBytes: LIMITS.keptUploadBytes,
  retainedUploadSeconds: LIMITS.keptUploadMs / 1000,
};

const byUpload = { uploadId: pathString('uploadId', 'Id of the upload.') };
const byId = { jobId: pathString('jobId', 'Id of the import job.') };

/** Import of uploaded files. */
export const imports = group({ tag: 'Import', scope: 'import', envelope: 'raw', isForTenants: true }, [
  report('GET /import/formats', 'Get Supported Import Formats', {
    data: Type.Object({ supportedExtensions: Type.Array(S), formatDescriptions: Type.Record(S, S) }),
    answer: () => ({
      supportedExtensions: Object.keys(IMPORT_FORMATS),
      formatDescriptions: Object.fromEntries(
        Object.entries(IMPORT_FORMATS).map(([extension, { description }]) => [extension, description]),
      ),
    }),
  }),
  action('POST /import/preview', 'Preview a Geospatial File', {
    description: 'Reads the file without publishing or storing it.',
    body: {
      schema: Type.Object({ file: Type.String({ format: 'binary' }) }),
      mediaTypes: ['multipart/form-data'],
      required: true,
      maxBytes: EXCHANGE_LIMITS.previewBytes,
      streamed: true,
    },
    data: PreviewSchema,
    errors: [400, 413, 415, 422, 503],
    answer: preview,
  }),
  report('GET /import/limits', 'Get Import Limits', {
    data: ImportLimits,
    answer: () => IMPORT_LIMITS,
  }),
  report('GET /import/jobs', 'List Active Import Jobs', {
    data: Type.Object({ jobs: Type.Array(Job) }),
    errors: [503],
    description: 'Lists the jobs of the caller. Callers with admin:jobs:read get all jobs.',
    answer: async ({ principal }, deps) => ({
      jobs: (await deps.imports.list(true, buildImportQuery(principal))).map(jobView),
    }),
  }),
  report('GET /import/jobs/{jobId}', 'Get Import Job Status', {
    params: byId,
    data: Job,
    errors: [400, 404, 503],
    answer: async ({ params, principal }, deps) =>
      jobView(requireJob(await deps.imports.get(params.jobId), principal, isOwnImport, 'import job')),
  }),
  action('POST /import/jobs/{jobId}/cancel', 'Cancel an Import Job', {
    params: byId,
    data: Type.Object({ jobId: S, message: S }),
    errors: [400, 404, 409, 503],
    async answer({ params, principal }, deps) {
      const { id } = requireJob(await deps.imports.get(params.jobId), principal, endsImport, 'import job');
      return { jobId: id, message: cancelMessage(await deps.jobs.cancel(id), 'import') };
    },
  }),
  action('POST /import/upload', 'Upload and Import a Geospatial File', {
    description:
      'A ZIP archive contains one dataset: a shapefile, a file geodatabase, or a file of another supported format. SourceSrid overrides the CRS of the file. ' +
      'OverwriteExisting replaces an imported collection, which is served until the new data is complete. ' +
      'Mode imports the rows into an existing collection.',
    body: {
      schema: UploadFormSchema,
      mediaTypes: ['multipart/form-data'],
      required: true,
      maxBytes: LIMITS.uploadBytes,
      streamed: true,
    },
    responses: {
      ...IMPORT_RESPONSES,
      ...errorDocs([400, 409, 413, 415, 422, 503]),
    },
    reply: upload,
  }),
  report('GET /import/uploads', 'List Active Import Uploads', {
    data: Type.Object({ uploads: Type.Array(UploadSchema) }),
    errors: [503],
    description: 'Lists the uploads of the caller. Administrators get all uploads.',
    answer: async ({ principal }, { uploads }) => ({
      uploads: (await uploads.list(principal)).map(uploadView),
    }),
  }),
  action('POST /import/uploads/{uploadId}/cancel', 'Cancel Import Upload', {
    params: byUpload,
    data: Type.Object({ uploadId: S, message: S }),
    errors: [400, 404, 409, 503],
    async answer({ params: { uploadId }, principal }, { uploads }) {
      await uploads.cancel(uploadId, principal);
      return { uploadId, message: 'The upload is being cancelled.' };
    },
  }),
  report('GET /import/uploads/{uploadId}/progress', 'Get Import Upload Progress', {
    params: byUpload,
    data: UploadSchema,
    errors: [400, 404, 503],
    answer: async ({ params, principal }, { uploads }) =>
      uploadView(await uploads.get(params.uploadId, principal)),
  }),
]);

async function upload(x: Exchange, deps: Deps): Promise<Reply> {
  const watch = deps.uploads.open(Number(x.header('content-length') ?? 0), buildSubmitter(x.principal));
  const rules = {
    directory: deps.imports.uploads,
    maxBytes: LIMITS.uploadBytes,
    extensions: new Set(Object.keys(IMPORT_FORMATS)),
    refusalOf: findUploadRefusal,
    watch,
  };
  try {
    const file = await receiveUpload({ contentType: x.header('content-type'), bytes: x.upload }, rules);
    return await importUpload(x, deps, { file, watch, formOf: () => parseUploadForm(file.fields) });
  } catch (error) {
    watch.fail(error);
    throw error;
  }
}

function preview(x: Exchange, deps: Deps): Promise<ImportPreview> {
  const rules = {
    directory: deps.imports.uploads,
    maxBytes: EXCHANGE_LIMITS.previewBytes,
    extensions: new Set(Object.keys(IMPORT_FORMATS)),
    refusalOf: findUploadRefusal,
  };
  const form = { contentType: x.header('content-type'), bytes: x.upload };
  return previewReceived(x, deps, () => receiveUpload(form, rules));
}

const STATUS_WORDS: Readonly<Record<string, string>> = { Running: 'Processing', Succeeded: 'Completed' };

function jobView(job: JobRow): Static<typeof Job> {
  const result = job.result_json === null ? undefined : (JSON.parse(job.result_json) as ImportResult);
  const { table } = JSON.parse(job.input_json) as ImportInput;
  return {
    jobId: job.id,
    status: STATUS_WORDS[job.state] ?? job.state,
    ...importLinks(job.id),
    tableName: table,
    percentComplete: percent(job),
    currentPhase: job.phase,
    featureCount: result?.features ?? null,
    errorMessage: job.failure_message,
    warnings: JSON.parse(job.warnings_json) as string[],
    ...(result?.merge ? { merge: result.merge } : {}),
    createdAt: timestamp(job.created_at),
    startedAt: optionalTimestamp(job.started_at),
    completedAt: optionalTimestamp(job.completed_at),
  };
}
