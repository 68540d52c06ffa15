import Type from 'typebox';
import type { VectorCollection } from '../../../core/catalog/collection.js';
import { HTML_FORMAT } from '../../../core/http/media.js';
import type { Exchange } from '../../../core/http/operation.js';
import { FEATURES_PATH } from '../../../core/http/paths.js';
import type { ReaderExport } from '../../../services/exchange/exports/reader-exports.js';
import type { JobRow } from '../../../stores/jobs/jobs.js';
import { type Link, LinkSchema, META_FORMATS } from '../../surface/common.js';

export const ExportStatus = Type.Object({
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

type ExportedCollection = Pick<VectorCollection, 'id' | 'title'>;

export function buildExportPath({ id }: Pick<VectorCollection, 'id'>, exportId: string): string {
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
export function buildStatus(
  x: Exchange,
  collection: ExportedCollection,
  { job, format, file, expires, warnings }: ReaderExport,
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
    warnings: [...warnings],
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
  collection: ExportedCollection,
  exportId: string,
  file: ReaderExport['file'],
): Link[] {
  const path = `${x.baseUrl}${buildExportPath(collection, exportId)}`;
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
