import { pipeline, Readable, Transform } from 'node:stream';
import { constants, createBrotliCompress, createGzip } from 'node:zlib';
import type { Compression } from '../../core/content-coding.js';
import { LIMITS } from '../../core/limits.js';
import { ZstdStream } from '../../native/index.js';

/** Parts below this size wait for the next one: what stands between two parts is no reason to send anything. */
const LEAST_BYTES = 1024;
/** How far compressors look back, as a power of two: each of them has that in memory while its client reads. */
const WINDOW_LOG = 18;
const CHUNK_BYTES = 65_536;
const NOTHING = new Uint8Array();

let streams = 0;

/** Whether one more body in parts may be compressed: each takes about a megabyte for as long as its client reads. */
export function hasRoom(): boolean {
  return streams < LIMITS.compressedStreams;
}

/**
 * Compresses parts as they come, off the event loop; each of them comes out without waiting for the next. Ends the parts
 * when it is left.
 */
export async function* compressedParts(
  parts: AsyncIterable<Uint8Array>,
  coding: Compression,
): AsyncGenerator<Uint8Array> {
  streams++;
  try {
    const compressor = compressorOf(coding);
    // Failures reach the reader of the compressor.
    pipeline(Readable.from(gathered(parts), { highWaterMark: 1 }), compressor, () => {});
    yield* compressor;
  } finally {
    streams--;
  }
}

async function* gathered(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of parts) {
    waiting.push(part);
    bytes += part.byteLength;
    if (bytes < LEAST_BYTES) continue;
    yield waiting.length === 1 ? part : Buffer.concat(waiting);
    waiting = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}

function compressorOf(coding: Compression): Transform {
  if (coding === 'zstd') return zstdCompressor();
  if (coding === 'gzip')
    return createGzip({ level: 1, flush: constants.Z_SYNC_FLUSH, chunkSize: CHUNK_BYTES });
  const { BROTLI_OPERATION_FLUSH, BROTLI_PARAM_LGWIN, BROTLI_PARAM_QUALITY } = constants;
  const params = { [BROTLI_PARAM_QUALITY]: 1, [BROTLI_PARAM_LGWIN]: WINDOW_LOG };
  return createBrotliCompress({ flush: BROTLI_OPERATION_FLUSH, params, chunkSize: CHUNK_BYTES });
}

function zstdCompressor(): Transform {
  const stream = new ZstdStream(1, WINDOW_LOG);
  const write = (
    data: Uint8Array,
    directive: 'flush' | 'end',
    give: (error: Error | null, data?: unknown) => void,
  ) => {
    stream.write(data, directive).then((bytes) => give(null, bytes), give);
  };
  return new Transform({
    transform: (chunk, _encoding, give) => write(chunk, 'flush', give),
    flush: (give) => write(NOTHING, 'end', give),
  });
}
