/** Files that GDAL writes on the way to an answer. */

import { readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SCRATCH_VARIABLE } from '../engine/settings.js';
import { gdal, scratchPath } from './gdal.js';

let count = 0;

/** Files in memory, or on disk when they are large; `discard` removes all but the kept one. */
export class Scratch {
  readonly #paths: string[] = [];

  constructor(readonly onDisk: boolean) {}

  path(extension: string): string {
    count += 1;
    const stem = process.env[SCRATCH_VARIABLE] ?? join(tmpdir(), 'graticule-scratch');
    const path = this.onDisk ? `${stem}-${process.pid}-${count}${extension}` : scratchPath(extension);
    this.#paths.push(path);
    return path;
  }

  /** Reads a small file; one in memory is gone afterwards. */
  async read(path: string): Promise<string> {
    if (this.onDisk) return readFile(path, 'utf8');
    const bytes = gdal.vsimem.release(path);
    return Buffer.from(bytes).toString('utf8');
  }

  async write(path: string, text: string): Promise<void> {
    if (this.onDisk) await writeFile(path, text);
    else gdal.vsimem.set(Buffer.from(text), path);
  }

  /** The file is the caller's from here on. */
  keep(path: string): string {
    this.#paths.splice(this.#paths.indexOf(path), 1);
    return path;
  }

  async discard(): Promise<void> {
    for (const path of this.#paths.splice(0)) {
      if (this.onDisk) await rm(path, { force: true });
      else releaseIfThere(path);
    }
  }
}

function releaseIfThere(path: string): void {
  try {
    gdal.vsimem.release(path);
  } catch {
    // It was never written, or is released already.
  }
}
