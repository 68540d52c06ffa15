import Database from '../../src/native/sqlite.js';

/** Makes a GeoPackage of points with the attribute `secret`, a feature for each table: 'of ' and its name, or `text`. */
export function makeGeoPackage(path: string, tables: readonly string[], text?: string): void {
  const db = new Database(path);
  db.exec(`PRAGMA application_id = 1196444487; PRAGMA user_version = 10300;
    CREATE TABLE gpkg_spatial_ref_sys (srs_name TEXT NOT NULL, srs_id INTEGER PRIMARY KEY, organization TEXT NOT NULL,
      organization_coordsys_id INTEGER NOT NULL, definition TEXT NOT NULL, description TEXT);
    INSERT INTO gpkg_spatial_ref_sys VALUES ('WGS 84', 4326, 'EPSG', 4326, 'EPSG:4326', NULL);
    CREATE TABLE gpkg_contents (table_name TEXT PRIMARY KEY, data_type TEXT NOT NULL, identifier TEXT, description TEXT DEFAULT '',
      last_change DATETIME, min_x DOUBLE, min_y DOUBLE, max_x DOUBLE, max_y DOUBLE, srs_id INTEGER);
    CREATE TABLE gpkg_geometry_columns (table_name TEXT, column_name TEXT, geometry_type_name TEXT, srs_id INTEGER, z TINYINT, m TINYINT);`);
  for (const table of tables)
    db.exec(`CREATE TABLE ${table} (fid INTEGER PRIMARY KEY, geom POINT, secret TEXT);
      INSERT INTO ${table} VALUES (1, x'47500001E61000000101000000000000000000F03F0000000000000040', '${text ?? `of ${table}`}');
      INSERT INTO gpkg_contents VALUES ('${table}', 'features', '${table}', '', '2026-01-01T00:00:00Z', 1, 2, 1, 2, 4326);
      INSERT INTO gpkg_geometry_columns VALUES ('${table}', 'geom', 'POINT', 4326, 0, 0);`);
  db.close();
}
