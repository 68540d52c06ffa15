import { readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { hasEnded } from '../../../stores/database/instance.js';

export interface Orphanage {
  /** Imported rasters, each named by its job. */
  folder: string;
  /** A folder of received files for each process, named by its instance. */
  uploads: string;
  /** This process. */
  instance: string;
  /** What is known of the files there; asked once they are listed, so that a later one is none of them. */
  inventory(): Promise<FileInventory>;
}

interface FileInventory {
  /** Names of the files that have a row. */
  places: ReadonlySet<string>;
  /** Jobs that have not ended, and the files that they own. */
  jobs: ReadonlySet<string>;
  files: ReadonlySet<string>;
}

/** Removes files that nobody will come back to: of jobs that have ended without a row, and of processes that have ended. */
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

/** A process of our own number before us has ended too: containers give the same number each time. */
function isGone(owner: string, instance: string): boolean {
  if (owner === instance) return false;
  return hasEnded(owner) || owner.split(':')[1] === String(process.pid);
}

async function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}
