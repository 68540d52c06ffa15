import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { multipart } from '../../admin/support/multipart.js';
import { ProcessClient } from '../../processes/support.js';
import { run } from '../../providers/postgis/support.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { startServer, type TestServer } from '../../support/server.js';

/** Numbers, times and JSON on their way through imports, exports and processes: digit by digit, or with a warning. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-exact-'));
let postgres: TestPostgres;
let server: TestServer;
const numbers = new Map<string, string>();

const POINT = "'SRID=4326;POINT(1 1)'";
const SQL = `
  CREATE TABLE target (id serial PRIMARY KEY, sid bigint, jb jsonb, nu numeric, ts timestamptz, geom geometry(Point, 4326));
  CREATE TABLE snow (id serial PRIMARY KEY, sid bigint, nu numeric, ts timestamptz, jb jsonb, geom geometry(Point, 4326));
  INSERT INTO snow (sid, nu, ts, jb, geom) VALUES
    (1152921504606846977, 12345678901234567890.12345678901234567890, '2020-01-01T23:59:59.999999Z', '{"a": 9007199254740993, "b": 0.10, "c": 1e400}', ${POINT}),
    (9223372036854775807, 0.5, '2020-01-01T00:00:00.5Z', '[1.10]', ${POINT});
  CREATE TABLE lossy (id serial PRIMARY KEY, f8 double precision, f4 real, nu numeric, ts timestamptz, whole int, geom geometry(GeometryZM, 4326));
  INSERT INTO lossy (f8, f4, nu, ts, whole, geom) VALUES
    ('Infinity', 'NaN', 'NaN', 'infinity', 1, 'SRID=4326;POINT ZM (1 1 5 5)'), ('-Infinity', 1, 1, '2020-01-01', 2, 'SRID=4326;CIRCULARSTRING ZM (0 0 1 1, 1 1 1 1, 2 0 1 1)'),
    ('NaN', 1, 1, NULL, 3, 'SRID=4326;LINESTRING ZM (0 0 1 1, 1 1 1 1)'), (1, NULL, NULL, NULL, 4, NULL), (2, 2, 2, NULL, 5, 'SRID=4326;TIN ZM (((0 0 1 1, 1 0 1 1, 0 1 1 1, 0 0 1 1)))');
  CREATE TABLE across (id serial PRIMARY KEY, name text, geom geography(Polygon, 4326));
  INSERT INTO across (name, geom) VALUES ('x', 'POLYGON((170 -20, -170 -20, -170 -10, 170 -10, 170 -20))'), ('y', 'POLYGON((10 -20, 30 -20, 30 -10, 10 -10, 10 -20))');
  CREATE TABLE across_lines (id serial PRIMARY KEY, name text, geom geography(LineString, 4326));
  INSERT INTO across_lines (name, geom) VALUES ('x', 'LINESTRING(170 0, -170 0)'), ('y', 'LINESTRING(10 0, 30 0)');
  CREATE TABLE bigids (id bigint PRIMARY KEY, sid bigint, geom geometry(Point, 4326));
  INSERT INTO bigids VALUES (-9223372036854775808, 1, ${POINT}), (0, 2, ${POINT}), (9007199254740993, 9007199254740993, ${POINT}), (9223372036854775807, 4, ${POINT});
  CREATE TABLE odd (id serial PRIMARY KEY, ts timestamptz, d date, js json, big bigint[], deci numeric[], texts text[], nu numeric, far numeric, geom geometry(Point, 4326));
  INSERT INTO odd (ts, d, js, big, deci, texts, nu, far, geom) VALUES
    ('0044-03-15 12:00:00+00 BC', '2020-02-29', '{"big":9007199254740993,"dec":0.10,"a":1e400}', '{9007199254740993,3}', '{1.1234567890123456789}', '{a,"b,c"}', 12345678901234567890, 1e400, ${POINT});`;

beforeAll(async () => {
  mkdirSync(join(folder, 'data'));
  writeFileSync(
    join(folder, 'data', 'huge.geojson'),
    '{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"Point","coordinates":[1,1]},"properties":{"huge":10000000000000000000000000001,"o":{"y":0.1234567890123456781},"t":"2020-01-01T23:59:59.999999Z"}}]}',
  );
  writeFileSync(
    join(folder, 'data', 'table.csv'),
    'lon,lat,t,n\n1,1,2020-01-01T23:59:59.999999Z,9007199254740993\n',
  );
  postgres = await startPostgres();
  await run(postgres.url, SQL);
  server = await startServer({
    sources: [join(folder, 'data'), postgres.url],
    env: { SVC_REMOTE__ALLOW: '127.0.0.1' },
  });
  // On a busy machine the tables of the database are published after the files.
  await vi.waitFor(
    async () => {
      const { collections } = JSON.parse(await text('/ogc/tiles/collections?f=json')) as {
        collections: { id: string; name: string }[];
      };
      for (const { id, name } of collections) numbers.set(name, id);
      expect([...numbers.keys()]).toEqual(expect.arrayContaining(['huge', 'snow', 'bigids', 'odd']));
    },
    { timeout: 60_000, interval: 250 },
  );
}, 180_000);
afterAll(async () => {
  await server?.stop();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function text(path: string): Promise<string> {
  const answer = await fetch(server.url + path, { headers: { 'x-api-key': server.adminKey } });
  const body = await answer.text();
  expect([path, answer.status, answer.ok ? '' : body]).toEqual([path, 200, '']);
  return body;
}
const items = (id: string) => text(`/ogc/features/collections/${id}/items?f=json&limit=100`);

async function upload(fields: Record<string, string>, filename: string, content: string) {
  const parts = Object.entries(fields).map(([name, value]) => ({ name, content: value }));
  const { contentType, body } = multipart([...parts, { name: 'file', filename, content }]);
  const answer = await fetch(`${server.url}/api/v1/admin/import/upload`, {
    method: 'POST',
    headers: { 'content-type': contentType, 'x-api-key': server.adminKey },
    body: new Uint8Array(body),
  });
  return { status: answer.status, body: await answer.json() };
}

const feature = (properties: string) =>
  `{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"Point","coordinates":[1,1]},"properties":${properties}}]}`;

describe('a GeoJSON file that is served', () => {
  it('shows the digits of its numbers and times, and says that numbers became text', async () => {
    const page = await items('huge');
    expect(page).toContain('"huge":"10000000000000000000000000001"');
    expect(page).toContain('0.1234567890123456781');
    expect(page).toContain('"2020-01-01T23:59:59.999999Z"');
    const found = await text('/ogc/features/collections/huge/items?f=json&datetime=2020-01-01');
    expect(JSON.parse(found)).toMatchObject({ numberMatched: 1 });
    expect(await text('/ogc/features/collections/huge?f=json')).toContain(
      'the values of these properties are text',
    );
  });
});

it('shows the digits of a CSV file', async () => {
  const page = await items('table');
  expect(page).toContain('2020-01-01T23:59:59.999999Z');
  expect(page).toMatch(/"n":"?9007199254740993"?/);
});

describe('rows that go into a table', () => {
  const send = (properties: string) =>
    upload({ TableName: 'target', Mode: 'append' }, 'rows.geojson', feature(properties));

  it('keep the digits of numbers, JSON and times', async () => {
    const row =
      '{"sid":9223372036854775807,"jb":{"a":9007199254740993,"b":0.12345678901234567890,"c":0.10},"nu":12345678901234567890.12345678901234567890,"ts":"2020-01-01T23:59:59.999999Z"}';
    expect(await send(row)).toMatchObject({ status: 200, body: { merge: { inserted: 1 }, warnings: [] } });
    const page = await items('target');
    expect(page).toContain('"sid":9223372036854775807');
    expect(page.replaceAll(' ', '')).toContain('{"a":9007199254740993,"b":0.12345678901234567890,"c":0.10}');
    expect(page).toContain('"nu":12345678901234567890.12345678901234567890');
    expect(page).toContain('2020-01-01T23:59:59.999999Z');
  });

  it('are refused where a number does not fit its column', async () => {
    const { status, body } = await send('{"sid":9223372036854775808}');
    expect(status).toBe(422);
    expect(JSON.stringify(body)).toContain('sid');
  });
});

describe('Esri JSON', () => {
  const set =
    '{"geometryType":"esriGeometryPoint","spatialReference":{"wkid":4326},"fields":[{"name":"n","type":"esriFieldTypeInteger"},{"name":"d","type":"esriFieldTypeDate"},{"name":"s","type":"esriFieldTypeBigInteger"}],"features":[{"attributes":{"n":9007199254740993,"d":1577836800123,"s":9223372036854775807},"geometry":{"x":1,"y":2}}]}';

  it('is previewed under its name, with all digits', async () => {
    const { contentType, body } = multipart([{ name: 'file', filename: 'places.json', content: set }]);
    const answer = await fetch(`${server.url}/api/v1/admin/import/preview`, {
      method: 'POST',
      headers: { 'content-type': contentType, 'x-api-key': server.adminKey },
      body: new Uint8Array(body),
    });
    const text = await answer.text();
    expect(text).toContain('"s":9223372036854775807');
    expect(JSON.parse(text)).toMatchObject({
      ...{ format: 'EsriJson', availableLayers: ['places'], totalFeatureCount: 1 },
    });
    const properties = /"sampleProperties":(\{[^}]*\})/.exec(text)?.[1];
    expect(properties).toMatch(/"n":"?9007199254740993"?[,}]/);
    expect(properties).toMatch(/"s":"?9223372036854775807"?[,}]/);
  });

  it('is imported as what it is, with its types', async () => {
    const { status, body } = await upload({ TableName: 'esrifile' }, 'places.json', set);
    expect([status, body.format, body.warnings]).toEqual([200, 'EsriJson', []]);
    const page = await items('esrifile');
    expect(page).toContain('"n":9007199254740993');
    expect(page).toContain('"d":"2020-01-01T00:00:00.123Z"');
    expect(page).toContain('"s":9223372036854775807');
  });
});

describe('imports from a server', () => {
  async function follow(path: string, body: unknown): Promise<Record<string, unknown>> {
    const answer = await fetch(`${server.url}/api/v1/admin${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': server.adminKey },
      body: JSON.stringify(body),
    });
    return (await answer.json()) as Record<string, unknown>;
  }

  it('keep numbers and times of OGC API Features', async () => {
    const result = await follow('/import/ogc-api-features/collection', {
      ...{ serviceUrl: `${server.url}/ogc/features`, collectionId: 'snow' },
      ...{ targetSchema: 'main', targetTable: 'ogcsnow' },
    });
    expect(result).toMatchObject({ success: true });
    expect(JSON.stringify(result)).toContain('rounded to 64-bit floating point');
    const page = await items('ogcsnow');
    expect(page).toContain('"sid":1152921504606846977');
    expect(page).toContain('"sid":9223372036854775807');
    expect(page).toContain('2020-01-01T23:59:59.999999Z');
    expect(page).toContain('9007199254740993');
    expect(page).toContain(`1${'0'.repeat(400)}}`);
  });

  it('keep object ids and integers of GeoServices', async () => {
    const parent = `${numbers.get('bigids')}/9007199254740993`;
    const attachment = multipart([
      { name: 'f', content: 'json' },
      { name: 'attachment', filename: 'a.txt', content: 'text' },
    ]);
    const added = await fetch(`${server.url}/rest/services/default/FeatureServer/${parent}/addAttachment`, {
      method: 'POST',
      headers: { 'content-type': attachment.contentType, 'x-api-key': server.adminKey },
      body: new Uint8Array(attachment.body),
    });
    expect(await added.json()).toMatchObject({ addAttachmentResult: { success: true } });
    // Completed, and completed with warnings.
    for (const [id, table, status] of [
      ['bigids', 'esriids', 8],
      ['snow', 'esrisnow', 9],
    ] as const) {
      const { jobId } = await follow('/import/geoservices/start', {
        ...{ serviceUrl: `${server.url}/rest/services/default/FeatureServer`, maxRetries: 0 },
        ...{ layerId: Number(numbers.get(id)), tableName: table },
      });
      await vi.waitFor(
        async () => {
          const job = JSON.parse(await text(`/api/v1/admin/import/geoservices/jobs/${jobId}`));
          expect([job.status, JSON.stringify(job)]).toEqual([status, expect.anything()]);
          expect(job.attachmentsProcessed).toBe(id === 'bigids' ? 1 : 0);
        },
        { timeout: 20_000, interval: 200 },
      );
    }
    const ids = JSON.parse((await items('esriids')).replace(/"(id|sid)":\s*(-?\d{16,})/g, '"$1":"$2"')) as {
      features: { properties: Record<string, unknown> }[];
    };
    expect(ids.features.map(({ properties }) => properties)).toEqual([
      { id: '-9223372036854775808', sid: 1 },
      { id: 0, sid: 2 },
      { id: '9007199254740993', sid: '9007199254740993' },
      { id: '9223372036854775807', sid: 4 },
    ]);
    const snow = await items('esrisnow');
    expect(snow).toContain('"sid":1152921504606846977');
    expect(snow).toContain('"sid":9223372036854775807');
  });
});

describe('exports', () => {
  async function gpkg(id: string, query = ''): Promise<{ db: Database.Database; warnings: string[] }> {
    const path = `/api/v1/admin/services/default/layers/${numbers.get(id)}/export?format=gpkg${query}`;
    const answer = await fetch(server.url + path, { headers: { 'x-api-key': server.adminKey } });
    expect(answer.status).toBe(200);
    const file = join(folder, `${id}.gpkg`);
    writeFileSync(file, new Uint8Array(await answer.arrayBuffer()));
    const warnings = JSON.parse(answer.headers.get('graticule-warnings') ?? '[]') as string[];
    return { db: new Database(file, { readonly: true }), warnings };
  }

  it('as GeoPackage keep negative and large keys', async () => {
    const { db, warnings } = await gpkg('bigids');
    const rows = db
      .prepare('SELECT CAST(fid AS TEXT), CAST(sid AS TEXT) FROM bigids ORDER BY fid')
      .raw()
      .all();
    expect(rows).toEqual([
      ['-9223372036854775808', '1'],
      ['0', '2'],
      ['9007199254740993', '9007199254740993'],
      ['9223372036854775807', '4'],
    ]);
    expect(db.prepare('SELECT count(*) FROM rtree_bigids_geom').pluck().get()).toBe(4);
    expect(warnings).toEqual([]);
    db.close();
  });

  it('as GeoPackage keep times, JSON and lists, and say which numbers are rounded', async () => {
    const { db, warnings } = await gpkg('snow');
    const types = db.prepare("SELECT name, type FROM pragma_table_info('snow')").raw().all();
    expect(Object.fromEntries(types as [string, string][])).toMatchObject({ ts: 'DATETIME', nu: 'REAL' });
    const row = db.prepare('SELECT ts, jb, nu, CAST(sid AS TEXT) AS sid FROM snow ORDER BY fid').get();
    expect(row).toEqual({
      ts: '2020-01-01T23:59:59.999999Z',
      jb: expect.stringMatching(/^\{"a": ?9007199254740993, ?"b": ?0\.10, ?"c": ?10{400}\}$/),
      nu: Number('12345678901234567890'),
      sid: '1152921504606846977',
    });
    expect(warnings).toEqual([
      'Numbers are rounded to 64-bit floating point, about 17 digits, in these properties: nu.',
    ]);
    db.close();
    const odd = await gpkg('odd');
    expect(odd.db.prepare('SELECT ts, d, js, big, deci, texts, nu, far FROM odd').get()).toEqual({
      ts: '-000043-03-15T12:00:00Z',
      d: '2020-02-29',
      js: '{"big":9007199254740993,"dec":0.10,"a":1e400}',
      big: '[9007199254740993,3]',
      deci: '[1.1234567890123456789]',
      texts: '["a","b,c"]',
      nu: Number('12345678901234567890'),
      far: expect.stringMatching(/^10{400}\.0$/),
    });
    expect(odd.warnings).toContain(
      'Times that the format does not have: the values of these properties are text: ts.',
    );
    odd.db.close();
  });

  it('as KML have times as ISO 8601, and say which numbers lose digits', async () => {
    const path = `/api/v1/admin/services/default/layers/${numbers.get('snow')}/export?format=kml`;
    const answer = await fetch(server.url + path, { headers: { 'x-api-key': server.adminKey } });
    const kml = await answer.text();
    expect(kml).toContain('<SimpleData name="ts">2020-01-01T23:59:59.999999Z</SimpleData>');
    expect(JSON.parse(answer.headers.get('graticule-warnings')!)).toEqual([
      'Numbers are rounded to 15 digits in these properties: nu.',
    ]);
  });

  it('as shapefile and FlatGeobuf have the keys as a field, and times in milliseconds', async () => {
    for (const [format, ending] of [
      ['shapefile', 'zip'],
      ['flatgeobuf', 'fgb'],
    ]) {
      const read = async (id: string) => {
        const path = `/api/v1/admin/services/default/layers/${numbers.get(id)}/export?format=${format}`;
        const answer = await fetch(server.url + path, { headers: { 'x-api-key': server.adminKey } });
        const file = join(folder, `${id}.${ending}`);
        writeFileSync(file, new Uint8Array(await answer.arrayBuffer()));
        const source = ending === 'zip' ? `/vsizip/${file}` : file;
        const csv = execFileSync('ogr2ogr', ['-f', 'CSV', '/vsistdout/', source]).toString();
        return { csv, warnings: answer.headers.get('graticule-warnings') ?? '' };
      };
      const { csv } = await read('bigids');
      for (const id of ['-9223372036854775808', '9007199254740993', '9223372036854775807'])
        expect([format, csv.includes(id)]).toEqual([format, true]);
      const snow = await read('snow');
      if (format === 'shapefile') {
        expect(snow.warnings).toContain('Text is truncated to 254 bytes');
        expect(snow.warnings).toContain('Numbers are rounded to 15 digits in these properties: nu.');
      }
      expect(snow.csv).not.toContain(':60');
      if (format === 'flatgeobuf') {
        expect(snow.csv).toContain('2020/01/01 23:59:59.999');
        expect(snow.warnings).toContain('truncated to milliseconds');
      }
    }
  });
});

const LOSSES = [
  'Values that are infinite or not a number (NaN) are null in these properties, with the number of values: f8 (3), f4 (1), nu (1), ts (1).',
  'Arcs became lines. Number of geometries: 1.',
  'Surfaces (TIN, PolyhedralSurface, Triangle) became polygons. Number of geometries: 1.',
  'M values are omitted. Number of geometries: 4.',
];

describe('values and geometries that features do not have', () => {
  it('are counted by exports of all formats', async () => {
    const path = `/api/v1/admin/services/default/layers/${numbers.get('lossy')}/export`;
    const warnings = async (query: string) => {
      const answer = await fetch(`${server.url}${path}?${query}`, {
        headers: { 'x-api-key': server.adminKey },
      });
      const body = await answer.text();
      expect([query, answer.status, answer.ok ? '' : body]).toEqual([query, 200, '']);
      return JSON.parse(answer.headers.get('graticule-warnings') ?? '[]') as string[];
    };
    expect(await warnings('format=csv')).toEqual(LOSSES);
    for (const format of ['geojson', 'gpkg', 'flatgeobuf', 'kml'])
      expect([format, await warnings(`format=${format}`)]).toEqual([format, expect.arrayContaining(LOSSES)]);
    expect(await warnings('format=csv&where=whole=4')).toEqual([]);
    expect(await warnings('format=geojson&where=whole>3&outFields=whole')).toEqual([
      LOSSES[2],
      'M values are omitted. Number of geometries: 1.',
    ]);
  });

  it('are counted by processes', async () => {
    const client = new ProcessClient(server);
    for (const [process, inputs] of [
      ['conversion.feature-select', {}],
      ['conversion.feature-export', { format: 'csv' }],
    ] as const) {
      const body = { inputs: { features: { collection: 'lossy' }, ...inputs } };
      const { jobID } = await client.run(process, body);
      const job = await text(`/api/v1/admin/jobs/${jobID}`);
      if ('format' in inputs) expect(job).not.toContain('are left out');
      for (const loss of LOSSES) expect([process, job]).toEqual([process, expect.stringContaining(loss)]);
    }
  });
});

it('FlatGeobuf files of processes name the features that they have not', async () => {
  const client = new ProcessClient(server);
  const inputs = { features: { collection: 'lossy' }, format: 'flatgeobuf' };
  const { jobID } = await client.run('conversion.feature-export', { inputs });
  const job = await text(`/api/v1/admin/jobs/${jobID}`);
  expect(job).toContain(
    'Features without a geometry are omitted, because the format does not contain them. Number of features: 1.',
  );
});

describe('geographies across 180 degrees', () => {
  it.each(['gpkg', 'flatgeobuf', 'kml', 'shapefile', 'csv', 'geojson'])(
    'keep their parts in %s',
    async (format) => {
      const ending = { flatgeobuf: 'fgb', shapefile: 'shz' }[format] ?? format;
      for (const [id, parts] of [
        ['across', 2],
        ['across_lines', 2],
      ] as const) {
        const path = `/api/v1/admin/services/default/layers/${numbers.get(id)}/export?format=${format}`;
        const answer = await fetch(server.url + path, { headers: { 'x-api-key': server.adminKey } });
        const bytes = new Uint8Array(await answer.arrayBuffer());
        expect([id, format, answer.status]).toEqual([id, format, 200]);
        const file = join(folder, `${id}.${ending}`);
        writeFileSync(file, bytes);
        const options = ending === 'csv' ? ['-oo', 'GEOM_POSSIBLE_NAMES=geometry'] : [];
        const json = execFileSync('ogr2ogr', ['-f', 'GeoJSON', '/vsistdout/', ...options, file]).toString();
        const { features } = JSON.parse(json);
        const x = features.find((one: { properties: { name?: string; Name?: string } }) =>
          [one.properties.name, one.properties.Name].includes('x'),
        );
        expect([id, x.geometry.type, x.geometry.coordinates.length]).toEqual([
          ...[id, id === 'across' ? 'MultiPolygon' : 'MultiLineString', parts],
        ]);
      }
    },
  );

  it('have the area and the length that the database has', async () => {
    const client = new ProcessClient(server);
    for (const [process, collection, name] of [
      ['geometry.area', 'across', 'area'],
      ['geometry.length', 'across', 'length'],
      ['geometry.length', 'across_lines', 'length'],
    ] as const) {
      const { features } = await client.results(process, { inputs: { features: { collection } } });
      const [x, y] = features.features.map(
        (one: { properties: Record<string, number> }) => one.properties[name],
      );
      // Both are the same shape at other longitudes.
      expect(Math.abs(x / y - 1)).toBeLessThan(1e-9);
    }
  });
});

describe('processes', () => {
  it('say which decimals they round, and keep integers', async () => {
    const client = new ProcessClient(server);
    for (const [process, inputs] of [
      ['conversion.feature-select', {}],
      ['geometry.buffer', { distance: 1 }],
    ] as const) {
      const body = { inputs: { features: { collection: 'snow' }, ...inputs } };
      const { jobID } = await client.run(process, body);
      const results = await (await client.get(`/ogc/processes/jobs/${jobID}/results`)).text();
      expect([process, results]).toEqual([process, expect.stringContaining('1152921504606846977')]);
      const job = await text(`/api/v1/admin/jobs/${jobID}`);
      expect([process, job]).toEqual([
        process,
        expect.stringContaining(
          'Numbers are rounded to 64-bit floating point, about 17 digits, in these properties: nu.',
        ),
      ]);
    }
  });
});
