import { ApiError } from '../../../core/errors/errors.js';
import type { Compression, ContentCoding } from '../../../core/http/content-coding.js';
import { decompress } from '../../../services/uploads/compression.js';
import type { HttpExchange } from '../exchange.js';

/** The coding of a request body (RFC 9110, 8.4). Throws 415, with the codings that are taken, for any other. */
export function requireContentCoding(x: HttpExchange, codings: readonly ContentCoding[]): ContentCoding {
  const name = x.header('content-encoding')?.trim().toLowerCase() || 'identity';
  const coding = name === 'x-gzip' ? 'gzip' : name;
  const match = codings.find((one) => one === coding);
  if (match) return match;
  throw new ApiError(
    'unsupported-media-type',
    `Content-Encoding: '${name.slice(0, 60)}' is not supported here. Use ${codings.join(', ')}.`,
    {
      headers: { 'accept-encoding': codings.join(', ') },
    },
  );
}

/**
 * Decompresses a body outside the event loop. Throws 413 as soon as it exceeds `maxBytes`, and 400 if the bytes are
 * not valid for the coding.
 */
export async function inflateBody(
  body: Uint8Array,
  coding: Compression,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  try {
    // Copied, so that its memory can be transferred to another thread.
    return new Uint8Array(await decompress(body, coding, maxBytes));
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
      throw new ApiError(
        'payload-too-large',
        `The request body is too large. The limit is ${maxBytes} bytes.`,
        {
          cause,
        },
      );
    throw new ApiError('invalid-body', `Content-Encoding: the request body is not ${coding}.`, { cause });
  }
}
