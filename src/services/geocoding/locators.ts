import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { TaskFailure } from '../../core/errors/failure.js';
import {
  DRAFT_ENDING,
  type LocatorInfo,
  type ReferenceImport,
  type ReferenceProblem,
  type ReferenceTask,
} from '../../core/geocoding/geocoding.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { runTask, type TaskContext } from '../kit/run-task.js';

/** Name of a locator, which is that of its file. */
export const LOCATOR_NAME = /^[A-Za-z_][\w-]{0,63}$/;

const ENDING = '.sqlite';

/** Indexes of reference data in the data folder, one file each. */
export class Locators {
  readonly folder: string;
  /** Folder for uploads of reference data. */
  readonly uploads: string;

  constructor(
    private readonly pools: Pools,
    dataDir: string,
  ) {
    this.folder = join(dataDir, 'geocoding');
    this.uploads = join(dataDir, 'uploads');
  }

  /** Names, in their order. */
  async names(): Promise<string[]> {
    const files = await this.#files();
    return files
      .filter((file) => file.endsWith(ENDING))
      .map((file) => file.slice(0, -ENDING.length))
      .filter((name) => LOCATOR_NAME.test(name))
      .sort();
  }

  /** Removes what imports that were killed left behind. */
  async sweep(): Promise<void> {
    const files = await this.#files();
    if (files.some((file) => file.endsWith(DRAFT_ENDING)))
      await this.pools.run('geocoding.sweep', { folder: this.folder });
  }

  #files(): Promise<string[]> {
    return readdir(this.folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
  }

  /** The index of a locator of such a name, which may not be there. */
  indexOf(name: string): string {
    if (!LOCATOR_NAME.test(name))
      throw new TaskFailure('internal', `'${name}' is not the name of a locator.`);
    return join(this.folder, name + ENDING);
  }

  /** Facts of a locator. Rejects with `source-missing`. */
  info(x: TaskContext, name: string): Promise<LocatorInfo> {
    return runTask(x, this.pools, 'vector.locator', { index: this.indexOf(name) });
  }

  /**
   * Imports a CSV file into a locator, completely or not at all. The import is completed even if the caller
   * disconnects.
   */
  import(
    x: TaskContext,
    name: string,
    task: Omit<ReferenceTask, 'index'>,
  ): Promise<ReferenceImport | ReferenceProblem> {
    const input = { ...task, index: this.indexOf(name) };
    return runTask(x, this.pools, 'geocoding.import', input, { toTheEnd: true });
  }
}
