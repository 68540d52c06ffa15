import { randomUUID } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ChangedCollection } from '../../core/catalog/catalog-change.js';
import type { LayerSettings } from '../../core/catalog/layer-settings.js';
import { ApiError } from '../../core/errors/errors.js';
import type { DocumentStore } from '../../stores/state/documents.js';
import type { StateCipher } from '../access/keys/state-cipher.js';
import {
  collectMarks,
  findLost,
  hashSource,
  isFilled,
  type LostMarks,
  LostRestrictions,
  type MarkedLayer,
  omitOpened,
  type RuleDocuments,
  readMarker,
  writeMarker,
} from '../access/rules/marker.js';
import { type PublishedSources, RememberedSources } from '../access/rules/remembered-sources.js';
import { replaceFile } from '../kit/replace-file.js';
import { LAYER_KIND } from './layers/layers.js';

/** Name of the marker file in the data folder. */
export const MARKER_FILE = 'restricted.json';

const IDENTITY_KIND = 'state identity';
const IDENTITY_ID = 'id';

export interface MarkerFileDeps {
  /** Path of the file. */
  readonly path: string;
  readonly documents: DocumentStore;
  readonly sealing: StateCipher;
  readonly collections: {
    /** Ids of collections by their sources. */
    holders(): Promise<ReadonlyMap<string, string>>;
    slugOf(layerId: number): Promise<string | undefined>;
  };
  readonly published: PublishedSources;
  onError(error: unknown): void;
}

/**
 * The file in the data folder that lists the restricted layers, in case the state with the rules is lost. Each process
 * of a server writes it: from the same rules they write the same text.
 */
export class MarkerFile {
  readonly #sources = new Map<string, string>();
  #state: string | undefined;
  #lost: readonly LostMarks[] = [];
  #last: Promise<unknown> = Promise.resolve();
  readonly #remembered: RememberedSources;

  constructor(private readonly deps: MarkerFileDeps) {
    this.#remembered = new RememberedSources(deps.published);
  }

  /** True if a change of the catalog must be written into the file. */
  hasNews(changed: readonly ChangedCollection[]): boolean {
    return this.#remembered.hasNews(changed);
  }

  /** Records the source of an id. Call it before the collection is published. */
  learnSource(id: string, holder: string): void {
    this.#sources.set(id, hashSource(holder));
  }

  /** Brings the file up to date with the rules; returns what other states restricted and this one does not. */
  update(rules: RuleDocuments): Promise<LostRestrictions> {
    const updated = this.#last.then(() => this.#update(rules));
    this.#last = updated.catch(() => undefined);
    return updated;
  }

  async #update(rules: RuleDocuments): Promise<LostRestrictions> {
    const { path, sealing, documents, collections, onError } = this.deps;
    this.#state ??= await readIdentity(documents);
    for (const [holder, id] of await collections.holders()) this.learnSource(id, holder);
    const findSource = (id: string) => this.#sources.get(id);
    const ids = await this.#numberedIds(rules);
    const layers = await documents.list<LayerSettings>(LAYER_KIND);
    const settings = new Map(layers.map(({ id, body }) => [id, body]));
    const { copies, ...named } = collectMarks(rules, settings, (name) => ids.get(name), findSource);
    const before = await readText(path);
    const read = before === undefined ? undefined : readMarker(before, sealing);
    const stored = read?.marker.state === this.#state ? read.marker.layers : [];
    this.#remembered.learn({ layers: new Set(named.layers.map(({ id }) => id)), copies }, stored, rules);
    const marks = { ...named, layers: named.layers.map((layer) => this.#withIdentities(layer)) };
    // Deleting the file while the server runs opens no layer.
    const found = before === undefined ? this.#lost : findLost(read, this.#state, marks);
    const lost = omitOpened(found, rules, findSource, (name) => ids.get(name));
    this.#lost = lost;
    const text = writeMarker({ state: this.#state, ...marks, lost }, sealing);
    if (text !== before && (before !== undefined || isFilled(marks) || lost.length > 0))
      // The rules also apply without their marker.
      await writeDurably(path, text).catch(onError);
    const signature = JSON.stringify([lost, marks.layers.map(({ identities }) => identities)]);
    return new LostRestrictions(lost, findSource, this.#remembered, signature);
  }

  #withIdentities(layer: MarkedLayer): MarkedLayer {
    const identities = this.#remembered.namesOf(layer.id);
    return identities ? { ...layer, identities } : layer;
  }

  /** Ids of the layers that rules name by number. */
  async #numberedIds({ rows, masks, access }: RuleDocuments): Promise<ReadonlyMap<string, string>> {
    const names = new Set([...[...rows, ...masks].map(({ layer }) => layer), ...access.keys()]);
    const numbers = [...names].filter((name) => /^\d{1,9}$/.test(name));
    const ids = await Promise.all(
      numbers.map(async (name) => [name, await this.deps.collections.slugOf(Number(name))] as const),
    );
    return new Map(ids.flatMap(([name, id]) => (id === undefined ? [] : [[name, id]])));
  }
}

/** The random id of a state, made on first use. If several processes make one at the same time, one wins. */
export async function readIdentity(documents: Pick<DocumentStore, 'get' | 'create'>): Promise<string> {
  const stored = async () => (await documents.get<{ id: string }>(IDENTITY_KIND, IDENTITY_ID))?.body.id;
  const before = await stored();
  if (before !== undefined) return before;
  const id = randomUUID();
  try {
    await documents.create(IDENTITY_KIND, IDENTITY_ID, { id }, 'system');
    return id;
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'conflict')) throw error;
    return (await stored()) ?? id;
  }
}

/** Undefined if there is no file. A file that cannot be read counts as damaged: ''. */
async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : '';
  }
}

async function writeDurably(path: string, text: string): Promise<void> {
  await replaceFile(path, text);
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
