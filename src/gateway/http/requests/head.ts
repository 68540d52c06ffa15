import { STATUS_CODES } from 'node:http';
import { LRUCache } from 'lru-cache';
import type { ContentCoding } from '../../../core/http/content-coding.js';
import type { Reply } from '../../../core/http/operation.js';
import { joinTags } from '../../../services/tiles/cache/tags.js';
import type { HttpExchange } from '../exchange.js';
import { isNegotiable } from '../replies/compression.js';
import { codedTag } from '../replies/entity-tag.js';
import { usualName } from './header-names.js';
import { ID_BYTES } from './request-id.js';

const EXPOSED =
  'accept-ranges, content-bbox, content-crs, content-datetime, content-range, etag, graticule-acquired, graticule-audit-checkpoint, graticule-dropped-features, graticule-shown-features, graticule-source-items, graticule-source-items-count, graticule-source-items-lost, graticule-warnings, idempotency-replayed, link, location, ogc-numbermatched, ogc-numberreturned, server-timing, x-request-id, x-correlation-id, ratelimit, ratelimit-policy, retry-after, preference-applied, tus-resumable, upload-expires, upload-length, upload-offset';

/** Headers of every response. */
const COMMON = `Access-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: ${EXPOSED}\r\nX-Content-Type-Options: nosniff`;

const STATUS_LINES: Record<number, string> = Object.fromEntries(
  Object.entries(STATUS_CODES).map(([code, reason]) => [code, `${code} ${reason}`]),
);

const CONTROL = /[\r\n]/g;

/**
 * Cached header blocks of constant responses. Blocks of tiles differ only in the entity tag, so all tiles share one.
 */
const blocks = new LRUCache<string, ArrayBuffer>({ max: 256 });

/** Source of the last block, because responses of one kind often follow each other. */
let lastBlock: { of: Reply; encoding: ContentCoding; block: ArrayBuffer } | undefined;

/**
 * Writes the status line and all headers as one block. The last header contains the part that differs between
 * responses. Line breaks are removed from values.
 */
export function writeReplyHead(x: HttpExchange, reply: Reply, encoding: ContentCoding, length = ''): void {
  // 200 is the library's own default.
  if (reply.status !== 200) x.res.writeStatus(STATUS_LINES[reply.status] ?? String(reply.status));
  const { constant } = reply;
  // Only the encoding that the body is kept in; a client that cannot read it is rare.
  if (constant && encoding === (reply.encoding ?? 'identity') && reply.status !== 304) {
    constant.block ??= sharedBlock(reply, encoding, x.forwarding.vary);
    const isPlain =
      length === '' && x.serverTiming === '' && x.forwarding.tagHeader === '' && !x.limits && !x.asksToClose;
    const bytes = isPlain ? lastBytes(x, reply, encoding) : undefined;
    x.res.writeHeader(constant.block, bytes ?? lastText(x, reply, encoding, length));
  } else {
    x.res.writeHeader(headerBlock(reply, encoding, x.forwarding.vary), lastText(x, reply, encoding, length));
  }
}

function sharedBlock(reply: Reply, encoding: ContentCoding, vary: string): ArrayBuffer {
  if (lastBlock && lastBlock.encoding === encoding && sameBlock(lastBlock.of, reply)) return lastBlock.block;
  const text = headerBlock(reply, encoding, vary);
  let block = blocks.get(text);
  if (!block) {
    block = new TextEncoder().encode(text).buffer as ArrayBuffer;
    blocks.set(text, block);
  }
  lastBlock = { of: reply, encoding, block };
  return block;
}

/** Compares what `headerBlock` reads. */
function sameBlock(a: Reply, b: Reply): boolean {
  return (
    a.mediaType === b.mediaType &&
    a.cacheControl === b.cacheControl &&
    a.headers === b.headers &&
    (a.etag === undefined) === (b.etag === undefined)
  );
}

const AFTER_TAG = '\r\nX-Request-Id: ';

/** Value of the last header of the block, and the headers after it. */
function lastText(x: HttpExchange, reply: Reply, encoding: ContentCoding, length: string): string {
  const tag = reply.etag === undefined ? '' : `${codedTag(reply.etag, encoding)}${AFTER_TAG}`;
  const timing = x.serverTiming ? `\r\nServer-Timing: ${x.serverTiming}` : '';
  // The library closes such connections without a word, and some clients take that for a loss of the response.
  const closing = x.asksToClose ? '\r\nConnection: close' : '';
  return tag + x.correlationId + timing + limitLines(x) + cacheTags(x, reply) + closing + length;
}

function limitLines({ limits }: HttpExchange): string {
  return limits ? `\r\nRateLimit-Policy: ${limits.policy}\r\nRateLimit: ${limits.state}` : '';
}

function cacheTags({ forwarding: { tagHeader } }: HttpExchange, { cacheTags: tags }: Reply): string {
  return tagHeader === '' || tags === undefined
    ? ''
    : `\r\n${usualName(tagHeader)}: ${joinTags(tagHeader, tags)}`;
}

/** Length of the entity tags that name a content. */
const TAG_LENGTH = 16;

/** Buffers for a tag of fixed length and an id, reused for each response without creating strings. */
const ROOMS = {
  identity: roomFor('identity'),
  gzip: roomFor('gzip'),
  br: roomFor('br'),
  zstd: roomFor('zstd'),
};

function roomFor(encoding: ContentCoding): Uint8Array<ArrayBuffer> {
  const text = codedTag('0'.repeat(TAG_LENGTH), encoding) + AFTER_TAG + '0'.repeat(ID_BYTES);
  return Uint8Array.from(Buffer.from(text, 'latin1'));
}

/** The same as `lastText` without timing, tags and length; undefined for tags and ids of another shape. */
function lastBytes(x: HttpExchange, { etag }: Reply, encoding: ContentCoding): ArrayBuffer | undefined {
  const id = x.correlationBytes;
  if (!id || etag === undefined || etag.length !== TAG_LENGTH) return undefined;
  const room = ROOMS[encoding];
  for (let i = 0; i < TAG_LENGTH; i++) {
    const code = etag.charCodeAt(i);
    if (!isHexDigit(code)) return undefined;
    room[i + 1] = code;
  }
  room.set(id, room.length - ID_BYTES);
  return room.buffer;
}

function isHexDigit(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || (code >= 0x61 && code <= 0x66);
}

/**
 * Joins all headers into one block, up to the name of the last one (entity tag or request id): each call of the
 * library is slow, and it writes names and values unchanged.
 */
function headerBlock(reply: Reply, encoding: ContentCoding, vary: string): string {
  let block = COMMON;
  if (reply.mediaType) block += `\r\nContent-Type: ${reply.mediaType}`;
  if (encoding !== 'identity' && reply.status !== 304) block += `\r\nContent-Encoding: ${encoding}`;
  block += `\r\nVary: ${vary}${isNegotiable(reply) ? ', accept-encoding' : ''}`;
  if (reply.cacheControl) block += `\r\nCache-Control: ${reply.cacheControl}`;
  for (const name in reply.headers)
    for (const value of [reply.headers[name]!].flat())
      block += `\r\n${usualName(name)}: ${value.replace(CONTROL, ' ')}`;
  return `${block}\r\n${reply.etag === undefined ? 'X-Request-Id' : 'ETag'}`;
}
