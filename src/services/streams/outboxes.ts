import { hasFeatures } from '../../core/catalog/abilities.js';
import type { ChangedCollection } from '../../core/catalog/catalog-change.js';
import type { VectorCollection } from '../../core/catalog/collection.js';
import { rowImage } from '../../core/features/row-image.js';
import { formatTableName, type VectorSource } from '../../core/sources/vector-source.js';
import type { EventSource } from '../../core/streams/events.js';
import { listSourceTables } from '../catalog/related-layers.js';
import type { Outbox, PublishedTable } from './relay.js';

/** The stores of the catalog that can be edited: each has one outbox, whatever the number of its collections. */
export class Outboxes {
  /** Collections by the key of their store, and by their id. */
  readonly #collections = new Map<string, Map<string, VectorCollection>>();
  readonly #outboxes = new Map<string, Outbox>();
  readonly #keys = new Map<string, string>();

  get all(): readonly Outbox[] {
    return [...this.#outboxes.values()];
  }

  ofCollection(id: string): Outbox | undefined {
    const key = this.#keys.get(id);
    return key === undefined ? undefined : this.#outboxes.get(key);
  }

  /** Returns the outboxes that are new or have other tables, and the keys of the removed ones. */
  apply(changed: readonly ChangedCollection[]): { added: Outbox[]; removed: string[] } {
    const keys = new Set<string>();
    for (const { before } of changed) if (hasFeatures(before)) keys.add(this.#remove(before));
    for (const { after } of changed) if (hasFeatures(after)) keys.add(this.#add(after));
    const added: Outbox[] = [];
    const removed: string[] = [];
    for (const key of keys) {
      const outbox = makeOutbox(key, [...(this.#collections.get(key)?.values() ?? [])]);
      if (outbox) {
        this.#outboxes.set(key, outbox);
        added.push(outbox);
      } else if (this.#outboxes.delete(key)) removed.push(key);
    }
    return { added, removed };
  }

  #add(collection: VectorCollection): string {
    const { file, id } = collection;
    const collections = this.#collections.get(file) ?? new Map<string, VectorCollection>();
    this.#collections.set(file, collections.set(id, collection));
    this.#keys.set(id, file);
    return file;
  }

  #remove({ file, id }: VectorCollection): string {
    const collections = this.#collections.get(file);
    collections?.delete(id);
    if (collections?.size === 0) this.#collections.delete(file);
    this.#keys.delete(id);
    return file;
  }
}

/** Undefined without collections that can be edited. Their order is the same in every process. */
function makeOutbox(key: string, all: VectorCollection[]): Outbox | undefined {
  const edited = new Set(all.flatMap(({ source }) => (source.writable ? listSourceTables(source) : [])));
  const collections = all
    .filter(({ source }) => listSourceTables(source).some((table) => edited.has(table)))
    .sort((one, other) => one.layerId - other.layerId);
  const [first] = collections;
  if (!first) return undefined;
  const tables = new Map<string, PublishedTable[]>();
  for (const { source, id, layerId } of collections) {
    const table = formatTableName(source);
    const published = tables.get(table);
    const image = rowImage(source);
    if (published) published.push({ id, layerId, image });
    else tables.set(table, [{ id, layerId, image }]);
  }
  return {
    key,
    source: sourceOfStore(first.source),
    start: Math.max(0, ...collections.map(({ cursor }) => cursor)),
    collections: collections.map(({ id }) => id),
    tables,
    readers: findReaders(collections),
  };
}

/** The collections that an edit of each table may change, without those of the table itself. */
function findReaders(collections: readonly VectorCollection[]): Map<string, string[]> {
  const readers = new Map<string, string[]>();
  const isAlone = collections.every(({ source }) => !source.reads);
  if (isAlone) return readers;
  const shown = new Map<string, readonly string[]>();
  const byTable = new Map<string, VectorCollection[]>();
  for (const collection of collections) {
    const tables = listSourceTables(collection.source);
    shown.set(formatTableName(collection.source), tables);
    for (const table of tables) {
      const showing = byTable.get(table);
      if (showing) showing.push(collection);
      else byTable.set(table, [collection]);
    }
  }
  for (const table of byTable.keys()) {
    const others = (shown.get(table) ?? [table])
      .flatMap((name) => byTable.get(name) ?? [])
      .filter(({ source }) => formatTableName(source) !== table);
    if (others.length > 0) readers.set(table, [...new Set(others.map(({ id }) => id))]);
  }
  return readers;
}

function sourceOfStore({ kind, path, database }: VectorSource): EventSource {
  return path === undefined ? { kind, database } : { kind, path };
}
