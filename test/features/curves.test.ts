import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VectorTile } from '@mapbox/vector-tile';
import { PbfReader } from 'pbf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { geojsonToWkb, wkbToGeoPackage } from '../../src/native/index.js';
import { connect } from '../../src/workers/providers/geopackage/connection.js';
import { prepareStore } from '../../src/workers/providers/geopackage/schema/create.js';
import { run } from '../providers/postgis/support.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { startServer, type TestServer } from '../support/server.js';

/** Curves, surfaces and triangles of both stores: read as PostGIS makes lines of them, and never lost by an edit. */

/** Around 10 50; the arcs reach beyond the boxes of their ends. */
const SHAPES: Record<string, { wkt: string; loss?: 'arcs' | 'surface' }> = {
  string: { wkt: 'CIRCULARSTRING(10 50,11 51,12 50)', loss: 'arcs' },
  compound: { wkt: 'COMPOUNDCURVE(CIRCULARSTRING(10 50,11 51,12 50),(12 50,12 49))', loss: 'arcs' },
  disc: { wkt: 'CURVEPOLYGON(CIRCULARSTRING(10 50,11 51,12 50,11 49,10 50))', loss: 'arcs' },
  lines: { wkt: 'MULTICURVE((5 5,5 6),CIRCULARSTRING(10 50,11 51,12 50))', loss: 'arcs' },
  straight: { wkt: 'MULTISURFACE(((10 50,12 50,12 52,10 50)))' },
  areas: {
    wkt: 'MULTISURFACE(((20 50,22 50,22 52,20 50)),CURVEPOLYGON(CIRCULARSTRING(10 50,11 51,12 50,11 49,10 50)))',
    loss: 'arcs',
  },
  mixed: { wkt: 'GEOMETRYCOLLECTION(POINT(5 5),CIRCULARSTRING(10 50,11 51,12 50))', loss: 'arcs' },
  tin: { wkt: 'TIN(((10 50,12 50,12 52,10 50)))', loss: 'surface' },
  surface: { wkt: 'POLYHEDRALSURFACE(((10 50,12 50,12 52,10 50)))', loss: 'surface' },
  triangle: { wkt: 'TRIANGLE((10 50,12 50,12 52,10 50))', loss: 'surface' },
};
const NAMES = Object.keys(SHAPES);
const idOf = (name: string) => NAMES.indexOf(name) + 1;

const folder = mkdtempSync(join(tmpdir(), 'graticule-curves-'));
const file = join(folder, 'curves.gpkg');
const views = join(folder, 'views.gpkg');
let postgres: TestPostgres;
let server: TestServer;
// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
type Json = any;

const values = NAMES.map((name) => `('${name}', 'SRID=4326;${SHAPES[name]!.wkt}')`).join(', ');

beforeAll(async () => {
  postgres = await startPostgres();
  await run(
    postgres.url,
    `CREATE TABLE shapes (id serial PRIMARY KEY, name text, geom geometry(Geometry, 4326));
     INSERT INTO shapes (name, geom) VALUES ${values};
     CREATE INDEX ON shapes USING gist (geom);
     CREATE TABLE discs (id serial PRIMARY KEY, geom geometry(CurvePolygon, 4326));
     INSERT INTO discs (geom) VALUES ('SRID=4326;${SHAPES['disc']!.wkt}');
     CREATE TABLE tins (id serial PRIMARY KEY, geom geometry(TinZ, 4326));
     INSERT INTO tins (geom) VALUES ('SRID=4326;TIN Z(((10 50 1,12 50 2,12 52 3,10 50 1)))');
     CREATE TABLE metric (id serial PRIMARY KEY, name text, geom geometry(Geometry, 25832));
     INSERT INTO metric (name, geom) VALUES
       ('point', 'SRID=25832;POINT(600500.123456789 5600000.987654321)'),
       ('line', 'SRID=25832;LINESTRING(600000 5600000,600001.5 5600002.25)'),
       ('area', 'SRID=25832;POLYGON((600000 5600000,600100 5600000,600100 5600100,600000 5600000))'),
       ('empty', 'SRID=25832;POINT EMPTY'), ('nowhere', 'SRID=25832;MULTIPOLYGON EMPTY');
     CREATE TABLE unplaced (id serial PRIMARY KEY, name text, geom geometry(Point, 25832));
     INSERT INTO unplaced (name, geom) VALUES ('nan', ST_SetSRID(ST_MakePoint('NaN', 5), 25832));
     CREATE TABLE across (id serial PRIMARY KEY, name text, geom geography(Polygon, 4326));
     INSERT INTO across (name, geom) VALUES ('strait', 'POLYGON((179 -1,-179 -1,-179 1,179 1,179 -1))');`,
  );
  for (const table of ['shapes', 'discs', 'tins', 'metric'])
    execFileSync('ogr2ogr', [
      ...['-f', 'GPKG', '-update', '-append', file, `PG:${postgres.url}`, table],
      ...['-nln', `g_${table}`, '-lco', 'FID=id'],
    ]);
  const db = connect(file, false);
  db.exec(`CREATE TABLE broken (id INTEGER PRIMARY KEY, geom GEOMETRY, name TEXT);
    INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('broken', 'features', 'broken', 4326);
    INSERT INTO gpkg_geometry_columns VALUES ('broken', 'geom', 'GEOMETRY', 4326, 0, 0);
    INSERT INTO broken SELECT id, geom, name FROM g_shapes WHERE name = 'string';
    INSERT INTO broken VALUES (20, x'4750000100000000010f270000', 'unknown'), (21, 'POINT(1 1)', 'text'), (22, NULL, 'none')`);
  db.close();
  writeViews();
  server = await startServer({ sources: [file, views, postgres.url] });
});
afterAll(async () => {
  await server?.stop();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A table, views of it, and tables that features cannot be read from. */
function writeViews(): void {
  const db = connect(views, false);
  prepareStore(db);
  const register = (table: string) => `
    INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('${table}', 'features', '${table}', 4326);
    INSERT INTO gpkg_geometry_columns VALUES ('${table}', 'geom', 'POINT', 4326, 0, 0);`;
  db.exec(`CREATE TABLE spots (fid INTEGER PRIMARY KEY, geom POINT, name TEXT, size INTEGER);
    CREATE VIEW large AS SELECT fid AS OGC_FID, geom, name FROM spots WHERE size > 2;
    CREATE VIEW doubled AS SELECT size * 2 AS number, name, geom FROM spots;
    CREATE VIEW unkeyed AS SELECT name, geom FROM spots;
    CREATE VIEW dangling AS SELECT * FROM gone;
    CREATE TABLE worded (name TEXT PRIMARY KEY, geom POINT);
    CREATE TABLE paired (a INTEGER, b INTEGER, geom POINT, PRIMARY KEY (a, b));
    ${['spots', 'large', 'doubled', 'unkeyed', 'dangling', 'worded', 'paired', 'absent'].map(register).join('')}`);
  const insert = db.prepare('INSERT INTO spots (geom, name, size) VALUES (?, ?, ?)');
  for (let i = 1; i <= 4; i++) {
    const wkb = geojsonToWkb({ type: 'Point', coordinates: [i, 50] }, { from: 'OGC:CRS84', to: 'OGC:CRS84' });
    insert.run(wkbToGeoPackage(wkb, 4326), `spot ${i}`, i);
  }
  db.close();
}

const get = (path: string) => fetch(`${server.url}${path}`);
const json = async (path: string): Promise<Json> => (await get(path)).json();
const collection = (id: string) => `/ogc/features/collections/${id}`;
const send = (method: string, path: string, body: object, headers: Record<string, string> = {}) =>
  fetch(`${server.url}${path}`, {
    method,
    headers: { 'content-type': 'application/json', 'x-api-key': server.adminKey, ...headers },
    body: JSON.stringify(body),
  });

/** The stored type of a geometry, past the server. */
async function storedType(layer: string, id: number): Promise<string | null> {
  if (layer.startsWith('g_')) {
    const db = connect(file, true);
    try {
      const sql = `SELECT hex(substr(geom, 1 + CASE substr(hex(geom), 8, 1) WHEN '1' THEN 8 ELSE 40 END, 5)) FROM "${layer}" WHERE id = ?`;
      return db.prepare(sql).pluck().get(id) as string | null;
    } finally {
      db.close();
    }
  }
  const { rows } = await run(
    postgres.url,
    `SELECT GeometryType(geom) AS type FROM ${layer} WHERE id = ${id}`,
  );
  return rows[0]!['type'];
}

/** Every number of a value, in its order. */
const numbers = (value: unknown): number[] =>
  typeof value === 'number' ? [value] : Array.isArray(value) ? value.flatMap(numbers) : [];

describe.each(['shapes', 'g_shapes'])('geometries beyond simple features: %s', (layer) => {
  it('are lines and polygons as PostGIS makes them', async () => {
    const { features } = await json(`${collection(layer)}/items?limit=50`);
    const { rows } = await run(
      postgres.url,
      `SELECT id, ST_AsGeoJSON(ST_CurveToLine(geom, 32, 0, 1), 9)::json AS shape FROM shapes
       WHERE NOT GeometryType(geom) IN ('TIN', 'TRIANGLE', 'POLYHEDRALSURFACE')`,
    );
    expect(rows).toHaveLength(7);
    for (const { id: row, shape } of rows) {
      const { geometry } = features.find(({ id }: Json) => id === row);
      expect([row, geometry.type]).toEqual([row, shape.type]);
      // Rings turn as RFC 7946 has it.
      const sorted = (one: Json) =>
        numbers(one.coordinates ?? one.geometries.map((g: Json) => g.coordinates)).sort();
      expect(sorted(geometry).length).toBe(sorted(shape).length);
      const [ours, theirs] = [sorted(geometry), sorted(shape)];
      for (const [i, number] of ours.entries()) expect(number).toBeCloseTo(theirs[i]!, 6);
    }
    const types = ['tin', 'surface', 'triangle'].map(
      (name) => features.find(({ id }: Json) => id === idOf(name)).geometry.type,
    );
    expect(types).toEqual(['MultiPolygon', 'MultiPolygon', 'Polygon']);
  });

  it('are in GML, CSV, tiles and maps', async () => {
    const gml = await (await get(`${collection(layer)}/items?limit=50&f=gml`)).text();
    expect(gml.match(/srsName=/g)).toHaveLength(NAMES.length);
    const csv = await (await get(`${collection(layer)}/items?limit=50&f=csv`)).text();
    expect(csv.match(/"(MULTI)?(POLYGON|LINESTRING)|GEOMETRYCOLLECTION/g)).toHaveLength(NAMES.length);
    const tiles = await json('/ogc/tiles/collections');
    const tiled = tiles.collections.find(({ name }: Json) => name === layer);
    const tile = await get(`/ogc/tiles/collections/${tiled.id}/tiles/WebMercatorQuad/5/10/16`);
    const decoded = new VectorTile(new PbfReader(new Uint8Array(await tile.arrayBuffer())));
    const ids = new Set(
      Array.from({ length: decoded.layers[layer]!.length }, (_, i) => decoded.layers[layer]!.feature(i).id),
    );
    expect(ids.size).toBe(NAMES.length);
    const map = await get(`/ogc/maps/collections/${layer}/map?bbox=9,48,13,53&width=80&height=80`);
    const empty = await get(`/ogc/maps/collections/${layer}/map?bbox=-60,-50,-59,-49&width=80&height=80`);
    expect((await map.arrayBuffer()).byteLength).toBeGreaterThan((await empty.arrayBuffer()).byteLength);
  });

  it('are found by what their arcs reach', async () => {
    const ids = async (query: string) =>
      (await json(`${collection(layer)}/items?limit=50&${query}`)).features.map(({ id }: Json) => id);
    const arcs = ['string', 'compound', 'disc', 'lines', 'areas', 'mixed'].map(idOf);
    const others = ['straight', 'tin', 'surface', 'triangle'].map(idOf);
    expect(await ids('bbox=10.95,50.98,11.05,51.1')).toEqual(expect.arrayContaining([...arcs]));
    const point = (x: number, y: number) => encodeURIComponent(`S_INTERSECTS(geom, POINT(${x} ${y}))`);
    expect(await ids(`filter=${point(11.8, 51.2)}`)).toEqual(others);
    expect(await ids(`filter=${point(11, 49.2)}`)).toEqual([idOf('disc'), idOf('areas')]);
    expect(await ids(`filter=${encodeURIComponent('S_WITHIN(geom, BBOX(9, 48, 13, 53))')}`)).toEqual(
      NAMES.filter((name) => !['lines', 'areas', 'mixed'].includes(name)).map(idOf),
    );
    expect(await ids(`filter=${encodeURIComponent('S_DISJOINT(geom, POINT(11 49.2))')}`)).toHaveLength(
      NAMES.length - 2,
    );
  });

  it('are not replaced by an edit that has not said so', async () => {
    for (const name of NAMES) {
      const path = `${collection(layer)}/items/${idOf(name)}`;
      const before = await storedType(layer, idOf(name));
      const feature = await json(path);
      const { loss } = SHAPES[name]!;
      if (!loss) continue;
      const put = await send('PUT', path, feature);
      expect([name, put.status]).toEqual([name, 409]);
      expect((await put.json()).detail).toContain('Geometry-Loss: accept');
      for (const geometry of [feature.geometry, null])
        expect((await send('PATCH', path, { geometry })).status).toBe(409);
      expect((await send('PUT', path, { ...feature, geometry: null })).status).toBe(409);
      expect((await send('PATCH', path, { properties: { name: `${name}!` } })).status).toBe(200);
      expect(await storedType(layer, idOf(name))).toBe(before);
    }
    const strange = await send('PUT', `${collection(layer)}/items/1`, {}, { 'geometry-loss': 'maybe' });
    expect(strange.status).toBe(400);
  });

  it('are not replaced by batches either', async () => {
    const feature = await json(`${collection(layer)}/items/3`);
    const batch = await send('POST', `${collection(layer)}/items/batch`, {
      operations: [{ type: 'UPDATE', featureId: '3', feature }],
    });
    expect((await batch.json()).results[0]).toMatchObject({ isSuccess: false, statusCode: 409 });
  });

  it('are replaced where the client agrees', async () => {
    const path = `${collection(layer)}/items/${idOf('compound')}`;
    const feature = await json(path);
    const before = await storedType(layer, idOf('compound'));
    const put = await send('PUT', path, feature, { 'geometry-loss': 'accept' });
    expect(put.status).toBe(200);
    expect(await storedType(layer, idOf('compound'))).not.toBe(before);
    expect((await json(path)).geometry.coordinates).toHaveLength(feature.geometry.coordinates.length);
    // Now it is what clients see.
    expect((await send('PUT', path, feature)).status).toBe(200);
  });
});

describe('geometries that come back as they were shown', () => {
  const storedHex = async (layer: string, id: unknown): Promise<unknown> => {
    if (!layer.startsWith('g_'))
      return (await run(postgres.url, `SELECT geom::text FROM ${layer} WHERE id = ${id}`)).rows[0]!['geom'];
    const db = connect(file, true);
    try {
      return db.prepare(`SELECT hex(geom) FROM "${layer}" WHERE id = ?`).pluck().get(id);
    } finally {
      db.close();
    }
  };
  const CRS = 'http://www.opengis.net/def/crs/EPSG/0/';

  it.each(['metric', 'g_metric', 'unplaced', 'across'])('stay as they are stored in %s', async (layer) => {
    const { features } = await json(`${collection(layer)}/items`);
    expect(features.length).toBeGreaterThan(0);
    for (const { id } of features) {
      const path = `${collection(layer)}/items/${id}`;
      const before = await storedHex(layer, id);
      // Across 180 degrees, other systems have no place for it.
      for (const code of layer === 'across' ? [undefined, 4326] : [undefined, 25832, 4326, 3857]) {
        const feature = await json(code ? `${path}?crs=${CRS}${code}` : path);
        const headers: Record<string, string> = code ? { 'content-crs': `<${CRS}${code}>` } : {};
        const changed = { ...feature, properties: { name: `by ${code}` } };
        const put = await send('PUT', path, changed, headers);
        expect([layer, id, code, put.status]).toEqual([layer, id, code, 200]);
        expect([code, await storedHex(layer, id)]).toEqual([code, before]);
        expect((await json(path)).properties.name).toBe(`by ${code}`);
        const operations = [{ type: 'UPDATE', featureId: `${id}`, feature: changed }];
        const batch = await send('POST', `${collection(layer)}/items/batch`, { operations }, headers);
        expect((await batch.json()).results[0]).toMatchObject({ isSuccess: true });
        expect([code, await storedHex(layer, id)]).toEqual([code, before]);
      }
    }
  });

  it('are written where a position differs, and cleared where that is asked for', async () => {
    const path = `${collection('g_metric')}/items/1`;
    const feature = await json(path);
    const [x, y] = feature.geometry.coordinates;
    const moved = { ...feature, geometry: { type: 'Point', coordinates: [x + 0.0000001, y] } };
    const before = await storedHex('g_metric', 1);
    expect((await send('PUT', path, moved)).status).toBe(200);
    expect(await storedHex('g_metric', 1)).not.toBe(before);
    const empty = `${collection('metric')}/items/4`;
    const accept = { 'geometry-loss': 'accept' };
    expect((await send('PATCH', empty, { geometry: null }, accept)).status).toBe(200);
    expect(await storedHex('metric', 4)).toBeNull();
    const wrong = { ...(await json(`${collection('across')}/items/1`)) };
    wrong.geometry = { type: 'Point', coordinates: [1, 1] };
    expect((await send('PUT', `${collection('across')}/items/1`, wrong)).status).toBe(400);
  });
});

describe('columns that are declared to hold them', () => {
  it.each(['discs', 'g_discs'])(
    '%s is a layer of GeoServices, which does not replace arcs',
    async (layer) => {
      const { layers } = await json('/rest/services/default/FeatureServer?f=json');
      const own = layers.filter(({ name }: Json) => ['Discs', 'G discs'].includes(name));
      const number = own.find(({ name }: Json) => name.replace(' ', '_').toLowerCase() === layer).id;
      const url = `/rest/services/default/FeatureServer/${number}`;
      const page = await json(`${url}/query?objectIds=1&f=json`);
      const [{ geometry }] = page.features;
      expect(geometry.rings[0]).toHaveLength(129);
      const edit = async (more: object, headers?: Record<string, string>) => {
        const update = { attributes: { [page.objectIdFieldName]: 1 }, ...more };
        const reply = await send('POST', `${url}/applyEdits?f=json`, { updates: [update] }, headers);
        return ((await reply.json()) as Json).updateResults[0];
      };
      const refused = await edit({ geometry });
      expect(refused).toMatchObject({ success: false });
      expect(refused.error.description).toContain('circular arcs');
      expect(await edit({})).toMatchObject({ success: true });
      expect((await json(`${url}/query?objectIds=1&f=json`)).features).toEqual(page.features);
    },
  );

  it.each(['discs', 'g_discs'])('%s takes polygons, and keeps its arcs', async (layer) => {
    const { features } = await json(`${collection(layer)}/items`);
    expect(features[0].geometry.type).toBe('Polygon');
    expect(features[0].geometry.coordinates[0]).toHaveLength(129);
    expect((await send('PUT', `${collection(layer)}/items/1`, features[0])).status).toBe(409);
    const square = {
      type: 'Polygon',
      coordinates: [
        [
          [0, 0],
          [1, 0],
          [1, 1],
          [0, 0],
        ],
      ],
    };
    const body = { type: 'Feature', geometry: square, properties: {} };
    const made = await send('POST', `${collection(layer)}/items`, body);
    expect(made.status, await made.clone().text()).toBe(201);
    expect((await made.json()).geometry).toEqual(square);
  });

  it.each(['shapes', 'g_shapes'])('%s is an input of processes', async (layer) => {
    const input = { inputs: { features: { collection: layer } } };
    const path = '/ogc/processes/processes/geometry.centroid/execution';
    const answer = (await (await send('POST', path, input, { prefer: 'wait=30' })).json()) as Json;
    const [centroid] = answer.features.features.filter(({ id }: Json) => id === idOf('disc'));
    expect(centroid.geometry.coordinates[0]).toBeCloseTo(11, 6);
    expect(centroid.geometry.coordinates[1]).toBeCloseTo(50, 6);
    expect(answer.features.features.every(({ geometry }: Json) => geometry)).toBe(true);
  });

  it.each(['tins', 'g_tins'])('%s is read, and takes no polygons', async (layer) => {
    const { features } = await json(`${collection(layer)}/items`);
    expect(features[0].geometry).toEqual({
      type: 'MultiPolygon',
      coordinates: [
        [
          [
            [10, 50, 1],
            [12, 50, 2],
            [12, 52, 3],
            [10, 50, 1],
          ],
        ],
      ],
    });
    const body = { type: 'Feature', geometry: features[0].geometry, properties: {} };
    expect((await send('POST', `${collection(layer)}/items`, body)).status).toBe(400);
  });
});

describe('geometries that cannot be read', () => {
  it('are reported, and not erased by an edit', async () => {
    const { catalog } = (await (
      await fetch(`${server.url}/healthz/metrics`, { headers: { 'x-api-key': server.adminKey } })
    ).json()) as Json;
    const { warnings } = catalog as { warnings: { collection: string; warning: string }[] };
    expect(warnings.filter((one) => one.collection === 'broken')).toEqual([
      {
        collection: 'broken',
        warning: expect.stringMatching(/^2 of the 4 geometries cannot be read, .*: .*unknown/),
      },
    ]);
    expect(await (await get(`${collection('broken')}?f=html`)).text()).toContain('2 of the 4 geometries');
    for (const id of [20, 21]) {
      const feature = await json(`${collection('broken')}/items/${id}`);
      expect(feature.geometry).toBeNull();
      const put = await send('PUT', `${collection('broken')}/items/${id}`, feature);
      expect([id, put.status]).toEqual([id, 409]);
      expect((await put.json()).detail).toContain('cannot be read');
    }
    const none = await json(`${collection('broken')}/items/22`);
    expect((await send('PUT', `${collection('broken')}/items/22`, none)).status).toBe(200);
  });
});

describe('views and tables without a key', () => {
  const ids = async (id: string, query = '') =>
    (await json(`${collection(id)}/items${query}`)).features.map((one: Json) => one.id);

  it('are published, as far as something identifies their rows', async () => {
    expect(await ids('spots')).toEqual([1, 2, 3, 4]);
    expect(await ids('large')).toEqual([3, 4]);
    expect(await ids('doubled')).toEqual([2, 4, 6, 8]);
    expect(await ids('large', '?bbox=3.5,49,9,51')).toEqual([4]);
    expect(await ids('doubled', `?filter=${encodeURIComponent("name='spot 2'")}`)).toEqual([4]);
    expect(await json(`${collection('doubled')}/items/6`)).toMatchObject({ properties: { name: 'spot 3' } });
    expect((await json(collection('large'))).extent.spatial.bbox).toEqual([[3, 50, 4, 50]]);
  });

  it('are only read', async () => {
    const answer = await send('PATCH', `${collection('large')}/items/3`, { properties: { name: 'x' } });
    expect(answer.status).toBe(403);
    expect((await answer.json()).detail).toBe('large is read-only: it is a view.');
    expect(
      (await send('PATCH', `${collection('spots')}/items/3`, { properties: { name: 'x' } })).status,
    ).toBe(200);
    expect(await json(`${collection('large')}/items/3`)).toMatchObject({ properties: { name: 'x' } });
  });

  it('are named where nothing does', () => {
    const log = server.log();
    expect(log).toContain('(unkeyed): No column identifies the rows of the view.');
    expect(log).toMatch(/\(dangling\): It cannot be read: no such table: main.gone\./);
    expect(log).toContain('(worded): The table has the primary key name;');
    expect(log).toContain('(absent): The file registers the table, but does not contain it.');
    expect(log).toContain('(paired): The table has the primary key a, b;');
  });
});
