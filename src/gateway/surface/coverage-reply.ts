import type { Reply } from '../../core/http/operation.js';
import type { CoverageResult } from '../../core/rasters/rasters.js';
import { openCoverage } from '../../services/rasters/read.js';
import { giveRoomBack } from '../../workers/engine/rooms.js';

/** The values of a coverage as the body of a reply. */
export async function coverageReply(result: CoverageResult, headers?: Reply['headers']): Promise<Reply> {
  return {
    status: 200,
    mediaType: result.mediaType,
    body: await openCoverage(result),
    etag: result.tag,
    cacheControl: 'no-cache',
    ...(headers && { headers }),
    sent: () => giveRoomBack(result.data),
  };
}
