import { createHash } from 'node:crypto';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { SourceFile } from './find.js';

/** Chunks and metadata of one store. */
const MAX_ENTRIES = 1_000_000;
/** Up to this many entries are looked at one by one: of larger stores folders and metadata tell that they changed. */
const MAX_STATS = 20_000;
/** Bytes of one metadata document. */
const MAX_METADATA = 16 << 20;

/** Looks through the folder of a Zarr store: nothing in it may lead elsewhere. */
export async function readStore(path: string): Promise<SourceFile> {
  const found: Found = { entries: 0, hash: createHash('sha1').update(path) };
  try {
    await look(path, found);
  } catch (error) {
    if (error instanceof Refused) return { path, problem: error.message };
    return { path, problem: 'The folder cannot be read.' };
  }
  return { path, version: found.hash.digest('hex').slice(0, 12) };
}

interface Found {
  entries: number;
  hash: ReturnType<typeof createHash>;
}

class Refused extends Error {}

async function look(folder: string, found: Found): Promise<void> {
  await note(folder, found);
  for (const entry of (await readdir(folder, { withFileTypes: true })).sort(byName)) {
    found.entries += 1;
    if (found.entries > MAX_ENTRIES) throw new Refused('The store has too many files.');
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await look(path, found);
    else if (!entry.isFile()) throw new Refused('The store holds a link, or something else that is no file.');
    else if (entry.name.startsWith('.z')) {
      const size = await note(path, found);
      if (size > MAX_METADATA) throw new Refused('The metadata of the store is too large.');
    } else if (found.entries <= MAX_STATS) await note(path, found);
  }
}

const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);

async function note(path: string, { hash }: Found): Promise<number> {
  const { ino, size, mtimeMs } = await lstat(path);
  hash.update(`${path}\0${ino} ${size} ${mtimeMs}\0`);
  return size;
}
