import { pipeline, Readable, type Transform } from 'node:stream';
import { constants, createBrotliCompress, createGzip } from 'node:zlib';
import type { Compression } from '../../../core/http/content-coding.js';
import { HTTP_LIMITS } from '../../../core/http/limits.js';
import { ZstdStream } from '../../../native/index.js';

/** Smaller parts wait for the next part: the separator between two parts alone is not sent. */
const MIN_BYTES = 1024;
/**
 * Window size of a compressor, as a power of two. Each compressor keeps its window in memory while its client reads.
 */
const WINDOW_LOG = 18;
const CHUNK_BYTES = 65_536;
const NOTHING = new Uint8Array();

let streams = 0;

/** Whether one more body in parts may be compressed: each takes about a megabyte for as long as its client reads. */
export function canCompressStream(): boolean {
  return streams < HTTP_LIMITS.compressedStreams;
}

/**
 * Compresses parts as they come, off the event loop; each of them comes out without waiting for the next. Ends the parts
 * when it is left.
 */
export async function* compressParts(
  parts: AsyncIterable<Uint8Array>,
  coding: Compression,
): AsyncGenerator<Uint8Array> {
  streams++;
  try {
    if (coding === 'zstd') yield* zstdParts(largeParts(parts));
    else yield* throughZlib(largeParts(parts), coding);
  } finally {
    streams--;
  }
}

async function* zstdParts(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const stream = new ZstdStream(1, WINDOW_LOG);
  for await (const part of parts) yield await stream.write(part, 'flush');
  yield await stream.write(NOTHING, 'end');
}

async function* throughZlib(
  parts: AsyncIterable<Uint8Array>,
  coding: 'gzip' | 'br',
): AsyncGenerator<Uint8Array> {
  const compressor = zlibCompressor(coding);
  // Failures reach the reader of the compressor.
  pipeline(Readable.from(parts, { highWaterMark: 1 }), compressor, () => {});
  yield* compressor;
}

async function* largeParts(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of parts) {
    waiting.push(part);
    bytes += part.byteLength;
    if (bytes < MIN_BYTES) continue;
    yield waiting.length === 1 ? part : Buffer.concat(waiting);
    waiting = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}

function zlibCompressor(coding: 'gzip' | 'br'): Transform {
  if (coding === 'gzip')
    return createGzip({ level: 1, flush: constants.Z_SYNC_FLUSH, chunkSize: CHUNK_BYTES });
  const { BROTLI_OPERATION_FLUSH, BROTLI_PARAM_LGWIN, BROTLI_PARAM_QUALITY } = constants;
  const params = { [BROTLI_PARAM_QUALITY]: 1, [BROTLI_PARAM_LGWIN]: WINDOW_LOG };
  return createBrotliCompress({ flush: BROTLI_OPERATION_FLUSH, params, chunkSize: CHUNK_BYTES });
}
