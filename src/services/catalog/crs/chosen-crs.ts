import { createHash } from 'node:crypto';
import { announce } from '../../../stores/database/announcements.js';
import type { DocumentStore } from '../../../stores/state/documents.js';

const KIND = 'source-crs';
/** Characters of the name of an object in a manifest. */
const MAX_NAME = 200;

/** CRS of a file, or of one of its layers, that an operator chose on the running server. */
export interface ChosenCrs {
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
    return this.#change(file, layer, (store) => putChosenCrs(store, { file, layer, crs }, by));
  }

  /** Resolves with false if no CRS was chosen. */
  async remove(file: string, layer: string): Promise<boolean> {
    let isRemoved = false;
    await this.#change(file, layer, async (store) => {
      isRemoved = await removeChosenCrs(store, { file, layer });
    });
    return isRemoved;
  }

  /** The change and its announcement become durable together. */
  async #change(file: string, layer: string, work: (store: DocumentStore) => Promise<void>): Promise<void> {
    await this.documents.together([KIND, createDocumentId(file, layer)], work);
  }
}

export async function listChosenCrs(documents: DocumentStore): Promise<ChosenCrs[]> {
  return (await documents.list<ChosenCrs>(KIND)).map(({ body }) => body);
}

/** Name in manifests: the path, with the layer of a file of several layers. */
export function nameChosenCrs({ file, layer }: Pick<ChosenCrs, 'file' | 'layer'>): string {
  const name = layer === '' ? file : `${file}#${layer}`;
  return name.length > MAX_NAME ? createDocumentId(file, layer) : name;
}

/** Writes and announces a CRS. Call it in a transaction. */
export async function putChosenCrs(
  store: DocumentStore,
  { file, layer, crs }: ChosenCrs,
  by: string,
): Promise<void> {
  await store.put<ChosenCrs>(KIND, createDocumentId(file, layer), { file, layer, crs }, by);
  await announceFile(store, file);
}

/** Removes a CRS in a transaction. Resolves with false if none was chosen. */
export async function removeChosenCrs(
  store: DocumentStore,
  { file, layer }: Pick<ChosenCrs, 'file' | 'layer'>,
): Promise<boolean> {
  const isRemoved = await store.remove(KIND, createDocumentId(file, layer));
  await announceFile(store, file);
  return isRemoved;
}

async function announceFile({ db }: DocumentStore, file: string): Promise<void> {
  const reason = `the CRS of ${file} was changed`;
  await announce(db, 'catalog', { reason, changes: [{ source: file }] });
}

/** Paths can be longer than keys of the state. */
function createDocumentId(file: string, layer: string): string {
  return createHash('sha256')
    .update(JSON.stringify([file, layer]))
    .digest('hex')
    .slice(0, 32);
}
