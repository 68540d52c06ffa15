import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { ApiError, badParameter } from '../../core/errors/errors.js';
import { imageSize, SIZED_IMAGES } from '../../core/files/image-size.js';
import { checkedMediaType, type FileWords } from '../../core/files/media-signature.js';
import { LIMITS } from '../../core/kit/limits.js';
import { ATTACHMENT_LIMITS } from './limits.js';

/** A checked file: its properties, and the digest of its bytes. */
export interface CheckedFile {
  readonly path: string;
  readonly name: string;
  readonly mediaType: string;
  readonly size: number;
  /** SHA-256 in hexadecimal digits. */
  readonly digest: string;
}

/** Bytes at the start of a file that are searched for its type and image size. */
const HEAD = 1_048_576;

/** Characters that names cannot contain: control characters, path separators, lone surrogates. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what names must not have.
const UNNAMEABLE = /[\x00-\x1f\x7f\u202a-\u202e\u2066-\u2069/\\]|\p{Surrogate}/gu;

/**
 * Checks a file on the disk. Throws 400 with the name of `parameter` if the file is too large or differs from its
 * declared type.
 */
export async function checkFile(path: string, words: FileWords, parameter: string): Promise<CheckedFile> {
  const characters = [...words.name.replace(UNNAMEABLE, '_').trim()];
  const name = characters.slice(-ATTACHMENT_LIMITS.attachmentName).join('');
  if (name === '') throw badParameter(parameter, 'must have a file name');
  const head = await readHead(path);
  const type = checkedMediaType(head, words);
  if ('problem' in type) throw badParameter(parameter, type.problem);
  requireSize(type.mediaType, head, parameter);
  return { path, name, mediaType: type.mediaType, ...(await loadDigest(path)) };
}

async function readHead(path: string): Promise<Uint8Array> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD), 0, HEAD, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

function requireSize(mediaType: string, head: Uint8Array, parameter: string): void {
  if (!SIZED_IMAGES.has(mediaType)) return;
  const size = imageSize(mediaType, head);
  if (!size) throw badParameter(parameter, `is a damaged image (${mediaType})`);
  if (size.width * size.height > ATTACHMENT_LIMITS.attachmentPixels)
    throw badParameter(
      parameter,
      `has ${size.width} x ${size.height} pixels. At most ${ATTACHMENT_LIMITS.attachmentPixels} pixels are allowed`,
    );
}

async function loadDigest(path: string): Promise<{ digest: string; size: number }> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const part of createReadStream(path) as AsyncIterable<Buffer>) {
    hash.update(part);
    size += part.length;
  }
  return { digest: hash.digest('hex'), size };
}

/** Runs `work` with a file, which is removed where it is still there afterwards. */
export async function withFile<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

export function tooManyAttachments(): ApiError {
  return new ApiError(
    'conflict',
    `A feature can have at most ${LIMITS.featureAttachments} attachments. Delete one first.`,
  );
}
