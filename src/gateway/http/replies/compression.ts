import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';
import type { ContentCoding } from '../../../core/http/content-coding.js';
import type { Reply } from '../../../core/http/operation.js';

/** Smaller bodies, in bytes, are sent uncompressed. */
const MIN_BYTES = 1024;
/** Event streams are not compressed: many clients receive the same bytes, and each would need its own compressor. */
const COMPRESSIBLE =
  /^(text\/(?!event-stream)|image\/svg\+xml|application\/([\w.+-]+\+(json|xml|yaml)|json|xml|yaml|javascript|x-ndjson|x-protobuf|vnd\.oai|vnd\.mapbox|vnd\.maplibre))/;
const VECTOR_TILE = /^application\/(vnd\.mapbox-vector-tile|vnd\.maplibre-tile)/;

/**
 * Order of the codings if the client accepts several equally, for each kind of body. Measured by `bench
 * wire-encodings`.
 */
const ORDERS = {
  whole: ['zstd', 'gzip', 'br', 'identity'],
  parts: ['zstd', 'br', 'gzip', 'identity'],
  /** Kept in one form, which is gzip. */
  tile: ['gzip', 'zstd', 'br', 'identity'],
  static: ['br', 'zstd', 'gzip', 'identity'],
} satisfies Record<string, readonly ContentCoding[]>;

type Kind = keyof typeof ORDERS;

/**
 * Clients send about a tenth of this. A longer header would take milliseconds to parse, and would stay in the cache.
 */
const MAX_HEADER_LENGTH = 1024;
const PLAIN: readonly ContentCoding[] = ['identity'];
/** Parsed headers: most clients send one of a few values. */
const codingsByHeader = Object.fromEntries(
  Object.keys(ORDERS).map((kind) => [kind, new LRUCache<string, readonly ContentCoding[]>({ max: 100 })]),
) as Record<Kind, LRUCache<string, readonly ContentCoding[]>>;

/**
 * Codings that an Accept-Encoding header accepts (RFC 9110, 12.5.3), best first. Without a header, or if it is too
 * long, only `identity`. Results are cached, because the package takes 870 ns for each header.
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

/**
 * Whether the coding of a response depends on Accept-Encoding. Files of a known length are read by ranges and are
 * sent uncompressed.
 */
export function isNegotiable({
  encoding,
  length,
  mediaType = '',
}: Pick<Reply, 'encoding' | 'length' | 'mediaType'>): boolean {
  return encoding !== undefined || (length === undefined && COMPRESSIBLE.test(mediaType));
}

/**
 * Chooses the coding of a response. An already compressed body is sent as it is to clients that accept its coding. A
 * client that accepts none of the codings receives `identity`, even if it refuses that (RFC 9110, 12.4.1).
 */
export function chooseCoding(reply: Reply, acceptEncoding: string | undefined): ContentCoding {
  // A partial response (206) is a range of the uncompressed bytes.
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
