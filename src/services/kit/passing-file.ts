import { open, rm } from 'node:fs/promises';

const CHUNK_BYTES = 262_144;
/** Milliseconds after which an unread response is abandoned. */
const UNREAD_MS = 60_000;

/**
 * Deletes the name of a file and returns its bytes, which can be read once. The disk space is freed when the bytes have
 * been read, or after 60 s if nobody starts to read.
 */
export async function readOnceAndDelete(path: string): Promise<AsyncIterable<Uint8Array>> {
  const file = await open(path);
  await rm(path, { force: true });
  // A reader that never starts, because its client disconnected or requested only the headers, does not close the
  // file.
  const unread = setTimeout(() => void file.close(), UNREAD_MS);
  unread.unref();
  return {
    [Symbol.asyncIterator]() {
      clearTimeout(unread);
      return file.createReadStream({ highWaterMark: CHUNK_BYTES })[Symbol.asyncIterator]();
    },
  };
}
