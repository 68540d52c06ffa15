import { stringifyExactly } from '../values/json.js';
import type { Reply } from './operation.js';

/** Answers that handlers return; headers common to all are added by the dispatcher. */

export function json(document: unknown, mediaType = 'application/json', status = 200): Reply {
  return { status, mediaType, body: stringifyExactly(document) };
}

export function createHtmlReply(page: string, status = 200): Reply {
  return { status, mediaType: 'text/html; charset=utf-8', body: page };
}

export function bytes(body: Uint8Array, mediaType: string, extra: Partial<Reply> = {}): Reply {
  return { status: 200, mediaType, body, ...extra };
}

export function createTextReply(body: string, mediaType = 'text/plain; charset=utf-8', status = 200): Reply {
  return { status, mediaType, body };
}

/** JSON that a header can have. */
export const asciiJson = (value: unknown) =>
  JSON.stringify(value).replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
