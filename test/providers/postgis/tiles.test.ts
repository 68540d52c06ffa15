import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Box } from '../../../src/core/geometry/box.js';
import type { PostgisSource } from '../../../src/core/sources/vector-source.js';
import type { VectorTileTask } from '../../../src/core/tasks/vector-tasks.js';
import { closeAll } from '../../../src/workers/providers/postgis/connections/database.js';
import { discoverTables } from '../../../src/workers/providers/postgis/schema/discover.js';
import { postgisStore } from '../../../src/workers/providers/postgis/store.js';
import { decode, ringArea } from '../../native/support.js';
import { checkTile } from '../../native/tiles/tile-rules.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';

let postgres: TestPostgres;
let db: pg.Client;
let sources: Map<string, PostgisSource>;

const TABLES = `
  CREATE TABLE kinds (id bigint PRIMARY KEY, geom geometry(PointZM, 3857), flag boolean, whole smallint, big bigint,
    exact numeric(12,3), single real, double double precision, word text, fixed char(4), day date, at timestamptz,
    doc jsonb, list int[], words text[], bytes bytea, key uuid, span interval, nothing text);
  INSERT INTO kinds VALUES
    (9007199254740993, 'SRID=3857;POINT ZM (100 100 5 7)', true, -3, 9007199254740993, 12.340, 0.1, 1e300, 'Grüße', 'ab',
      '2024-02-29', '2024-02-29 12:00:00.5+02', '{"a": [1, null]}', '{1,NULL,3}', '{a,"b c"}', '\\x00ff',
      '00000000-0000-4000-8000-000000000001', '1 day', NULL),
    (-1, 'SRID=3857;POINT ZM (200 200 5 7)', false, NULL, NULL, 'NaN', 'Infinity', NULL, '', NULL, 'infinity', NULL,
      'null', '{}', NULL, NULL, NULL, NULL, NULL),
    (1, NULL, true, 1, 1, 1, 1, 1, 'no place', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (2, 'SRID=3857;POINT ZM EMPTY', true, 1, 1, 1, 1, 1, 'empty', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
  CREATE TABLE keyed (code uuid PRIMARY KEY, geom geometry(Point, 3857), name text);
  INSERT INTO keyed VALUES ('00000000-0000-4000-8000-00000000000a', 'SRID=3857;POINT (1 1)', 'one');
  CREATE TABLE mixed (fid int PRIMARY KEY, geom geometry(Geometry, 3857));
  INSERT INTO mixed VALUES
    (1, 'SRID=3857;GEOMETRYCOLLECTION (POINT (500 500), POLYGON ((0 0, 900 0, 900 900, 0 0)), GEOMETRYCOLLECTION EMPTY)'),
    (2, 'SRID=3857;POLYGON ((1000 1000, 2000 2000, 2000 1000, 1000 2000, 1000 1000))'),
    (3, 'SRID=3857;POLYGON EMPTY'),
    (5, 'SRID=3857;LINESTRING (5 5, 5 5)');
  CREATE TABLE arcs (fid int PRIMARY KEY, geom geometry(CurvePolygon, 3857));
  INSERT INTO arcs VALUES
    (4, 'SRID=3857;CURVEPOLYGON (CIRCULARSTRING (3000 3000, 4000 3000, 4000 4000, 3000 4000, 3000 3000))');
  SELECT setseed(0.25);
  CREATE TABLE shapes (fid int PRIMARY KEY, geom geometry(Geometry, 3857), n int);
  INSERT INTO shapes SELECT i, CASE i % 3
      WHEN 0 THEN p
      WHEN 1 THEN ST_MakeLine(ARRAY[p, ST_Translate(p, random() * 900 - 450, random() * 900), ST_Translate(p, 700, random() * 300)])
      ELSE ST_Difference(ST_Buffer(p, 40 + random() * 400, 3 + i % 20), ST_Buffer(p, 20)) END, i % 17
    FROM (SELECT i, ST_SetSRID(ST_MakePoint(random() * 11000 - 500, random() * 11000 - 500), 3857) AS p
      FROM generate_series(1, 3000) i) AS places;
  CREATE INDEX ON shapes USING gist (geom);
  ANALYZE;`;

beforeAll(async () => {
  postgres = await startPostgres();
  db = new pg.Client({ connectionString: postgres.url });
  await db.connect();
  await db.query(TABLES);
  const { layers } = await discoverTables({ database: postgres.url });
  sources = new Map(layers.map(({ source }) => [source.table, source as PostgisSource]));
}, 120_000);

afterAll(async () => {
  await db.end();
  closeAll();
  await postgres.stop();
});

const BOX: Box = [0, 0, 10_000, 10_000];

async function tileOf(table: string, changes: Partial<VectorTileTask> = {}, fields?: string[]) {
  const task: VectorTileTask = {
    layers: [],
    crs: 'EPSG:3857',
    bbox: BOX,
    extent: 4096,
    buffer: 64,
    simplify: 0,
    encoding: 'identity',
    ...changes,
  };
  const source = sources.get(table)!;
  const { tile } = await postgisStore.tileLayer(task, {
    filter: undefined,
    name: table,
    source,
    ...(fields ? { fields } : {}),
  });
  return tile;
}

const propertiesOf = (tile: Uint8Array, layer: string) => {
  const decoded = decode(tile)[layer]!;
  return Array.from({ length: decoded.length }, (_, i) => decoded.feature(i).properties);
};

describe('attributes in tiles of PostGIS', () => {
  it('have the type that a tile has for them', async () => {
    const tile = await tileOf('kinds');
    const [layer] = checkTile(tile);
    // Identifiers are 64 bits wide; a tile has none that are negative.
    expect(layer!.features.map(({ id }) => id)).toEqual([9007199254740993n, undefined]);
    const [first, second] = propertiesOf(tile, 'kinds');
    expect(first).toEqual({
      flag: true,
      whole: -3,
      big: Number(9007199254740993n),
      exact: 12.34,
      single: 0.1,
      double: 1e300,
      word: 'Grüße',
      fixed: 'ab',
      day: '2024-02-29',
      at: '2024-02-29T10:00:00.5Z',
      doc: '{"a": [1, null]}',
      list: '[1, null, 3]',
      words: '["a", "b c"]',
      key: '00000000-0000-4000-8000-000000000001',
      span: 'P1D',
    });
    // What is no number and no date is left out.
    expect(second).toEqual({ flag: false, word: '', doc: 'null', list: '[]' });
  });

  it('are those that are asked for', async () => {
    expect(propertiesOf(await tileOf('kinds', {}, ['whole', 'word']), 'kinds')[0]).toEqual({
      whole: -3,
      word: 'Grüße',
    });
    expect(propertiesOf(await tileOf('kinds', {}, []), 'kinds')[0]).toEqual({});
  });

  it('hold a key that is no integer', async () => {
    const code = '00000000-0000-4000-8000-00000000000a';
    expect(propertiesOf(await tileOf('keyed'), 'keyed')).toEqual([{ code, name: 'one' }]);
    expect(propertiesOf(await tileOf('keyed', {}, ['name']), 'keyed')).toEqual([{ code, name: 'one' }]);
    expect(propertiesOf(await tileOf('keyed', {}, []), 'keyed')).toEqual([{}]);
  });
});

describe('geometries in tiles of PostGIS', () => {
  it('keep the rules, whatever they are', async () => {
    const [layer] = checkTile(await tileOf('mixed'));
    // The collection becomes a point and a polygon; the bow tie has no area.
    expect(layer!.features.map(({ id, type }) => [Number(id), type])).toEqual([
      [1, 1],
      [1, 3],
    ]);
    const [arcs] = checkTile(await tileOf('arcs'));
    expect(arcs!.features[0]!.parts[0]!.length).toBeGreaterThan(20);
  });

  it('have the number, area and length of those of ST_AsMVT, feature by feature', async () => {
    const { rows } = await db.query<{ tile: Buffer }>(
      `SELECT ST_AsMVT(q, 'shapes', 4096, 'g', 'fid') AS tile FROM (
         SELECT fid, n, ST_AsMVTGeom(geom, ST_MakeEnvelope(0, 0, 10000, 10000, 3857), 4096, 64) AS g FROM shapes) q
       WHERE g IS NOT NULL`,
    );
    const measures = (tile: Uint8Array) => {
      const layer = decode(tile)['shapes']!;
      return new Map(
        Array.from({ length: layer.length }, (_, i) => {
          const feature = layer.feature(i);
          const parts = feature.loadGeometry();
          const sides = parts.flatMap((part) =>
            part.slice(1).map((p, k) => Math.hypot(p.x - part[k]!.x, p.y - part[k]!.y)),
          );
          const length = sides.reduce((sum, side) => sum + side, 0);
          const area = feature.type === 3 ? parts.reduce((sum, ring) => sum + ringArea(ring), 0) : 0;
          const cut = parts
            .flat()
            .some(({ x, y }) => Math.max(Math.abs(x - 2048), Math.abs(y - 2048)) > 2110);
          return [feature.id!, { type: feature.type, n: feature.properties['n'], length, area, cut }];
        }),
      );
    };
    const theirs = measures(rows[0]!.tile);
    const ours = measures(await tileOf('shapes'));
    // What just touches the border of the buffer may round either way.
    const differing = [...new Set([...ours.keys(), ...theirs.keys()])].filter(
      (id) => ours.has(id) !== theirs.has(id),
    );
    expect(theirs.size).toBeGreaterThan(2500);
    expect(differing.length).toBeLessThanOrEqual(3);
    for (const [id, { type, n, length, area, cut }] of theirs) {
      const own = ours.get(id);
      if (!own) continue;
      expect([own.type, own.n]).toEqual([type, n]);
      // Each position is within a grid unit: so is the area per unit of length.
      expect(Math.abs(own.area - area), `area of ${id}`).toBeLessThanOrEqual(length + 4);
      // Along the border the two may go different ways to and fro.
      if (cut) continue;
      expect(Math.abs(own.length - length), `length of ${id}`).toBeLessThanOrEqual(0.02 * length + 8);
    }
  });
});
