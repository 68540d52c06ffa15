import { contentTag } from '../../core/http/content-tag.js';
import type { Reply } from '../../core/http/operation.js';
import { createHtmlReply } from '../../core/http/reply.js';
import { pageHeaders } from './security.js';

/** Reply with a page that has no other representation. Browsers request it again with its entity tag. */
export function createPageReply(page: string): Reply {
  return {
    ...createHtmlReply(page),
    headers: pageHeaders(),
    cacheControl: 'no-cache',
    etag: contentTag(page),
  };
}
