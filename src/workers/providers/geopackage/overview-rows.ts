import type { GeoPackageSource } from '../../../core/sources/vector-source.js';
import { FID, GEOMETRY, levelFields } from '../overviews/file.js';
import type { OverviewRows } from '../overviews/overview-rows.js';
import { quote, reader } from './connection.js';
import { newestCursor } from './edits/outbox.js';
import { quoteRowColumn } from './queries/window.js';

/**
 * Returns the rows of a GeoPackage table, read from its file without a copy. Writes by other programs change the
 * version of the collection.
 */
export function geopackageRows(source: GeoPackageSource): OverviewRows {
  return {
    state: async () => ({ cursor: newestCursor(reader(source.path)), writes: null }),
    stage: async (db) => {
      db.prepare('ATTACH ? AS source').run(source.path);
      const fields = levelFields(source)
        .map(({ name }) => `, ${quote(name)}`)
        .join('');
      db.exec(`CREATE TEMP VIEW staged AS SELECT ${quoteRowColumn(source)} AS ${FID},
        ${quote(source.geometryColumn)} AS ${GEOMETRY}${fields} FROM source.${quote(source.table)} t`);
    },
    unstage: (db) => {
      db.exec('DROP VIEW staged; DETACH source');
    },
    changes: async (since) => {
      const db = reader(source.path);
      const cursor = newestCursor(db);
      if (cursor === since) return { ids: [], events: 0, cursor };
      const oldest = db.prepare('SELECT min(cursor) FROM graticule_outbox').pluck().get() as number | null;
      if (oldest === null || oldest > since + 1) return undefined;
      const ids = db
        .prepare('SELECT feature_id FROM graticule_outbox WHERE cursor > ? AND table_name = ?')
        .pluck()
        .all(since, source.table) as string[];
      return { ids: [...new Set(ids)], events: ids.length, cursor };
    },
    fidOf: (id) => BigInt(id),
  };
}
