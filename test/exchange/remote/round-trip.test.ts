import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { multipart } from '../../admin/support/multipart.js';
import { run } from '../../providers/postgis/support.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { startServer, type TestServer } from '../../support/server.js';

/** Imports into a collection neither change nor erase what their file does not say. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-round-trip-'));
let postgres: TestPostgres;
let server: TestServer;
const numbers = new Map<string, string>();

const COLUMNS = `code text UNIQUE, name text, jb jsonb, js json, ints int[], bigs bigint[], nums numeric[], texts text[],
  bools bool[], ts timestamptz, tsn timestamp, d date, t time, tz timetz, u uuid, b bytea, nu numeric, si smallint,
  bi bigint, re real, dp double precision, bo boolean, iv interval`;
const ROWS = `
  ('full','2020-01-01','{"a":[1,"x",null],"n":0.10}','{"b": 1.50}','{1,2}','{9007199254740993,3}',
    '{1.1234567890123456789}','{a,"b,c",NULL}','{t,f}','2020-01-01T23:59:59.999999Z','2020-01-01T23:59:59.999999',
    '2020-02-29','12:30:00.123456','12:30:00+05:45','a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11','\\xdeadbeef',
    12345678901234567890.12345678901234567890,7,9223372036854775807,0.1,1e300,true,'1 day 02:03:04',
    'SRID=4326;POINT(1.123456789012345 1)'),
  ('null',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,
    NULL,'SRID=4326;POINT(1 2)'),
  ('bc','','""','"text"','{}','{}','{}','{}','{}','0044-03-15 12:00:00+00 BC','0044-03-15 12:00:00 BC',
    '0044-03-15 BC','24:00:00','00:00:00-12','00000000-0000-0000-0000-000000000000','',0,0,0,0,0,false,'0',
    'SRID=4326;POINT(1 3)'),
  ('jnull','null','null','null','{NULL}','{NULL}','{NULL}','{""}','{NULL}','infinity','-infinity','infinity',
    '00:00:00','23:59:59+00',NULL,'\\x00','NaN',-1,-9223372036854775808,'NaN','Infinity',NULL,'-1 mon',
    'SRID=4326;POINT(1 4)'),
  ('jstr','12:30:00','"12"','12','{{1,2},{3,4}}',NULL,NULL,'{"[1]","12",true}',NULL,'12020-01-01T00:00:00Z',
    '12020-01-01T00:00:00Z','12020-01-01','00:00:00',NULL,NULL,NULL,1e400,NULL,9007199254740993,NULL,NULL,NULL,NULL,
    'SRID=4326;POINT(1 5)'),
  ('bare','012','true','false',NULL,NULL,NULL,NULL,NULL,'0001-01-01T00:00:00Z BC',NULL,NULL,NULL,NULL,NULL,NULL,NULL,
    NULL,NULL,NULL,NULL,NULL,NULL,NULL)`;
const COLUMN_NAMES = COLUMNS.split(',').map((column) => column.trim().split(' ')[0]!);
const NAMES = ['full', 'null', 'bc', 'jnull', 'jstr', 'bare'];

beforeAll(async () => {
  postgres = await startPostgres();
  await run(
    postgres.url,
    `CREATE TABLE rows (id serial PRIMARY KEY, ${COLUMNS}, geom geometry(Point, 4326));
     CREATE TABLE fids (id serial PRIMARY KEY, code text, fid text, geom geometry(Point, 4326))`,
  );
  server = await startServer({ sources: [postgres.url] });
  await vi.waitFor(
    async () => {
      const answer = await call('/ogc/tiles/collections?f=json');
      const { collections } = (await answer.json()) as { collections: { id: string; name: string }[] };
      for (const { id, name } of collections) numbers.set(name, id);
      expect([...numbers.keys()]).toEqual(expect.arrayContaining(['rows', 'fids']));
    },
    { timeout: 60_000, interval: 250 },
  );
}, 180_000);
afterAll(async () => {
  await server?.stop();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  await run(
    postgres.url,
    `TRUNCATE rows RESTART IDENTITY; INSERT INTO rows (${COLUMN_NAMES.join(', ')}, geom) VALUES ${ROWS}`,
  );
});

const call = (path: string) => fetch(server.url + path, { headers: { 'x-api-key': server.adminKey } });

/** All values as text, by the code of the row. */
async function stored(): Promise<unknown[]> {
  const list = COLUMN_NAMES.map((name) => `${name}::text`).join(', ');
  const { rows } = await run(postgres.url, `SELECT ${list}, ST_AsText(geom) AS geom FROM rows ORDER BY id`);
  return rows;
}

async function readValue(expression: string, code: string): Promise<unknown> {
  const { rows } = await run(
    postgres.url,
    `SELECT (${expression})::text AS v FROM rows WHERE code = '${code}'`,
  );
  return rows[0]?.v;
}

async function upload(fields: Record<string, string>, filename: string, content: string | Buffer) {
  const parts = Object.entries(fields).map(([name, value]) => ({ name, content: value }));
  const { contentType, body } = multipart([...parts, { name: 'file', filename, content }]);
  const answer = await fetch(`${server.url}/api/v1/admin/import/upload`, {
    method: 'POST',
    headers: { 'content-type': contentType, 'x-api-key': server.adminKey },
    body: new Uint8Array(body),
  });
  // biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
  return { status: answer.status, body: (await answer.json()) as any };
}

const upsert = (filename: string, content: string | Buffer, more: Record<string, string> = {}) =>
  upload(
    {
      ...{ TableName: 'rows', Mode: 'upsert', KeyField: 'code' },
      ...(filename.endsWith('.csv') ? { SourceSrid: '4326' } : {}),
      ...more,
    },
    filename,
    content,
  );

const feature = (geometry: string, properties: string) =>
  `{"type":"Feature","geometry":${geometry},"properties":${properties}}`;
const collection = (...features: string[]) =>
  `{"type":"FeatureCollection","features":[${features.join(',')}]}`;

describe('an upsert of GeoJSON', () => {
  it.each([
    ['{"type":"Circle","coordinates":[1,1]}', 'geometry: the geometry has a type'],
    ['{"type":"Point","coordinates":"x"}', 'geometry.coordinates: is not an array'],
    ['{"type":"Point"}', 'geometry: the geometry has no coordinates'],
    ['{"type":"Point","coordinates":[1e400,1]}', 'geometry.coordinates[0]: is not a finite number'],
    ['{"type":"Point","coordinates":[null,1]}', 'geometry.coordinates[0]: is not a finite number'],
    ['{"type":"GeometryCollection","geometries":[{"type":"Foo"}]}', 'geometry.geometries[0]: has a type'],
    ['"POINT(1 1)"', 'geometry: the geometry is not a GeoJSON geometry object'],
  ])('refuses the geometry %s', async (geometry, reason) => {
    const before = await stored();
    const text = collection(
      feature('null', '{"code":"bare"}'),
      feature(geometry, '{"code":"full","name":"new"}'),
    );
    const refused = await upsert('rows.geojson', text);
    expect([refused.status, refused.body.detail]).toEqual([422, expect.stringContaining(`Row 2: ${reason}`)]);
    const listed = await upsert('rows.geojson', text, { RejectRows: 'true' });
    expect(listed.body.merge).toMatchObject({ unchanged: 1, rejected: 1, rejections: [{ row: 2 }] });
    const sequence = await upsert('rows.geojsonl', `${feature(geometry, '{"code":"full"}')}\n`);
    expect([geometry, sequence.status]).toEqual([geometry, 422]);
    expect(await stored()).toEqual(before);
  });

  it('erases a geometry where it is null, and keeps what a feature does not name', async () => {
    const bare = '{"type":"Feature","properties":{"code":"full","d":null}}';
    const text = collection(
      bare,
      feature('null', '{"code":"bc"}'),
      feature('null', '{"name":"n","code":"x"}'),
    );
    expect((await upsert('rows.geojson', text)).body.merge).toMatchObject({ updated: 2, inserted: 1 });
    expect(await readValue('ST_AsText(geom)', 'full')).toBe('POINT(1.123456789012345 1)');
    expect(await readValue('name', 'full')).toBe('2020-01-01');
    expect(await readValue('d', 'full')).toBeNull();
    expect(await readValue('geom', 'bc')).toBeNull();
    expect(await readValue('tsn', 'bc')).toBe('0044-03-15 12:00:00 BC');
  });

  it('writes lists, JSON, times and text as they are', async () => {
    const properties =
      '{"code":"full","name":"2020-01-01T10:00:00+05:45","jb":["a","b"],"js":"2020-01-01","ints":[4,5],"texts":["c","12:30:00"],"ts":"2020-01-01T10:00:00.000001+05:45","tsn":"2020-01-01T00:00:00+00:30","d":"-000043-03-15","t":"12:30:00"}';
    const answer = await upsert('rows.geojson', collection(feature('null', properties)));
    expect(answer.body).toMatchObject({ merge: { updated: 1 }, warnings: [] });
    const [row] = (await stored()) as Record<string, unknown>[];
    expect(row).toMatchObject({
      ...{ name: '2020-01-01T10:00:00+05:45', jb: '["a", "b"]', js: '"2020-01-01"', ints: '{4,5}' },
      ...{ texts: '{c,12:30:00}', tsn: '2019-12-31 23:30:00', d: '0044-03-15 BC', t: '12:30:00' },
    });
    expect(await readValue("ts AT TIME ZONE 'UTC'", 'full')).toBe('2020-01-01 04:15:00.000001');
    const list = collection(feature('null', '{"code":"bc","name":["a",1.10]}'));
    expect((await upsert('rows.geojson', list)).body.merge).toMatchObject({ updated: 1 });
    expect(await readValue('name', 'bc')).toBe('["a",1.10]');
  });

  it('takes features alone, geometries alone and strange white space', async () => {
    const spaced = `\uFEFF {"crs" : null ,\n "features" :\t[ ${feature('null', '{"code":"s\\"{[","name":"\\u00e9\\\\"}')} ,\n${feature('null', '{"code":"t"}')} ] , "type" : "FeatureCollection" }`;
    expect((await upsert('a.geojson', spaced)).body.merge).toMatchObject({ inserted: 2 });
    expect(await readValue('name', 's"{[')).toBe('é\\');
    expect((await upsert('a.geojson', feature('null', '{"code":"alone"}'))).body.merge).toMatchObject({
      inserted: 1,
    });
    const point = await upload(
      { TableName: 'rows', Mode: 'append' },
      'a.geojson',
      '{"type":"Point","coordinates":[8,9]}',
    );
    expect(point.body.merge).toMatchObject({ inserted: 1 });
    const { rows } = await run(
      postgres.url,
      'SELECT ST_AsText(geom) AS g FROM rows ORDER BY id DESC LIMIT 1',
    );
    expect(rows[0].g).toBe('POINT(8 9)');
  });

  it('is projected from the CRS of the file', async () => {
    const crs = '"crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:EPSG::3857"}},';
    const text = collection(
      feature('{"type":"Point","coordinates":[111319.49079327357,0]}', '{"code":"full"}'),
    );
    expect((await upsert('a.geojson', text.replace('"features"', `${crs}"features"`))).status).toBe(200);
    expect(await readValue('ST_AsText(ST_SnapToGrid(geom, 0.000001))', 'full')).toBe('POINT(1 0)');
  });
});

describe('an upsert of CSV', () => {
  it.each([
    ['wkt,code', 'POINT(1 x)', 'POINT(1 x)'],
    ['wkt,code', 'foo', 'foo'],
    ['geom,code', '"{""type"":""Foo"",""coordinates"":[1,2]}"', '{"type":"Foo"'],
    ['lon,lat,code', 'x,1', 'x, 1'],
    ['lon,lat,code', ',1', ', 1'],
    ['location,code', 'abc', 'abc'],
  ])('refuses a geometry of %s: %s', async (head, value, quoted) => {
    const before = await stored();
    const right: Record<string, string> = {
      'wkt,code': 'POINT(1 2)',
      'geom,code': '"{""type"":""Point"",""coordinates"":[1,2]}"',
      'lon,lat,code': '1,2',
      'location,code': '"2, 1"',
    };
    const answer = await upsert('rows.csv', `${head}\n${right[head]},null\n${value},full\n`);
    expect([answer.status, answer.body.detail]).toEqual([
      422,
      expect.stringContaining(`Row 2: geometry: cannot be read: ${quoted}`),
    ]);
    expect(await stored()).toEqual(before);
  });

  it('erases a geometry of an empty cell, and reads JSON', async () => {
    const csv =
      'wkt,code,jb,u,t,name\nPOINT(1 2),null,"{""a"":1.10}",,,\n,full,"""x""",,,\nPOINT(1 3),bc,plain,,,y\n';
    expect((await upsert('rows.csv', csv)).body.merge).toMatchObject({ updated: 3 });
    expect(await readValue('geom', 'full')).toBeNull();
    expect(await readValue('jb', 'full')).toBe('"x"');
    expect(await readValue('u', 'full')).toBeNull();
    expect(await readValue('name', 'full')).toBe('');
    expect(await readValue('jb', 'null')).toBe('{"a": 1.10}');
    expect(await readValue('jb', 'bc')).toBe('"plain"');
  });
});

it('refuses a geometry of a GeoPackage that cannot be read', async () => {
  const before = await stored();
  const path = join(folder, 'broken.gpkg');
  const seed = join(folder, 'seed.geojson');
  writeFileSync(seed, collection(feature('{"type":"Point","coordinates":[1,2]}', '{"code":"full"}')));
  execFileSync('ogr2ogr', ['-f', 'GPKG', path, seed, '-lco', 'SPATIAL_INDEX=NO']);
  for (const blob of ['0102030405', '47500001E61000000101']) {
    const db = new Database(path);
    db.exec(`UPDATE seed SET geom = x'${blob}'`);
    db.close();
    const answer = await upsert('broken.gpkg', readFileSync(path));
    expect([answer.status, answer.body.detail]).toEqual([
      422,
      expect.stringContaining(`Row 1: geometry: cannot be read: X'${blob.slice(0, 16)}'`),
    ]);
  }
  expect(await stored()).toEqual(before);
});

it('keeps geometries where a KML file has none that can be read, with a warning', async () => {
  const place = (code: string, point: string) =>
    `<Placemark><ExtendedData><Data name="code"><value>${code}</value></Data></ExtendedData><Point><coordinates>${point}</coordinates></Point></Placemark>`;
  const kml = `<kml xmlns="http://www.opengis.net/kml/2.2"><Document><Folder><name>x</name>${place('null', '1,2')}${place('full', 'abc')}</Folder></Document></kml>`;
  const { body } = await upsert('rows.kml', kml);
  expect(body.merge).toMatchObject({ rejected: 0 });
  expect(body.warnings).toContain('1 row of the file has no geometry: features that are there keep theirs.');
  expect(await readValue('ST_AsText(geom)', 'full')).toBe('POINT(1.123456789012345 1)');
});

it('keeps properties named as columns of staging files', async () => {
  const text = collection(feature('null', '{"code":"a","fid":"kept"}'));
  const answer = await upload({ TableName: 'fids', Mode: 'append' }, 'a.geojson', text);
  expect(answer.body).toMatchObject({ merge: { inserted: 1 }, warnings: [] });
  const { rows } = await run(postgres.url, 'SELECT code, fid FROM fids');
  expect(rows).toEqual([{ code: 'a', fid: 'kept' }]);
});

describe('a new collection', () => {
  let count = 0;
  const create = async (filename: string, content: string) => {
    const table = `created${++count}`;
    const fields = { TableName: table, ...(filename.endsWith('.csv') ? { SourceSrid: '4326' } : {}) };
    const { status, body } = await upload(fields, filename, content);
    const page = await call(`/ogc/features/collections/${table}/items?f=json`);
    const { features = [] } = (await page.json()) as { features?: Record<string, unknown>[] };
    return { status, body, features };
  };
  const POINT = '{"type":"Point","coordinates":[1,1]}';

  it('has lists as JSON, times as text, and properties named fid and geom', async () => {
    const properties =
      '{"fid":7,"geom":"g","l":["a","b"],"n":[1,2],"clock":"12:30","early":"-000043-03-15","odd":"2020-01-01T10:00:00+01:07"}';
    for (const name of ['a.geojson', 'a.geojsonl']) {
      const text = name === 'a.geojson' ? collection(feature(POINT, properties)) : feature(POINT, properties);
      const { body, features } = await create(name, `${text}\n`);
      expect([name, body.warnings]).toEqual([name, []]);
      expect(features[0]!['properties']).toEqual({
        ...{ fid: 7, geom: 'g', l: '["a","b"]', n: '[1,2]', clock: '12:30', early: '-000043-03-15' },
        odd: '2020-01-01T10:00:00+01:07',
      });
    }
    const csv = await create('a.csv', 'lon,lat,fid,geom\n1,2,7,x\n');
    expect(csv.features[0]).toMatchObject({
      ...{ geometry: { coordinates: [1, 2] }, properties: { fid: 7, geom: 'x' } },
    });
  });

  it('reports geometries that cannot be read', async () => {
    const circle = feature('{"type":"Circle"}', '{"a":1}');
    const one = await create('a.geojson', collection(feature(POINT, '{}'), feature('null', '{}'), circle));
    expect(one.body.warnings).toEqual(['1 geometry of the file cannot be read: its feature has none.']);
    const csv = await create('a.csv', 'wkt,a\nPOINT(1 2),1\nfoo,2\nPOINT(x),3\n,4\n');
    expect(csv.body.warnings).toEqual(['2 geometries of the file cannot be read: their features have none.']);
  });

  it('refuses coordinates that are not finite', async () => {
    const far = feature('{"type":"Point","coordinates":[1e400,1]}', '{}');
    const { status, body } = await create('a.geojson', collection(feature(POINT, '{}'), far));
    expect([status, body.detail]).toEqual([422, expect.stringContaining('Feature 2 has a coordinate')]);
    expect((await upsert('a.csv', 'wkt,code\nPOINT(1e400 1),full\n')).status).toBe(422);
  });

  it('is previewed with the values that it will have', async () => {
    const properties =
      '{"fine":"2020-01-01T23:59:59.999999Z","odd":"2020-01-01T10:00:00.100+05:45","day":"2020-01-01","clock":"12:30","year":{"year":1}}';
    const content = collection(feature(POINT, properties));
    const { contentType, body } = multipart([{ name: 'file', filename: 'a.geojson', content }]);
    const answer = await fetch(`${server.url}/api/v1/admin/import/preview`, {
      method: 'POST',
      headers: { 'content-type': contentType, 'x-api-key': server.adminKey },
      body: new Uint8Array(body),
    });
    expect(await answer.json()).toMatchObject({
      sampleProperties: {
        ...{ fine: '2020-01-01T23:59:59.999999Z', odd: '2020-01-01T10:00:00.100+05:45' },
        ...{ day: '2020-01-01', clock: '12:30' },
      },
    });
  });
});

/** Every format that exports write and imports read. */
const FORMATS = [
  ['geojson', 'geojson'],
  ['csv', 'csv'],
  ['gpkg', 'gpkg'],
  ['flatgeobuf', 'fgb'],
] as const;

describe.each(FORMATS)('an export as %s that is upserted', (format, ending) => {
  const path = (name: string) => join(folder, `${name}.${ending}`);

  async function exported(name: string): Promise<Buffer> {
    const answer = await call(
      `/api/v1/admin/services/default/layers/${numbers.get('rows')}/export?format=${format}`,
    );
    expect(answer.status).toBe(200);
    const isDropped = format === 'flatgeobuf' && (name === 'rows' || name === 'bare');
    const dropped =
      'Features without a geometry are omitted, because the format does not contain them. Number of features: 1.';
    const warnings = answer.headers.get('graticule-warnings') ?? '[]';
    expect([name, JSON.parse(warnings).includes(dropped)]).toEqual([name, isDropped]);
    writeFileSync(path(name), new Uint8Array(await answer.arrayBuffer()));
    return readFileSync(path(name));
  }

  it('changes no row', async () => {
    const before = await stored();
    const answer = await upsert(`rows.${ending}`, await exported('rows'));
    expect(answer.body.merge).toMatchObject({ inserted: 0, updated: 0, rejected: 0 });
    // FlatGeobuf holds no features without a geometry.
    expect(answer.body.merge.unchanged).toBe(format === 'flatgeobuf' ? 5 : 6);
    expect(await stored()).toEqual(before);
  });

  it.each(NAMES)('changes no row that is alone: %s', async (name) => {
    await run(postgres.url, `DELETE FROM rows WHERE code <> '${name}'`);
    const before = await stored();
    const answer = await upsert(`${name}.${ending}`, await exported(name));
    expect([name, answer.body.detail, answer.body.merge]).toMatchObject([
      name,
      undefined,
      { inserted: 0, updated: 0, rejected: 0 },
    ]);
    expect(await stored()).toEqual(before);
  });
});

describe('an export of a GeoPackage whose values do not fit their columns', () => {
  const path = join(folder, 'loose.gpkg');
  const read = () => {
    const db = new Database(path, { readonly: true });
    const names = ['code', 'i', 'r', 'd', 'ts', 'b', 'js', 'geom'];
    const rows = db
      .prepare(`SELECT ${names.map((name) => `quote(${name})`).join(', ')} FROM loose`)
      .raw()
      .all();
    db.close();
    return rows;
  };
  let loose: TestServer;

  beforeAll(async () => {
    const seed = join(folder, 'loose.geojson');
    writeFileSync(seed, collection(feature('{"type":"Point","coordinates":[1,1]}', '{"code":"plain"}')));
    execFileSync('ogr2ogr', ['-f', 'GPKG', path, seed, '-lco', 'SPATIAL_INDEX=NO', '-nlt', 'POINT']);
    const db = new Database(path);
    const columns = ['i INTEGER', 'r REAL', 'd DATE', 'ts DATETIME', 'b BLOB', 'js JSON'];
    for (const column of columns) db.exec(`ALTER TABLE loose ADD ${column}`);
    const add = (code: string, values: string) =>
      db.exec(
        `INSERT INTO loose (geom, code, i, r, d, ts, b, js) SELECT geom, '${code}', ${values} FROM loose LIMIT 1`,
      );
    add(
      'full',
      `9007199254740993, 0.1, '2020-02-29', '2020-01-01T23:59:59.999999Z', x'deadbeef', '{"a": [1, "x"]}'`,
    );
    add('odd', `'text', 'x1', '-000043-03-15', '2020-01-01', x'', '"t"'`);
    add('half', `1.5, NULL, NULL, NULL, NULL, 'not json'`);
    add('days', `NULL, NULL, 20200101, 1577836800, x'00', '12'`);
    db.close();
    loose = await startServer({ sources: [path] });
  }, 120_000);
  afterAll(() => loose?.stop());

  it.each(FORMATS)(
    'as %s changes no row in an upsert: it is unchanged or refused',
    async (format, ending) => {
      const before = read();
      const headers = { 'x-api-key': loose.adminKey };
      const { collections } = (await (await fetch(`${loose.url}/ogc/tiles/collections?f=json`)).json()) as {
        collections: { id: string }[];
      };
      const layer = `${loose.url}/api/v1/admin/services/default/layers/${collections[0]!.id}`;
      const exported = Buffer.from(
        await (await fetch(`${layer}/export?format=${format}`, { headers })).arrayBuffer(),
      );
      const { contentType, body } = multipart([
        ...Object.entries({
          TableName: 'loose',
          Mode: 'upsert',
          KeyField: 'code',
          RejectRows: 'true',
          SourceSrid: '4326',
        }).map(([name, content]) => ({ name, content })),
        { name: 'file', filename: `loose.${ending}`, content: exported },
      ]);
      const answer = await fetch(`${loose.url}/api/v1/admin/import/upload`, {
        method: 'POST',
        headers: { ...headers, 'content-type': contentType },
        body: new Uint8Array(body),
      });
      const { merge } = (await answer.json()) as { merge: Record<string, number> };
      expect([format, merge]).toMatchObject([format, { inserted: 0, updated: 0 }]);
      expect(merge['unchanged']! + merge['rejected']!).toBe(5);
      expect(merge['unchanged']).toBeGreaterThanOrEqual(format === 'geojson' ? 5 : 3);
      expect(read()).toEqual(before);
    },
  );
});
