import Type, { type Static } from 'typebox';
import { ApiError, badParameter } from '../../../core/errors/errors.js';
import type { Exchange, Param, Reply } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { json } from '../../../core/http/reply.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { buildCaller, buildSubmitter } from '../../../services/access/identity/submitter.js';
import { findUploadRefusal, IMPORT_FORMATS } from '../../../services/exchange/import-formats.js';
import type { ResumableUpload } from '../../../services/exchange/resumable-uploads.js';
import { getFormatExtension } from '../../../services/uploads/upload.js';
import type { ServicesOf } from '../../admin/deps.js';
import { errorDocs, OptionalStringSchema, TimestampSchema, timestamp } from '../../admin/envelope.js';
import { BASE_PATH, createRowBuilders, group } from '../../admin/kit.js';
import { requireReplaceable } from '../../admin/layer-rights.js';
import { parseUploadForm } from '../../admin/upload-form.js';
import { importLinks, parseImportForm } from './import-form.js';

const SERVICES = ['access', 'catalog', 'resumableUploads'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action, report } = createRowBuilders(SERVICES);

/**
 * Uploads that can continue after a lost connection: the protocol tus 1.0.0 with the extensions creation, expiration
 * and termination.
 */

const VERSION = '1.0.0';
const TUS = { 'tus-resumable': VERSION, 'cache-control': 'no-store' };
const VERSIONS = {
  'tus-version': VERSION,
  'tus-extension': 'creation,expiration,termination',
  'tus-max-size': String(LIMITS.uploadBytes),
};
const MEDIA_TYPE = 'application/offset+octet-stream';
const METADATA_CHARACTERS = 8192;

const S = Type.String();
const ResumableSchema = Type.Object({
  uploadId: S,
  fileName: S,
  bytesUploaded: Type.Integer(),
  totalBytes: Type.Integer(),
  expiresAt: TimestampSchema,
  jobId: OptionalStringSchema,
  statusUrl: OptionalStringSchema,
});

function header(name: string, description: string, required = true): Param<string | undefined> {
  return { name, in: 'header', description, schema: S, required, parse: (raw) => raw };
}

const version = header('Tus-Resumable', `The version of the protocol: ${VERSION}.`);
const byId = { uploadId: pathString('uploadId', 'Id of the upload.') };
const buildHeaders = (description: string) => ({ description });

export const resumableUploads = group(
  { tag: 'Import', scope: 'import', envelope: 'raw', isForTenants: true },
  [
    action('POST /import/resumable', 'Begin a Resumable Upload', {
      description:
        'Creates an upload of the tus protocol. Upload-Metadata contains filename and the form fields of /import/upload, each as base64.',
      params: {
        version,
        length: header('Upload-Length', 'Bytes of the file.'),
        metadata: header('Upload-Metadata', 'filename, TableName and further fields.'),
      },
      responses: {
        201: buildHeaders('Begun; Location leads to it.'),
        ...errorDocs([400, 409, 412, 413, 415, 503]),
      },
      reply: (x, deps) => speakTus(() => begin(x, deps)),
    }),
    report('GET /import/resumable/{uploadId}', 'Get a Resumable Upload', {
      description: 'HEAD returns Upload-Offset, the number of received bytes.',
      params: byId,
      responses: {
        200: { description: 'The upload.', content: { 'application/json': ResumableSchema } },
        ...errorDocs([404]),
      },
      reply: (x, deps) =>
        speakTus(async () => {
          await requireStillReplaceable(x, deps);
          const upload = await deps.resumableUploads.get(x.params.uploadId, buildSubmitter(x.principal));
          return { ...json(buildView(upload)), headers: buildProgress(upload) };
        }),
    }),
    action('PATCH /import/resumable/{uploadId}', 'Continue a Resumable Upload', {
      description: 'After the last byte, the import starts. The header Link contains its job.',
      params: {
        ...byId,
        version,
        offset: header('Upload-Offset', 'Position of the first byte in the file.'),
      },
      body: {
        schema: Type.String({ format: 'binary' }),
        mediaTypes: [MEDIA_TYPE],
        required: true,
        maxBytes: LIMITS.uploadBytes,
        streamed: true,
      },
      responses: { 204: buildHeaders('Written.'), ...errorDocs([400, 404, 409, 412, 413, 415, 507]) },
      reply: (x, deps) => speakTus(() => go(x, deps)),
    }),
    action('DELETE /import/resumable/{uploadId}', 'Remove a Resumable Upload', {
      params: { ...byId, version },
      responses: { 204: buildHeaders('Removed.'), ...errorDocs([404, 409, 412]) },
      reply: (x, deps) =>
        speakTus(async () => {
          requireVersion(x.params.version);
          await deps.resumableUploads.remove(x.params.uploadId, buildSubmitter(x.principal));
          return { status: 204 };
        }),
    }),
  ],
);

interface BeginParams {
  version: string | undefined;
  length: string | undefined;
  metadata: string | undefined;
}

async function begin(x: Exchange & { params: BeginParams }, deps: Deps): Promise<Reply> {
  requireVersion(x.params.version);
  const length = requireBytes('Upload-Length', x.params.length);
  if (length === 0) throw wrong('Upload-Length', 'must be at least 1. An empty file has no data');
  if (length > LIMITS.uploadBytes)
    throw new ApiError(
      'payload-too-large',
      `The file is too large. The limit is ${LIMITS.uploadBytes} bytes.`,
    );
  const fields = parseMetadata(x.params.metadata);
  const fileName = requireFileName(fields.get('filename'));
  const upload = await deps.resumableUploads.create({
    fileName,
    mediaType: fields.get('filetype')?.slice(0, 100) ?? null,
    length,
    input: parseImportForm(x, parseUploadForm(fields), fileName, deps),
    submitter: buildCaller(x.principal, x.operation),
  });
  const location = `${BASE_PATH}/import/resumable/${upload.id}`;
  return { status: 201, headers: { location, ...buildProgress(upload) } };
}

async function go(
  x: Exchange & { params: { uploadId: string; version: string | undefined; offset: string | undefined } },
  deps: Deps,
): Promise<Reply> {
  requireVersion(x.params.version);
  if (x.header('content-type')?.toLowerCase() !== MEDIA_TYPE)
    throw new ApiError('unsupported-media-type', `Content-Type: must be ${MEDIA_TYPE}.`);
  const offset = requireBytes('Upload-Offset', x.params.offset);
  const { uploadId } = x.params;
  await requireStillReplaceable(x, deps);
  const upload = await deps.resumableUploads.write(uploadId, buildSubmitter(x.principal), offset, x.upload);
  return { status: 204, headers: buildProgress(upload) };
}

/** The data that an import replaces may have been created or closed since the upload began. Throws `forbidden`. */
async function requireStillReplaceable(
  { params, principal }: Exchange & { params: { uploadId: string } },
  deps: Deps,
): Promise<void> {
  const { replace, table } = await deps.resumableUploads.inputOf(params.uploadId, buildSubmitter(principal));
  if (replace) requireReplaceable([table], principal, deps);
}

/** Adds the protocol version to every response, including errors. */
async function speakTus(work: () => Promise<Reply>): Promise<Reply> {
  try {
    const reply = await work();
    return { ...reply, headers: { ...TUS, ...reply.headers } };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { code, message, errors, headers } = error;
    throw new ApiError(code, message, {
      ...(errors ? { errors } : {}),
      headers: { ...TUS, ...headers },
      cause: error,
    });
  }
}

function buildProgress({ offset, length, expiresAt, jobId }: ResumableUpload): Record<string, string> {
  return {
    'upload-offset': String(offset),
    'upload-length': String(length),
    'upload-expires': new Date(expiresAt).toUTCString(),
    ...(jobId === null ? {} : { link: `<${importLinks(jobId).statusUrl}>; rel="monitor"` }),
  };
}

function buildView(upload: ResumableUpload): Static<typeof ResumableSchema> {
  const { id, fileName, offset, length, expiresAt, jobId } = upload;
  return {
    uploadId: id,
    fileName,
    bytesUploaded: offset,
    totalBytes: length,
    expiresAt: timestamp(expiresAt),
    jobId,
    statusUrl: jobId === null ? null : importLinks(jobId).statusUrl,
  };
}

function requireVersion(version: string | undefined): void {
  if (version !== VERSION)
    throw new ApiError('precondition-failed', `Tus-Resumable: must be ${VERSION}.`, { headers: VERSIONS });
}

function requireBytes(name: string, text: string | undefined): number {
  if (text === undefined || !/^\d{1,15}$/.test(text)) throw wrong(name, 'must be a number of bytes');
  return Number(text);
}

/** `key base64,key base64`, with keys in lower case: the fields of a form bind in any case. */
function parseMetadata(text = ''): Map<string, string> {
  if (text.length > METADATA_CHARACTERS)
    throw wrong('Upload-Metadata', `must have at most ${METADATA_CHARACTERS} characters`);
  const fields = new Map<string, string>();
  for (const pair of text.split(',')) {
    const [, key, value = ''] = /^\s*([^\s,]+)(?: ([A-Za-z0-9+/]*={0,2}))?\s*$/.exec(pair) ?? [];
    if (key === undefined)
      throw wrong('Upload-Metadata', 'must be pairs of a key and a Base64 value, separated by commas');
    fields.set(key.toLowerCase(), Buffer.from(value, 'base64').toString('utf8'));
  }
  return fields;
}

function requireFileName(text: string | undefined): string {
  if (!text) throw wrong('Upload-Metadata', 'must contain filename');
  const extensions = Object.keys(IMPORT_FORMATS);
  if (!extensions.includes(getFormatExtension(text))) {
    const reason = findUploadRefusal(text) ?? 'Files of this kind cannot be imported.';
    throw new ApiError('unsupported-media-type', `${reason} Use ${extensions.join(', ')}.`);
  }
  return text.replace(/\p{C}/gu, '').slice(0, 200);
}

function wrong(name: string, detail: string): ApiError {
  return badParameter(name, detail);
}
