import { rmSync } from 'node:fs';
import { type ProcessFeatures, RESULT_TABLE } from '../../core/feature-processes.js';
import { processGeometries } from '../../native/processing.js';
import { inspect } from '../providers/geopackage/inspect.js';
import { load } from '../vector/load.js';
import { boxOf, isPlace } from './blob.js';
import { attributesOf, geometriesOf, idTypeOf, type Run } from './run.js';
import { FeatureTable } from './table.js';

/** A copy of features. */
export interface IndexedCopy extends ProcessFeatures {
  /** How many a box can find: those without geometry are left out. */
  readonly count: number;
}

/**
 * The features in a GeoPackage of their own: neighbours follow each other, a spatial index finds them, and they are in
 * the CRS that is named. `idName` is an attribute with their ids. To be removed by the caller.
 */
export async function indexedCopy(
  run: Run,
  features: ProcessFeatures,
  crs: string,
  path: string,
  idName?: string,
): Promise<IndexedCopy> {
  const staging = `${path}.staging`;
  removeCopy(path);
  const ids = idName === undefined ? [] : [{ name: idName, type: idTypeOf(features.source) }];
  const table = FeatureTable.create(staging, crs, [...attributesOf(features), ...ids]);
  const planes = { crs: features.source.crs, target: crs, srsId: table.srsId };
  let count = 0;
  try {
    for await (const rows of run.rows(features)) {
      const results = processGeometries(geometriesOf(rows), { name: 'none' }, planes);
      rows.forEach(({ id, values }, i) => {
        const geometry = run.take(results[i]!, id);
        if (!geometry) return;
        const box = boxOf(geometry);
        if (box && isPlace(box)) count++;
        table.add(geometry, ids.length > 0 ? [...values, id] : values);
      });
    }
    table.finish({ draft: true });
  } finally {
    table.abandon();
  }
  load({
    ...{ staging, stagingTable: RESULT_TABLE, store: path, table: RESULT_TABLE, unpublished: true },
  });
  const { source } = inspect(path)[0]!;
  return { source, fields: source.fields.map(({ name }) => name), count };
}

export function removeCopy(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal', '.staging']) rmSync(path + suffix, { force: true });
}
