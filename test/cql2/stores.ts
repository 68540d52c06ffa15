import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { Expression } from '../../src/core/cql2/index.js';
import type { Field, GeoPackageSource, PostgisSource } from '../../src/core/sources/vector-source.js';
import { closeAll, connect, quote, statement } from '../../src/workers/providers/geopackage/connection.js';
import { passingRows } from '../../src/workers/providers/geopackage/queries/filter.js';
import { createSpatialIndex, prepareStore } from '../../src/workers/providers/geopackage/schema/create.js';
import { inspectGeoPackage } from '../../src/workers/providers/geopackage/schema/inspect.js';
import { SqlParams } from '../../src/workers/providers/postgis/connections/params.js';
import { buildWhere } from '../../src/workers/providers/postgis/queries/filter.js';
import { geoPackageBlob } from '../native/support.js';
import { startPostgres } from '../support/postgres.js';

/** The same rows in a GeoPackage and in PostGIS, and what a filter finds in each. */

export type Cell = string | number | boolean | Buffer | null;
export interface Column {
  name: string;
  type: Field['type'];
}

const GEOPACKAGE_TYPES: Partial<Record<Field['type'], string>> = {
  integer: 'INTEGER',
  number: 'REAL',
  string: 'TEXT',
  boolean: 'BOOLEAN',
  date: 'DATE',
  'date-time': 'DATETIME',
  json: 'JSON',
};
const POSTGRES_TYPES: Partial<Record<Field['type'], string>> = {
  integer: 'bigint',
  number: 'double precision',
  string: 'text',
  boolean: 'boolean',
  date: 'date',
  'date-time': 'timestamptz',
  json: 'jsonb',
};

export interface Stores {
  geopackage: GeoPackageSource;
  postgis: PostgisSource;
  /** Ids that a filter finds, sorted, by store. */
  find(filter: Expression): Promise<{ geopackage: number[]; postgis: number[] }>;
  query(text: string, values?: unknown[]): Promise<pg.QueryResult>;
  stop(): Promise<void>;
}

/** Rows are: geometry as WKB, then the columns. Ids count from 1. */
export async function startStores(columns: readonly Column[], rows: readonly Cell[][]): Promise<Stores> {
  const folder = mkdtempSync(join(tmpdir(), 'graticule-cql2-'));
  const geopackage = makeGeoPackage(join(folder, 'rows.gpkg'), columns, rows);
  const server = await startPostgres();
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await client.query("SET TIME ZONE 'UTC'");
  await fillPostgres(client, columns, rows);
  const postgis: PostgisSource = {
    kind: 'postgis',
    database: server.url,
    schema: 'public',
    table: 'rows',
    geometryColumn: 'geom',
    geometryType: 'Geometry',
    hasZ: false,
    srid: 4326,
    idColumn: 'fid',
    idType: 'integer',
    hasIndex: true,
    crs: 'EPSG:4326',
    fields: columns.map(({ name, type }) => ({ name, type, nullable: true })),
    writable: false,
  };
  return {
    geopackage,
    postgis,
    find: async (filter) => ({
      geopackage: findInGeoPackage(geopackage, filter),
      postgis: await findInPostgres(client, postgis, filter),
    }),
    query: (text, values) => client.query(text, values),
    stop: async () => {
      await client.end();
      await server.stop();
      closeAll();
      rmSync(folder, { recursive: true });
    },
  };
}

function makeGeoPackage(path: string, columns: readonly Column[], rows: readonly Cell[][]): GeoPackageSource {
  const db = connect(path, false);
  prepareStore(db);
  const declared = columns.map(({ name, type }) => `, ${quote(name)} ${GEOPACKAGE_TYPES[type]}`).join('');
  db.exec(`CREATE TABLE rows (fid INTEGER PRIMARY KEY, geom GEOMETRY${declared});
    INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('rows', 'features', 'rows', 4326);
    INSERT INTO gpkg_geometry_columns VALUES ('rows', 'geom', 'GEOMETRY', 4326, 0, 0)`);
  const insert = db.prepare(`INSERT INTO rows VALUES (?, ?${', ?'.repeat(columns.length)})`);
  for (const [i, [geometry, ...cells]] of rows.entries()) {
    const blob = geometry && geoPackageBlob(geometry as Buffer);
    insert.run(i + 1, blob, ...cells.map((cell) => (typeof cell === 'boolean' ? Number(cell) : cell)));
  }
  createSpatialIndex(db, 'rows', 'geom', 'fid');
  db.close();
  return inspectGeoPackage(path)[0]!.source as GeoPackageSource;
}

async function fillPostgres(client: pg.Client, columns: readonly Column[], rows: readonly Cell[][]) {
  const declared = columns.map(({ name, type }) => `, ${quote(name)} ${POSTGRES_TYPES[type]}`).join('');
  await client.query(`CREATE TABLE rows (fid bigint PRIMARY KEY, geom geometry(Geometry, 4326)${declared})`);
  const values = columns.map((_, i) => `, $${i + 3}`).join('');
  for (const [i, [geometry, ...cells]] of rows.entries())
    await client.query(`INSERT INTO rows VALUES ($1, ST_GeomFromWKB($2, 4326)${values})`, [
      i + 1,
      geometry,
      ...cells,
    ]);
  await client.query('CREATE INDEX ON rows USING gist (geom)');
}

export function findInGeoPackage(source: GeoPackageSource, filter: Expression): number[] {
  const query = passingRows(source, filter);
  const ids = statement(source.path, query.sql)
    .pluck()
    .all(...query.values) as number[];
  return ids.sort((a, b) => a - b);
}

async function findInPostgres(
  client: pg.Client,
  source: PostgisSource,
  filter: Expression,
): Promise<number[]> {
  const params = new SqlParams();
  const where = buildWhere(source, filter, params);
  const { rows } = await client.query({
    text: `SELECT fid FROM rows t WHERE ${where} ORDER BY fid`,
    values: [...params.values],
    rowMode: 'array',
  });
  return rows.map(([id]: string[]) => Number(id));
}
