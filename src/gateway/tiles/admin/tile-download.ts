import { existsSync } from 'node:fs';
import { ApiError } from '../../../core/errors/errors.js';
import { defineOperation, type Exchange, type Operation, type Reply } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { ARCHIVE_MEDIA_TYPES } from '../../../core/tiles/archives.js';
import { isOwnFile, requireJob } from '../../../services/jobs/ownership.js';
import type { TileJobState, TileJobs } from '../../../services/tiles/jobs/service.js';
import { errorDocs } from '../../admin/envelope.js';
import { BASE_PATH } from '../../admin/kit.js';
import { recordExport } from '../../http/recorded-export.js';
import { fileReply, objectReply } from '../../http/replies/file-reply.js';

/** Path of the archive of a finished job, relative to the server. */
export const downloadPath = (jobId: string) => `${BASE_PATH}/tile-operations/jobs/${jobId}/archive`;

const ARCHIVE_CONTENT = Object.fromEntries(Object.values(ARCHIVE_MEDIA_TYPES).map((type) => [type, null]));

/**
 * Serves the archive of a tile job, whole or in part (Range, If-Range). An extension of the contract, which only
 * names a `DownloadUrl`.
 */
export function tileDownload(tileJobs: TileJobs): Operation {
  return defineOperation({
    id: 'admin.tileOperations.downloadTileArchive',
    method: 'GET',
    path: downloadPath('{jobId}'),
    surface: 'admin',
    protocol: 'Admin',
    summary: 'Download Tile Archive',
    tag: 'Tile operations',
    permission: 'admin:tile-operations:read',
    ...{ audited: true, exports: true },
    params: { jobId: pathString('jobId', 'Id of the job.') },
    responses: {
      200: {
        description: 'The archive',
        content: ARCHIVE_CONTENT,
      },
      206: { description: 'Part of the archive', content: ARCHIVE_CONTENT },
      ...errorDocs([404, 416]),
    },
    run: (x) => download(x, tileJobs, x.params.jobId),
  });
}

async function download(x: Exchange, tileJobs: TileJobs, jobId: string): Promise<Reply> {
  // An archive contains what its owner may read.
  const job = requireJob(await tileJobs.get(jobId), x.principal, isOwnFile, 'tile job');
  const { archive } = (job.result_json ? JSON.parse(job.result_json) : {}) as TileJobState;
  if (!archive) throw missing();
  const { path, key } = archive;
  const mediaType =
    ARCHIVE_MEDIA_TYPES[path.slice(path.lastIndexOf('.') + 1) as keyof typeof ARCHIVE_MEDIA_TYPES];
  recordExport(x, { format: mediaType, filter: { job: jobId }, count: 1 });
  const object = key === undefined ? undefined : await tileJobs.storage.stat(key);
  if (object) return objectReply(x, { ...object, storage: tileJobs.storage, key: key!, mediaType });
  if (key !== undefined || !existsSync(path)) throw missing();
  return fileReply(x, { path, mediaType });
}

function missing(): ApiError {
  return new ApiError('not-found', 'The job has no archive, or the archive was removed. Run the job again.');
}
