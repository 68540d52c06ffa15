import { open, rm } from 'node:fs/promises';

const CHUNK_BYTES = 262_144;
/** Milliseconds after which an unread response is abandoned. */
const UNREAD_MS = 60_000;

/** The bytes of a file that is read once: it has no name any more when this returns, and no space once it is read. */
export async function passingFile(path: string): Promise<AsyncIterable<Uint8Array>> {
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
