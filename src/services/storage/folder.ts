import { createHash } from 'node:crypto';
import { type FileHandle, link, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { TaskFailure } from '../../core/errors/failure.js';
import { makeFolder } from '../../core/files/own-folder.js';
import type { RasterSource } from '../../core/rasters/rasters.js';
import type { StoredObject } from '../../core/sources/storage.js';
import type { WrittenContainer } from '../../core/tiles/archives.js';
import { type Storage, type TakeOptions, taken } from './storage.js';

const CHUNK_BYTES = 262_144;

/** Files in the data folder of one server. */
export class FolderStorage implements Storage {
  constructor(readonly folder: string) {}

  /** A file of several tables is not one tileset. */
  publishes(container: WrittenContainer): boolean {
    return container !== 'gpkg';
  }

  async take(path: string, key: string, { isNew = false }: Partial<TakeOptions> = {}): Promise<void> {
    const place = this.locate(key);
    if (path === place) return;
    await makeFolder(dirname(place));
    if (isNew) await moveNew(path, place);
    else await rename(path, place);
    await syncFolder(dirname(place));
  }

  async stat(key: string): Promise<StoredObject | undefined> {
    const file = await open(this.locate(key)).catch(() => undefined);
    try {
      return file && (await loadState(file));
    } finally {
      await file?.close();
    }
  }

  async *read(key: string, tag: string, start: number, length: number): AsyncGenerator<Uint8Array> {
    const file = await open(this.locate(key));
    try {
      if ((await loadState(file)).tag !== tag) throw changed();
      for (let at = 0; at < length; ) {
        const size = Math.min(CHUNK_BYTES, length - at);
        const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(size), 0, size, start + at);
        if (bytesRead === 0) throw changed();
        yield buffer.subarray(0, bytesRead);
        at += bytesRead;
      }
    } finally {
      await file.close();
    }
  }

  async remove(key: string): Promise<void> {
    await rm(this.locate(key), { force: true });
  }

  async keys(begin: string): Promise<string[]> {
    const names = await readdir(join(this.folder, dirname(`${begin}x`))).catch(() => []);
    const folder = begin.slice(0, begin.lastIndexOf('/') + 1);
    return names.map((name) => folder + name).filter((key) => key.startsWith(begin));
  }

  locate(key: string): string {
    return join(this.folder, key);
  }

  locateRaster(key: string): RasterSource {
    return { kind: 'file', path: this.locate(key) };
  }

  async listPublished(): Promise<string[]> {
    return [];
  }
}

async function loadState(file: FileHandle): Promise<StoredObject> {
  const { ino, size, mtimeMs } = await file.stat();
  const tag = createHash('sha1').update(`${ino} ${size} ${mtimeMs}`).digest('base64url').slice(0, 20);
  return { bytes: size, tag };
}

/** Makes names of a folder survive a loss of power. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/**
 * Moves a file without replacing another. Unlike a rename, a link never replaces a file that was created in between.
 * Not every file system supports links.
 */
async function moveNew(path: string, place: string): Promise<void> {
  try {
    await link(path, place);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw taken();
    if (!['EPERM', 'ENOTSUP', 'ENOSYS'].includes(code)) throw error;
    return rename(path, place);
  }
  await rm(path);
}

function changed(): TaskFailure {
  return new TaskFailure('source-missing', 'The file changed before it was sent.');
}
