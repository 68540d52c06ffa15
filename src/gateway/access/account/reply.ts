import type { Reply } from '../../../core/http/operation.js';

/** JSON about the caller, which no cache may store. */
export function createPrivateReply(status: number, document: unknown): Reply {
  return { status, mediaType: 'application/json', body: JSON.stringify(document), cacheControl: 'no-store' };
}
