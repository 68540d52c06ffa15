import type { ContentCoding } from '../../../core/http/content-coding.js';
import { HTTP_LIMITS } from '../../../core/http/limits.js';
import type { Reply } from '../../../core/http/operation.js';
import { Backlog, type ReplyTransfer } from '../backlog.js';
import { ACCEPT_ENCODING, CLIENT_GONE, type HttpExchange, IF_NONE_MATCH } from '../exchange.js';
import { bodyForm } from '../requests/body-form.js';
import { writeReplyHead } from '../requests/head.js';
import { upgrade } from '../socket.js';
import { canCompressStream, compressParts } from './compress-parts.js';
import { acceptsCoding, chooseCoding, isWholeBody } from './compression.js';
import { matchingForm } from './entity-tag.js';
import { sendParts } from './parts.js';

/** Head and body up to this size fit into the library's cork buffer of 16 KiB. */
const CORK_BYTES = 12_288;
const backlog = new Backlog();
const nothing = (): void => undefined;

/** `error` says why a stream ended early through no fault of the client. */
export type Sent = (x: HttpExchange, status: number, bytes: number, error?: unknown) => void;

/** Sends an error response instead. Only possible while nothing has been sent. */
export type Fail = (x: HttpExchange, error: unknown) => void;

/**
 * Sends a reply: conditional requests, HEAD, compression, slow readers. `sent` is called once, or `fail` instead when the
 * body cannot be brought into the coding of the client.
 */
export function sendReply(x: HttpExchange, reply: Reply, sent: Sent, fail: Fail): void {
  if (x.aborted || x.responded) return;
  if (reply.socket && x.upgrade) {
    upgrade(x, x.upgrade, reply.socket);
    sent(x, 101, 0);
    return;
  }
  const form = unchangedForm(x, reply);
  if (form) {
    writeHead(x, { ...reply, status: 304 }, form, 0);
    sent(x, 304, 0);
    return;
  }
  const { body } = reply;
  if (body === undefined) {
    writeEmpty(x, reply, sent);
  } else if (!isWholeBody(body)) {
    const coding = chooseCoding(reply, x.headerOf(ACCEPT_ENCODING));
    if (x.method === 'HEAD') return writeEmpty(x, reply, sent, coding, reply.length);
    x.detach();
    if (reply.length === undefined)
      void stream(x, reply, body, canCompressStream() ? coding : 'identity', sent);
    // No part of an empty body comes that could end the response.
    else if (reply.length === 0) write(x, reply, '', 'identity', sent);
    else sendSized(x, reply, body, reply.length, sent);
  } else {
    sendBody(x, reply, body, sent, fail);
  }
}

/** The coding of the representation that the client has cached and may keep. */
function unchangedForm(x: HttpExchange, reply: Reply): ContentCoding | undefined {
  if (reply.etag === undefined || reply.status !== 200) return undefined;
  const condition = x.headerOf(IF_NONE_MATCH);
  if (!condition || !isRead(x)) return undefined;
  const acceptEncoding = x.headerOf(ACCEPT_ENCODING);
  const form = matchingForm(
    condition,
    reply.etag,
    (coding) => coding === 'identity' || acceptsCoding(acceptEncoding, coding),
  );
  return form === 'any' ? chooseCoding(reply, acceptEncoding) : form;
}

/** Only reads can be answered with 304: the client has no cached copy after a change or a search by POST. */
const isRead = ({ method }: HttpExchange) => method === 'GET' || method === 'HEAD';

function writeEmpty(
  x: HttpExchange,
  reply: Reply,
  sent: Sent,
  coding: ContentCoding = 'identity',
  length = 0,
): void {
  writeHead(x, reply, coding, length);
  sent(x, reply.status, 0);
}

function sendBody(x: HttpExchange, reply: Reply, body: string | Uint8Array, sent: Sent, fail: Fail): void {
  const coding = chooseCoding(reply, x.headerOf(ACCEPT_ENCODING));
  if (coding === (reply.encoding ?? 'identity')) return write(x, reply, body, coding, sent);
  const form = bodyForm(reply, body, coding);
  if (!(form instanceof Promise)) return write(x, reply, form, coding, sent);
  x.detach();
  form.then(
    (ready) => {
      if (x.aborted) sent(x, CLIENT_GONE, 0);
      else write(x, reply, ready, coding, sent);
    },
    (error: unknown) => {
      if (x.aborted || reply.encoding) fail(x, error);
      // If compression fails, for example without memory, the body is sent uncompressed.
      else write(x, reply, body, 'identity', (_, status, bytes) => sent(x, status, bytes, error));
    },
  );
}

function write(
  x: HttpExchange,
  reply: Reply,
  body: string | Uint8Array,
  encoding: ContentCoding,
  sent: Sent,
): void {
  const size = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
  if (x.method === 'HEAD') {
    writeHead(x, reply, encoding, size);
  } else if (size <= HTTP_LIMITS.sendBuffer) {
    x.responded = true;
    let done = true;
    if (x.attached) {
      // When the socket is lost while a body that exceeds the cork buffer is written, the library leaves the
      // response unfinished; without an abort handler it then aborts the process.
      if (size > CORK_BYTES) x.res.onAborted(nothing);
      // The library corks the handler's own turn.
      writeReplyHead(x, reply, encoding);
      done = end(x, body, size);
    } else {
      const close = !x.reusable;
      x.res.cork(() => {
        writeReplyHead(x, reply, encoding);
        if (close) x.res.end(body, true);
        else done = end(x, body, size);
      });
    }
    if (!done) {
      x.detach();
      return awaitReader(x, { body, size, status: reply.status }, sent);
    }
  } else {
    sendLarge(x, reply, body, encoding, size, sent);
    return;
  }
  sent(x, reply.status, size);
}

/**
 * Ends a response, unless the client has not read the ones before it: `end` would let them grow in memory without a bound.
 * While a response waits for its reader, the library closes the connection with the next request.
 */
function end({ res }: HttpExchange, body: string | Uint8Array, size: number): boolean {
  if (size > 0) return res.tryEnd(body, size)[1];
  res.end(body);
  return true;
}

/**
 * Ends a response without a body. For HEAD, Content-Length is that of the body, unless the body is a stream. The
 * length is written as a header: if it were passed to the library, the library would treat the response as unfinished
 * and abort the process. 204 and 304 have no length.
 */
function writeHead(x: HttpExchange, reply: Reply, encoding: ContentCoding, size: number): void {
  x.responded = true;
  const close = !x.reusable;
  const length = size > 0 ? `\r\nContent-Length: ${size}` : '';
  x.res.cork(() => {
    writeReplyHead(x, reply, encoding, length);
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
  encoding: ContentCoding,
  size: number,
  sent: Sent,
) {
  x.detach();
  x.responded = true;
  const data = typeof body === 'string' ? Buffer.from(body) : body;
  let done = false;
  x.res.cork(() => {
    writeReplyHead(x, reply, encoding);
    done = end(x, data, size);
    if (!done) awaitReader(x, { body: data, size, status: reply.status }, sent);
  });
  if (done) sent(x, reply.status, size);
}

/** A body of which the client has not read all that the socket takes. */
interface UnreadBody {
  body: string | Uint8Array;
  /** Bytes. */
  size: number;
  status: number;
}

/**
 * Sends the rest of a body each time the client has read a part, until all bytes are sent or the connection is
 * closed.
 */
function awaitReader(x: HttpExchange, { body, size, status }: UnreadBody, sent: Sent): void {
  const { res } = x;
  const data = typeof body === 'string' ? Buffer.from(body) : body;
  const sending: ReplyTransfer = { bytes: size, cut: () => res.close() };
  let offset = 0;
  const finish = (ended: number, bytes: number) => {
    x.onGone = undefined;
    backlog.remove(sending);
    sent(x, ended, bytes);
  };
  x.onGone = () => finish(CLIENT_GONE, offset);
  res.onWritable((bytesOut) => {
    offset = bytesOut;
    backlog.progressed(sending);
    let ok = false;
    res.cork(() => {
      const [isTaken, done] = res.tryEnd(data.subarray(offset), size);
      ok = isTaken;
      if (done) finish(status, size);
    });
    return ok;
  });
  backlog.add(sending);
}

/** Sends parts as they come, pausing the producer while the client is slow. */
async function stream(
  x: HttpExchange,
  reply: Reply,
  parts: AsyncIterable<Uint8Array>,
  coding: ContentCoding,
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
  res.cork(() => writeReplyHead(x, reply, coding));
  const chunks = coding === 'identity' ? parts : compressParts(parts, coding);
  try {
    for await (const chunk of chunks) {
      if (x.aborted) break;
      bytes += chunk.byteLength;
      let ok = true;
      res.cork(() => {
        ok = res.write(chunk);
      });
      if (ok || x.aborted) continue;
      // The library copies the bytes that the socket did not accept. Meanwhile the producer may hold the next chunk,
      // and have another one in transit.
      const sending: ReplyTransfer = {
        bytes: 4 * Math.max(chunk.byteLength, HTTP_LIMITS.sendBuffer),
        cut: () => res.close(),
      };
      backlog.add(sending);
      await new Promise<void>((resolve) => {
        drained = resolve;
      });
      backlog.remove(sending);
    }
    if (!x.aborted) res.cork(() => res.end());
    sent(x, x.aborted ? CLIENT_GONE : reply.status, bytes);
  } catch (error) {
    if (x.aborted) return sent(x, CLIENT_GONE, bytes);
    // The header is already sent, so closing the connection is the only way to report the failure.
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
  void sendParts(
    x,
    body,
    { length, status, begin: () => writeReplyHead(x, reply, 'identity'), backlog },
    sent,
  );
}
