import type { BatchedFeature, DataFrame, FeatureChange, Geometry, SnapshotFeature } from './frames.js';

/** A GeoJSON feature of a layer. */
export interface MirroredFeature {
  type: 'Feature';
  id: string;
  layerId: number;
  geometry: Geometry | null;
  properties: Record<string, unknown>;
}

/**
 * The current features of one subscription, updated from its frames. It is empty at first, which is correct for a
 * subscription with a snapshot, or one that starts before the first feature exists.
 */
export class FeatureMirror {
  #features = new Map<string, MirroredFeature>();
  /** Features of the snapshot in progress. The old features stay until it ends. */
  #next: Map<string, MirroredFeature> | undefined;
  #seen = -1;
  #stale = false;
  #complete = true;

  /** By `layerId/featureId`. */
  get features(): ReadonlyMap<string, MirroredFeature> {
    return this.#features;
  }

  /** Whether changes were lost and no snapshot has arrived since. */
  get stale(): boolean {
    return this.#stale;
  }

  /** False if the last snapshot could not contain all features. */
  get complete(): boolean {
    return this.#complete;
  }

  /** Applies a frame of the subscription. A repeated change is ignored. */
  apply(frame: DataFrame): void {
    switch (frame.type) {
      case 'feature-change':
        return this.#change(frame);
      case 'gap':
        this.#seen = frame.cursor;
        this.#stale = true;
        return;
      case 'snapshot-begin':
        this.#seen = frame.cursor;
        this.#next = new Map();
        return;
      case 'snapshot-feature':
        this.#next?.set(formatFeatureKey(frame), buildFeature(frame));
        return;
      case 'snapshot':
        this.#seen = frame.cursor;
        this.#features = new Map(frame.features.map((one) => [`${one.layerId}/${one.id}`, batched(one)]));
        this.#next = undefined;
        this.#stale = false;
        this.#complete = frame.complete;
        return;
      case 'snapshot-end':
        this.#features = this.#next ?? this.#features;
        this.#next = undefined;
        this.#stale = false;
        this.#complete = frame.complete;
    }
  }

  #change(change: FeatureChange): void {
    if (change.cursor <= this.#seen) return;
    this.#seen = change.cursor;
    const features = this.#next ?? this.#features;
    if (change.operation === 'delete') features.delete(formatFeatureKey(change));
    else features.set(formatFeatureKey(change), buildFeature(change));
  }
}

function batched({ id, layerId, feature: { geometry, properties } }: BatchedFeature): MirroredFeature {
  return { type: 'Feature', id, layerId, geometry, properties };
}

/** Names a feature among those of all layers. */
export function formatFeatureKey({ layerId, featureId }: { layerId: number; featureId: string }): string {
  return `${layerId}/${featureId}`;
}

function buildFeature(frame: FeatureChange | SnapshotFeature): MirroredFeature {
  const { layerId, featureId, geometry = null, attributes = {} } = frame;
  return { type: 'Feature', id: featureId, layerId, geometry, properties: attributes };
}
