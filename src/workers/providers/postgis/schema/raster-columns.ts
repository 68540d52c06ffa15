import type { DiscoveredDatabase } from '../../../../core/tasks/vector-tasks.js';
import type { PostgresConnection } from '../../../../native/postgres.js';
import { quote } from './names.js';

/** The raster columns that the user may read, without tables of overviews; none where the extension is not installed. */
export async function rasterColumns(
  connection: PostgresConnection,
  database: string,
  identify: (oid: string) => string,
): Promise<DiscoveredDatabase['rasters']> {
  const [extension] = await connection.query(
    `SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
     WHERE e.extname = 'postgis_raster'`,
  );
  if (!extension) return [];
  const home = quote(extension[0] as string);
  const rows = await connection.query(
    `SELECT r_table_schema, r_table_name, r_raster_column,
       format('%I.%I', r_table_schema, r_table_name)::regclass::oid::text FROM ${home}.raster_columns c
     WHERE has_table_privilege(format('%I.%I', r_table_schema, r_table_name), 'SELECT')
       AND NOT EXISTS (SELECT FROM ${home}.raster_overviews o
         WHERE o.o_table_schema = c.r_table_schema AND o.o_table_name = c.r_table_name
           AND o.o_raster_column = c.r_raster_column)
     ORDER BY 1, 2, 3`,
  );
  return rows.map(([schema, table, column, oid]) => ({
    kind: 'postgis-raster',
    database,
    schema: schema as string,
    table: table as string,
    column: column as string,
    identity: identify(oid as string),
  }));
}
