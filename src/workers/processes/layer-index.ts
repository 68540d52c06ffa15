import type { FeatureRow } from '../../core/features/features.js';
import { type GeometryResult, OverlayIndex } from '../../native/processing.js';
import { indexOver } from './layers.js';
import type { ProcessRun } from './run.js';

/** Faults of features. A feature that GEOS cannot process counts as one fault, however often it occurs. */
export class LayerFaults {
  readonly #ids = new Set<FeatureRow['id']>();

  constructor(private readonly run: ProcessRun) {}

  take(result: GeometryResult, { id }: FeatureRow): Uint8Array | null | undefined {
    if (typeof result !== 'string') return result;
    if (!this.#ids.has(id)) this.run.take(result, undefined);
    this.#ids.add(id);
    return undefined;
  }
}

/** Returns a function that indexes rows for overlays. Rows that GEOS cannot store are omitted and counted in `faults`. */
export function createOverlayIndexer(faults: LayerFaults): (rows: readonly FeatureRow[]) => OverlayIndex {
  return indexOver((blobs, rows) => {
    const index = new OverlayIndex().add(blobs);
    index.reasons.forEach((reason, i) => {
      if (reason !== null) faults.take(reason, rows[i]!);
    });
    return index;
  });
}
