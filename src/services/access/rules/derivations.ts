import { SERVICE } from '../../../core/access/access.js';
import { hasFeatures } from '../../../core/catalog/abilities.js';
import type { Collection } from '../../../core/catalog/collection.js';
import { ApiError } from '../../../core/errors/errors.js';
import type { Principal } from '../../../core/http/operation.js';
import type { DocumentStore } from '../../../stores/state/documents.js';
import { wholeRightError } from '../access.js';
import { type HidingSettings, hiddenBySettings } from './hidden.js';
import { hasWhole, mayReadSome } from './policy.js';
import {
  type CopySourceLayer,
  DERIVATION_KIND,
  type Derivation,
  type RuledLayer,
  type RuleSet,
} from './rules.js';

/** The collections that published copies were made of. */
export class Derivations {
  readonly #documents: DocumentStore;

  constructor(
    documents: DocumentStore,
    private readonly rules: () => RuleSet,
    private readonly settle: () => Promise<void>,
  ) {
    this.#documents = documents.announcing('access');
  }

  /**
   * Records the sources of a collection before it is published. The access rules of each source apply to the
   * collection. Resolves when every process has the record. Without sources, the collection is independent.
   */
  async record(id: string, sources: readonly CopySourceLayer[], by: string): Promise<void> {
    if (sources.length > 0) await this.#documents.put(DERIVATION_KIND, id, { sources }, by);
    else if (this.rules().sourcesOf(id).length === 0) return;
    else await this.#documents.remove(DERIVATION_KIND, id);
    await this.settle();
  }

  /** The layers that a collection is a copy of. */
  of(id: string): readonly CopySourceLayer[] {
    return this.rules().sourcesOf(id);
  }

  /** Records that an administrator chose the hidden parts of a collection that is a second layer of a table. */
  async choose(id: string, chosen: HidingSettings, by: string): Promise<void> {
    if (await chooseHidden(this.#documents, id, chosen, by)) await this.settle();
  }

  /** Adds sources to those of a collection. */
  async extend(id: string, sources: readonly CopySourceLayer[], by: string): Promise<void> {
    if (sources.length === 0) return;
    const all = [...this.of(id), ...sources];
    await this.record(id, [...new Map(all.map((one) => [one.id, one])).values()], by);
  }

  /** Sources of a copy of these collections: the collections, and their own sources. */
  sourcesOf(layers: readonly (Collection | RuledLayer)[]): CopySourceLayer[] {
    const names = layers.flatMap((layer) => [nameSource(layer), ...this.rules().sourcesOf(layer.id)]);
    return [...new Map(names.map(({ isTwin: _, isTable: _table, ...name }) => [name.id, name])).values()];
  }
}

/**
 * Like `Derivations.choose`, in documents that announce changes of access. Returns whether a document was written.
 */
export async function chooseHidden(
  documents: DocumentStore,
  id: string,
  chosen: HidingSettings,
  by: string,
): Promise<boolean> {
  const stored = await documents.get<Derivation>(DERIVATION_KIND, id);
  if (!stored?.body.sources.some(({ isTable }) => isTable)) return false;
  const { sources, chosen: before } = stored.body;
  await documents.put(DERIVATION_KIND, id, { sources, chosen: { ...before, ...chosen } }, by);
  return true;
}

export function nameSource(layer: Collection | RuledLayer): CopySourceLayer {
  const { id, layerId, service = SERVICE } = layer;
  return { id, layerId, service, ...('kind' in layer ? { hidden: hiddenBySettings(layer) } : {}) };
}

/**
 * Throws `forbidden` for an incomplete view: a partial copy would be published as the complete collection, or would
 * reveal the limit of the view.
 */
export function requireCompleteAccess(visible: Collection): void {
  if (!hasFeatures(visible) || visible.rule?.scope !== 'caller') return;
  throw new ApiError('forbidden', `Publishing a copy requires the right to read all of ${visible.id}.`);
}

/** The right of a caller to publish copies of layers. */
export interface CopyRight {
  /** Whether the caller can read all rows and attributes of each layer. */
  has(layers: readonly RuledLayer[]): boolean;
  /**
   * Throws `forbidden` for layers that the caller can read only in part, and `absent` for layers that do not exist
   * for the caller.
   */
  require(layers: readonly RuledLayer[], absent: ApiError): void;
}

export function copyRight(principal: Principal, rules: RuleSet): CopyRight {
  const isRefused = (layer: RuledLayer) => !hasWhole(principal, layer, 'read', rules);
  return {
    has: (layers) => !layers.some(isRefused),
    require(layers, absent) {
      const refused = layers.filter(isRefused);
      if (refused.length === 0) return;
      if (refused.every((layer) => mayReadSome(principal, layer, rules)))
        throw wholeRightError(refused[0]!.id, 'read');
      throw absent;
    },
  };
}
