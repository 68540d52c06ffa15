import { rmSync } from 'node:fs';
import { type ProcessFeatures, RESULT_TABLE } from '../../core/feature-processes.js';
import { processGeometries } from '../../native/processing.js';
import { inspect } from '../providers/geopackage/inspect.js';
import { load } from '../vector/load.js';
import { attributesOf, geometriesOf, type Run } from './run.js';
import { FeatureTable } from './table.js';

/**
 * The features in a GeoPackage of their own: neighbours follow each other, a spatial index finds them, and they are in
 * the CRS that is named. To be removed by the caller.
 */
export async function indexedCopy(
  run: Run,
  features: ProcessFeatures,
  crs: string,
  path: string,
): Promise<ProcessFeatures> {
  const staging = `${path}.staging`;
  removeCopy(path);
  const table = FeatureTable.create(staging, crs, attributesOf(features));
  const planes = { crs: features.source.crs, target: crs, srsId: table.srsId };
  try {
    for await (const rows of run.rows(features)) {
      const results = processGeometries(geometriesOf(rows), { name: 'none' }, planes);
      rows.forEach(({ id, values }, i) => {
        const geometry = run.take(results[i]!, id);
        if (geometry) table.add(geometry, values);
      });
    }
    table.finish();
  } finally {
    table.abandon();
  }
  load({ staging, stagingTable: RESULT_TABLE, store: path, table: RESULT_TABLE, unpublished: true });
  const { source } = inspect(path)[0]!;
  return { source, fields: source.fields.map(({ name }) => name) };
}

export function removeCopy(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal', '.staging']) rmSync(path + suffix, { force: true });
}
