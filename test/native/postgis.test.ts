import { spawnSync } from 'node:child_process';
import type { VectorTileFeature } from '@mapbox/vector-tile';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tileBox, WEB_MERCATOR_QUAD } from '../../src/core/tiles/tile-matrix.js';
import { encodeLayer, type LayerRow } from '../../src/native/index.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { area, length, outlineOf, sliverTest } from './clipping/outline.js';
import { decode, type GridPoint, ringArea, WORLD_MAP } from './support.js';

const EXTENT = 4096;
const BUFFER = 64;
/** Square grid units: what is this small one of the two may drop. */
const TINY = 4;

const TABLES = ['countries', 'states_provinces', 'disputed_borders'];

type Address = readonly [z: number, x: number, y: number];

const TILES: Address[] = [
  [0, 0, 0],
  [1, 1, 0],
  [2, 1, 1],
  [3, 4, 2],
  [4, 8, 5],
  [5, 17, 10],
  [5, 28, 12],
  [6, 33, 22],
];

/** Zoom levels of tiles with many countries and states whole inside, so that their outlines are compared. */
const MANY_WHOLE: readonly number[] = [0, 2, 3, 4];
/** Share of vertices that may lie in places without width; 1.8 % at most was seen. */
const MAX_REPAIRED = 0.05;

let postgres: TestPostgres;
let db: pg.Client;

beforeAll(async () => {
  postgres = await startPostgres();
  const creation = ['-lco', 'GEOMETRY_NAME=geom', '-lco', 'FID=fid', '-a_srs', 'EPSG:4326'];
  const loaded = spawnSync(
    'ogr2ogr',
    ['-f', 'PostgreSQL', `PG:${postgres.url}`, WORLD_MAP, ...TABLES, ...creation],
    { encoding: 'utf8' },
  );
  if (loaded.status !== 0) throw new Error(`ogr2ogr failed: ${loaded.stderr ?? loaded.error}`);
  db = new pg.Client({ connectionString: postgres.url });
  await db.connect();
}, 120_000);
afterAll(async () => {
  await db?.end();
  await postgres?.stop();
});

/**
 * Rows that meet the tile with its buffer. Without those beyond the edge of the Mercator square, where we end
 * and PostGIS goes on into the buffer.
 */
const MEETS = `geom && ST_Transform(ST_TileEnvelope($1, $2, $3, margin => ${BUFFER / EXTENT}), 4326)
  AND ST_YMin(geom) > -85.05 AND ST_YMax(geom) < 85.05`;

async function ourTile(table: string, [z, x, y]: Address, geometry: string): Promise<Buffer> {
  const { rows } = await db.query({
    text: `SELECT fid, ${geometry} FROM ${table} WHERE ${MEETS} ORDER BY fid`,
    values: [z, x, y],
    rowMode: 'array',
  });
  const bbox = tileBox(WEB_MERCATOR_QUAD, z, y, x);
  const crs = { from: 'EPSG:4326', to: 'EPSG:3857' };
  return encodeLayer(
    { layer: table, fields: [], ...crs, bbox, extent: EXTENT, buffer: BUFFER },
    rows as unknown as LayerRow[],
  );
}

async function postgisTile(table: string, [z, x, y]: Address): Promise<Buffer> {
  const { rows } = await db.query<{ tile: Buffer }>(
    `SELECT ST_AsMVT(q, '${table}', ${EXTENT}, 'mvt', 'fid') AS tile FROM (
       SELECT fid,
         ST_AsMVTGeom(ST_Transform(geom, 3857), ST_TileEnvelope($1, $2, $3), ${EXTENT}, ${BUFFER}) AS mvt
       FROM ${table} WHERE ${MEETS}) q WHERE mvt IS NOT NULL`,
    [z, x, y],
  );
  return rows[0]!.tile;
}

function featuresOf(tile: Uint8Array, name: string): Map<number, VectorTileFeature> {
  const layer = decode(tile)[name];
  const features = Array.from({ length: layer?.length ?? 0 }, (_, i) => layer!.feature(i));
  const byId = new Map(features.map((feature) => [feature.id!, feature]));
  expect(byId.size).toBe(features.length);
  return byId;
}

function isWhole(rings: readonly (readonly GridPoint[])[]): boolean {
  return rings.flat().every(({ x, y }) => x > 0 && y > 0 && x < EXTENT && y < EXTENT);
}

/**
 * Vertices of ours that are further than a grid unit (diagonally) from PostGIS's outline. PostGIS repairs
 * polygons after snapping, which takes away what has no width; `unexplained` are those in other places.
 */
function strays(ours: GridPoint[][], theirs: GridPoint[][], polygon: boolean) {
  const outline = outlineOf(theirs);
  const isSliver = sliverTest(ours);
  const unexplained: GridPoint[] = [];
  let slivers = 0;
  for (const ring of ours) {
    const lost = polygon && Math.abs(ringArea(ring)) <= TINY;
    ring.forEach((p, i) => {
      if (outline(p) <= Math.SQRT2) return;
      if (lost || (polygon && isSliver(ring, i))) slivers++;
      else unexplained.push(p);
    });
  }
  return { unexplained, slivers };
}

describe.each(TABLES)('%s against ST_AsMVT', (table) => {
  it.each(TILES)('tile %d/%d/%d has the same features in the same places', async (...at) => {
    const ours = featuresOf(await ourTile(table, at, 'ST_AsEWKB(geom)'), table);
    const theirs = featuresOf(await postgisTile(table, at), table);
    let whole = 0;
    let vertices = 0;
    let repaired = 0;
    for (const id of theirs.keys()) expect(ours.has(id), `feature ${id}`).toBe(true);
    for (const [id, feature] of ours) {
      const mine = feature.loadGeometry();
      const other = theirs.get(id);
      const polygon = feature.type === 3;
      if (!other) {
        expect(polygon && area(mine) <= TINY, `feature ${id} is only ours`).toBe(true);
        continue;
      }
      expect(other.type).toBe(feature.type);
      const reference = other.loadGeometry();
      if (polygon) {
        const allowed = length(mine) / 2 + TINY;
        expect(Math.abs(area(mine) - area(reference)), `area of ${id}`).toBeLessThanOrEqual(allowed);
      }
      if (!isWhole(mine) || !isWhole(reference)) continue;
      whole++;
      const { unexplained, slivers } = strays(mine, reference, polygon);
      expect(unexplained, `feature ${id}`).toEqual([]);
      vertices += mine.flat().length;
      repaired += slivers;
      const outline = outlineOf(mine);
      const visible = reference.filter((ring) => !polygon || Math.abs(ringArea(ring)) > TINY);
      const missed = visible.flat().filter((p) => outline(p) > Math.SQRT2);
      expect(missed, `feature ${id}`).toEqual([]);
    }
    expect(repaired).toBeLessThanOrEqual(vertices * MAX_REPAIRED);
    if (MANY_WHOLE.includes(at[0]) && table !== 'disputed_borders') expect(whole).toBeGreaterThan(10);
  });

  it('is the same tile from WKB and EWKB in either byte order', async () => {
    const at = [3, 4, 2] as const;
    const tile = await ourTile(table, at, 'ST_AsEWKB(geom)');
    for (const geometry of ["ST_AsEWKB(geom, 'XDR')", 'ST_AsBinary(geom)', "ST_AsBinary(geom, 'XDR')"])
      expect((await ourTile(table, at, geometry)).equals(tile), geometry).toBe(true);
    expect(decode(await ourTile('countries', at, 'ST_AsBinary(geom)')).countries!.length).toBeGreaterThan(20);
  });
});
