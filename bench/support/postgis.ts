import { spawnSync } from 'node:child_process';
import { type BuildingCrs, buildings } from './buildings.js';
import { cpuSeconds } from './load.js';

/** The synthetic buildings as a table of a PostGIS database: `fid`, `geom` and their attributes. */
export function loadBuildings(url: string, table: string, rows: number, crs: BuildingCrs = 3857): void {
  const layout = ['-nln', table, '-lco', 'GEOMETRY_NAME=geom', '-lco', 'FID=fid', '-lco', 'DIM=2'];
  const args = [
    '-f',
    'PostgreSQL',
    `PG:${url}`,
    buildings(rows, crs).path,
    'buildings',
    ...layout,
    '-a_srs',
    `EPSG:${crs}`,
  ];
  const { status, stderr } = spawnSync('ogr2ogr', args, { env: { ...process.env, PG_USE_COPY: 'YES' } });
  if (status !== 0) throw new Error(String(stderr));
}

/** Geometries of one type each, made of those of buildings. */
export const GEOMETRIES: Readonly<Record<string, string>> = {
  points: 'ST_Centroid(geom)::geometry(Point, 3857)',
  lines: 'ST_ExteriorRing(ST_GeometryN(geom, 1))::geometry(LineString, 3857)',
  polygons: 'ST_GeometryN(geom, 1)::geometry(Polygon, 3857)',
};

/** Statements that make a table of each of these geometries out of loaded buildings, which are dropped. */
export function splitByGeometry(loaded: string): string[] {
  const tables = Object.entries(GEOMETRIES).flatMap(([name, geometry]) => [
    `CREATE TABLE ${name} AS SELECT fid, ${geometry} AS geom, name, kind, levels, height FROM ${loaded}`,
    `ALTER TABLE ${name} ADD PRIMARY KEY (fid)`,
    `CREATE INDEX ON ${name} USING gist (geom)`,
    `VACUUM ANALYZE ${name}`,
  ]);
  return [...tables, `DROP TABLE ${loaded}`];
}

/** What a piece of work costs, of this process and of the database's session. */
export interface SharedCost {
  wallMs: number;
  clientMs: number;
  serverMs: number;
}

/** Repeats `work` until `enough` of its passes so far is true; the mean of one pass. */
export async function sharedCost(
  session: number,
  work: (pass: number) => Promise<unknown>,
  enough: (passes: number, wallMs: number) => boolean,
): Promise<SharedCost> {
  const cpu = process.cpuUsage();
  const server = cpuSeconds(session);
  const begin = performance.now();
  let passes = 0;
  while (!enough(passes, performance.now() - begin)) await work(passes++);
  const wallMs = (performance.now() - begin) / passes;
  const { user, system } = process.cpuUsage(cpu);
  return {
    wallMs,
    clientMs: (user + system) / 1e3 / passes,
    serverMs: ((cpuSeconds(session) - server) * 1e3) / passes,
  };
}
