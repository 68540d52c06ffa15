import type { EditOperation, FeatureInput } from '../../core/edits/edits.js';
import { ApiError } from '../../core/errors/errors.js';
import type { SentFeature } from '../../core/geoservices/geoservices-features.js';
import type { ObjectId } from '../../core/values/object-id.js';

/** Edits of a layer whose features are known by numbers. */
export interface LayerEdits {
  readonly adds: readonly SentFeature[];
  readonly updates: readonly (SentFeature & { id: ObjectId })[];
  readonly deletes: readonly ObjectId[];
}

export const countEdits = ({ adds, updates, deletes }: LayerEdits): number =>
  adds.length + updates.length + deletes.length;

/** A feature as stores take it. */
export function toFeatureInput({ values, geometry }: SentFeature): FeatureInput {
  return {
    values,
    areEsriAttributes: true,
    ...(geometry === undefined ? {} : { geometry: JSON.stringify(geometry) }),
  };
}

/** The edits in the order adds, updates, deletes. */
export function listOperations({ adds, updates, deletes }: LayerEdits): EditOperation[] {
  return [
    ...adds.map((sent) => ({ type: 'create', feature: toFeatureInput(sent) }) as const),
    ...updates.map(
      (sent) => ({ type: 'update', id: String(sent.id), feature: toFeatureInput(sent) }) as const,
    ),
    ...deletes.map((id) => ({ type: 'delete', id: String(id) }) as const),
  ];
}

/** Throws 400 if one feature occurs more than once in the updates, the deletes and the ids of the adds. */
export function requireDistinctFeatures({ updates, deletes, adds }: LayerEdits, layerId: number): void {
  const ids = [...updates.map(({ id }) => id), ...deletes, ...adds.flatMap(({ id }) => id ?? [])];
  const before = new Set<ObjectId>();
  // A repeated id does not enlarge the set.
  const twice = ids.find((id) => before.size === before.add(id).size);
  if (twice !== undefined)
    throw new ApiError(
      'invalid-parameter',
      `edits: layer ${layerId} has the feature ${twice} twice. Send each feature once.`,
    );
}
