import { LIMITS } from '../../core/limits.js';
import type { Reply } from '../../core/operation.js';
import { Backlog, type Sending } from './backlog.js';
import { acceptsGzip, type ContentEncoding, chooseEncoding, compress, decompress } from './compression.js';
import { ACCEPT_ENCODING, type HttpExchange, IF_NONE_MATCH } from './exchange.js';
import { head } from './head.js';
import { sendParts } from './parts.js';
import { upgrade } from './socket.js';

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
    const condition = x.headerOf(IF_NONE_MATCH);
    if (condition && isRead(x) && etagMatches(condition, reply.etag)) {
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

/** Of what was changed, or searched for by POST, a client has nothing that could still be right. */
const isRead = ({ method }: HttpExchange) => method === 'GET' || method === 'HEAD';

function writeEmpty(x: HttpExchange, reply: Reply, sent: Sent, length = 0): void {
  writeHead(x, reply, 'identity', length);
  sent(x, reply.status, 0);
}

function sendBody(x: HttpExchange, reply: Reply, body: string | Uint8Array, sent: Sent): void {
  const acceptEncoding = x.headerOf(ACCEPT_ENCODING);
  if (reply.encoding === 'gzip' && body instanceof Uint8Array) {
    if (acceptsGzip(acceptEncoding)) return write(x, reply, body, 'gzip', sent);
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
      const close = !x.reusable;
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
  const close = !x.reusable;
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
    res.onWritable((bytesOut) => {
      offset = bytesOut;
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
