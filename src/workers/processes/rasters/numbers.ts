/** Features with numbers behind their attributes. */

import { TaskFailure } from '../../../core/errors/failure.js';
import type { GeoPackageSource } from '../../../core/sources/vector-source.js';
import { findFreeName, namesInUse } from '../../../core/values/column-names.js';
import { INT64_MAX } from '../../../core/values/exact-number.js';
import type Database from '../../../native/sqlite.js';
import { quote } from '../../providers/geopackage/connection.js';
import { type Attribute, FeatureTable, type TableValue } from '../table.js';

/** Numbers of all features, in ascending order of their ids. */
export interface Numbers {
  names: readonly string[];
  /** Index of each name among the numbers of a feature. */
  places: readonly number[];
  /** Numbers of a feature. */
  width: number;
  /** One feature after another; NaN becomes null. */
  numbers: Float64Array;
  /** Integers in the place of numbers, by their place. */
  integers?: ReadonlyMap<number, readonly (bigint | null)[]> | undefined;
}

/** Writes the features of a table with their ids; how many there are. */
export function writeNumbers(
  db: Database.Database,
  { table, idColumn, geometryColumn, crs, fields }: GeoPackageSource,
  { names, places, width, numbers, integers }: Numbers,
  part: string,
): number {
  const taken = namesInUse(fields);
  requireInt64(integers);
  const attributes: Attribute[] = names.map((name, i) => {
    const free = findFreeName(name, taken);
    taken.add(free.toLowerCase());
    return { name: free, type: integers?.has(places[i]!) ? 'integer' : 'number' };
  });
  const output = FeatureTable.create(part, crs, [...fields, ...attributes]);
  const columns = [idColumn, geometryColumn, ...fields.map(({ name }) => name)].map(quote).join(', ');
  const rows = db.prepare(`SELECT ${columns} FROM ${quote(table)} ORDER BY ${quote(idColumn)}`).raw();
  try {
    let at = 0;
    for (const [id, geometry, ...values] of rows.iterate() as IterableIterator<TableValue[]>) {
      const own = places.map((place) => {
        const column = integers?.get(place);
        if (column) return column[at / width]!;
        const value = numbers[at + place]!;
        return Number.isNaN(value) ? null : value;
      });
      output.add(geometry as Uint8Array | null, [...values, ...own], id as number);
      at += width;
    }
    return output.finish();
  } finally {
    output.abandon();
  }
}

/** Fails with `invalid-input` for an integer that an attribute cannot store. */
function requireInt64(integers: Numbers['integers'] = new Map()): void {
  for (const column of integers.values()) {
    const above = column.find((value) => value !== null && value > INT64_MAX);
    if (above === undefined) continue;
    throw new TaskFailure(
      'invalid-input',
      `raster: the value ${above} does not fit into an attribute, whose maximum is 2^63 - 1.`,
    );
  }
}
