import type { FeatureProcess } from '../../core/feature-processes.js';
import { snapGeometries } from '../../native/processing.js';
import { geometriesOf, type Run, windowOf } from './run.js';
import { withSides } from './sides.js';

type Snap = Extract<FeatureProcess, { kind: 'snap' }>;

/** Features snapped to those of another source, which are projected to the CRS of the input. */
export function snapFeatures(run: Run, { tolerance }: Snap): Promise<number> {
  return withSides(run, { carries: false }, async ({ left, right }, table) => {
    for await (const rows of run.rows(left)) {
      const near = await windowOf(run, rows, right, tolerance);
      const results = snapGeometries(geometriesOf(rows), geometriesOf(near), tolerance, table.srsId);
      for (const [i, { values }] of rows.entries()) {
        const geometry = run.take(results[i]!, undefined);
        if (geometry) table.add(geometry, values);
      }
    }
  });
}
