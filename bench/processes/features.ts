import { rmSync } from 'node:fs';
import type { FeatureProcess } from '../../src/core/processes/feature-processes.js';
import type { GeoPackageSource } from '../../src/core/sources/vector-source.js';
import { processFeatures } from '../../src/workers/processes/features.js';
import { closeAll } from '../../src/workers/providers/geopackage/connection.js';

/** Does a process from file to file, in this thread; the number of features that it makes. */
export async function execute(
  process: FeatureProcess,
  source: GeoPackageSource,
  output: string,
  others?: GeoPackageSource,
): Promise<number> {
  const inputOf = (one: GeoPackageSource) => ({
    source: one,
    filter: undefined,
    fields: one.fields.map(({ name }) => name),
  });
  const overlay = others ? { overlay: inputOf(others) } : {};
  const order = { process, input: inputOf(source), output, count: new SharedArrayBuffer(4), ...overlay };
  const { features, faults } = await processFeatures(order);
  if (features === 0 || faults > 0) throw new Error(`${features} features were made, and ${faults} faults`);
  closeAll();
  rmSync(output);
  return features;
}
