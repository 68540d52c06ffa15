import { TaskFailure } from '../../../../core/errors/failure.js';
import { type ArchiveDescription, isVectorArchive, type TileGrid } from '../../../../core/tiles/archives.js';
import type Database from '../../../../native/sqlite.js';
import { quote } from '../../geopackage/connection.js';
import { addCrs, createCore } from '../../geopackage/schema/create.js';
import { type ContainerWriter, closeAsFile, countRows, prepared } from './draft.js';

type Db = Database.Database;

/** Until the description is known. */
const TILES = 'graticule_tiles';
const WEBP_DEFINITION = 'http://www.geopackage.org/spec120/#extension_tiles_webp';
const ZOOM_OTHER_DEFINITION = 'http://www.geopackage.org/spec120/#extension_zoom_other_intervals';

const TILE_TABLES = `
  CREATE TABLE gpkg_tile_matrix_set (
    table_name TEXT NOT NULL PRIMARY KEY, srs_id INTEGER NOT NULL,
    min_x DOUBLE NOT NULL, min_y DOUBLE NOT NULL, max_x DOUBLE NOT NULL, max_y DOUBLE NOT NULL,
    CONSTRAINT fk_gtms_table_name FOREIGN KEY (table_name) REFERENCES gpkg_contents(table_name),
    CONSTRAINT fk_gtms_srs FOREIGN KEY (srs_id) REFERENCES gpkg_spatial_ref_sys (srs_id));
  CREATE TABLE gpkg_tile_matrix (
    table_name TEXT NOT NULL, zoom_level INTEGER NOT NULL, matrix_width INTEGER NOT NULL,
    matrix_height INTEGER NOT NULL, tile_width INTEGER NOT NULL, tile_height INTEGER NOT NULL,
    pixel_x_size DOUBLE NOT NULL, pixel_y_size DOUBLE NOT NULL,
    CONSTRAINT pk_ttm PRIMARY KEY (table_name, zoom_level),
    CONSTRAINT fk_tmm_table_name FOREIGN KEY (table_name) REFERENCES gpkg_contents(table_name));
  CREATE TABLE ${TILES} (
    id INTEGER PRIMARY KEY AUTOINCREMENT, zoom_level INTEGER NOT NULL, tile_column INTEGER NOT NULL,
    tile_row INTEGER NOT NULL, tile_data BLOB NOT NULL, UNIQUE (zoom_level, tile_column, tile_row));`;

/** GeoPackage 1.3 tiles (OGC 12-128r18, 2.2): images only, rows counted from the top. */
export const geopackageWriter: ContainerWriter = {
  create(db) {
    createCore(db);
    db.exec(TILE_TABLES);
  },
  add(db, { format }, tiles) {
    // The standard does not define vector tiles. Few programs read the draft extensions that do.
    if (isVectorArchive(format))
      throw new TaskFailure(
        'invalid-input',
        'The server writes only images to GeoPackage, not vector tiles. Use png or webp.',
      );
    const insert = prepared(
      db,
      `INSERT INTO ${TILES} (zoom_level, tile_column, tile_row, tile_data) VALUES (?, ?, ?, ?)`,
    );
    for (const { zoom, row, column, data } of tiles) insert.run(zoom, column, row, data);
  },
  finish(db, { format }, description) {
    const table = chooseTable(description.name);
    const described = db.prepare('SELECT 1 FROM gpkg_contents WHERE table_name = ?').get(table);
    if (!described) db.transaction(() => describe(db, table, description, format === 'webp'))();
    const tiles = countRows(db, quote(table));
    closeAsFile(db);
    return { tiles, contents: tiles };
  },
};

function chooseTable(name: string): string {
  return name.replace(/\W+/g, '_').replace(/^(?=\d|gpkg_|sqlite_|graticule_)/i, 't_');
}

function describe(db: Db, table: string, about: ArchiveDescription, webp: boolean): void {
  db.exec(`ALTER TABLE ${TILES} RENAME TO ${quote(table)}`);
  const { grid } = about;
  const srsId = addCrs(db, grid.crs);
  db.prepare(
    `INSERT INTO gpkg_contents (table_name, data_type, identifier, description, min_x, min_y, max_x, max_y, srs_id)
     VALUES (?, 'tiles', ?, ?, ?, ?, ?, ?, ?)`,
  ).run(table, about.title, about.description ?? '', ...grid.extent, srsId);
  db.prepare('INSERT INTO gpkg_tile_matrix_set VALUES (?, ?, ?, ?, ?, ?)').run(table, srsId, ...grid.extent);
  const matrix = db.prepare('INSERT INTO gpkg_tile_matrix VALUES (?, ?, ?, ?, ?, ?, ?, ?)');
  for (const { zoom, columns, rows, tileWidth, tileHeight, cellSize } of grid.matrices)
    matrix.run(table, zoom, columns, rows, tileWidth, tileHeight, cellSize, cellSize);
  const extension = db.prepare("INSERT INTO gpkg_extensions VALUES (?, ?, ?, ?, 'read-write')");
  if (webp) extension.run(table, 'tile_data', 'gpkg_webp', WEBP_DEFINITION);
  if (!doubles(grid)) extension.run(table, 'zoom_level', 'gpkg_zoom_other', ZOOM_OTHER_DEFINITION);
}

/** Whether cells halve from each zoom to the next, as the standard assumes. */
function doubles({ matrices }: TileGrid): boolean {
  return matrices.every((matrix, i) => {
    const before = matrices[i - 1];
    return !before || Math.abs(before.cellSize / matrix.cellSize - 2) < 1e-9;
  });
}
