import { defineOperation, type Operation } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { type Merges, REJECTED_ROWS_TYPE } from '../../../services/edits/merges.js';
import type { ImportService } from '../../../services/exchange/import.js';
import { isOwnFile, requireJob } from '../../../services/jobs/ownership.js';
import { errorDocs } from '../../admin/envelope.js';
import { BASE_PATH } from '../../admin/kit.js';
import { recordExport } from '../../http/recorded-export.js';
import { fileReply } from '../../http/replies/file-reply.js';

/**
 * The rows that an import into a collection omitted or failed to write, one JSON object per line. An extension of the
 * contract.
 */
export function rejectedRowsDownload(imports: ImportService, merges: Merges): Operation {
  return defineOperation({
    id: 'admin.import.downloadRejectedRows',
    method: 'GET',
    path: `${BASE_PATH}/import/jobs/{jobId}/rejected-rows`,
    surface: 'admin',
    protocol: 'Admin',
    summary: 'Download Rejected Rows',
    tag: 'Import',
    permission: 'admin:import:read',
    ...{ audited: true, exports: true },
    params: { jobId: pathString('jobId', 'Id of the import job.') },
    responses: {
      200: { description: 'The rows', content: { [REJECTED_ROWS_TYPE]: null } },
      206: { description: 'Part of the rows', content: { [REJECTED_ROWS_TYPE]: null } },
      ...errorDocs([404, 416]),
    },
    async run(x) {
      const { id } = requireJob(await imports.get(x.params.jobId), x.principal, isOwnFile, 'import job');
      recordExport(x, { format: REJECTED_ROWS_TYPE, filter: { job: id }, count: 1 });
      return fileReply(x, { path: await merges.rejectedRows(id), mediaType: REJECTED_ROWS_TYPE });
    },
  });
}
