import { defineOperation, formatActor, type Operation } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { EXPORT_FORMATS } from '../../../services/exchange/exports/formats.js';
import { errorDocs } from '../../admin/envelope.js';
import { BASE_PATH } from '../../admin/kit.js';
import { recordExport } from '../../http/recorded-export.js';
import { fileReply, type ServedFile } from '../../http/replies/file-reply.js';

/** Path of the file that a job created, relative to the server. */
export const exportPath = (jobId: string) => `${BASE_PATH}/operations/${jobId}/export`;

const CONTENT = {
  ...Object.fromEntries(Object.values(EXPORT_FORMATS).map(({ mediaType }) => [mediaType, null])),
  'application/zip': null,
};

/**
 * Serves the file that a finished job created, whole or in part (Range, If-Range), to its owner. An extension of the
 * contract.
 */
export function exportDownload(fileOf: (jobId: string, owner: string) => Promise<ServedFile>): Operation {
  return defineOperation({
    id: 'admin.services.downloadExport',
    method: 'GET',
    path: exportPath('{jobId}'),
    surface: 'admin',
    protocol: 'Admin',
    summary: 'Download Export',
    tag: 'Services',
    permission: 'admin:services:read',
    ...{ audited: true, exports: true },
    params: { jobId: pathString('jobId', 'Id of the job.') },
    responses: {
      200: { description: 'The file', content: CONTENT },
      206: { description: 'Part of the file', content: CONTENT },
      ...errorDocs([404, 409, 416]),
    },
    async run(x) {
      const { path, mediaType } = await fileOf(x.params.jobId, formatActor(x.principal));
      recordExport(x, { format: mediaType, filter: { job: x.params.jobId }, count: 1 });
      return fileReply(x, { path, mediaType });
    },
  });
}
