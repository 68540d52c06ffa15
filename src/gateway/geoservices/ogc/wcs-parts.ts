import { randomUUID } from 'node:crypto';
import type { Reply } from '../../../core/http/operation.js';

/** Responses of two parts (RFC 2387): a document in GML, and the file that it refers to. */

const FILE_ID = 'coverage.tif';
const DOCUMENT_ID = 'coverage.gml';

/** The reply with a document in front of its file. `document` gets the URL by which it refers to the file. */
export function multipartReply(reply: Reply, document: (reference: string) => string): Reply {
  const { body, etag } = reply;
  if (body === undefined || typeof body === 'string') throw new Error('a coverage is bytes');
  // The tag is a digest of the file, which therefore does not contain it. It keeps equal responses equal.
  const boundary = `graticule-${etag ?? randomUUID()}`;
  const gml = `<?xml version="1.0" encoding="UTF-8"?>\n${document(`cid:${FILE_ID}`)}`;
  const head = Buffer.from(
    writePart(boundary, 'application/gml+xml', DOCUMENT_ID) +
      `${gml}\r\n` +
      writePart(boundary, reply.mediaType!, FILE_ID, ['Content-Transfer-Encoding: binary']),
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  return {
    ...reply,
    mediaType: `multipart/related; boundary="${boundary}"; type="application/gml+xml"; start="<${DOCUMENT_ID}>"`,
    body: joinParts(head, body, tail),
    ...(body instanceof Uint8Array ? { length: head.length + body.length + tail.length } : {}),
    ...(etag === undefined ? {} : { etag: `${etag}-related` }),
  };
}

function writePart(boundary: string, mediaType: string, id: string, more: readonly string[] = []): string {
  return [`--${boundary}`, `Content-Type: ${mediaType}`, `Content-ID: <${id}>`, ...more, '', ''].join('\r\n');
}

async function* joinParts(
  head: Uint8Array,
  body: Uint8Array | AsyncIterable<Uint8Array>,
  tail: Uint8Array,
): AsyncIterable<Uint8Array> {
  yield head;
  if (body instanceof Uint8Array) yield body;
  else yield* body;
  yield tail;
}
