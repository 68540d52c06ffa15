import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { hasStoredTiles } from '../../../core/catalog/abilities.js';
import type { Collection } from '../../../core/catalog/collection.js';
import { ApiError } from '../../../core/errors/errors.js';
import { ARCHIVE_MEDIA_TYPES } from '../../../core/tiles/archives.js';
import type { FolderNames } from '../../catalog/folder-names.js';
import type { JobContext } from '../../jobs/kinds.js';
import { PUBLISHED, type Storage } from '../../storage/storage.js';

export interface TilesetsDeps {
  dataDir: string;
  storage: Pick<Storage, 'take' | 'locate'>;
  /** Published collections. */
  collections(): readonly Collection[];
  /**
   * Names of collections in the data folders of several servers. Undefined if the archives are not in data folders.
   */
  names?: Pick<FolderNames, 'refuse' | 'during'>;
  /** Publishes the files in the folder of published archives. */
  reload(reason: string): Promise<void>;
}

/** Tilesets that were imported: PMTiles archives among the published ones, by the names of their collections. */
export class Tilesets {
  constructor(private readonly deps: TilesetsDeps) {}

  /** The folder of archives in progress. */
  get drafts(): string {
    return join(this.deps.dataDir, 'archives');
  }

  /** Throws `conflict` for the id of a collection that is not an imported tileset. */
  refuseTaken(name: string): void {
    const present = this.deps.collections().find(({ id }) => id === name);
    if (present && !this.#isImported(present, name))
      throw new ApiError(
        'conflict',
        `The collection '${name}' already exists, and is not an imported tileset. Choose another tilesetId.`,
      );
  }

  /** Like `refuseTaken`, also for a tileset in the data folder of another server. */
  async refuseTakenAnywhere(name: string): Promise<void> {
    this.refuseTaken(name);
    await this.deps.names?.refuse(name);
  }

  /** The collection that an import created. Undefined while it is not published here. */
  collectionOf(name: string): Collection | undefined {
    return this.deps.collections().find((one) => this.#isImported(one, name));
  }

  #isImported(collection: Collection, name: string): boolean {
    return hasStoredTiles(collection) && collection.file === this.deps.storage.locate(buildKey(name));
  }

  /**
   * Publishes an archive that a job has completed, under a name that no other data folder has. It replaces the archive of
   * this name. Can be called again: a file that is not there any more was moved by a run before.
   */
  async publish(
    path: string,
    name: string,
    { id, signal }: Pick<JobContext, 'id' | 'signal'>,
  ): Promise<void> {
    const { storage, reload, names } = this.deps;
    const move = async () => {
      if (existsSync(path))
        await storage.take(path, buildKey(name), { mediaType: ARCHIVE_MEDIA_TYPES.pmtiles, signal });
    };
    await (names ? names.during(name, id, move) : move());
    await reload(`${name}.pmtiles was published`);
  }
}

const buildKey = (name: string) => `${PUBLISHED}${name}.pmtiles`;
