import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useGeneratedIds } from '../../../src/core/catalog/generated-ids.js';
import type { EditTask } from '../../../src/core/edits/edits.js';
import type { PageKey } from '../../../src/core/features/features.js';
import type { PostgisSource } from '../../../src/core/sources/vector-source.js';
import { vectorCollection } from '../../../src/services/catalog/publish/collections.js';
import { cutAtAntimeridian } from '../../../src/workers/providers/postgis/antimeridian.js';
import { closeAll } from '../../../src/workers/providers/postgis/connections/database.js';
import { tableLayers } from '../../../src/workers/providers/postgis/schema/table-layers.js';
import { postgisStore } from '../../../src/workers/providers/postgis/store.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { CRS84, layerOf, page, run } from './support.js';

/** Tables that other servers read wrongly: no SRID, NaN, geographies across 180 degrees, keys of several columns. */

let postgres: TestPostgres;

beforeAll(async () => {
  postgres = await startPostgres();
  await run(
    postgres.url,
    `CREATE EXTENSION IF NOT EXISTS postgis;
     CREATE TABLE srid0 (id serial PRIMARY KEY, name text, geom geometry);
     INSERT INTO srid0 (name, geom) VALUES ('a', 'POINT(7 47)'), ('b', 'POINT(8 48)');
     CREATE TABLE declared0 (id serial PRIMARY KEY, geom geometry(Point));
     CREATE TABLE nan (id serial PRIMARY KEY, geom geometry(Point, 4326));
     INSERT INTO nan (geom) SELECT ST_SetSRID(ST_MakePoint(7 + i / 10.0, 47), 4326) FROM generate_series(1, 9) i;
     INSERT INTO nan (geom) VALUES (ST_SetSRID(ST_MakePoint('NaN', 'NaN'), 4326)),
       (ST_SetSRID(ST_MakePoint('Infinity', 47), 4326)), (ST_SetSRID(ST_MakePoint(7, '-Infinity'), 4326));
     CREATE INDEX ON nan USING gist (geom);
     CREATE TABLE between_rows (id serial PRIMARY KEY, geom geometry(PointZ, 4326));
     INSERT INTO between_rows (geom) VALUES ('SRID=4326;POINT(1 1 0)'), ('SRID=4326;POINT(5 5 0)'),
       (ST_SetSRID(ST_MakePoint('NaN', 'NaN', 0), 4326)), (NULL), ('SRID=4326;POINT Z EMPTY'), ('SRID=4326;POINT(3 3 0)');
     CREATE TABLE globe (id int PRIMARY KEY, geom geography(Geometry, 4326));
     INSERT INTO globe VALUES
       (1, 'POLYGON((170 -20, -170 -20, -170 -10, 170 -10, 170 -20))'),
       (2, 'LINESTRING(179 0, -179 1)'),
       (3, 'MULTIPOLYGON(((170 40, -170 40, -170 50, 170 50, 170 40)), ((-5 40, 5 40, 5 50, -5 50, -5 40)))'),
       (4, 'POLYGON((-100 60, -50 60, 0 60, 50 60, 100 60, 100 70, 50 70, 0 70, -50 70, -100 70, -100 60))'),
       (5, 'MULTIPOINT(179 0, -179 0)');
     CREATE TABLE broken (id serial PRIMARY KEY, geom geometry(Polygon, 4326));
     INSERT INTO broken (geom) VALUES ('SRID=4326;POLYGON((7 47, 8 47, 8 48, 7 47))');
     INSERT INTO broken (geom)
       SELECT ST_SetSRID(ST_MakePolygon(ST_MakeLine(ARRAY[a, b, ST_MakePoint(8, 48), a])), 4326)
       FROM (VALUES (ST_MakePoint('NaN', 47), ST_MakePoint(8, 47)), (ST_MakePoint('Infinity', 47), ST_MakePoint(8, 47)),
         (ST_MakePoint(7, 47), ST_MakePoint(8, 'NaN')), (ST_MakePoint(7, 47), ST_MakePoint(8, '-Infinity'))) AS v(a, b);
     CREATE TABLE mixed (id serial PRIMARY KEY, geom geometry(Geometry, 4326));
     INSERT INTO mixed (geom) SELECT geom FROM broken ORDER BY id;
     INSERT INTO mixed (geom) VALUES (ST_SetSRID(ST_MakeLine(ST_MakePoint(7.5, 47), ST_MakePoint('Infinity', 1)), 4326)),
       (ST_SetSRID(ST_Collect(ARRAY[ST_MakePoint(7.5, 47), ST_MakePoint('NaN', 1)]), 4326)),
       (ST_SetSRID(ST_MakePoint('NaN', 47), 4326)), ('SRID=4326;POINT(7.5 47.1)'),
       (ST_SetSRID(ST_Collect(ST_MakeLine(ST_MakePoint(7, 47), ST_MakePoint(8, 47)), ST_MakePoint(7, 'Infinity')), 4326));
     CREATE INDEX ON mixed USING gist (geom);
     CREATE TABLE parts (id serial PRIMARY KEY, geom geometry(MultiLineString, 4326));
     INSERT INTO parts (geom) SELECT ST_SetSRID(ST_Collect(ARRAY[a, b, c]), 4326) FROM
       ST_GeomFromText('LINESTRING(7 47, 8 47)') c,
       (VALUES (ST_MakeLine(ST_MakePoint('NaN', 1), ST_MakePoint(2, 2)), ST_GeomFromText('LINESTRING(9 9, 9 8)')),
         (ST_GeomFromText('LINESTRING(9 9, 9 8)'), ST_MakeLine(ST_MakePoint(8, 48), ST_MakePoint(8, 'Infinity')))) AS v(a, b);
     INSERT INTO parts (geom) VALUES
       (ST_SetSRID(ST_Multi(ST_MakeLine(ST_MakePoint(7, 47), ST_MakePoint(8, 'NaN'))), 4326));
     CREATE TABLE collections (id serial PRIMARY KEY, geom geometry(Geometry, 4326));
     INSERT INTO collections (geom) SELECT geom FROM parts ORDER BY id;
     CREATE INDEX ON parts USING gist (geom);
     CREATE TABLE arcs (id serial PRIMARY KEY, geom geometry(Geometry, 4326));
     INSERT INTO arcs (geom) SELECT ('SRID=4326;' || g)::geometry FROM unnest(ARRAY['POINT(9 49)',
       'CIRCULARSTRING(9 49, 9.5 49.5, 10 49)', 'COMPOUNDCURVE(CIRCULARSTRING(9 49, 9.5 49.5, 10 49), (10 49, 11 49))',
       'CURVEPOLYGON(CIRCULARSTRING(9 49, 9.5 49.5, 10 49, 9.5 48.5, 9 49))', 'TIN(((9 49, 10 49, 9 50, 9 49)))',
       'GEOMETRYCOLLECTION(POINT(9 49), CIRCULARSTRING(9 49, 9.5 49.5, 10 49))',
       'GEOMETRYCOLLECTION(POINT(11 49), TIN(((9 49, 10 49, 9 50, 9 49))))',
       'GEOMETRYCOLLECTION(POLYHEDRALSURFACE(((9 49, 10 49, 9 50, 9 49))))', 'CIRCULARSTRING(19 49, 19.5 49.5, 20 49)']) g;
     CREATE TABLE rounds (id serial PRIMARY KEY, geom geometry(CompoundCurve, 4326));
     INSERT INTO rounds (geom) SELECT geom FROM arcs WHERE GeometryType(geom) = 'COMPOUNDCURVE';
     CREATE TABLE pairs (region text, n int, name text, geom geometry(Point, 4326), PRIMARY KEY (region, n));
     INSERT INTO pairs SELECT r, i, r || i, ST_SetSRID(ST_MakePoint(i, 50), 4326)
       FROM unnest('{"a:b","5%,6",c}'::text[]) r, generate_series(1, 4) i;
     CREATE TABLE days (region int, day date, geom geometry(Point, 4326), PRIMARY KEY (region, day)) PARTITION BY LIST (region);
     CREATE TABLE days_1 PARTITION OF days FOR VALUES IN (1);
     INSERT INTO days VALUES (1, '2020-02-29', 'SRID=4326;POINT(1 1)'), (1, '2020-03-01', 'SRID=4326;POINT(2 2)');`,
  );
});
afterAll(async () => {
  closeAll();
  await postgres?.stop();
});

const box = (...bbox: number[]) => ({ op: 's_intersects', args: [{ property: 'geom' }, { bbox }] });
const sourceOf = async (table: string) => (await layerOf(postgres.url, table)).source as PostgisSource;

describe('a table without an SRID that is published with one', () => {
  const published = async (table: string, srid = 4326) => {
    const choices = [{ schema: 'public', table, srid }];
    const [found] = await tableLayers({ database: postgres.url, choices });
    if (!found || 'problem' in found) throw new Error(JSON.stringify(found));
    return found.layer;
  };
  const edit = (source: PostgisSource, operation: EditTask['operations'][number]) =>
    postgisStore.edit({
      ...{
        source,
        operations: [operation],
        mode: 'each',
        crs: 'OGC:CRS84',
        swapAxes: false,
        filter: undefined,
      },
      origin: { collection: 'a', layerId: 1, protocol: 'Test', requestId: '1', actor: 'me' },
    });
  const sridsIn = async (table: string) => {
    const { rows } = await run(postgres.url, `SELECT DISTINCT ST_SRID(geom) AS srid FROM ${table}`);
    return rows.map(({ srid }) => srid);
  };

  it('is found by every spatial filter', async () => {
    const layer = await published('srid0');
    const source = layer.source as PostgisSource;
    expect(layer).toMatchObject({ extent84: [7, 47, 8, 48] });
    expect(source).toMatchObject({ crs: 'EPSG:4326', srid: 0 });
    const ids = async (filter: object) => (await page(source, { filter: filter as never })).ids;
    expect(await ids(box(6, 46, 10, 50))).toEqual([1, 2]);
    expect(await ids(box(7, 47, 7, 47))).toEqual([1]);
    const area = {
      type: 'Polygon',
      coordinates: [
        [
          [7.5, 46],
          [9, 46],
          [9, 49],
          [7.5, 49],
          [7.5, 46],
        ],
      ],
    };
    expect(await ids({ op: 's_intersects', args: [{ property: 'geom' }, area] })).toEqual([2]);
    const point = { type: 'Point', coordinates: [7, 47.001] };
    expect(await ids({ op: 's_dwithin', args: [{ property: 'geom' }, point, 200] })).toEqual([1]);
    expect(
      await postgisStore.occupied(source, [
        [6, 46, 7.5, 50],
        [0, 0, 1, 1],
      ]),
    ).toEqual([true, false]);
    const { extent } = await postgisStore.extent({ source, filter: box(6, 46, 7.5, 50) as never });
    expect(extent).toEqual([7, 47, 7, 47]);
  });

  it('is projected from the CRS that is stated', async () => {
    await run(
      postgres.url,
      `CREATE TABLE utm0 (id serial PRIMARY KEY, geom geometry);
       INSERT INTO utm0 (geom) VALUES ('POINT(500000 5500000)')`,
    );
    const source = (await published('utm0', 25832)).source as PostgisSource;
    expect((await page(source)).list[0]!.geometry).toEqual({ type: 'Point', coordinates: [9, 49.6525429] });
    expect((await page(source, { filter: box(8.9, 49, 9.1, 50) as never })).ids).toEqual([1]);
  });

  it('keeps its SRID when it is edited', async () => {
    for (const table of ['srid0', 'declared0']) {
      const source = (await published(table)).source as PostgisSource;
      const geometry = JSON.stringify({ type: 'Point', coordinates: [9, 49] });
      const made = await edit(source, { type: 'create', feature: { geometry } });
      expect(made.outcomes).toEqual([{ ok: true, id: expect.any(String) }]);
      const { id } = made.outcomes[0] as { id: string };
      const moved = await edit(source, { type: 'update', id, feature: { geometry } });
      expect(moved.outcomes).toEqual([{ ok: true, id }]);
      expect(await sridsIn(table)).toEqual([0]);
      expect((await page(source, { filter: box(8.5, 48.5, 9.5, 49.5) as never })).ids).toEqual([Number(id)]);
    }
  });
});

describe('rows whose coordinates are no numbers', () => {
  it('hide no other row from extents', async () => {
    const layer = await layerOf(postgres.url, 'nan');
    expect(layer.extent84).toEqual([7.1, 47, 7.9, 47]);
    expect(layer.featureCount).toBe(12);
    const versions = { version: '1', origin: '1', readAt: 0 };
    const { warning } = vectorCollection(layer, 'postgresql://db', versions)('nan', 1);
    expect(warning).toContain('not finite numbers');
    const source = layer.source as PostgisSource;
    const extent = async (filter: object | undefined) =>
      (await postgisStore.extent({ source, filter: filter as never })).extent;
    expect(await extent(undefined)).toEqual([7.1, 47, 7.9, 47]);
    const all = { op: '>', args: [{ property: 'id' }, 4] };
    expect(await extent(all)).toEqual([7.5, 47, 7.9, 47]);
  });

  it('are features without a geometry', async () => {
    const { list } = await page(await sourceOf('nan'));
    expect(list.filter(({ geometry }) => geometry === null).map(({ id }) => id)).toEqual([10, 11, 12]);
  });
});

describe('a geometry with NaN between others', () => {
  it('does not make the extent forget the rows before it, and is reported', async () => {
    const found = await layerOf(postgres.url, 'between_rows');
    expect(found).toMatchObject({ extent: [1, 1, 5, 5], featureCount: 6, beyond: [1, 1, 1e308, 1e308] });
    const source = found.source as PostgisSource;
    expect(await postgisStore.extent({ source, filter: undefined })).toMatchObject({ extent: [1, 1, 5, 5] });
    const filter = { op: '>', args: [{ property: 'id' }, 1] } as never;
    expect(await postgisStore.extent({ source, filter })).toMatchObject({ extent: [3, 3, 5, 5] });
  });

  it('does not when the extent is that of statistics', async () => {
    await run(postgres.url, 'ANALYZE between_rows');
    const source = (await sourceOf('between_rows')) as PostgisSource;
    expect(await postgisStore.extent({ source, filter: undefined })).toMatchObject({ extent: [1, 1, 5, 5] });
  });
});

describe.each([
  ['broken', [1], [1], [1]],
  ['mixed', [1, 7, 9, 10], [1, 10], [1, 7, 10]],
])('a geometry with NaN or infinity in the table %s', (table, whole, atPoint, onLine) => {
  const point = { type: 'Point', coordinates: [7, 47] };
  const ids = async (filter: object) =>
    (await page(await sourceOf(table), { filter: filter as never })).ids.sort(
      (a, b) => Number(a) - Number(b),
    );

  it('is shown as null', async () => {
    const { list } = await page(await sourceOf(table));
    expect(list.filter(({ geometry }) => geometry !== null).map(({ id }) => id)).toEqual(whole);
  });

  it('does not spoil a box for the others, and is not found', async () => {
    expect(await ids(box(7, 46.9, 8.2, 48.2))).toEqual(whole);
    expect(await ids(box(-180, -90, 180, 90))).toEqual(whole);
    expect(await ids(box(7, 47, 7, 47))).toEqual(atPoint);
  });

  it('meets no condition on the geometry', async () => {
    const geom = { property: 'geom' };
    const away = { type: 'Point', coordinates: [20, 20] };
    const line = {
      type: 'LineString',
      coordinates: [
        [6, 47],
        [9, 47],
      ],
    };
    expect(await ids({ op: 's_intersects', args: [geom, point] })).toEqual(atPoint);
    expect(await ids({ op: 's_intersects', args: [geom, line] })).toEqual(onLine);
    expect(await ids({ op: 's_touches', args: [geom, point] })).toEqual(atPoint);
    expect(await ids({ op: 's_disjoint', args: [geom, away] })).toEqual(whole);
    expect(await ids({ op: 's_dwithin', args: [geom, point, 1_000_000] })).toEqual(whole);
    expect(await ids({ op: 's_beyond', args: [geom, away, 1000] })).toEqual(whole);
  });
});

describe.each(['parts', 'collections'])('finite parts of geometries in the table %s', (table) => {
  const ids = async (filter: object) =>
    (await page(await sourceOf(table), { filter: filter as never })).ids.sort(
      (a, b) => Number(a) - Number(b),
    );

  it('meet conditions on the geometry', async () => {
    const args = [{ property: 'geom' }, { type: 'Point', coordinates: [7, 47] }];
    const away = [{ property: 'geom' }, { type: 'Point', coordinates: [20, 20] }];
    expect(await ids(box(7.2, 46.9, 7.4, 47.2))).toEqual([1, 2]);
    expect(await ids(box(8.5, 7, 9.5, 8.5))).toEqual([1, 2]);
    for (const op of ['s_intersects', 's_touches', 's_contains'])
      expect(await ids({ op, args })).toEqual(op === 's_contains' ? [] : [1, 2]);
    expect(await ids({ op: 's_disjoint', args: away })).toEqual([1, 2]);
    expect(await ids({ op: 's_dwithin', args: [...args, 1000] })).toEqual([1, 2]);
  });
});

describe('curves and surfaces in degrees', () => {
  const point = { type: 'Point', coordinates: [9, 49] };
  const args = [{ property: 'geom' }, point];
  const ids = async (table: string, filter: object) =>
    (await page(await sourceOf(table), { filter: filter as never })).ids;

  it('have a distance', async () => {
    const near = [1, 2, 3, 4, 5, 6, 7, 8];
    expect(await ids('arcs', { op: 's_dwithin', args: [...args, 1000] })).toEqual(near);
    expect(await ids('arcs', { op: 's_beyond', args: [...args, 1000] })).toEqual([9]);
    const distance = { op: 'geodistance', args };
    expect(await ids('arcs', { op: '<', args: [distance, 1000] })).toEqual(near);
    expect(await ids('rounds', { op: 's_dwithin', args: [...args, 1000] })).toEqual([1]);
    // 0.5 degrees above its chord.
    const top = { type: 'Point', coordinates: [9.5, 49.5] };
    expect(await ids('rounds', { op: 's_dwithin', args: [args[0], top, 100] })).toEqual([1]);
  });

  it('are found by boxes and relations', async () => {
    expect(await ids('arcs', box(9, 49, 9, 49))).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(await ids('arcs', { op: 's_intersects', args })).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(await ids('arcs', { op: 's_disjoint', args })).toEqual([9]);
  });
});

describe('boxes without an area', () => {
  it('find the points in them', async () => {
    const source = await sourceOf('nan');
    const ids = async (filter: object) => (await page(source, { filter: filter as never })).ids;
    expect(await ids(box(7.1, 47, 7.1, 47))).toEqual([1]);
    expect(await ids(box(7.1, 47, 7.3, 47))).toEqual([1, 2, 3]);
    expect(await ids(box(7.1, 46, 7.1, 48))).toEqual([1]);
    const literal = { bbox: [7.1, 47, 7.1, 47] };
    for (const op of ['s_within', 's_equals'])
      expect(await ids({ op, args: [{ property: 'geom' }, literal] })).toEqual([1]);
  });
});

describe('geographies across 180 degrees', () => {
  it('are cut there, and others are left alone', async () => {
    const { list } = await page(await sourceOf('globe'));
    const [polygon, line, parts, wide, points] = list.map(
      ({ geometry }) => geometry as { type: string; coordinates: never[] },
    );
    const longitudes = (value: unknown): number[] =>
      Array.isArray(value) && typeof value[0] === 'number'
        ? [value[0]]
        : (value as unknown[]).flatMap(longitudes);
    expect(polygon!.type).toBe('MultiPolygon');
    const spans = polygon!.coordinates.map((part) => [
      Math.min(...longitudes(part)),
      Math.max(...longitudes(part)),
    ]);
    expect(spans.sort()).toEqual([
      [-180, -170],
      [170, 180],
    ]);
    expect(line).toEqual({
      type: 'MultiLineString',
      coordinates: expect.arrayContaining([
        [
          [179, 0],
          [180, 0.5],
        ],
      ]),
    });
    expect(parts!.coordinates).toHaveLength(3);
    expect(wide!.type).toBe('Polygon');
    expect(points).toEqual({
      type: 'MultiPoint',
      coordinates: [
        [179, 0],
        [-179, 0],
      ],
    });
  });

  it('are closed along a pole that they hold', async () => {
    const polar = 'POLYGON((0 80,90 80,180 80,-90 80,0 80))';
    const shapes = [
      polar,
      'POLYGON((-170 80,-60 80,60 80,170 80,-170 80))',
      `MULTIPOLYGON(${polar.slice(7)},((0 0,1 0,1 1,0 0)))`,
      `GEOMETRYCOLLECTION(POINT(1 1),${polar})`,
      'POLYGON((-180 -85,-90 -85,0 -85,90 -85,180 -85,-180 -85))',
      'POLYGON((0 60,120 60,-120 60,0 60),(0 80,120 80,-120 80,0 80))',
      'POLYGON((-180 80,180 80,180 90,-180 90,-180 80))',
      'POLYGON((-10 0,80 0,170 0,-170 0,-170 10,170 10,80 10,-10 10,-10 0))',
      'LINESTRING(179 0,-179 1,180 2,180 3,-179 4)',
      'LINESTRING(0 10,120 10,-120 10,0 10,120 10,-120 10,0 10)',
    ];
    const shown = async (shape: string) => {
      const cut = cutAtAntimeridian('g.geom');
      const results = await run(
        postgres.url,
        `SET jit = off;
        SELECT GeometryType(c) AS a, ST_Area(c)::text AS b, box2d(c)::text AS c, ST_NumGeometries(c) AS d, ST_IsValid(c)::text AS e
          FROM (SELECT ${cut} AS c FROM (SELECT 'SRID=4326;${shape}'::geography::geometry AS geom) AS g) AS s`,
      );
      return Object.values((results as unknown as { rows: object[] }[])[1]!.rows[0]!);
    };
    const rows = [];
    for (const shape of shapes) rows.push(await shown(shape));
    const arctic = 'BOX(-180 80,180 90)';
    expect(rows).toEqual([
      ['POLYGON', '3600', arctic, 1, 'true'],
      ['POLYGON', '3600', arctic, 1, 'true'],
      ['MULTIPOLYGON', '3600.5', 'BOX(-180 0,180 90)', 2, 'true'],
      ['GEOMETRYCOLLECTION', '3600', 'BOX(-180 1,180 90)', 2, 'true'],
      ['POLYGON', '1800', 'BOX(-180 -90,180 -85)', 1, 'true'],
      ['POLYGON', '7200', 'BOX(-180 60,180 80)', 1, 'true'],
      ['POLYGON', '3600', arctic, 1, 'true'],
      ['MULTIPOLYGON', '2000', 'BOX(-180 0,180 10)', 2, 'true'],
      ['MULTILINESTRING', '0', 'BOX(-180 0,180 4)', 4, 'true'],
      ['MULTILINESTRING', '0', 'BOX(-180 10,180 10)', 3, 'true'],
    ]);
    await run(
      postgres.url,
      `CREATE TABLE polar (id int PRIMARY KEY, geom geography(Polygon, 4326)); INSERT INTO polar VALUES (1, '${polar}')`,
    );
    const { extent84, source } = await layerOf(postgres.url, 'polar');
    expect(extent84).toEqual([-180, 80, 180, 90]);
    expect((await page(source as PostgisSource, { filter: box(-150, 85, -140, 89) as never })).ids).toEqual([
      1,
    ]);
    expect((await page(source as PostgisSource)).list[0]!.geometry).toMatchObject({ type: 'Polygon' });
  });

  it('have an extent across 180 degrees', async () => {
    await run(
      postgres.url,
      `CREATE TABLE pacific (id int PRIMARY KEY, geom geography(Polygon, 4326));
       INSERT INTO pacific VALUES (1, 'POLYGON((170 -20, -170 -20, -170 -10, 170 -10, 170 -20))')`,
    );
    const { extent84, source } = await layerOf(postgres.url, 'pacific');
    expect([extent84![0], extent84![2]]).toEqual([170, -170]);
    expect((await postgisStore.extent({ source, filter: undefined })).extent84).toEqual(extent84);
    const filter = { op: '<', args: [{ property: 'id' }, 5] } as const;
    expect((await postgisStore.extent({ source, filter })).extent84).toEqual(extent84);
    await run(
      postgres.url,
      "INSERT INTO pacific VALUES (2, 'POLYGON((-1 0, 1 0, 1 1, -1 1, -1 0))'), (9, 'POLYGON((-99 0, -98 0, -98 1, -99 0))')",
    );
    // A part on both sides of 0 degrees leaves no box across 180 degrees.
    expect((await postgisStore.extent({ source, filter: undefined })).extent84).toEqual([-180, -20, 180, 1]);
  });

  it('are found where they are, and not on the other side of the Earth', async () => {
    const source = await sourceOf('globe');
    const ids = async (...bbox: number[]) => (await page(source, { filter: box(...bbox) as never })).ids;
    expect(await ids(175, -15, 176, -14)).toEqual([1]);
    expect(await ids(-176, -15, -175, -14)).toEqual([1]);
    expect(await ids(0, -15, 1, -14)).toEqual([]);
    expect(await ids(0, 41, 1, 42)).toEqual([3]);
    expect(await ids(20, 61, 21, 62)).toEqual([4]);
  });
});

describe('keys of several columns', () => {
  it('name features by the values of all of them', async () => {
    const source = await sourceOf('pairs');
    const all = await page(source);
    expect(all.ids).toEqual(expect.arrayContaining(['a%3Ab:1', '5%25%2C6:4', 'c:2']));
    for (const id of all.ids) {
      const found = await postgisStore.item({ filter: undefined, ...CRS84, source, id: String(id) });
      expect(JSON.parse(Buffer.from(found!.data).toString())).toMatchObject({ id });
    }
    for (const id of [
      'c',
      'c:2:3',
      'c:02',
      'c:x',
      'a:b:1',
      'a%3ab:1',
      '5%25,6:4',
      '5%25%2c6:4',
      'c:99999999999999999999',
      'd:1',
    ])
      expect(await postgisStore.item({ filter: undefined, ...CRS84, source, id })).toBeNull();
  });

  it.each([[[]], [[{ field: 'n', descending: true }]], [[{ field: 'id', descending: false }]]])(
    'are paged through without a gap, sorted by %j',
    async (sort) => {
      const source = await sourceOf('pairs');
      const whole = await page(source, { sort });
      const seen: unknown[] = [];
      let after: PageKey | undefined;
      do {
        const part = await page(source, { sort, limit: 5, ...(after ? { after } : {}) });
        seen.push(...part.ids);
        after = part.more ? part.last : undefined;
      } while (after);
      expect(seen).toEqual(whole.ids);
      expect(new Set(seen).size).toBe(12);
    },
  );

  it('serve filters, counts, tiles and numbers for clients that know nothing else', async () => {
    const source = await sourceOf('pairs');
    const filter = { op: 'in', args: [{ property: 'id' }, ['c:2', 'a%3Ab:1']] };
    expect((await page(source, { filter: filter as never })).ids.sort()).toEqual(['a%3Ab:1', 'c:2']);
    expect(await postgisStore.count({ source, filter: box(1, 50, 1, 50) as never })).toBe(3);
    const numbered = useGeneratedIds(source) as PostgisSource;
    const { list } = await page(numbered);
    expect(list.map(({ id }) => id).sort((a, b) => Number(a) - Number(b))).toEqual(
      Array.from({ length: 12 }, (_, i) => i + 1),
    );
    expect(list[0]!.properties['id']).toBeTypeOf('string');
    const by = { op: '=', args: [{ property: numbered.idColumn }, list[0]!.id as number] };
    expect((await page(numbered, { filter: by as never })).ids).toEqual([list[0]!.id]);
  });

  it('name features of partitioned tables', async () => {
    const source = await sourceOf('days');
    expect(source.writable).toBe(false);
    expect((await page(source)).ids).toEqual(['1:2020-02-29', '1:2020-03-01']);
    const found = await postgisStore.item({ filter: undefined, ...CRS84, source, id: '1:2020-02-29' });
    expect(JSON.parse(Buffer.from(found!.data).toString())).toMatchObject({ properties: { region: 1 } });
    expect(await postgisStore.item({ filter: undefined, ...CRS84, source, id: '1:no day' })).toBeNull();
  });
});
