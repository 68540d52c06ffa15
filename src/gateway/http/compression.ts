import { promisify } from 'node:util';
import { brotliCompress, constants, gunzip, gzip } from 'node:zlib';

/** Bodies below this many bytes are sent as they are. */
const MIN_BYTES = 1024;
const COMPRESSIBLE =
  /^(text\/|application\/(json|geo\+json|schema\+json|problem\+json|xml|gml\+xml|vnd\.oai|javascript|vnd\.mapbox)|image\/svg)/;

const gzipAsync = promisify(gzip);
const gunzipAsync = promisify(gunzip);
const brotliAsync = promisify(brotliCompress);

export type ContentEncoding = 'identity' | 'gzip' | 'br';

/** Whether an Accept-Encoding header takes a coding (RFC 9110, 12.5.3). */
export function accepts(header: string | undefined, coding: 'gzip' | 'br'): boolean {
  if (!header) return false;
  const at = header.indexOf(coding);
  if (at < 0) return false;
  const weight = /^\s*;\s*q=(0(\.0*)?)\s*(,|$)/.test(header.slice(at + coding.length));
  return !weight;
}

/** The coding to use for a body that is not compressed yet. */
export function chooseEncoding(
  mediaType: string,
  size: number,
  acceptEncoding: string | undefined,
): ContentEncoding {
  if (size < MIN_BYTES || !COMPRESSIBLE.test(mediaType)) return 'identity';
  if (accepts(acceptEncoding, 'br')) return 'br';
  if (accepts(acceptEncoding, 'gzip')) return 'gzip';
  return 'identity';
}

/** Compresses on libuv's thread pool; speed is preferred over the last percent of size. */
export function compress(body: Uint8Array | string, encoding: 'gzip' | 'br'): Promise<Buffer> {
  if (encoding === 'gzip') return gzipAsync(body, { level: 4 });
  return brotliAsync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } });
}

export function decompress(body: Uint8Array): Promise<Buffer> {
  return gunzipAsync(body);
}
