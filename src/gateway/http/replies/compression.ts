import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';
import type { ContentCoding } from '../../../core/http/content-coding.js';
import type { Reply } from '../../../core/http/operation.js';

/** Bodies below this many bytes are sent as they are. */
const MIN_BYTES = 1024;
/** Events go to many clients at once as the same bytes: a compressor for each would cost by the client. */
const COMPRESSIBLE =
  /^(text\/(?!event-stream)|image\/svg\+xml|application\/([\w.+-]+\+(json|xml|yaml)|json|xml|yaml|javascript|x-ndjson|x-protobuf|vnd\.oai|vnd\.mapbox|vnd\.maplibre))/;
const VECTOR_TILE = /^application\/(vnd\.mapbox-vector-tile|vnd\.maplibre-tile)/;

/** What decides between codings that a client likes equally, by what is sent: measured by bench wire-encodings. */
const ORDERS = {
  whole: ['zstd', 'gzip', 'br', 'identity'],
  parts: ['zstd', 'br', 'gzip', 'identity'],
  /** Kept in one form, which is gzip. */
  tile: ['gzip', 'zstd', 'br', 'identity'],
  static: ['br', 'zstd', 'gzip', 'identity'],
} satisfies Record<string, readonly ContentCoding[]>;

type Kind = keyof typeof ORDERS;

/** What clients send is a tenth of that. Reading a longer header takes milliseconds, and it would be kept. */
const MAX_HEADER_LENGTH = 1024;
const PLAIN: readonly ContentCoding[] = ['identity'];
/** By header: clients that ask for much ask for it the same way. */
const codingsByHeader = Object.fromEntries(
  Object.keys(ORDERS).map((kind) => [kind, new LRUCache<string, readonly ContentCoding[]>({ max: 100 })]),
) as Record<Kind, LRUCache<string, readonly ContentCoding[]>>;

/**
 * The codings that an Accept-Encoding header takes (RFC 9110, 12.5.3), the preferred first; as it is without a header,
 * or with one that is too long. The package takes 870 ns for a header, so the result is remembered by header.
 */
function acceptableCodings(kind: Kind, header: string | undefined): readonly ContentCoding[] {
  if (!header || header.length > MAX_HEADER_LENGTH) return PLAIN;
  let codings = codingsByHeader[kind].get(header);
  if (!codings) {
    const negotiator = new Negotiator({ headers: { 'accept-encoding': header } });
    const order = ORDERS[kind];
    codings = negotiator.encodings(order, { preferred: order }) as ContentCoding[];
    codingsByHeader[kind].set(header, codings);
  }
  return codings;
}

/** Whether an Accept-Encoding header takes a coding. */
export function acceptsCoding(header: string | undefined, coding: ContentCoding): boolean {
  return acceptableCodings('whole', header).includes(coding);
}

/** Whether the coding of an answer hangs on Accept-Encoding. Files whose length is told are read by ranges, as they are. */
export function isNegotiable({
  encoding,
  length,
  mediaType = '',
}: Pick<Reply, 'encoding' | 'length' | 'mediaType'>): boolean {
  return encoding !== undefined || (length === undefined && COMPRESSIBLE.test(mediaType));
}

/**
 * The coding that an answer is sent in. What is compressed already goes to those who take that. Who takes nothing that there
 * is gets it as it is, also where identity is refused (RFC 9110, 12.4.1).
 */
export function chooseCoding(reply: Reply, acceptEncoding: string | undefined): ContentCoding {
  // A part is one of the plain bytes.
  if (reply.status === 206 || !isNegotiable(reply)) return 'identity';
  const { encoding, constant } = reply;
  if (encoding && !constant?.isStatic && acceptsCoding(acceptEncoding, encoding)) return encoding;
  const codings = acceptableCodings(chooseKind(reply), acceptEncoding);
  if (encoding === undefined && isSmall(reply) && codings.includes('identity')) return 'identity';
  return codings[0] ?? 'identity';
}

function chooseKind({ body, constant, mediaType = '' }: Reply): Kind {
  if (constant?.isStatic) return 'static';
  if (VECTOR_TILE.test(mediaType)) return 'tile';
  return isWholeBody(body) ? 'whole' : 'parts';
}

const isSmall = ({ body }: Reply) => isWholeBody(body) && body.length < MIN_BYTES;

export function isWholeBody(body: Reply['body']): body is string | Uint8Array {
  return typeof body === 'string' || body instanceof Uint8Array;
}
