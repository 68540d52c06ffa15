/** Geometries that a file has and that OGR cannot read: their features are staged without one. */

import type { Layer } from 'gdal-async';
import { isCsv } from '../../../core/values/csv.js';
import { membersIn } from '../../../core/values/json-text.js';
import { findDatasetFeatures } from '../../gdal/dataset-notes.js';
import type { Dataset } from '../../gdal/gdal.js';
import { connect, quote } from '../../providers/geopackage/connection.js';
import { readCsvLayout } from '../csv/layout.js';
import { countPlaces } from '../csv/normal.js';
import { featureTextsIn } from '../geojson/features.js';

/**
 * Returns a sentence about unreadable geometries. Undefined if there are none, and for formats that do not show them.
 */
export async function describeUnreadPlaces(
  source: Dataset,
  layer: Layer,
  path: string,
  staged: { path: string; table: string },
  isSample = false,
): Promise<string | undefined> {
  const { read, missing } = isSample ? countRead(layer) : countStaged(staged);
  if (missing === 0) return undefined;
  const unread = ((await countStated(source, layer, path)) ?? 0) - read;
  if (unread <= 0) return undefined;
  return unread === 1
    ? '1 geometry of the file cannot be read: its feature has none.'
    : `${unread} geometries of the file cannot be read: their features have none.`;
}

/** The same numbers for all features of a layer, of which only some were staged. */
function countRead(layer: Layer): { read: number; missing: number } {
  let [read, missing] = [0, 0];
  for (const feature of layer.features)
    if (feature.getGeometry()) read += 1;
    else missing += 1;
  return { read, missing };
}

function countStaged({ path, table }: { path: string; table: string }): { read: number; missing: number } {
  const db = connect(path, true);
  try {
    const column = db
      .prepare('SELECT column_name FROM gpkg_geometry_columns WHERE table_name = ?')
      .pluck()
      .get(table) as string;
    const [read, all] = db
      .prepare(`SELECT count(${quote(column)}), count(*) FROM ${quote(table)}`)
      .raw()
      .get() as [number, number];
    return { read, missing: all - read };
  } finally {
    db.close();
  }
}

/** Returns the number of features in the file with a geometry member. Undefined if it cannot be determined. */
async function countStated(source: Dataset, layer: Layer, path: string): Promise<number | undefined> {
  const features = findDatasetFeatures(source);
  if (features !== undefined) return countPlacedFeatures(features);
  if (isCsv(path)) return countPlaces(await readCsvLayout(path));
  if (source.driver.description !== 'GPKG' || layer.geomColumn === '') return undefined;
  const sql = `SELECT count(${quote(layer.geomColumn)}) FROM ${quote(layer.name)}`;
  const result = await source.executeSQLAsync(sql);
  return Number(result.features.first().fields.get(0));
}

/** Returns the number of features of a GeoJSON text that have any geometry. */
export async function countPlacedFeatures(path: string): Promise<number> {
  let count = 0;
  for await (const text of featureTextsIn(path)) {
    const members = membersIn(text);
    const isFeature = members?.get('type') === '"Feature"';
    if (!isFeature || (members.get('geometry') ?? 'null') !== 'null') count++;
  }
  return count;
}
