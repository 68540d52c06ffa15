import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { XMLValidator } from 'fast-xml-parser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { adminClient } from '../../catalog/support/admin-client.js';
import { startServer, type TestServer } from '../../support/server.js';

/** Exports of layers: read by OGR, and held to the rows of the store. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-export-'));
const MANY = 50_001;
let server: TestServer;
let places: number;
let many: number;
let oddLayer: number;
/** Names of fields that a careless writer of XML or CSV would not survive, and texts that spreadsheets compute. */
const ODD_NAMES = ['a<b', 'c&d', 'say "e"', "f>'g'", '=h', '<script>alert(1)</script>', ']]>'];
const ODD_TEXTS = ['=1+1', '+4', '-5', '@x', '\tt', '\rr', 'plain', 'a=b', '', '="a",b'];
const admin = adminClient(() => server);

beforeAll(async () => {
  for (const name of ['data', 'state']) mkdirSync(join(folder, name));
  const properties = (n: number) => ({
    name: n % 2 ? `Ünïque, "${n}"` : null,
    day: `2024-01-${String((n % 28) + 1).padStart(2, '0')}`,
    date_like: '2020-01-01',
    big: 9_007_199_254_740_000 + n,
    size: n / 4,
    secret: `s${n}`,
    empty: null,
  });
  const features = Array.from({ length: 40 }, (_, i) => ({
    type: 'Feature',
    id: 100 + i,
    geometry: { type: 'Point', coordinates: [i, i / 2] },
    properties: properties(i),
  }));
  const source = join(folder, 'places.json');
  writeFileSync(source, JSON.stringify({ type: 'FeatureCollection', features }));
  const file = join(folder, 'data', 'world.gpkg');
  const sql =
    'SELECT name, CAST(day AS date) AS day, CAST(date_like AS character(20)) AS date_like, big, size, secret, CAST(empty AS integer) AS empty FROM places';
  ogr('ogr2ogr', '-preserve_fid', '-nln', 'places', '-sql', sql, file, source);
  const odd = join(folder, 'odd.json');
  const oddFeatures = ODD_TEXTS.map((text, i) => ({
    ...{ type: 'Feature', geometry: { type: 'Point', coordinates: [i, i] } },
    properties: Object.fromEntries(ODD_NAMES.map((name) => [name, text])),
  }));
  writeFileSync(odd, JSON.stringify({ type: 'FeatureCollection', features: oddFeatures }));
  ogr('ogr2ogr', '-update', '-nln', 'odd', file, odd);
  ogr('ogr2ogr', '-update', '-nln', 'many', '-sql', 'SELECT size FROM places', file, source);
  const db = new Database(file);
  const rows = db.prepare('SELECT geom FROM many LIMIT 1').get() as { geom: Buffer };
  for (const { name } of db
    .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'many'")
    .all() as { name: string }[])
    db.exec(`DROP TRIGGER "${name}"`);
  db.prepare('DELETE FROM many').run();
  db.prepare(
    'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO many (fid, geom, size) SELECT i, ?, i FROM n',
  ).run(MANY, rows.geom);
  db.close();
  server = await startServer({ sources: [join(folder, 'data')], dataDir: join(folder, 'state') });
  const { collections } = await (await fetch(`${server.url}/ogc/tiles/collections?f=json`)).json();
  const idOf = (wanted: string) =>
    Number(collections.find(({ name }: { name: string }) => name === wanted).id);
  places = idOf('places');
  many = idOf('many');
  oddLayer = idOf('odd');
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('odd names of fields', () => {
  const requireXml = (text: string) => expect(XMLValidator.validate(text)).toBe(true);
  const get = async (url: string) => {
    const answer = await ask(url.startsWith('http') ? url : server.url + url);
    const text = await answer.text();
    expect([url, answer.status]).toEqual([url, 200]);
    return text;
  };

  it('are names in KML and GML, and no markup', async () => {
    const kml = await get(path(oddLayer, 'format=kml'));
    requireXml(kml);
    const file = join(folder, 'odd.kml');
    writeFileSync(file, kml);
    const { features } = JSON.parse(ogr('ogr2ogr', '-f', 'GeoJSON', '/vsistdout/', file)) as {
      features: { properties: object }[];
    };
    expect(Object.keys(features[0]!.properties)).toEqual(expect.arrayContaining(ODD_NAMES));
    expect(kml).not.toContain('<script>');
    requireXml(await get('/ogc/features/collections/odd/items?f=gml'));
    const page = await get('/ogc/features/collections/odd/items?f=html');
    expect(page).not.toContain('<script>alert(1)');
    for (const rest of [
      'FeatureServer/0/query?where=1%3D1&outFields=*&f=html',
      'MapServer/generateKml?docName=x&layers=0&layerOptions=nonComposite',
    ])
      expect(await (await ask(`${server.url}/rest/services/default/${rest}`)).text()).not.toContain(
        '<script>alert(1)',
      );
  });

  it('and texts are no formulas in CSV, where they are to be none', async () => {
    const items = '/ogc/features/collections/odd/items?f=csv&limit=100';
    const exported = path(oddLayer, 'format=csv');
    for (const url of [items, exported]) {
      const plain = records(await get(url));
      expect(plain[0]!.slice(2)).toEqual(expect.arrayContaining(ODD_NAMES));
      expect(plain.slice(1).map((record) => record.at(-1))).toEqual(ODD_TEXTS);
      const guarded = records(await get(`${url}&csv-formulas=guard`));
      expect(guarded[0]!.slice(2)).toEqual(
        expect.arrayContaining(ODD_NAMES.map((name) => (name === '=h' ? "'=h" : name))),
      );
      expect(guarded.slice(1).map((record) => record.at(-1))).toEqual(
        ODD_TEXTS.map((text) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text)),
      );
      // Ids and coordinates are numbers: nothing is done to them.
      expect(guarded.slice(1).map(([id, geometry]) => [id, geometry])).toEqual(
        plain.slice(1).map(([id, geometry]) => [id, geometry]),
      );
      expect((await ask(`${url === items ? server.url : ''}${url}&csv-formulas=maybe`)).status).toBe(400);
    }
  });
});

/** Records of CSV (RFC 4180). */
function records(text: string): string[][] {
  const all: string[][] = [];
  for (const line of text.match(/(?:"(?:[^"]|"")*"|[^"\n])*\r\n/g) ?? []) {
    const cells = line.slice(0, -2).match(/(?:^|,)(?:"(?:[^"]|"")*"|[^,]*)/g) ?? [];
    all.push(cells.map((cell) => cell.replace(/^,/, '').replace(/^"|"$/g, '').replaceAll('""', '"')));
  }
  return all;
}

const ogr = (program: string, ...args: string[]) => execFileSync(program, args, { encoding: 'utf8' });
const path = (layer: number, query: string) =>
  `${server.url}/api/v1/admin/services/default/layers/${layer}/export?${query}`;
const ask = (url: string, headers: Record<string, string> = {}) =>
  fetch(url, { headers: { 'x-api-key': server.adminKey, connection: 'close', ...headers } });

async function exported(query: string, name: string, layer = places): Promise<string> {
  const answer = await ask(path(layer, query));
  const bytes = Buffer.from(await answer.arrayBuffer());
  expect(answer.status, bytes.toString('utf8').slice(0, 500)).toBe(200);
  expect(answer.headers.get('content-disposition')).toMatch(/^attachment; filename="places\.\w+"$/);
  const file = join(folder, name);
  writeFileSync(file, bytes);
  return name.endsWith('.zip') ? `/vsizip/${file}` : file;
}

// biome-ignore lint/suspicious/noExplicitAny: features of any shape
function features(file: string, ...args: string[]): any[] {
  const output = join(folder, 'read.geojson');
  rmSync(output, { force: true });
  ogr('ogr2ogr', '-f', 'GeoJSON', '-lco', 'WRITE_NAME=NO', ...args, output, file);
  return JSON.parse(ogr('cat', output)).features;
}

const stored = (where = '1 = 1') => {
  const db = new Database(join(folder, 'data', 'world.gpkg'), { readonly: true });
  const rows = db.prepare(`SELECT * FROM places WHERE ${where} ORDER BY fid`).all() as Record<
    string,
    unknown
  >[];
  db.close();
  return rows.map(({ geom: _, ...row }) => row);
};

describe('an export', () => {
  it('is a GeoPackage with the ids, types and values of the rows', async () => {
    const file = await exported('format=gpkg', 'all.gpkg');
    const db = new Database(file, { readonly: true });
    const rows = db.prepare('SELECT * FROM places ORDER BY fid').all() as Record<string, unknown>[];
    const columns = db.prepare("SELECT name, type FROM pragma_table_info('places')").all();
    db.close();
    expect(rows.map(({ geom: _, ...row }) => row)).toEqual(stored());
    expect(columns).toContainEqual({ name: 'day', type: 'DATE' });
    expect(columns).toContainEqual({ name: 'date_like', type: 'TEXT' });
    expect(columns).toContainEqual({ name: 'big', type: 'INTEGER' });
    expect(columns).toContainEqual({ name: 'size', type: 'REAL' });
    expect(ogr('ogrinfo', '-so', file, 'places')).toContain('ID["EPSG",4326]');
    expect(features(file).map((one) => one.geometry.coordinates)).toEqual(stored().map((_, i) => [i, i / 2]));
  });

  it('is a shapefile in an archive, in the CRS that is asked for', async () => {
    const file = await exported('format=shapefile&outSR=3857&where=size >= 5', 'part.zip');
    const info = ogr('ogrinfo', '-so', '-al', file);
    expect(info).toContain('Feature Count: 20');
    expect(info).toMatch(/Pseudo-Mercator/);
    const read = features(file);
    expect(read.map(({ properties }) => properties.size)).toEqual(
      stored('size >= 5').map(({ size }) => size),
    );
    expect(read.map(({ properties }) => properties.name)).toEqual(
      stored('size >= 5').map(({ name }) => name),
    );
    expect(read.map(({ properties }) => properties.fid)).toEqual(stored('size >= 5').map(({ fid }) => fid));
    expect(read[0].geometry.coordinates[0]).toBeCloseTo(20 * 111_319.490793, 1);
  });

  it('is CSV, GeoJSON, FlatGeobuf and KML of the same rows', async () => {
    const expected = stored("name LIKE '%1\"'");
    expect(expected.length).toBe(4);
    const query = `where=${encodeURIComponent("name LIKE '%1\"'")}`;
    for (const [format, ending] of [
      ['csv', 'csv'],
      ['geojson', 'geojson'],
      ['flatgeobuf', 'fgb'],
      ['kml', 'kml'],
    ]) {
      const read = features(await exported(`format=${format}&${query}`, `some.${ending}`));
      const bigs = read.map(({ properties }) => Number(properties.big)).sort();
      expect(bigs, format).toEqual(expected.map(({ big }) => big));
      const secrets = read.map(({ properties }) => properties.secret).sort();
      expect(secrets, format).toEqual(expected.map(({ secret }) => secret).sort());
    }
  });

  it('keeps to the box and the fields, and may be empty', async () => {
    const boxed = features(await exported('format=gpkg&bbox=9.5,0,12.5,90&outFields=size', 'box.gpkg'));
    expect(boxed.map(({ properties }) => properties)).toEqual([{ size: 2.5 }, { size: 2.75 }, { size: 3 }]);
    for (const [format, name] of [
      ['gpkg', 'none.gpkg'],
      ['shapefile', 'none.zip'],
      ['flatgeobuf', 'none.fgb'],
      ['geojson', 'none.geojson'],
    ]) {
      const info = ogr('ogrinfo', '-so', '-al', await exported(`format=${format}&where=size < 0`, name!));
      expect(info, format).toContain('Feature Count: 0');
      if (format !== 'geojson') expect(info, format).toMatch(/size: Real/);
    }
  });

  it('holds what the settings of the layer leave', async () => {
    const fields = [{ name: 'secret', hidden: true }];
    const answer = await admin('PUT', `/metadata/layers/${places}/fields`, { fields });
    expect(answer.status, answer.text).toBe(200);
    for (const format of ['csv', 'gpkg']) {
      const read = features(await exported(`format=${format}`, `hidden.${format}`));
      expect(read.length).toBe(40);
      expect(read[0].properties).not.toHaveProperty('secret');
    }
    for (const query of ['where=secret IS NOT NULL', 'outFields=secret'])
      expect((await ask(path(places, `format=csv&${query}`))).status).toBe(400);
  });

  it('refuses what makes no sense, and leaves nothing behind', async () => {
    for (const query of [
      '',
      'format=dwg',
      'format=csv&where=nothing = 1',
      'format=csv&where=size >',
      'format=csv&bbox=1,2,3',
      'format=csv&bbox=0,5,1,2',
      'format=csv&outSR=999999',
      'format=kml&outSR=3857',
      'format=csv&outFields=nothing',
    ]) {
      const answer = await ask(path(places, query));
      expect(answer.status, query).toBe(400);
      expect(answer.headers.get('content-type'), query).toBe('application/problem+json');
      await answer.arrayBuffer();
    }
    expect((await ask(path(9999, 'format=csv'))).status).toBe(404);
    expect(readdirSync(join(folder, 'state', 'exports'))).toEqual([]);
  });

  it('is refused to strangers', async () => {
    expect((await fetch(path(places, 'format=csv'))).status).toBe(401);
  });

  it('of many features is a job, whose file is sent in parts', async () => {
    const answer = await ask(path(many, 'format=gpkg'));
    expect(answer.status).toBe(202);
    const queued = await answer.json();
    expect(queued).toEqual({
      ...{ operationId: expect.any(String), totalFeatures: MANY, message: expect.any(String) },
      ...{ statusUrl: expect.any(String), downloadUrl: expect.any(String) },
    });
    const download = `${server.url}${queued.downloadUrl}`;
    const end = Date.now() + 120_000;
    while ((await ask(download)).status === 409 && Date.now() < end)
      await new Promise((resolve) => setTimeout(resolve, 200));
    expect((await ask(`${server.url}${queued.statusUrl}`)).status).toBe(200);
    const whole = await ask(download);
    const bytes = Buffer.from(await whole.arrayBuffer());
    expect(whole.status, bytes.toString('utf8').slice(0, 300)).toBe(200);
    const half = bytes.length >> 1;
    const rest = await ask(download, { range: `bytes=${half}-`, 'if-range': whole.headers.get('etag')! });
    expect(rest.status).toBe(206);
    expect(Buffer.from(await rest.arrayBuffer()).equals(bytes.subarray(half))).toBe(true);
    writeFileSync(join(folder, 'many.gpkg'), bytes);
    const db = new Database(join(folder, 'many.gpkg'), { readonly: true });
    expect(db.prepare('SELECT count(*) AS n, sum(size) AS s, max(fid) AS m FROM many').get()).toEqual({
      ...{ n: MANY, s: (MANY * (MANY + 1)) / 2, m: MANY },
    });
    db.close();
    const few = await ask(path(many, 'format=csv&where=size <= 50000'));
    expect(few.status).toBe(200);
    expect((await few.text()).trimEnd().split('\r\n').length).toBe(MANY);
    expect((await ask(download.replace(queued.operationId, 'nothing'))).status).toBe(404);
  }, 180_000);
});
