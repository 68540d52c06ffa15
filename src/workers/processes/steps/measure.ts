import type { FeatureProcess } from '../../../core/processes/feature-processes.js';
import { measureGeometries } from '../../../native/proximity.js';
import { mapFeatures } from '../map.js';
import { listGeometries, type ProcessRun } from '../run.js';

type MeasureProcess = Extract<FeatureProcess, { kind: 'measure' }>;

/** Each feature with its area, or with the length of its lines and rings. */
export function measureFeatures(run: ProcessRun, { of, measure }: MeasureProcess): Promise<number> {
  const { ground, perUnit } = measure;
  const { crs } = run.task.input.source;
  return mapFeatures(
    run,
    { kind: 'map', operation: { name: 'none' } },
    {
      attributes: [{ name: of, type: 'number' }],
      valuesOf: (rows) =>
        measureGeometries(listGeometries(rows), crs, ground).map((measures, i) => {
          if (!measures) return [null];
          const { area, length, perimeter } = measures;
          const whole = rows[i]!.ground ?? { area, length: length + perimeter };
          return [of === 'area' ? whole.area / perUnit ** 2 : whole.length / perUnit];
        }),
    },
  );
}
