import type { FeatureProcess } from '../../../core/processes/feature-processes.js';
import { KeyFile } from '../key-file.js';
import { mapFeatures } from '../map.js';
import { listGeometries, type ProcessRun } from '../run.js';
import { formatGroupKey } from './groups.js';
import { normalForms } from './normal-forms.js';

type Deduplicate = Extract<FeatureProcess, { kind: 'deduplicate' }>;

/** Copies the first of each set of equal features, unchanged. */
export async function deduplicateFeatures(run: ProcessRun, { by, geometry }: Deduplicate): Promise<number> {
  const { input, output } = run.task;
  const places = by.map((name) => input.fields.indexOf(name));
  const keys = new KeyFile(`${output}.keys`);
  try {
    return await mapFeatures(
      run,
      { kind: 'map', operation: { name: 'none' } },
      {
        attributes: [],
        valuesOf(rows) {
          const forms = geometry ? normalForms(listGeometries(rows), input.source.crs) : [];
          return rows.map(({ id, values }, i) => {
            const key = formatGroupKey(places.map((place) => values[place]!));
            const first = keys.firstOf(geometry ? [key, forms[i]!] : [key], String(id));
            return first === undefined ? [] : undefined;
          });
        },
      },
    );
  } finally {
    keys.remove();
  }
}
