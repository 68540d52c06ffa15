import type { FeatureRow, RowsQuery } from '../../../../core/features/features.js';
import type { PostgisSource } from '../../../../core/sources/vector-source.js';
import type { Cancellation } from '../../../threads/cancellation.js';
import { batches } from '../connections/database.js';
import { SqlParams } from '../connections/params.js';
import { numberKeys } from '../edits/key-looks.js';
import { writeRowColumns } from '../schema/columns.js';
import { column, writeTableSql } from '../schema/names.js';
import { buildWhere } from './filter.js';

const BATCH = 1024;

/** Rows in the order of the id, in batches. A connection is in use until the consumer stops. */
export async function* rows(query: RowsQuery, cancellation?: Cancellation): AsyncGenerator<FeatureRow[]> {
  const source = query.source as PostgisSource;
  await numberKeys(source, cancellation);
  const fields = query.fields.map((name) => source.fields.find((field) => field.name === name)!);
  const form = query.exact ? 'exact' : 'number';
  const params = new SqlParams();
  const geography = column(source.geometryColumn);
  const measures =
    query.groundMeasures && source.geography
      ? [`ST_Area(${geography})`, `ST_Length(${geography}) + ST_Perimeter(${geography})`]
      : [];
  const columns = [...writeRowColumns(source, fields, form, params, query.geometry), ...measures];
  const sql = `SELECT ${columns.join(', ')} FROM ${writeTableSql(source)}
    WHERE ${buildWhere(source, query.filter, params)}
    ORDER BY ${column(source.idColumn)} LIMIT ${params.add(query.limit, 'int8')}`;
  for await (const batch of batches(source.database, sql, params.values, BATCH, cancellation)) {
    yield batch.map(([id, geometry, ...values]) => {
      const [area, length] = values.splice(fields.length);
      return {
        id: id as FeatureRow['id'],
        geometry: geometry as Uint8Array | null,
        values: values as FeatureRow['values'],
        ...(typeof area === 'number' && typeof length === 'number' ? { ground: { area, length } } : {}),
      };
    });
  }
}
