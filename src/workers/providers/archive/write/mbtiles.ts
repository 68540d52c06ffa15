import type { ArchiveDescription, ArchiveDraft, ArchiveFormat } from '../../../../core/tiles/archives.js';
import { type ContainerWriter, closeAsFile, countRows, prepared, storeContent, stored } from './draft.js';

/** "MPBX": registered with SQLite for MBTiles. */
const APPLICATION_ID = 0x4d504258;

const SCHEMA = `
  CREATE TABLE metadata (name TEXT, value TEXT);
  CREATE UNIQUE INDEX metadata_name ON metadata (name);
  CREATE TABLE images (tile_id INTEGER PRIMARY KEY, tile_data BLOB NOT NULL);
  CREATE TABLE map (
    zoom_level INTEGER NOT NULL, tile_column INTEGER NOT NULL, tile_row INTEGER NOT NULL, tile_id INTEGER NOT NULL);
  CREATE UNIQUE INDEX map_address ON map (zoom_level, tile_column, tile_row);
  CREATE VIEW tiles AS
    SELECT map.zoom_level AS zoom_level, map.tile_column AS tile_column, map.tile_row AS tile_row,
      images.tile_data AS tile_data
    FROM map JOIN images ON images.tile_id = map.tile_id;`;

const FORMATS: Record<ArchiveFormat, string> = {
  mvt: 'pbf',
  mlt: 'application/vnd.maplibre-tile',
  png: 'png',
  jpeg: 'jpg',
  webp: 'webp',
};

/** MBTiles 1.3: rows counted from the south, equal tiles stored once. */
export const mbtilesWriter: ContainerWriter = {
  create(db) {
    db.pragma(`application_id = ${APPLICATION_ID}`);
    db.exec(SCHEMA);
  },
  add(db, draft, tiles) {
    const image = prepared(db, 'INSERT INTO images (tile_data) VALUES (?)');
    const map = prepared(db, 'INSERT INTO map VALUES (?, ?, ?, ?)');
    for (const { zoom, row, column, data } of tiles) {
      const place = storeContent(db, stored(draft, data), (one) => Number(image.run(one).lastInsertRowid));
      map.run(zoom, column, 2 ** zoom - 1 - row, place);
    }
  },
  finish(db, draft, description) {
    const summary = { tiles: countRows(db, 'map'), contents: countRows(db, 'images') };
    const insert = db.prepare('INSERT OR REPLACE INTO metadata VALUES (?, ?)');
    db.transaction(() => {
      for (const [name, value] of Object.entries(metadata(draft, description))) insert.run(name, value);
    })();
    closeAsFile(db);
    return summary;
  },
};

function metadata({ format }: ArchiveDraft, about: ArchiveDescription): Record<string, string> {
  const [west, south, east, north] = about.bounds;
  const rows: Record<string, string> = {
    name: about.title,
    format: FORMATS[format],
    bounds: about.bounds.join(','),
    center: [(west + east) / 2, (south + north) / 2, about.minZoom].join(','),
    minzoom: String(about.minZoom),
    maxzoom: String(about.maxZoom),
    type: 'overlay',
    version: '1',
  };
  if (about.description) rows['description'] = about.description;
  if (about.attribution) rows['attribution'] = about.attribution;
  if (about.vectorLayers) rows['json'] = JSON.stringify({ vector_layers: about.vectorLayers });
  return rows;
}
