import type { LayerName } from '../../../core/access/access.js';
import type { ChangedCollection } from '../../../core/catalog/catalog-change.js';
import type { Collection } from '../../../core/catalog/collection.js';
import { isPath } from '../../../core/sources/sources.js';
import type { MarkedLayer, RuleDocuments, SourceNames } from './marker.js';

/** Maximum number of tables or files recorded per layer: the newest. */
const MAX_REMEMBERED = 100;

/** The collections that are published now, and their identities (`SourceIdentities`). */
export interface PublishedSources {
  all(): readonly Collection[];
  find(id: string): Collection | undefined;
  identify(collection: Collection): string | undefined;
}

type Rules = Pick<RuleDocuments, 'access' | 'derivations'>;

/** Ids of the layers that are restricted, and of those among them that are so only because they are copies. */
export interface RestrictedLayers {
  readonly layers: ReadonlySet<string>;
  readonly copies: ReadonlySet<string>;
}

/**
 * The tables and files of restricted layers, by their identities. A collection with one of them under another name
 * cannot bypass the rules.
 */
export class RememberedSources {
  /** Ids of the collections that may also have an identity, by layer and identity. */
  #byLayer: ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>> = new Map();
  #layers: ReadonlyMap<string, readonly string[]> = new Map();

  constructor(private readonly published: PublishedSources) {}

  identityOf(id: string): string | undefined {
    const collection = this.published.find(id);
    return collection && this.published.identify(collection);
  }

  /** The restricted layers that the table or file of a collection belonged to before. `sources`: those it is a copy of. */
  findFormer(id: string, sources: readonly Pick<LayerName, 'id'>[]): readonly string[] {
    if (this.#layers.size === 0) return [];
    const collection = this.published.find(id);
    if (!collection) return [];
    const identity = this.published.identify(collection);
    if (identity === undefined || this.#byLayer.get(id)?.has(identity)) return [];
    return (this.#layers.get(identity) ?? []).filter(
      (layer) =>
        !this.#byLayer.get(layer)!.get(identity)!.has(id) &&
        !sources.some((source) => source.id === layer) &&
        !this.#isBeside(collection, layer, identity),
    );
  }

  /** True if a collection and a layer are read from one file, which can have several. */
  #isBeside(collection: Collection, layer: string, identity: string): boolean {
    const other = this.published.find(layer);
    if (!other || !isPath(collection.file) || other.file !== collection.file) return false;
    return this.published.identify(other) === identity;
  }

  /** Whether a change of the catalog has new identities to record. */
  hasNews(changed: readonly ChangedCollection[]): boolean {
    return this.#byLayer.size > 0 && changed.some(({ after }) => after !== undefined && this.#isNews(after));
  }

  #isNews(collection: Collection): boolean {
    const { id } = collection;
    const own = this.#byLayer.get(id);
    if (!own && this.#layers.size === 0) return false;
    const identity = this.published.identify(collection);
    if (identity === undefined) return false;
    if (own && !own.has(identity)) return true;
    return (this.#layers.get(identity) ?? []).some(
      (layer) =>
        layer !== id &&
        !this.#byLayer.get(layer)!.get(identity)!.has(id) &&
        this.#isBeside(collection, layer, identity),
    );
  }

  /** Updates the records of the presently restricted layers, and drops the rest. */
  learn({ layers, copies }: RestrictedLayers, stored: readonly MarkedLayer[], rules: Rules): void {
    const sharing = layers.size === 0 ? new Map<string, Collection[]>() : this.#findSharing();
    const byLayer = new Map<string, Map<string, Set<string>>>();
    for (const id of layers) {
      const known = new Map<string, Set<string>>();
      const add = (identity: string, ids: Iterable<string>) =>
        known.set(identity, new Set([...(known.get(identity) ?? []), ...ids]));
      for (const { identities = {} } of stored.filter((one) => one.id === id))
        for (const [identity, ids] of Object.entries(identities)) add(identity, ids);
      for (const [identity, ids] of this.#byLayer.get(id) ?? []) add(identity, ids);
      byLayer.set(id, known);
    }
    this.#keep(byLayer);
    const isKnownOfSource = (id: string, identity: string) =>
      (rules.derivations?.get(id)?.sources ?? []).some((source) => byLayer.get(source.id)?.has(identity));
    // Copies are last: identities that their sources have are recorded for the sources.
    for (const id of [...[...layers].filter((one) => !copies.has(one)), ...copies]) {
      const collection = this.published.find(id);
      if (!collection) continue;
      const identity = this.published.identify(collection);
      if (identity === undefined || this.#isClosed(collection, rules)) continue;
      const known = byLayer.get(id)!;
      if (copies.has(id) && isKnownOfSource(id, identity)) {
        known.delete(identity);
        continue;
      }
      const others = (sharing.get(identity) ?? []).filter(
        (other) =>
          other.id !== id &&
          !this.#isClosed(other, rules) &&
          (!known.has(identity) || this.#isBeside(other, id, identity)),
      );
      const ids = new Set([...(known.get(identity) ?? []), ...others.map((other) => other.id)]);
      // The present one is the newest.
      known.delete(identity);
      known.set(identity, ids);
      for (const first of [...known.keys()].slice(0, -MAX_REMEMBERED)) known.delete(first);
    }
    this.#keep(byLayer);
  }

  #keep(byLayer: ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>): void {
    const layers = new Map<string, string[]>();
    for (const [id, known] of byLayer)
      for (const identity of known.keys()) layers.set(identity, [...(layers.get(identity) ?? []), id]);
    this.#byLayer = byLayer;
    this.#layers = layers;
  }

  #isClosed({ id, layerId }: Collection, { access, derivations }: Rules): boolean {
    if (access.has(id) || access.has(String(layerId))) return false;
    return this.findFormer(id, derivations?.get(id)?.sources ?? []).length > 0;
  }

  /** The published collections by their identities. */
  #findSharing(): ReadonlyMap<string, readonly Collection[]> {
    const sharing = new Map<string, Collection[]>();
    for (const collection of this.published.all()) {
      const identity = this.published.identify(collection);
      if (identity === undefined) continue;
      const before = sharing.get(identity);
      if (before) before.push(collection);
      else sharing.set(identity, [collection]);
    }
    return sharing;
  }

  /** Recorded identities of a layer. Undefined if there are none. */
  namesOf(id: string): SourceNames | undefined {
    const known = this.#byLayer.get(id);
    if (!known || known.size === 0) return undefined;
    return Object.fromEntries([...known].map(([identity, ids]) => [identity, [...ids].sort()]));
  }
}
