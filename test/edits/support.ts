import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { connect } from '../../src/workers/providers/geopackage/connection.js';
import { createSpatialIndex, prepareStore } from '../../src/workers/providers/geopackage/schema/create.js';
import { startPostgres } from '../support/postgres.js';
import { startServer, type TestServer } from '../support/server.js';

/**
 * The tables that the suite edits, as each store has them: `parcels` (MultiPolygon, EPSG:3857, empty), `spots` (Point
 * with Z, EPSG:4326, empty) and `anything` (any geometry, EPSG:4326, of nothing but a key and a geometry).
 */
export interface EditableStore {
  /** Files or connection URLs to publish. */
  sources: string[];
  env?: Record<string, string>;
  /** Rows of a statement, read past the server. */
  query(sql: string): Promise<Record<string, unknown>[]>;
  /** Name of the outbox table. */
  outbox: string;
  release(): Promise<void>;
}

const MERCATOR = [
  3857,
  'PROJCS["WGS 84 / Pseudo-Mercator",GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]],PROJECTION["Mercator_1SP"],UNIT["metre",1],AUTHORITY["EPSG","3857"]]',
] as const;

const TABLES = `
CREATE TABLE parcels (
  fid INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, geom MULTIPOLYGON,
  name TEXT(20) NOT NULL, area DOUBLE, floors INTEGER, built DATE, seen DATETIME, active BOOLEAN,
  code TEXT UNIQUE, note TEXT DEFAULT 'none', tags JSON);
CREATE TABLE spots (fid INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, geom POINT, name TEXT);
CREATE TABLE anything (fid INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, geom GEOMETRY);
CREATE TABLE untended (fid INTEGER PRIMARY KEY, geom POINT, name TEXT);
INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES
  ('parcels', 'features', 'parcels', 3857), ('spots', 'features', 'spots', 4326),
  ('anything', 'features', 'anything', 4326), ('untended', 'features', 'untended', 4326);
INSERT INTO gpkg_geometry_columns VALUES
  ('parcels', 'geom', 'MULTIPOLYGON', 3857, 0, 0), ('spots', 'geom', 'POINT', 4326, 1, 0),
  ('anything', 'geom', 'GEOMETRY', 4326, 2, 0), ('untended', 'geom', 'POINT', 4326, 0, 0);`;

/** A GeoPackage in a folder of its own. `untended` has an rtree without the triggers that keep it. */
export function geoPackageStore(): EditableStore & { file: string } {
  const folder = mkdtempSync(join(tmpdir(), 'graticule-edits-'));
  const file = join(folder, 'town.gpkg');
  const db = connect(file, false);
  prepareStore(db);
  db.prepare("INSERT INTO gpkg_spatial_ref_sys VALUES ('Mercator', ?, 'EPSG', 3857, ?, NULL)").run(
    ...MERCATOR,
  );
  db.exec(TABLES);
  for (const table of ['parcels', 'spots', 'anything', 'untended'])
    createSpatialIndex(db, table, 'geom', 'fid');
  const triggers = db
    .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'untended'")
    .pluck()
    .all() as string[];
  for (const trigger of triggers) db.exec(`DROP TRIGGER "${trigger}"`);
  db.close();
  return {
    file,
    sources: [file],
    outbox: 'graticule_outbox',
    async query(sql) {
      const reader = connect(file, true);
      try {
        return reader.prepare(sql).all() as Record<string, unknown>[];
      } finally {
        reader.close();
      }
    },
    release: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** A PostGIS database of its own with the tables of the suite. */
export async function postgisStore(settings: string[] = []): Promise<EditableStore> {
  const postgres = await startPostgres(settings);
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  await client.query(`
    CREATE TABLE parcels (fid serial PRIMARY KEY, geom geometry(MultiPolygon, 3857),
      name varchar(20) NOT NULL, area float8, floors bigint, built date, seen timestamptz, active boolean,
      code text UNIQUE, note text DEFAULT 'none', tags jsonb);
    CREATE TABLE spots (fid serial PRIMARY KEY, geom geometry(PointZ, 4326), name text);
    CREATE TABLE anything (fid serial PRIMARY KEY, geom geometry(Geometry, 4326));
    CREATE INDEX ON spots USING gist (geom);`);
  return {
    sources: [postgres.url],
    outbox: 'graticule_events.outbox',
    query: async (sql) => (await client.query(sql)).rows,
    async release() {
      await client.end();
      await postgres.stop();
    },
  };
}

/** A request to the items of a collection, with the administrator's key unless `headers` say otherwise. */
export interface Editor {
  server: TestServer;
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
}

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
  body: any;
}

export async function startEditor(store: EditableStore, args: string[] = []): Promise<Editor> {
  const server = await startServer({ sources: store.sources, env: store.env, args });
  return { server, send: sender(server.url, server.adminKey) };
}

export function sender(url: string, key: string): Editor['send'] {
  return async (method, path, body, headers = {}) => {
    const response = await fetch(`${url}/ogc/features/collections/${path}`, {
      method,
      body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
      headers: {
        'x-api-key': key,
        ...(body === undefined ? {} : { 'content-type': 'application/geo+json' }),
        // Entity tags of compressed answers have a suffix.
        'accept-encoding': 'identity',
        ...headers,
      },
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text ? JSON.parse(text) : undefined };
  };
}

/** A square with its lower left corner at x, y. */
export const square = (x: number, y: number, side = 1) => [
  [
    [x, y],
    [x + side, y],
    [x + side, y + side],
    [x, y + side],
    [x, y],
  ],
];

/** A parcel around a place in degrees. */
export const parcel = (x: number, y: number, properties: Record<string, unknown> = { name: 'A' }) => ({
  type: 'Feature',
  geometry: { type: 'Polygon', coordinates: square(x, y) },
  properties,
});
