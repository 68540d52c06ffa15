import { type FeatureRow, fieldOf, type RowsQuery } from '../../../core/features.js';
import type { GeoPackageSource } from '../../../core/vector-source.js';
import { quote, reader } from './connection.js';
import { passingRows } from './filter.js';
import { shownValue } from './masks.js';
import { idOf, rowOf } from './window.js';

const BATCH = 1024;

/** Rows in the order they are stored in, which is that of the id but in copies; in batches. */
export async function* rows(query: RowsQuery): AsyncGenerator<FeatureRow[]> {
  const source = query.source as GeoPackageSource;
  const passing = passingRows(source, query.filter);
  const row = rowOf(source);
  const geometry = query.geometry ? `t.${quote(source.geometryColumn)}` : 'NULL';
  const fields = query.fields.map((name) => fieldOf(source, name)!);
  const columns = [
    idOf(source),
    geometry,
    ...fields.map((field) => shownValue(`t.${quote(field.name)}`, field)),
  ];
  const sql = `SELECT ${columns.join(', ')} FROM ${quote(source.table)} t
    WHERE ${row} IN (${passing.sql}) ORDER BY ${row} LIMIT ?`;
  // Prepared for this reading alone: a kept statement could be asked again while its cursor is open.
  const cursor = reader(source.path)
    .prepare(sql)
    .raw()
    .iterate(...passing.values, query.limit) as IterableIterator<unknown[]>;
  const booleans = fields.map(({ type, mask }) => type === 'boolean' && !mask);
  let batch: FeatureRow[] = [];
  for (const [rowId, blob, ...values] of cursor) {
    batch.push({
      id: rowId as FeatureRow['id'],
      geometry: blob as Uint8Array | null,
      values: values.map((value, i) =>
        booleans[i] && value !== null ? value === 1 : value,
      ) as FeatureRow['values'],
    });
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
