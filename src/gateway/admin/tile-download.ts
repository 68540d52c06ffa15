import { open } from 'node:fs/promises';
import { ApiError } from '../../core/errors.js';
import { defineOperation, type Operation, type Reply } from '../../core/operation.js';
import { pathString } from '../../core/params.js';
import { MEDIA_TYPES, type TileJobState, type TileJobs } from '../services/tile-jobs/service.js';
import { errorDocs } from './envelope.js';
import { BASE_PATH } from './kit.js';

/** Where the archive of a finished job is to be had, relative to the server. */
export const downloadPath = (jobId: string) => `${BASE_PATH}/tile-operations/jobs/${jobId}/archive`;

/** The archive that a tile job wrote: beside the contract, which only names a `DownloadUrl`. */
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
    params: { jobId: pathString('jobId', 'Id of the job.') },
    responses: {
      200: {
        description: 'The archive',
        content: Object.fromEntries(Object.values(MEDIA_TYPES).map((type) => [type, null])),
      },
      ...errorDocs([404]),
    },
    run: ({ params }) => download(tileJobs, params.jobId),
  });
}

async function download(tileJobs: TileJobs, jobId: string): Promise<Reply> {
  const job = await tileJobs.get(jobId);
  const { archive } = (job.result_json ? JSON.parse(job.result_json) : {}) as TileJobState;
  const file = archive && (await open(archive.path).catch(() => undefined));
  if (!file) throw new ApiError('not-found', 'This job has no archive, or it was removed.');
  const container = archive.path.slice(archive.path.lastIndexOf('.') + 1) as keyof typeof MEDIA_TYPES;
  const name = archive.path.slice(archive.path.lastIndexOf('/') + 1);
  return {
    status: 200,
    mediaType: MEDIA_TYPES[container],
    body: file.createReadStream({ highWaterMark: 262_144 }),
    headers: { 'content-disposition': `attachment; filename="${name}"` },
  };
}
