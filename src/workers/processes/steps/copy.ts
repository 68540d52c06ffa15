import { rmSync } from 'node:fs';
import type { FeatureRow } from '../../../core/features/features.js';
import { type ProcessFeatures, RESULT_TABLE } from '../../../core/processes/feature-processes.js';
import { processGeometries } from '../../../native/processing.js';
import { getSrsId } from '../../providers/geopackage/schema/create.js';
import { inspectGeoPackage } from '../../providers/geopackage/schema/inspect.js';
import { load } from '../../tiles/load.js';
import { isPlace, readBlobBox } from '../blob.js';
import { getIdType, listGeometries, listProcessAttributes, type ProcessRun } from '../run.js';
import { type Attribute, FeatureTable } from '../table.js';

/** A copy of features. */
export interface IndexedCopy extends ProcessFeatures {
  /** Number of rows that a box can find. Rows without a geometry do not count. */
  readonly count: number;
}

/**
 * Yields rows with their geometries in a CRS. Rows without a geometry are skipped; the reason is recorded if one
 * could not be projected.
 */
export async function* rowsInCrs(
  run: ProcessRun,
  features: ProcessFeatures,
  crs: string,
): AsyncGenerator<FeatureRow[]> {
  const planes = { crs: features.source.crs, target: crs, srsId: getSrsId(crs) };
  for await (const rows of run.rows(features)) {
    const results = processGeometries(listGeometries(rows), { name: 'none' }, planes);
    yield rows.flatMap((row, i) => {
      const geometry = run.take(results[i]!, row.id);
      if (!geometry) return [];
      return [geometry === row.geometry ? row : { ...row, geometry }];
    });
  }
}

/**
 * Copies the features to a separate GeoPackage in the given CRS. Neighbours are stored next to each other and have a
 * spatial index. `idName` is an attribute with their ids. The caller must remove the file.
 */
export function indexedCopy(
  run: ProcessRun,
  features: ProcessFeatures,
  crs: string,
  path: string,
  idName?: string,
): Promise<IndexedCopy> {
  const ids = idName === undefined ? [] : [{ name: idName, type: getIdType(features.source) }];
  const rows = rowsInCrs(run, features, crs);
  return copyRows(rows, [...listProcessAttributes(features), ...ids], crs, path, ids.length > 0);
}

/** The same of rows in that CRS. */
export async function copyRows(
  batches: AsyncIterable<FeatureRow[]>,
  attributes: readonly Attribute[],
  crs: string,
  path: string,
  withIds = false,
): Promise<IndexedCopy> {
  const staging = `${path}.staging`;
  removeCopy(path);
  const table = FeatureTable.create(staging, crs, attributes);
  let count = 0;
  try {
    for await (const rows of batches) {
      for (const { id, geometry, values } of rows) {
        const box = readBlobBox(geometry);
        if (box && isPlace(box)) count++;
        table.add(geometry, withIds ? [...values, id] : values);
      }
    }
    table.finish({ draft: true });
  } finally {
    table.abandon();
  }
  load({
    staging,
    stagingTable: RESULT_TABLE,
    store: path,
    table: RESULT_TABLE,
    unpublished: true,
  });
  const { source } = inspectGeoPackage(path)[0]!;
  return { source, filter: undefined, fields: source.fields.map(({ name }) => name), count };
}

export function removeCopy(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal', '.staging']) rmSync(path + suffix, { force: true });
}
