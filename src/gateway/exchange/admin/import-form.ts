import Type, { type Static } from 'typebox';
import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import { type Exchange, type Reply, withoutSession } from '../../../core/http/operation.js';
import { json } from '../../../core/http/reply.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { getFileStem } from '../../../services/catalog/publish/formats.js';
import { findImportFormat } from '../../../services/exchange/import-formats.js';
import type { ImportInput, ImportResult } from '../../../services/exchange/import-input.js';
import type { ImportUpload } from '../../../services/exchange/uploads.js';
import { JobContinues } from '../../../services/jobs/job-continues.js';
import { jobError } from '../../../services/jobs/job-error.js';
import type { Upload as UploadedFile } from '../../../services/uploads/upload.js';
import type { JobRow } from '../../../stores/jobs/jobs.js';
import type { Services } from '../../admin/deps.js';
import { BASE_PATH } from '../../admin/kit.js';
import { requireReplaceable } from '../../admin/layer-rights.js';
import type { UploadForm } from '../../admin/upload-form.js';
import { createSubmitOptions } from '../../connections/admin/remote-imports.js';
import { duration } from '../../jobs/admin/job-views.js';

/** Imports a received file, and creates the response. */

const S = Type.String();

const I = Type.Integer();
/** Results for the rows of a file that was imported into an existing collection. */
export const MergeSchema = Type.Object({
  mode: S,
  inserted: I,
  updated: I,
  unchanged: I,
  deleted: I,
  rejected: I,
  rejections: Type.Array(
    Type.Object({
      row: I,
      id: S,
      reasons: Type.Array(Type.Object({ name: S, detail: S })),
    }),
    { description: `The first ${LIMITS.mergeNamed} rejected rows.` },
  ),
});
const Queued = Type.Object({ jobId: S, statusUrl: S, cancelUrl: S, message: S, uploadId: S });
const Imported = Type.Object({
  success: Type.Boolean(),
  tableName: S,
  featureCount: Type.Integer(),
  format: S,
  jobId: S,
  uploadId: S,
  sourceKind: S,
  schema: S,
  duration: S,
  warnings: Type.Array(S),
  merge: Type.Optional(MergeSchema),
});

export const IMPORT_RESPONSES = {
  200: { description: 'Imported.', content: { 'application/json': Imported } },
  202: { description: 'Taken; the job imports it.', content: { 'application/json': Queued } },
};

/** Links of a job, relative to the origin. */
export function importLinks(jobId: string) {
  const statusUrl = `${BASE_PATH}/import/jobs/${jobId}`;
  return { statusUrl, cancelUrl: `${statusUrl}/cancel` };
}

export interface ReceivedFile {
  file: Omit<UploadedFile, 'fields'>;
  watch: ImportUpload;
  /** Throws 400. */
  formOf(): UploadForm;
}

/** Imports a file in the upload folder. The job takes over the file; otherwise it is removed. */
export async function importUpload(
  x: Exchange,
  deps: Services<'access' | 'catalog' | 'imports' | 'jobs'>,
  received: ReceivedFile,
): Promise<Reply> {
  const { file, watch } = received;
  const { form, job } = await submit(x, received, deps).catch(async (error: unknown) => {
    await deps.imports.discard(file.path);
    throw error;
  });
  watch.passOn(job.id);
  if (form.forceBackground || file.size > EXCHANGE_LIMITS.importForegroundBytes) return queued(job, watch);
  try {
    return imported(await deps.jobs.finishedForRequest(job.id, x.signal), file.path, watch);
  } catch (error) {
    if (error instanceof JobContinues) return queued(job, watch);
    throw error;
  }
}

/** Until the job is stored, this request must remove the file. */
async function submit(
  x: Exchange,
  { file, formOf }: ReceivedFile,
  deps: Services<'access' | 'catalog' | 'imports'>,
) {
  const form = formOf();
  const input: ImportInput = {
    ...parseImportForm(x, form, file.fileName, deps),
    file: file.path,
    owned: true,
  };
  return { form, job: await deps.imports.submit(input, createSubmitOptions(x)) };
}

/**
 * Reads the form without the file. Throws `forbidden` if the import would replace data that the caller may not write.
 */
export function parseImportForm(
  { principal }: Exchange,
  form: UploadForm,
  fileName: string,
  deps: Services<'access' | 'catalog'>,
): Omit<ImportInput, 'file' | 'owned'> {
  if (form.overwriteExisting) requireReplaceable([form.tableName], principal, deps);
  const caller = withoutSession(principal);
  return {
    table: form.tableName,
    title: formatTitle(fileName),
    ...(form.merge ? { merge: { ...form.merge, principal: caller } } : { targetCrs: form.targetCrs }),
    ...(form.sourceCrs === undefined ? {} : { sourceCrs: form.sourceCrs }),
    ...(form.overwriteExisting ? { replace: true, principal: caller } : {}),
  };
}

/** The client's name for the file: the one on disk says nothing to people. */
function formatTitle(fileName: string): string {
  return getFileStem(fileName).replace(/\p{C}/gu, '').slice(0, 200);
}

function queued({ id }: JobRow, { id: uploadId }: ImportUpload): Reply {
  const message = 'The file is imported in the background.';
  const reply: Static<typeof Queued> = { jobId: id, ...importLinks(id), message, uploadId };
  return { ...json(reply, 'application/json', 202), headers: { location: reply.statusUrl } };
}

function imported(job: JobRow, path: string, { id: uploadId }: ImportUpload): Reply {
  if (job.state !== 'Succeeded')
    throw jobError(job, { input: 'unprocessable' }, `The import ended: ${job.state}.`);
  const { table, features, format, merge } = JSON.parse(job.result_json!) as ImportResult;
  const reply: Static<typeof Imported> = {
    success: true,
    tableName: table,
    featureCount: features,
    format: format ?? findImportFormat(path)!.name,
    jobId: job.id,
    uploadId,
    sourceKind: 'file',
    schema: 'main',
    duration: duration(job),
    warnings: JSON.parse(job.warnings_json) as string[],
    ...(merge ? { merge } : {}),
  };
  return json(reply);
}
