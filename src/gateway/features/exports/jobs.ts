import Type from 'typebox';
import type { VectorCollection } from '../../../core/catalog/collection.js';
import { badParameter } from '../../../core/errors/errors.js';
import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import { HTML_FORMAT } from '../../../core/http/media.js';
import { defineOperation, type Exchange, type Operation, type Param } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { FEATURES_PATH } from '../../../core/http/paths.js';
import { buildCaller } from '../../../services/access/identity/submitter.js';
import { EXPORT_FORMATS, EXPORT_NAMES, type ExportName } from '../../../services/exchange/exports/formats.js';
import type { ReaderExport, ReaderExports } from '../../../services/exchange/exports/reader-exports.js';
import { findView } from '../../../services/features/view.js';
import type { JobRow } from '../../../stores/jobs/jobs.js';
import { fileReply } from '../../http/replies/file-reply.js';
import { renderExportPage } from '../../pages/features/export.js';
import { sitePath } from '../../pages/layout.js';
import {
  documentReply,
  type Link,
  LinkSchema,
  META_FORMATS,
  type SurfaceDeps,
} from '../../surface/common.js';
import { exportParams, readExport } from './params.js';
import { EXPORT_PATH } from './stream.js';

export interface ReaderExportsDeps {
  readerExports: ReaderExports;
}

const COMMON = {
  surface: 'features',
  protocol: 'OGC-Features',
  permission: 'public',
  tag: 'Exports',
} as const;

const Status = Type.Object({
  id: Type.String(),
  collection: Type.String(),
  format: Type.String(),
  status: Type.String({ enum: ['accepted', 'running', 'successful', 'failed', 'dismissed', 'expired'] }),
  message: Type.String(),
  progress: Type.Integer({ minimum: 0, maximum: 100 }),
  created: Type.String({ format: 'date-time' }),
  finished: Type.Optional(Type.String({ format: 'date-time' })),
  expires: Type.Optional(Type.String({ format: 'date-time' })),
  features: Type.Optional(Type.Integer()),
  bytes: Type.Optional(Type.Integer()),
  warnings: Type.Array(Type.String()),
  links: Type.Array(LinkSchema),
});

const FILES = Object.fromEntries(Object.values(EXPORT_FORMATS).map(({ mediaType }) => [mediaType, null]));
const ABSENT = { 404: { description: 'No such collection, or no such export of the caller' } };

const format: Param<ExportName> = {
  name: 'f',
  in: 'query',
  description: `Format of the file: ${EXPORT_NAMES.join(', ')}.`,
  required: true,
  schema: Type.Enum([...EXPORT_NAMES]),
  parse(raw) {
    const name = EXPORT_NAMES.find((one) => one === raw?.toLowerCase());
    if (!name) throw badParameter('f', `must be one of ${EXPORT_NAMES.join(', ')}`);
    return name;
  },
};

const places = {
  collectionId: exportParams.collectionId,
  exportId: pathString('exportId', 'Id of an export job.'),
};

/** Exports as files that jobs write, for readers of a collection. */
export function exportJobOperations(deps: SurfaceDeps & ReaderExportsDeps): Operation[] {
  const { readerExports } = deps;
  const view = (x: Exchange<{ collectionId: typeof places.collectionId }>) =>
    findView(deps, x.principal, x.params.collectionId);
  return [
    defineOperation({
      ...COMMON,
      method: 'POST',
      id: 'features.startExport',
      path: EXPORT_PATH,
      summary: 'Start an export job',
      description: `Starts a job that writes all selected features to a file. Browsers are redirected to the page of the job. The server keeps the file for ${EXCHANGE_LIMITS.readerFileMs / 3_600_000} hours. Only the caller who started the job can download it.`,
      params: { ...exportParams, format },
      openQuery: true,
      audited: true,
      responses: {
        201: { description: 'The job', content: { 'application/json': Status } },
        303: { description: 'The client accepts HTML' },
        400: { description: 'A parameter is wrong' },
        404: { description: 'No such collection' },
        429: { description: 'The caller has too many exports' },
        503: { description: 'The server has too many exports' },
        507: { description: 'The disk of the server is full' },
      },
      async run(x) {
        const own = view(x);
        const request = { format: x.params.format, ...readExport(x, x.params) };
        const job = await readerExports.submit(own, request, x, {
          ...buildCaller(x.principal, x.operation),
          correlationId: x.correlationId,
        });
        const path = exportPath(own.visible, job.id);
        if (x.header('accept')?.includes('text/html')) {
          // A path also works behind a proxy that ends TLS without saying so.
          const page = `${sitePath(x.baseUrl)}${path}?f=html`;
          return { status: 303, headers: { location: page }, cacheControl: 'no-store' };
        }
        const found = await readerExports.find(own.visible.id, job.id, x.principal);
        return {
          status: 201,
          mediaType: 'application/json',
          headers: { location: `${x.baseUrl}${path}` },
          cacheControl: 'no-store',
          body: JSON.stringify(buildStatus(x, own.visible, found)),
        };
      },
    }),
    defineOperation({
      ...COMMON,
      method: 'GET',
      id: 'features.getExport',
      path: `${EXPORT_PATH}/{exportId}`,
      summary: 'Status of an export job',
      params: places,
      formats: META_FORMATS,
      responses: {
        200: { description: 'Status', content: { 'application/json': Status, 'text/html': null } },
        ...ABSENT,
      },
      async run(x) {
        const { visible } = view(x);
        const status = buildStatus(
          x,
          visible,
          await readerExports.find(visible.id, x.params.exportId, x.principal),
        );
        const reply = documentReply(x, status, () => renderExportPage(x, visible, status));
        return { ...reply, cacheControl: 'no-store' };
      },
    }),
    defineOperation({
      ...COMMON,
      method: 'DELETE',
      id: 'features.deleteExport',
      path: `${EXPORT_PATH}/{exportId}`,
      summary: 'Cancel an export job, or delete its file',
      audited: true,
      params: places,
      responses: { 200: { description: 'Status', content: { 'application/json': Status } }, ...ABSENT },
      async run(x) {
        const { visible } = view(x);
        const found = await readerExports.remove(visible.id, x.params.exportId, x.principal);
        const body = JSON.stringify(buildStatus(x, visible, found));
        return { status: 200, mediaType: 'application/json', cacheControl: 'no-store', body };
      },
    }),
    defineOperation({
      ...COMMON,
      method: 'GET',
      id: 'features.getExportFile',
      entityTag: 'none',
      path: `${EXPORT_PATH}/{exportId}/file`,
      summary: 'Download the file of an export job',
      params: places,
      responses: {
        200: { description: 'The file', content: FILES },
        206: { description: 'A range of the file', content: FILES },
        ...ABSENT,
        409: { description: 'The job has not ended' },
        410: { description: 'The file has expired, or the rights of the caller have changed' },
      },
      async run(x) {
        const { path, mediaType } = await readerExports.file(view(x), x.params.exportId, x.principal);
        return { ...(await fileReply(x, { path, mediaType })), cacheControl: 'no-store' };
      },
    }),
  ];
}

function exportPath({ id }: VectorCollection, exportId: string): string {
  return `${FEATURES_PATH}/collections/${encodeURIComponent(id)}/export/${exportId}`;
}

const STATUS = {
  Queued: 'accepted',
  Running: 'running',
  Succeeded: 'successful',
  Failed: 'failed',
  Cancelled: 'dismissed',
} as const;

/** The document of an export. A job that is about to stop is dismissed. */
function buildStatus(
  x: Exchange,
  collection: VectorCollection,
  { job, format, file, expires }: ReaderExport,
) {
  const stopping = job.state === 'Running' && job.cancel_requested_at !== null;
  const isExpired = job.state === 'Succeeded' && file === undefined;
  const status = stopping ? 'dismissed' : isExpired ? 'expired' : STATUS[job.state];
  return {
    id: job.id,
    collection: collection.id,
    format,
    status,
    message: describeState(job, status),
    progress: job.state === 'Succeeded' ? 100 : Math.floor((job.fraction ?? 0) * 100),
    created: formatTime(job.created_at),
    ...(job.completed_at === null ? {} : { finished: formatTime(job.completed_at) }),
    ...(expires === undefined ? {} : { expires: formatTime(expires) }),
    ...(file ? { features: file.features, bytes: file.bytes } : {}),
    warnings: JSON.parse(job.warnings_json) as string[],
    links: buildLinks(x, collection, job.id, file),
  };
}

function describeState(job: JobRow, status: string): string {
  switch (status) {
    case 'accepted':
      return 'The export waits for other jobs.';
    case 'running':
      return 'The server writes the file.';
    case 'successful':
      return 'The file is ready.';
    case 'failed':
      return job.failure_message ?? 'The export failed.';
    case 'expired':
      return 'The file was deleted, or has expired.';
    default:
      return 'The export was cancelled.';
  }
}

const formatTime = (ms: number) => new Date(ms).toISOString();

function buildLinks(
  x: Exchange,
  collection: VectorCollection,
  exportId: string,
  file: ReaderExport['file'],
): Link[] {
  const path = `${x.baseUrl}${exportPath(collection, exportId)}`;
  return [
    ...META_FORMATS.map((one) => ({
      href: `${path}?f=${one.name}`,
      rel: one === x.format ? 'self' : 'alternate',
      type: one === HTML_FORMAT ? 'text/html' : one.mediaType,
      title: 'This export',
    })),
    ...(file ? [{ href: `${path}/file`, rel: 'enclosure', type: file.mediaType, title: file.name }] : []),
    {
      href: `${x.baseUrl}${FEATURES_PATH}/collections/${encodeURIComponent(collection.id)}`,
      rel: 'collection',
      type: 'application/json',
      title: collection.title,
    },
  ];
}
