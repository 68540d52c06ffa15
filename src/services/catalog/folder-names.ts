import { ApiError } from '../../core/errors/errors.js';
import type { DocumentStore } from '../../stores/state/documents.js';

const FOLDER_NAME = 'folder-name';
const BY = 'system';

/** Holder of a name: the data folder whose files contain the collection, and the job that took the name. */
interface Holder {
  readonly folder: string;
  /** Id of the job that took the name. Null if the collection existed before. */
  readonly token: string | null;
}

export interface FolderNamesDeps {
  readonly documents: Pick<DocumentStore, 'get' | 'list' | 'together'>;
  /** Names the data folder of this server; undefined if the state has no other servers. */
  readonly folder: string | undefined;
}

/**
 * Names of collections whose data is in the data folder of one server. Several servers can share the state, and their
 * catalogs do not show the data folders of the other servers. This registry gives each name once.
 */
export class FolderNames {
  constructor(private readonly deps: FolderNamesDeps) {}

  /** Whether the folder of another server has a collection of this name. */
  async isElsewhere(id: string): Promise<boolean> {
    const { documents, folder } = this.deps;
    if (folder === undefined) return false;
    const holder = await documents.get<Holder>(FOLDER_NAME, id);
    return holder !== undefined && holder.body.folder !== folder;
  }

  /** Throws `conflict` if the folder of another server has a collection of this name. */
  async refuse(id: string): Promise<void> {
    if (await this.isElsewhere(id)) throw takenElsewhere(id);
  }

  /**
   * Takes a name for a collection of this folder, before its data exists. Does nothing for a name that the folder
   * has. Throws the errors of `refuse`.
   */
  async take(id: string, token: string | null): Promise<void> {
    if (!(await this.#tryTake(id, token))) throw takenElsewhere(id);
  }

  /** Like `take`, for an existing collection. If another folder has the name, it keeps the name. */
  async keep(id: string): Promise<void> {
    await this.#tryTake(id, null);
  }

  /**
   * Like `keep`, for all collections of the folder. Needed because the state may have been in a file before, without
   * other servers.
   */
  async keepAll(ids: readonly string[]): Promise<void> {
    const { documents, folder } = this.deps;
    if (folder === undefined || ids.length === 0) return;
    const names = new Set((await documents.list<Holder>(FOLDER_NAME)).map(({ id }) => id));
    for (const id of ids) if (!names.has(id)) await this.keep(id);
  }

  async #tryTake(id: string, token: string | null): Promise<boolean> {
    const { documents, folder } = this.deps;
    if (folder === undefined) return true;
    const former = await documents.get<Holder>(FOLDER_NAME, id);
    if (former) return former.body.folder === folder;
    return documents.together([FOLDER_NAME, id], async (store) => {
      const holder = await store.get<Holder>(FOLDER_NAME, id);
      if (!holder) await store.put<Holder>(FOLDER_NAME, id, { folder, token }, BY);
      return !holder || holder.body.folder === folder;
    });
  }

  /** Releases a name of this folder. With a token, only if this token took it. */
  async release(id: string, token?: string): Promise<void> {
    const { documents, folder } = this.deps;
    if (folder === undefined) return;
    await documents.together([FOLDER_NAME, id], async (store) => {
      const holder = await store.get<Holder>(FOLDER_NAME, id);
      const isOurs = holder?.body.folder === folder && (token === undefined || holder.body.token === token);
      if (isOurs) await store.remove(FOLDER_NAME, id);
    });
  }

  /** Takes a name for a piece of work, and gives it back if that fails. */
  async during<T>(id: string, token: string, work: () => Promise<T>): Promise<T> {
    await this.take(id, token);
    try {
      return await work();
    } catch (error) {
      // A name that cannot be released remains with the folder.
      await this.release(id, token).catch(() => {});
      throw error;
    }
  }

  /** Names that the folders of other servers have. */
  async listElsewhere(): Promise<ReadonlySet<string>> {
    const { documents, folder } = this.deps;
    if (folder === undefined) return new Set();
    const holders = await documents.list<Holder>(FOLDER_NAME);
    return new Set(holders.filter(({ body }) => body.folder !== folder).map(({ id }) => id));
  }
}

const takenElsewhere = (id: string) =>
  new ApiError(
    'conflict',
    `The collection '${id}' already exists in the data folder of another server that shares the state. Choose another name.`,
  );
