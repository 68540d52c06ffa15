import { hasFeatures } from '../../../core/catalog/abilities.js';
import type { CatalogSnapshot } from '../../../core/catalog/collection.js';
import type { Relationship } from '../../../core/catalog/layer-settings.js';
import type { GeoServicesRelationship } from '../../../core/exchange/ingest.js';
import type { Layers } from '../../catalog/layers/layers.js';
import type { RemoteInput } from '../import-input.js';
import type { GeoServicesSource } from '../remote/geoservices-source.js';
import { shownCollection } from '../remote/shown-collection.js';
import { IMPORT } from '../remote/source-style.js';

/** A layer that was imported, and what its server said of its relationships. */
export interface RelatedLayer {
  readonly id: string;
  readonly input: RemoteInput<GeoServicesSource>;
  readonly relationships: readonly GeoServicesRelationship[];
}

/** Relationships of layers of GeoServices, as settings of the layers that they became. */
export class BatchRelationships {
  constructor(
    private readonly layers: Layers,
    private readonly catalog: () => CatalogSnapshot,
  ) {}

  /** Imports relationships whose two ends exist, and returns warnings about the rest. Can be called again. */
  async apply(ends: readonly RelatedLayer[], signal: AbortSignal): Promise<string[]> {
    const warnings: string[] = [];
    const show = (end: RelatedLayer) => shownCollection(this.catalog, end.input.table, hasFeatures, signal);
    for (const end of ends) {
      const relationships: Relationship[] = [];
      for (const one of end.relationships) {
        const other = otherEnd(one, end, ends);
        if (other) relationships.push(buildSetting(one, other.keyField, (await show(other.layer)).layerId));
        else
          warnings.push(
            `The relationship ${one.name} of ${end.id} was omitted: its other layer was not imported.`,
          );
      }
      if (relationships.length > 0) await this.layers.put(await show(end), { relationships }, IMPORT);
    }
    return warnings;
  }
}

function otherEnd(
  { id, role, relatedLayerId }: GeoServicesRelationship,
  { input }: RelatedLayer,
  ends: readonly RelatedLayer[],
): { layer: RelatedLayer; keyField: string } | undefined {
  for (const layer of ends) {
    const { serviceUrl, layerId } = layer.input.remote;
    if (serviceUrl !== input.remote.serviceUrl || layerId !== relatedLayerId) continue;
    const other = layer.relationships.find(
      (one) => one.id === id && one.role !== role && one.relatedLayerId === input.remote.layerId,
    );
    if (other) return { layer, keyField: other.keyField };
  }
  return undefined;
}

function buildSetting(
  { id, name, cardinality, role, keyField }: GeoServicesRelationship,
  otherField: string,
  relatedLayerId: number,
): Relationship {
  const [originField, destinationField] = role === 'origin' ? [keyField, otherField] : [otherField, keyField];
  return {
    id: String(id),
    name,
    description: null,
    cardinality,
    role,
    originField,
    destinationField,
    relatedLayerId,
    esriRelationshipId: id,
  };
}
