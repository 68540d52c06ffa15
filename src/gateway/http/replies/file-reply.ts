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
  /** Folder that must contain the file after links are resolved; any folder if absent. */
  root?: string;
}

const CHUNK = 262_144;

/**
 * Replies with a file or one range of it (RFC 9110, 14). A request for several ranges receives the whole file, as
 * 14.2 allows. Throws 404 if the path is no longer a regular file or lies outside its root, and 416 for an invalid
 * range.
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

/** As `fileReply`, for an object in a bucket. */
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
  // Since it was published, the file may have been replaced by a link, or by a pipe without a writer.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = inside ? await open(real, flags).catch(() => undefined) : undefined;
  if (!handle) throw notFound('file', basename(path));
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw notFound('file', basename(path));
}

/**
 * Reads one range of the file, in the version that the tag identifies. The file is opened when the first byte is
 * read.
 */
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
