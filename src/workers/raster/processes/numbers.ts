/** Features with numbers behind their attributes. */

import { freeName, namesInUse } from '../../../core/column-names.js';
import type { GeoPackageSource } from '../../../core/vector-source.js';
import type Database from '../../../native/sqlite.js';
import { type Attribute, type AttributeValue, FeatureTable } from '../../process/table.js';
import { quote } from '../../providers/geopackage/connection.js';

/** Of all features, in ascending order of their ids. */
export interface Numbers {
  names: readonly string[];
  /** Of each name, the place among the numbers of a feature. */
  places: readonly number[];
  /** Numbers of a feature. */
  width: number;
  /** One feature after another; NaN becomes null. */
  numbers: Float64Array;
}

/** Writes the features of a table with their ids; how many there are. */
export function writeNumbers(
  db: Database.Database,
  { table, idColumn, geometryColumn, crs, fields }: GeoPackageSource,
  { names, places, width, numbers }: Numbers,
  part: string,
): number {
  const taken = namesInUse(fields);
  const attributes: Attribute[] = names.map((name) => {
    const free = freeName(name, taken);
    taken.add(free.toLowerCase());
    return { name: free, type: 'number' };
  });
  const output = FeatureTable.create(part, crs, [...fields, ...attributes]);
  const columns = [idColumn, geometryColumn, ...fields.map(({ name }) => name)].map(quote).join(', ');
  const rows = db.prepare(`SELECT ${columns} FROM ${quote(table)} ORDER BY ${quote(idColumn)}`).raw();
  try {
    let at = 0;
    for (const [id, geometry, ...values] of rows.iterate() as IterableIterator<AttributeValue[]>) {
      const own = places
        .map((place) => numbers[at + place]!)
        .map((value) => (Number.isNaN(value) ? null : value));
      output.add(geometry as Uint8Array | null, [...values, ...own], id as number);
      at += width;
    }
    return output.finish();
  } finally {
    output.abandon();
  }
}
