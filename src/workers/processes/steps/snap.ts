import type { FeatureProcess } from '../../../core/processes/feature-processes.js';
import { withMargins } from '../../providers/boxes.js';
import { createOverlayIndexer, LayerFaults } from '../layer-index.js';
import { listGeometries, type ProcessRun } from '../run.js';
import { joinLayers } from './sides.js';

type Snap = Extract<FeatureProcess, { kind: 'snap' }>;

/** Snaps features to the features of another source, which are projected to the input's CRS. */
export function snapFeatures(run: ProcessRun, { tolerance }: Snap): Promise<number> {
  return joinLayers(run, { carries: false }, async ({ left, right }, table) => {
    const indexRows = createOverlayIndexer(new LayerFaults(run));
    for await (const rows of left.rows()) {
      const near = await right.near(rows, (box) => [withMargins(box, tolerance, tolerance)]);
      const results = indexRows(near).snap(listGeometries(rows), tolerance, table.srsId);
      for (const [i, { values }] of rows.entries()) {
        const geometry = run.take(results[i]!, undefined);
        if (geometry) table.add(geometry, values);
      }
    }
  });
}
