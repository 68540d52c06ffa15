import { promisify } from 'node:util';
import { brotliCompress, constants, gunzip, gzip } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';

/** Bodies below this many bytes are sent as they are. */
const MIN_BYTES = 1024;
const COMPRESSIBLE =
  /^(text\/|application\/(json|geo\+json|schema\+json|problem\+json|xml|gml\+xml|vnd\.oai|javascript|vnd\.mapbox)|image\/svg)/;

const gzipAsync = promisify(gzip);
const gunzipAsync = promisify(gunzip);
const brotliAsync = promisify(brotliCompress);

export type ContentEncoding = 'identity' | 'gzip' | 'br';

/** What we write, the best first: it decides between codings that a client likes equally. */
const CODINGS: readonly ContentEncoding[] = ['br', 'gzip', 'identity'];
const PLAIN: readonly ContentEncoding[] = ['identity'];
/** By header: clients that ask for much ask for it the same way. */
const acceptable = new LRUCache<string, readonly ContentEncoding[]>({ max: 100 });

/** The codings that an Accept-Encoding header takes (RFC 9110, 12.5.3), the preferred first; as it is without a header. */
function acceptedCodings(header: string | undefined): readonly ContentEncoding[] {
  if (!header) return PLAIN;
  let codings = acceptable.get(header);
  if (!codings) {
    const negotiator = new Negotiator({ headers: { 'accept-encoding': header } });
    codings = negotiator.encodings(CODINGS, { preferred: CODINGS }) as ContentEncoding[];
    acceptable.set(header, codings);
  }
  return codings;
}

/** Whether an Accept-Encoding header takes gzip. */
export function acceptsGzip(header: string | undefined): boolean {
  return acceptedCodings(header).includes('gzip');
}

/** The coding to use for a body that is not compressed yet. */
export function chooseEncoding(
  mediaType: string,
  size: number,
  acceptEncoding: string | undefined,
): ContentEncoding {
  if (size < MIN_BYTES || !COMPRESSIBLE.test(mediaType)) return 'identity';
  return acceptedCodings(acceptEncoding)[0] ?? 'identity';
}

/** Compresses on libuv's thread pool; speed is preferred over the last percent of size. */
export function compress(body: Uint8Array | string, encoding: 'gzip' | 'br'): Promise<Buffer> {
  if (encoding === 'gzip') return gzipAsync(body, { level: 4 });
  return brotliAsync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } });
}

export function decompress(body: Uint8Array): Promise<Buffer> {
  return gunzipAsync(body);
}
