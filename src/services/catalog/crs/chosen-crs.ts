import { createHash } from 'node:crypto';
import { announce } from '../../../stores/database/announcements.js';
import type { DocumentStore } from '../../../stores/state/documents.js';

const KIND = 'source-crs';

/** CRS of a file, or of one of its layers, that an operator chose on the running server. */
interface ChosenCrs {
  readonly file: string;
  /** `''` for a file of one layer. */
  readonly layer: string;
  readonly crs: string;
}

export interface ChosenCrsDocument extends ChosenCrs {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly by: string | null;
}

/** Stored CRSs of sources. All processes that share the state read them before they read a changed source. */
export class ChosenCrsStore {
  #byFile: ReadonlyMap<string, Readonly<Record<string, string>>> = new Map();

  constructor(private readonly documents: DocumentStore) {}

  async load(): Promise<void> {
    const documents = await this.documents.list<ChosenCrs>(KIND);
    const byFile = new Map<string, Record<string, string>>();
    for (const { body } of documents)
      byFile.set(body.file, { ...byFile.get(body.file), [body.layer]: body.crs });
    this.#byFile = byFile;
  }

  /** Chosen CRS of a file by layer, at the last `load`. */
  of(file: string): Readonly<Record<string, string>> {
    return this.#byFile.get(file) ?? {};
  }

  async find(file: string, layer: string): Promise<ChosenCrsDocument | undefined> {
    const document = await this.documents.get<ChosenCrs>(KIND, createDocumentId(file, layer));
    return document && { ...document.body, at: document.updatedAt, by: document.updatedBy };
  }

  put(file: string, layer: string, crs: string, by: string): Promise<void> {
    return this.#change(file, layer, async (store, id) => {
      await store.put<ChosenCrs>(KIND, id, { file, layer, crs }, by);
    });
  }

  /** Resolves with false if no CRS was chosen. */
  async remove(file: string, layer: string): Promise<boolean> {
    let isRemoved = false;
    await this.#change(file, layer, async (store, id) => {
      isRemoved = await store.remove(KIND, id);
    });
    return isRemoved;
  }

  /** The change and its announcement become durable together. */
  async #change(
    file: string,
    layer: string,
    work: (store: DocumentStore, id: string) => Promise<void>,
  ): Promise<void> {
    const id = createDocumentId(file, layer);
    await this.documents.together([KIND, id], async (store) => {
      await work(store, id);
      const reason = `the CRS of ${file} was changed`;
      await announce(store.db, 'catalog', { reason, changes: [{ source: file }] });
    });
  }
}

/** Paths can be longer than keys of the state. */
function createDocumentId(file: string, layer: string): string {
  return createHash('sha256')
    .update(JSON.stringify([file, layer]))
    .digest('hex')
    .slice(0, 32);
}
