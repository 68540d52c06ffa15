import { connect } from '../../src/workers/providers/geopackage/connection.js';
import { createSpatialIndex, prepareStore } from '../../src/workers/providers/geopackage/schema/create.js';

const KEY = 'bench-bench-bench-bench';

/** Makes a GeoPackage with an empty table of points, `things`; returns its path. */
export function things(path: string): string {
  const db = connect(path, false);
  prepareStore(db);
  db.exec(`CREATE TABLE things (fid INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, geom POINT, n INTEGER);
    INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('things', 'features', 'things', 4326);
    INSERT INTO gpkg_geometry_columns VALUES ('things', 'geom', 'POINT', 4326, 0, 0);`);
  createSpatialIndex(db, 'things', 'geom', 'fid');
  db.close();
  return path;
}

/** The table as a server publishes it: its layer id, and a way to change it. */
export async function editor(
  origin: string,
): Promise<{ layer: number; batch(operations: unknown[]): Promise<void> }> {
  const capabilities = await fetch(`${origin}/api/v1/streaming/features/capabilities`);
  const { layers } = (await capabilities.json()) as { layers: { name: string; layerId: number }[] };
  return {
    layer: layers.find(({ name }) => name === 'things')!.layerId,
    async batch(operations) {
      const response = await fetch(`${origin}/ogc/features/collections/things/items/batch`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': KEY },
        body: JSON.stringify({ atomic: true, operations }),
      });
      if (response.status !== 200) throw new Error(await response.text());
    },
  };
}
