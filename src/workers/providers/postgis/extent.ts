import type { Box } from '../../../core/box.js';
import type { PostgisSource, VectorSource } from '../../../core/vector-source.js';
import type { Cancellation } from '../../cancellation.js';
import { extentInDegrees } from '../domain.js';
import { withConnection } from './database.js';
import { Measure } from './measure.js';
import { quote } from './names.js';

/** Extent of a table in CRS84 as its rows have it now, exactly where that is quick. */
export function extent(source: VectorSource, cancellation?: Cancellation): Promise<Box | undefined> {
  const { database, schema, table, geometryColumn, crs } = source as PostgisSource;
  return withConnection(
    database,
    async (connection) => {
      const [row] = await connection.query(
        'SELECT relkind::text, reltuples::float8 FROM pg_class WHERE oid = $1::regclass',
        [`${quote(schema)}.${quote(table)}`],
      );
      if (!row) return undefined;
      const [kind, estimate] = row as [string, number];
      const measured = await new Measure(connection).table(
        { schema, table, geometryColumn, kind, estimate },
        crs,
      );
      return measured.extent && extentInDegrees(measured.extent, crs);
    },
    { cancellation },
  );
}
