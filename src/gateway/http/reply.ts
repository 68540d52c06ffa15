import { STATUS_CODES } from 'node:http';
import { LIMITS } from '../../core/limits.js';
import type { Reply } from '../../core/operation.js';
import { Backlog, type Sending } from './backlog.js';
import { accepts, type ContentEncoding, chooseEncoding, compress, decompress } from './compression.js';
import type { HttpExchange } from './exchange.js';
import { sendParts } from './parts.js';
import { upgrade } from './socket.js';

const EXPOSED =
  'accept-ranges, content-crs, content-bbox, content-range, etag, graticule-acquired, graticule-dropped-features, graticule-source-items, graticule-source-items-count, link, location, server-timing, x-request-id, retry-after, preference-applied';

/** Headers of every response. */
const COMMON = `access-control-allow-origin: *\r\naccess-control-expose-headers: ${EXPOSED}\r\nx-content-type-options: nosniff`;

const STATUS_LINES: Record<number, string> = Object.fromEntries(
  Object.entries(STATUS_CODES).map(([code, reason]) => [code, `${code} ${reason}`]),
);

/** Whether If-None-Match names this entity tag (weak comparison, RFC 9110, 8.8.3.2). */
export function etagMatches(header: string, etag: string): boolean {
  if (header.trim() === '*') return true;
  const opaque = etag.replace(/^W\//, '');
  return header.split(',').some((candidate) => {
    const tag = /^(?:W\/)?"([^"]*)"$/.exec(candidate.trim())?.[1];
    return tag?.replace(/-(gzip|br)$/, '') === opaque;
  });
}

/** Head and body up to this size fit into the library's cork buffer of 16 KiB. */
const CORK_BYTES = 12_288;
const backlog = new Backlog();
const nothing = (): void => undefined;

/** `error` says why a stream ended early through no fault of the client. */
export type Sent = (x: HttpExchange, status: number, bytes: number, error?: unknown) => void;

/** Sends a reply: conditional requests, HEAD, compression, slow readers. `sent` is called once. */
export function sendReply(x: HttpExchange, reply: Reply, sent: Sent): void {
  if (x.aborted || x.responded) return;
  if (reply.socket && x.upgrade) {
    upgrade(x, x.upgrade, reply.socket);
    sent(x, 101, 0);
    return;
  }
  if (reply.etag !== undefined && reply.status === 200) {
    const condition = x.header('if-none-match');
    if (condition && etagMatches(condition, reply.etag)) {
      writeHead(x, { ...reply, status: 304 }, 'identity', 0);
      sent(x, 304, 0);
      return;
    }
  }
  const { body } = reply;
  if (body === undefined) {
    writeEmpty(x, reply, sent);
  } else if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
    if (x.method === 'HEAD') return writeEmpty(x, reply, sent, reply.length);
    x.detach();
    if (reply.length === undefined) void stream(x, reply, body, sent);
    else sendSized(x, reply, body, reply.length, sent);
  } else {
    sendBody(x, reply, body, sent);
  }
}

function writeEmpty(x: HttpExchange, reply: Reply, sent: Sent, length = 0): void {
  writeHead(x, reply, 'identity', length);
  sent(x, reply.status, 0);
}

function sendBody(x: HttpExchange, reply: Reply, body: string | Uint8Array, sent: Sent): void {
  const acceptEncoding = x.header('accept-encoding');
  if (reply.encoding === 'gzip' && body instanceof Uint8Array) {
    if (accepts(acceptEncoding, 'gzip')) return write(x, reply, body, 'gzip', sent);
    x.detach();
    void later(x, reply, decompress(body), 'identity', sent);
    return;
  }
  const encoding = chooseEncoding(reply.mediaType ?? '', body.length, acceptEncoding);
  if (encoding === 'identity') return write(x, reply, body, encoding, sent);
  const compressed = reply.constant?.compressed;
  if (compressed?.encoding === encoding) return write(x, reply, compressed.body, encoding, sent);
  x.detach();
  void later(x, reply, compress(body, encoding), encoding, sent);
}

async function later(
  x: HttpExchange,
  reply: Reply,
  body: Promise<Buffer>,
  encoding: ContentEncoding,
  sent: Sent,
) {
  const ready = await body;
  if (reply.constant && encoding !== 'identity') reply.constant.compressed = { encoding, body: ready };
  if (!x.aborted) write(x, reply, ready, encoding, sent);
  else sent(x, 499, 0);
}

function write(
  x: HttpExchange,
  reply: Reply,
  body: string | Uint8Array,
  encoding: ContentEncoding,
  sent: Sent,
): void {
  const size = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
  if (x.method === 'HEAD') {
    writeHead(x, reply, encoding, size);
  } else if (size <= LIMITS.sendBuffer) {
    x.responded = true;
    if (x.attached) {
      // When the socket is lost while a body that exceeds the cork buffer is written, the library leaves the
      // response unfinished; without an abort handler it then aborts the process.
      if (size > CORK_BYTES) x.res.onAborted(nothing);
      // The library corks the handler's own turn.
      head(x, reply, encoding);
      x.res.end(body);
    } else {
      const close = x.bodyUnread;
      x.res.cork(() => {
        head(x, reply, encoding);
        x.res.end(body, close);
      });
    }
  } else {
    sendLarge(x, reply, body, encoding, size, sent);
    return;
  }
  sent(x, reply.status, size);
}

/**
 * Ends a response without a body; HEAD reports the length it would have, unless that is a stream's. That length is written as a header:
 * given to the library, it takes the response for unfinished and aborts the process. 204 and 304 have none.
 */
function writeHead(x: HttpExchange, reply: Reply, encoding: ContentEncoding, size: number): void {
  x.responded = true;
  const close = x.bodyUnread;
  const length = size > 0 ? `\r\ncontent-length: ${size}` : '';
  x.res.cork(() => {
    head(x, reply, encoding, length);
    // The library aborts the process as well when its length is `undefined` and the connection must close.
    if (close) x.res.end('', true);
    else if (length || reply.body !== undefined || reply.status === 204 || reply.status === 304)
      x.res.endWithoutBody();
    else x.res.endWithoutBody(0);
  });
}

/** Sends a large body as fast as the client reads it, or until it goes away. */
function sendLarge(
  x: HttpExchange,
  reply: Reply,
  body: string | Uint8Array,
  encoding: ContentEncoding,
  size: number,
  sent: Sent,
) {
  x.detach();
  x.responded = true;
  const data = typeof body === 'string' ? Buffer.from(body) : body;
  const { res } = x;
  let offset = 0;
  const sending: Sending = { bytes: size, cut: () => res.close() };
  const finish = (status: number, bytes: number) => {
    x.onGone = undefined;
    backlog.remove(sending);
    sent(x, status, bytes);
  };
  const step = (): boolean => {
    const [ok, done] = res.tryEnd(data.subarray(offset), size);
    if (done) finish(reply.status, size);
    return ok;
  };
  x.onGone = () => finish(499, offset);
  res.cork(() => {
    head(x, reply, encoding);
    if (step()) return;
    res.onWritable((written) => {
      offset = written;
      backlog.progressed(sending);
      let ok = false;
      res.cork(() => {
        ok = step();
      });
      return ok;
    });
    backlog.add(sending);
  });
}

/** Sends chunks as they come, pausing the producer while the client is slow. */
async function stream(
  x: HttpExchange,
  reply: Reply,
  chunks: AsyncIterable<Uint8Array>,
  sent: Sent,
): Promise<void> {
  const { res } = x;
  x.responded = true;
  let bytes = 0;
  let drained: (() => void) | undefined;
  res.onWritable(() => {
    drained?.();
    return true;
  });
  x.signal.addEventListener('abort', () => drained?.(), { once: true });
  res.cork(() => head(x, reply, 'identity'));
  try {
    for await (const chunk of chunks) {
      if (x.aborted) break;
      bytes += chunk.byteLength;
      let ok = true;
      res.cork(() => {
        ok = res.write(chunk);
      });
      if (ok || x.aborted) continue;
      // What the socket did not take is copied by the library; the producer may have the next chunk ready and another
      // one on its way.
      const sending: Sending = {
        bytes: 4 * Math.max(chunk.byteLength, LIMITS.sendBuffer),
        cut: () => res.close(),
      };
      backlog.add(sending);
      await new Promise<void>((resolve) => {
        drained = resolve;
      });
      backlog.remove(sending);
    }
    if (!x.aborted) res.cork(() => res.end());
    sent(x, x.aborted ? 499 : reply.status, bytes);
  } catch (error) {
    if (x.aborted) return sent(x, 499, bytes);
    // The head is gone already: cutting the connection is the only honest sign of failure.
    res.close();
    sent(x, 500, bytes, error);
  }
}

function sendSized(
  x: HttpExchange,
  reply: Reply,
  body: AsyncIterable<Uint8Array>,
  length: number,
  sent: Sent,
) {
  const { status } = reply;
  void sendParts(x, body, { length, status, begin: () => head(x, reply, 'identity'), backlog }, sent);
}

const CONTROL = /[\r\n]/g;

/** Status line and all headers, written as one block. Values are stripped of line breaks. */
function head(x: HttpExchange, reply: Reply, encoding: ContentEncoding, length = ''): void {
  // 200 is the library's own default.
  if (reply.status !== 200) x.res.writeStatus(STATUS_LINES[reply.status] ?? String(reply.status));
  const { constant } = reply;
  // Only the encoding that the body is kept in; a client that cannot read it is rare.
  if (constant && encoding === (reply.encoding ?? 'identity')) {
    constant.block ??= Buffer.from(headerBlock(reply, encoding));
    x.res.writeHeader(constant.block, x.correlationId + tail(x, length));
  } else {
    x.res.writeHeader(headerBlock(reply, encoding), x.correlationId + tail(x, length));
  }
}

/** What differs from answer to answer, after the request id. */
function tail(x: HttpExchange, length: string): string {
  return x.serverTiming ? `\r\nserver-timing: ${x.serverTiming}${length}` : length;
}

/**
 * All headers up to the name of the last one, the request id, as one: the library writes names and values as they are
 * given, and each call of it costs.
 */
function headerBlock(reply: Reply, encoding: ContentEncoding): string {
  let block = COMMON;
  if (reply.mediaType) block += `\r\ncontent-type: ${reply.mediaType}`;
  if (encoding !== 'identity') block += `\r\ncontent-encoding: ${encoding}`;
  if (reply.body !== undefined) block += '\r\nvary: accept, accept-encoding';
  if (reply.etag !== undefined) block += `\r\netag: ${quoted(reply.etag, encoding)}`;
  if (reply.cacheControl) block += `\r\ncache-control: ${reply.cacheControl}`;
  for (const name in reply.headers) block += `\r\n${name}: ${reply.headers[name]!.replace(CONTROL, ' ')}`;
  return `${block}\r\nx-request-id`;
}

/** An entity tag names one representation, so a compressed one gets a suffix. */
function quoted(etag: string, encoding: ContentEncoding): string {
  const suffix = encoding === 'identity' ? '' : `-${encoding}`;
  return etag.startsWith('W/') ? `W/"${etag.slice(2)}${suffix}"` : `"${etag}${suffix}"`;
}
