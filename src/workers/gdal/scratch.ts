/** Temporary files of GDAL. */

import { mkdtempSync, rmSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { heldResources } from '../../core/observability/held.js';
import { scratchStem } from '../engine/settings.js';
import { type Dataset, gdal, scratchPath } from './gdal.js';

let count = 0;

/** Opens a dataset of files that `open` writes into a folder. The folder is removed when the dataset is closed, and on errors. */
export async function openInScratch(
  kind: string,
  open: (folder: string) => Promise<Dataset>,
): Promise<Dataset> {
  const folder = mkdtempSync(`${scratchStem()}-${kind}-`);
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const dataset = await open(folder);
    const token = {};
    heldResources.opened('temporary-folder', folder, token);
    const close = dataset.close.bind(dataset);
    dataset.close = () => {
      close();
      remove();
      heldResources.closed(token);
    };
    return dataset;
  } catch (error) {
    remove();
    throw error;
  }
}

/** Files in memory, or on disk when they are large; `discard` removes all but the kept one. */
export class Scratch {
  readonly #paths: string[] = [];

  constructor(readonly onDisk: boolean) {}

  path(extension: string): string {
    count += 1;
    const path = this.onDisk
      ? `${scratchStem()}-${process.pid}-${count}${extension}`
      : scratchPath(extension);
    this.#paths.push(path);
    return path;
  }

  /** Reads a small file. A file in memory is deleted afterwards. */
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
