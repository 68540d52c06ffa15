import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { query } from '../access/policies/support/database.js';
import { type Json, ProcessClient } from '../processes/support.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { startServer, type TestServer } from '../support/server.js';

/** Empty geometries in both stores: no failure, no NaN, and no edit turns them into none. */

let folder: string;
let postgres: TestPostgres;
let server: TestServer;
let client: ProcessClient;
const layers = new Map<string, number>();

const SHAPES = [
  'POINT EMPTY',
  'GEOMETRYCOLLECTION EMPTY',
  'POLYGON EMPTY',
  'MULTIPOINT EMPTY',
  'LINESTRING EMPTY',
  'POINT(8 47)',
  'POLYGON((8 47,9 47,9 48,8 47))',
];
const tableOf = (
  name: string,
  type: string,
  shapes: string[],
) => `CREATE TABLE ${name} (id int PRIMARY KEY, geom geometry(${type}, 4326), label text, n int);
  ${shapes.map((shape, i) => `INSERT INTO ${name} VALUES (${i + 1}, ST_GeomFromText('${shape}', 4326), 'l${i}', ${i});`).join('\n')}
  INSERT INTO ${name} VALUES (${shapes.length + 1}, NULL, 'none', 99);`;
const TABLES: [string, string, string[]][] = [
  ['shapes', 'Geometry', SHAPES],
  ['points', 'Point', ['POINT EMPTY', 'POINT(8 47)', 'POINT EMPTY']],
  ['voids', 'Point', ['POINT EMPTY', 'POINT EMPTY']],
];
const COLLECTIONS = TABLES.flatMap(([name]) => [`gp_${name}`, `pg_${name}`]);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-empty-'));
  postgres = await startPostgres();
  const file = join(folder, 'empty.gpkg');
  for (const [name, type, shapes] of TABLES)
    await query(postgres.url, tableOf(`pg_${name}`, type, shapes) + tableOf(`gp_${name}`, type, shapes));
  const copies = TABLES.map(([name]) => `gp_${name}`);
  execFileSync('ogr2ogr', ['-f', 'GPKG', file, `PG:${postgres.url}`, ...copies]);
  await query(postgres.url, copies.map((name) => `DROP TABLE ${name};`).join('\n'));
  server = await startServer({ sources: [file, postgres.url] });
  client = new ProcessClient(server);
  const { collections } = (await (await fetch(`${server.url}/?f=json`)).json()) as {
    collections: { id: string; layerId: number }[];
  };
  for (const { id, layerId } of collections) layers.set(id, layerId);
});
afterAll(async () => {
  await server?.stop();
  await postgres?.stop();
  rmSync(folder, { recursive: true });
});

const get = async (path: string) => {
  const response = await fetch(server.url + path, { headers: { 'x-api-key': server.adminKey } });
  const bytes = Buffer.from(await response.arrayBuffer());
  return {
    status: response.status,
    text: bytes.toString('latin1'),
    type: response.headers.get('content-type') ?? '',
  };
};

describe.each(COLLECTIONS)('empty geometries of %s', (id) => {
  it('are read on every surface', async () => {
    const at = `/ogc/features/collections/${id}`;
    const layer = `/rest/services/default/FeatureServer/${layers.get(id)}`;
    const map = '/rest/services/default/MapServer';
    const paths = [
      ...[
        '',
        '/items?f=json',
        '/items?f=gml',
        '/items?f=csv',
        '/items?f=html',
        '/items/1?f=json',
        '/items/1?f=html',
      ].map((rest) => at + rest),
      ...[
        '/items?bbox=-180,-90,180,90',
        '/items?crs=http://www.opengis.net/def/crs/EPSG/0/3857',
        '/statistics?f=json',
        '/h3?resolution=3',
      ].map((rest) => at + rest),
      `${at}/items?filter=${encodeURIComponent('S_INTERSECTS(geom,POLYGON((0 0,90 0,90 80,0 0)))')}`,
      ...['json', 'geojson', 'pbf'].map((f) => `${layer}/query?where=1%3D1&outFields=*&f=${f}`),
      `${layer}/query?where=1%3D1&outFields=*&f=json&outSR=3857`,
      `${layer}/query?where=1%3D1&returnExtentOnly=true&f=json`,
      `${layer}/query?where=n%3D0&returnExtentOnly=true&f=json`,
      `${layer}/query?where=1%3D1&returnCentroid=true&f=json`,
      `${layer}?f=json`,
      `${map}/identify?geometry=8,47&geometryType=esriGeometryPoint&sr=4326&mapExtent=0,40,20,60&imageDisplay=400,400,96&tolerance=5&layers=all:${layers.get(id)}&f=json`,
      `${map}/find?searchText=l&layers=${layers.get(id)}&f=json`,
      `${map}/export?bbox=0,40,20,60&bboxSR=4326&size=64,64&layers=show:${layers.get(id)}&f=image`,
      `/ogc/tiles/collections/${id}/tiles/WebMercatorQuad/0/0/0?f=mvt`,
      `/ogc/tiles/collections/${id}/map/tiles/WebMercatorQuad/0/0/0?f=png`,
      `/ogc/maps/collections/${id}/map?width=64&height=64`,
    ];
    for (const path of paths) {
      const { status, text, type } = await get(path);
      if (status === 204 || status === 404) continue;
      expect([path, status, text.slice(0, 300)]).toEqual([path, 200, expect.any(String)]);
      if (/json|csv|gml|xml|html/.test(type))
        expect([path, /(?<!["\w])NaN\b|Infinity/.exec(text)?.[0]]).toEqual([path, undefined]);
      if (/json/.test(type))
        expect([path, /"(?:error)":/.test(text) ? text.slice(0, 200) : '']).toEqual([path, '']);
    }
  });

  it('stay empty in edits that echo them', async () => {
    const at = `/ogc/features/collections/${id}/items/1`;
    const shape = async () => {
      if (id.startsWith('pg'))
        return query(postgres.url, `SELECT ST_AsText(geom) AS t FROM ${id} WHERE id = 1`);
      return execFileSync('sqlite3', [
        join(folder, 'empty.gpkg'),
        `SELECT hex(geom) FROM ${id} LIMIT 1`,
      ]).toString();
    };
    const before = await shape();
    const headers = { 'x-api-key': server.adminKey, 'content-type': 'application/json' };
    const feature = (await (await fetch(server.url + at, { headers })).json()) as Json;
    const put = await fetch(server.url + at, {
      method: 'PUT',
      headers,
      body: JSON.stringify({ ...feature, properties: { ...feature.properties, label: 'new' } }),
    });
    expect([put.status, await put.text()]).toEqual([200, expect.any(String)]);
    expect(await shape()).toEqual(before);
    const layer = `${server.url}/rest/services/default/FeatureServer/${layers.get(id)}`;
    const { features } = (await (
      await fetch(`${layer}/query?where=1%3D1&objectIds=1&outFields=*&f=json`, { headers })
    ).json()) as Json;
    const result = (await (
      await fetch(`${layer}/updateFeatures`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ f: 'json', features }),
      })
    ).json()) as Json;
    expect([JSON.stringify(features[0]), result]).toMatchObject([
      expect.any(String),
      { updateResults: [{ success: true }] },
    ]);
    expect(await shape()).toEqual(before);
  });

  it('are written by GeoServices as empty, and not as none', async () => {
    if (!id.endsWith('points')) return;
    const headers = { 'x-api-key': server.adminKey, 'content-type': 'application/json' };
    const update = async (key: number, geometry: object) => {
      const body = JSON.stringify({ f: 'json', features: [{ attributes: { id: key }, geometry }] });
      const layer = `${server.url}/rest/services/default/FeatureServer/${layers.get(id)}/updateFeatures`;
      expect(await (await fetch(layer, { method: 'POST', headers, body })).json()).toMatchObject({
        updateResults: [{ success: true }],
      });
    };
    const isEmpty = async (key: number) => {
      if (id.startsWith('gp')) {
        const sql = `SELECT CASE WHEN geom IS NULL THEN 'none' ELSE substr(hex(geom), 7, 1) END FROM ${id} WHERE id = ${key}`;
        const flags = execFileSync('sqlite3', [join(folder, 'empty.gpkg'), sql])
          .toString()
          .trim();
        return flags === 'none' ? null : flags === '1';
      }
      const database = new pg.Client({ connectionString: postgres.url });
      await database.connect();
      const { rows } = await database.query(`SELECT ST_IsEmpty(geom) AS e FROM ${id} WHERE id = ${key}`);
      await database.end();
      return (rows as { e: boolean | null }[])[0]!.e;
    };
    expect([await isEmpty(1), await isEmpty(2), await isEmpty(4)]).toEqual([true, false, null]);
    await update(2, { x: 'NaN', y: 'NaN' });
    await update(4, { x: 'NaN', y: 'NaN' });
    expect([await isEmpty(1), await isEmpty(2), await isEmpty(4)]).toEqual([true, true, null]);
  });

  it('pass through processes', async () => {
    const features = { collection: id };
    const square = {
      type: 'Polygon',
      coordinates: [
        [
          [7, 46],
          [20, 46],
          [20, 48.5],
          [7, 48.5],
          [7, 46],
        ],
      ],
    };
    const runs: [string, Json][] = [
      ...[
        'geometry.envelope',
        'geometry.centroid',
        'geometry.make-valid',
        'geometry.convex-hull',
        'geometry.area',
        'geometry.length',
        'geometry.dissolve',
        'geometry.union',
        'geometry.layer-convex-hull',
        'geometry.multipart-to-singlepart',
        'analytics.data-quality',
        'analytics.deduplicate',
        'analytics.spatial-join',
        'geometry.point-on-surface',
      ].map((one): [string, Json] => [
        one,
        { features, ...(one === 'analytics.spatial-join' ? { join: features } : {}) },
      ]),
      ['geometry.buffer', { features, distance: 10 }],
      ['geometry.simplify', { features, tolerance: 1 }],
      ['geometry.project', { features, targetCrs: 'EPSG:3857' }],
      ['geometry.clip', { features, overlay: square }],
      ['geometry.difference', { features, overlay: square }],
      ['analytics.nearest', { features, near: features }],
      ['analytics.summary-statistics', { features, groupBy: ['label'] }],
    ];
    // They wait for each other in the server, and most have ended when they are asked for.
    const started = await Promise.all(
      runs.map(async ([process, inputs]) => ({
        process,
        response: await client.execute(process, { inputs }),
      })),
    );
    const formats = ['csv', 'shapefile', 'gpkg', 'geojson', 'flatgeobuf', 'kml'];
    const exports = formats.map(async (format) => ({
      format,
      status: await client.run('conversion.feature-export', { inputs: { features, format } }),
    }));
    for (const { process, response } of started) {
      const text = await response.text();
      if (response.status === 404 || response.status === 400) {
        console.log(id, process, response.status, text.slice(0, 260));
        continue;
      }
      const status = await client.ended(JSON.parse(text).jobID);
      if (status.status !== 'successful') console.log(id, process, status.status, status.message);
      expect([process, status.message]).not.toEqual([
        process,
        expect.stringMatching(/unexpected|crash|lost|NaN/i),
      ]);
      if (status.status !== 'successful') continue;
      const results = await (await client.get(`/ogc/processes/jobs/${status.jobID}/results`)).text();
      expect([process, /\bNaN\b|Infinity/.exec(results)?.[0]]).toEqual([process, undefined]);
    }
    for (const { format, status } of await Promise.all(exports)) {
      // A shapefile has one type of geometry.
      if (format === 'shapefile' && id.endsWith('shapes')) continue;
      expect([format, status.status, status.message]).toEqual([format, 'successful', expect.any(String)]);
    }
  });
});
