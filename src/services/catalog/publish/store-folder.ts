import { createHash } from 'node:crypto';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { SourceFile } from './find.js';

/** Chunks and metadata of one store. */
const MAX_ENTRIES = 1_000_000;
/** Maximum number of entries that are checked one by one. Folders and metadata show changes of larger stores. */
const MAX_STATS = 20_000;
/** Bytes of one metadata document. */
const MAX_METADATA = 16 << 20;

/** Walks the folder of a Zarr store. No entry can be a link to another folder. */
export async function readStore(path: string): Promise<SourceFile> {
  const contents: Found = { entries: 0, hash: createHash('sha1').update(path) };
  try {
    await look(path, contents);
  } catch (error) {
    if (error instanceof FolderRefusal) return { path, problem: error.message };
    return { path, problem: 'The folder cannot be read.' };
  }
  return { path, version: contents.hash.digest('hex').slice(0, 12) };
}

interface Found {
  entries: number;
  hash: ReturnType<typeof createHash>;
}

class FolderRefusal extends Error {}

async function look(folder: string, contents: Found): Promise<void> {
  await note(folder, contents);
  for (const entry of (await readdir(folder, { withFileTypes: true })).sort(byName)) {
    contents.entries += 1;
    if (contents.entries > MAX_ENTRIES) throw new FolderRefusal('The store has too many files.');
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await look(path, contents);
    else if (!entry.isFile())
      throw new FolderRefusal('The store contains a link, or another entry that is not a file.');
    else if (entry.name.startsWith('.z')) {
      const size = await note(path, contents);
      if (size > MAX_METADATA) throw new FolderRefusal('The metadata of the store is too large.');
    } else if (contents.entries <= MAX_STATS) await note(path, contents);
  }
}

const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);

async function note(path: string, { hash }: Found): Promise<number> {
  const { ino, size, mtimeMs } = await lstat(path);
  hash.update(`${path}\0${ino} ${size} ${mtimeMs}\0`);
  return size;
}
