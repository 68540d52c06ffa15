import { readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { hasEnded } from '../../../stores/database/instance.js';

export interface Orphanage {
  /** Folder of imported rasters. The name of a raster is the id of its job. */
  folder: string;
  /** Folder with one folder of received files for each process. Its name is the instance id of the process. */
  uploads: string;
  /** This process. */
  instance: string;
  /** Known files. Called after the files are listed, so that a later file is not among the listed ones. */
  inventory(): Promise<FileInventory>;
}

interface FileInventory {
  /** Names of the files that have a row. */
  places: ReadonlySet<string>;
  /** Jobs that have not ended, and the files that they own. */
  jobs: ReadonlySet<string>;
  files: ReadonlySet<string>;
}

/** Removes abandoned files: files of jobs that ended without a row, and files of ended processes. */
export async function removeOrphans({ folder, uploads, instance, inventory }: Orphanage): Promise<void> {
  const names = await namesIn(folder);
  const { places, jobs, files } = await inventory();
  for (const name of names) {
    const job = name.slice(0, name.indexOf('.'));
    if (!places.has(name) && !jobs.has(job)) await rm(join(folder, name), { force: true });
  }
  for (const owner of await namesIn(uploads)) {
    if (!isGone(owner, instance)) continue;
    const directory = join(uploads, owner);
    for (const name of await namesIn(directory)) {
      const path = join(directory, name);
      if (!files.has(path)) await rm(path, { force: true });
    }
    // Stays while a job still owns a file in it.
    await rmdir(directory).catch(() => {});
  }
}

/**
 * Whether the owner has ended. An earlier process with the same process id has also ended: containers assign the same
 * id each time.
 */
function isGone(owner: string, instance: string): boolean {
  if (owner === instance) return false;
  return hasEnded(owner) || owner.split(':')[1] === String(process.pid);
}

async function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}
