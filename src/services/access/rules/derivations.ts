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
   * Says what a collection is made of, before it is published: the access rules of each source apply to it. Resolves when
   * every process knows. Without sources it is a collection of its own.
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

  /** Says that an administrator chose what settings of a collection hide, where it is a second layer of a table. */
  async choose(id: string, chosen: HidingSettings, by: string): Promise<void> {
    if (await chooseHidden(this.#documents, id, chosen, by)) await this.settle();
  }

  /** Adds sources to those of a collection. */
  async extend(id: string, sources: readonly CopySourceLayer[], by: string): Promise<void> {
    if (sources.length === 0) return;
    const all = [...this.of(id), ...sources];
    await this.record(id, [...new Map(all.map((one) => [one.id, one])).values()], by);
  }

  /** What a copy of these collections is made of: they, and what they were made of. */
  sourcesOf(layers: readonly (Collection | RuledLayer)[]): CopySourceLayer[] {
    const names = layers.flatMap((layer) => [nameSource(layer), ...this.rules().sourcesOf(layer.id)]);
    return [...new Map(names.map(({ isTwin: _, isTable: _table, ...name }) => [name.id, name])).values()];
  }
}

/** As `Derivations.choose`, in documents that announce changes of access. Whether something was written. */
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

/** Throws `forbidden`: a copy of a part would be published as the collection, or tell where the part ends. */
export function requireCompleteAccess(visible: Collection): void {
  if (!hasFeatures(visible) || visible.rule?.scope !== 'caller') return;
  throw new ApiError('forbidden', `Publishing a copy requires the right to read all of ${visible.id}.`);
}

/** The right of a caller to publish copies of layers. */
export interface CopyRight {
  /** Whether the caller can read all rows and attributes of each layer. */
  has(layers: readonly RuledLayer[]): boolean;
  /** Throws `forbidden` for layers that the caller can read in part, and `absent` for those that do not exist for the caller. */
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
