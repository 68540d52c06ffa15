import { createHash } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { basename } from 'node:path';
import { notFound } from '../../../core/errors/errors.js';
import { isBelow } from '../../../core/files/folders.js';
import type { Exchange, Reply } from '../../../core/http/operation.js';
import type { StoredObject } from '../../../core/sources/storage.js';
import type { Storage } from '../../../services/storage/storage.js';
import { parseByteRange, partHeaders } from './range.js';

export interface ServedFile {
  path: string;
  mediaType: string;
  /** The folder that the file must lie in, links followed; anywhere when absent. */
  root?: string;
}

const CHUNK = 262_144;

/**
 * A file or one range of it (RFC 9110, 14). Several ranges are answered with the whole file, as 14.2 allows. Throws 404
 * for what is no plain file any more, or lies outside of its root, and 416.
 */
export async function fileReply(x: Exchange, file: ServedFile): Promise<Reply> {
  const handle = await opened(file);
  const { size, ...state } = await handle.stat().finally(() => handle.close());
  const etag = buildTag({ size, ...state });
  const { mediaType, path } = file;
  const about = { size, etag, mediaType, name: basename(path) };
  return partReply(x, about, (start, length) => bytes(file, etag, start, length));
}

export interface ServedObject extends StoredObject {
  storage: Pick<Storage, 'read'>;
  key: string;
  mediaType: string;
}

/** As `fileReply`, of an object in a bucket. */
export function objectReply(x: Exchange, { bytes: size, tag, storage, key, mediaType }: ServedObject): Reply {
  const etag = createHash('sha1').update(tag).digest('base64url').slice(0, 20);
  const about = { size, etag, mediaType, name: basename(key) };
  return partReply(x, about, (start, length) => storage.read(key, tag, start, length));
}

function partReply(
  x: Exchange,
  { size, etag, mediaType, name }: { size: number; etag: string; mediaType: string; name: string },
  read: (start: number, length: number) => AsyncIterable<Uint8Array>,
): Reply {
  const range = parseByteRange(x, size, etag);
  const [start, end] = range ?? [0, size - 1];
  const length = end - start + 1;
  return {
    status: range ? 206 : 200,
    mediaType,
    etag,
    cacheControl: 'no-cache',
    length,
    body: read(start, length),
    headers: {
      'content-disposition': `attachment; filename="${name.replace(/[^\w.-]/g, '_')}"`,
      ...partHeaders(range, size),
    },
  };
}

function buildTag({ ino, size, mtimeMs }: Pick<Stats, 'ino' | 'size' | 'mtimeMs'>): string {
  return createHash('sha1').update(`${ino} ${size} ${mtimeMs}`).digest('base64url').slice(0, 20);
}

async function opened({ path, root }: ServedFile): Promise<FileHandle> {
  const real = await realpath(path).catch(() => undefined);
  const inside = real !== undefined && (root === undefined || isBelow(real, root));
  // The file may have become a link, or a pipe that nobody writes to, since it was published.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = inside ? await open(real, flags).catch(() => undefined) : undefined;
  if (!handle) throw notFound('file', basename(path));
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw notFound('file', basename(path));
}

/** Exactly this part of the file in the state that the tag names. Nothing is open before the first byte is asked for. */
async function* bytes(
  file: ServedFile,
  etag: string,
  start: number,
  length: number,
): AsyncGenerator<Uint8Array> {
  const handle = await opened(file);
  try {
    if (buildTag(await handle.stat()) !== etag) throw new Error('the file changed before it was sent');
    for (let at = 0; at < length; ) {
      const want = Math.min(CHUNK, length - at);
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(want), 0, want, start + at);
      if (bytesRead === 0) throw new Error('the file became shorter while it was sent');
      yield buffer.subarray(0, bytesRead);
      at += bytesRead;
    }
  } finally {
    await handle.close();
  }
}
