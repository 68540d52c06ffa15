import { promisify } from 'node:util';
import { brotliCompress, brotliDecompress, constants, gunzip, type ZlibOptions } from 'node:zlib';
import type { Compression } from '../../core/http/content-coding.js';
import { LIMITS } from '../../core/kit/limits.js';
import { compressBytes, unzstdLater } from '../../native/index.js';

/**
 * Compression levels. At higher levels, a further millisecond of CPU saves less than a line of 100 Mbit/s transfers
 * in it. Stored bodies take 5 ms. The highest level of brotli takes 150 ms for a tenth fewer bytes, and clients
 * select the coding.
 */
const LEVELS = {
  fresh: { gzip: 1, br: 1, zstd: 1 },
  static: { gzip: 12, br: 7, zstd: 16 },
} satisfies Record<string, Record<Compression, number>>;

const brotliAsync = promisify(brotliCompress);

/** Compresses off the event loop. */
export function compress(
  body: Uint8Array | string,
  coding: Compression,
  effort: keyof typeof LEVELS = 'fresh',
): Promise<Buffer> {
  const level = LEVELS[effort][coding];
  if (coding === 'br') {
    const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants;
    return brotliAsync(body, {
      params: { [BROTLI_PARAM_QUALITY]: level, [BROTLI_PARAM_SIZE_HINT]: body.length },
    });
  }
  return compressBytes(typeof body === 'string' ? Buffer.from(body) : body, coding, level);
}

/** Signatures with `info`, which their types lack. */
type Inflate = (
  body: Uint8Array,
  options: ZlibOptions,
) => Promise<{ buffer: Buffer; engine: { bytesWritten: number } }>;

const INFLATE = {
  gzip: promisify(gunzip) as unknown as Inflate,
  br: promisify(brotliDecompress) as unknown as Inflate,
};

/**
 * Decompresses bytes, off the event loop. Rejects for damaged bytes and for further bytes after their end. Rejects
 * with `ERR_BUFFER_TOO_LARGE` for more than `maxBytes`.
 */
export async function decompress(
  body: Uint8Array,
  coding: Compression,
  maxBytes: number = LIMITS.inflatedTileBytes,
): Promise<Buffer> {
  if (coding === 'zstd') return unzstdLater(body, maxBytes);
  const { buffer, engine } = await INFLATE[coding](body, { maxOutputLength: maxBytes, info: true });
  // Node.js drops what follows the end of brotli data, and zeros behind gzip.
  if (engine.bytesWritten < body.byteLength) throw new Error(`bytes behind the end of ${coding} data`);
  return buffer;
}
