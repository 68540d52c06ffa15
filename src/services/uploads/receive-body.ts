import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ApiError } from '../../core/errors/errors.js';
import { makeFolder } from '../../core/files/own-folder.js';
import { LIMITS } from '../../core/kit/limits.js';
import { uploadFailure } from './upload-failure.js';

export interface BodyRules {
  directory: string;
  /** File extension, with the dot. */
  ending: string;
  maxBytes: number;
}

/**
 * Writes a body with one file to the disk, flushed, under a generated name. Throws 413 above `maxBytes`, 400 for an
 * empty or interrupted body, 507 for a full disk. After an error no file remains.
 */
export async function receiveBody(
  bytes: AsyncIterable<Uint8Array>,
  { directory, ending, maxBytes }: BodyRules,
): Promise<{ path: string; size: number }> {
  await makeFolder(directory);
  const path = join(directory, randomUUID() + ending);
  const out = createWriteStream(path, {
    flags: 'wx',
    mode: 0o600,
    flush: true,
    highWaterMark: LIMITS.uploadBuffer,
  });
  try {
    await pipeline(bounded(bytes, maxBytes), out);
    if (out.bytesWritten === 0)
      throw new ApiError('invalid-request', 'The body is empty. Send the bytes of the file.');
    return { path, size: out.bytesWritten };
  } catch (error) {
    await rm(path, { force: true });
    throw uploadFailure(error);
  }
}

async function* bounded(bytes: AsyncIterable<Uint8Array>, maxBytes: number): AsyncIterable<Uint8Array> {
  let size = 0;
  for await (const part of bytes) {
    size += part.byteLength;
    if (size > maxBytes)
      throw new ApiError('payload-too-large', `The body is too large. The limit is ${maxBytes} bytes.`);
    yield part;
  }
}
