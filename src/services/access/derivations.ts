import { hasFeatures } from '../../core/abilities.js';
import { SERVICE } from '../../core/access.js';
import type { Collection } from '../../core/collection.js';
import { ApiError } from '../../core/errors.js';
import type { DocumentStore } from '../../stores/documents.js';
import { hiddenBySettings } from './hidden.js';
import { DERIVATION_KIND, type RuledLayer, type RuleSet, type SourceLayer } from './rules.js';

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
  async record(id: string, sources: readonly SourceLayer[], by: string): Promise<void> {
    if (sources.length > 0) await this.#documents.put(DERIVATION_KIND, id, { sources }, by);
    else if (this.rules().sourcesOf(id).length === 0) return;
    else await this.#documents.remove(DERIVATION_KIND, id);
    await this.settle();
  }

  /** What a copy of these collections is made of: they, and what they were made of. */
  sourcesOf(layers: readonly (Collection | RuledLayer)[]): SourceLayer[] {
    const names = layers.flatMap((layer) => [nameSource(layer), ...this.rules().sourcesOf(layer.id)]);
    return [...new Map(names.map((name) => [name.id, name])).values()];
  }
}

function nameSource(layer: Collection | RuledLayer): SourceLayer {
  const { id, layerId, service = SERVICE } = layer;
  return { id, layerId, service, ...('kind' in layer ? { hidden: hiddenBySettings(layer) } : {}) };
}

/** Throws `forbidden`: a copy of a part would be published as the collection, or tell where the part ends. */
export function requireAllOf(visible: Collection): void {
  if (!hasFeatures(visible) || visible.rule?.scope !== 'caller') return;
  throw new ApiError(
    'forbidden',
    `You can read only a part of ${visible.id}. To publish a copy, you must be able to read all of it.`,
  );
}
