import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inspectParquet, translateParquet } from '../../../src/workers/exchange/parquet/translate.js';
import { adminClient } from '../../catalog/support/admin-client.js';
import { startServer, type TestServer } from '../../support/server.js';

/** Exports for readers: streamed files, and files of jobs. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-downloads-'));
const file = join(folder, 'data', 'world.gpkg');
/** Features of `places`: more than one page of items. */
const PLACES = 2500;
let server: TestServer;
const admin = adminClient(() => server);

beforeAll(async () => {
  for (const name of ['data', 'state']) mkdirSync(join(folder, name));
  const source = join(folder, 'place.json');
  const place = {
    ...{ type: 'Feature', geometry: { type: 'Point', coordinates: [8.5, 47.25] } },
    properties: { name: 'place', status: 'online', size: 1, secret: 'x', day: '2024-01-31' },
  };
  writeFileSync(source, JSON.stringify({ type: 'FeatureCollection', features: [place] }));
  const columns = 'name, status, size, secret, CAST(day AS date) AS day';
  for (const table of ['places', 'wide'])
    execFileSync('ogr2ogr', [
      ...['-f', 'GPKG', ...(table === 'wide' ? ['-update'] : []), '-nln', table],
      ...['-sql', `SELECT ${columns} FROM place`, file, source],
    ]);
  fill('places', PLACES, "'place ' || i");
  // Larger than what sockets hold.
  fill('wide', 3000, 'hex(randomblob(8192))');
  const odd = [1, 2, 3].map((n) => ({
    type: 'Feature',
    geometry: n === 2 ? null : { type: 'Point', coordinates: [8.5, 47.25] },
    properties: {
      day: '2024-01-31',
      time: `2024-01-31T1${n}:00:00.5+02:00`,
      local: '2024-01-31T10:00:00+00:00',
    },
  }));
  writeFileSync(
    join(folder, 'data', 'odd.geojson'),
    JSON.stringify({ type: 'FeatureCollection', features: odd }),
  );
  server = await startServer({ sources: [join(folder, 'data')], dataDir: join(folder, 'state') });
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Replaces the rows of a table by rows with the ids and sizes 1, 2, 3, ... */
function fill(table: string, rows: number, name: string): void {
  const db = new Database(file);
  const triggers = db
    .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?")
    .all(table) as { name: string }[];
  const { geom } = db.prepare(`SELECT geom FROM ${table}`).get() as { geom: Buffer };
  for (const trigger of triggers) db.exec(`DROP TRIGGER "${trigger.name}"`);
  db.exec(`DELETE FROM ${table}; DELETE FROM gpkg_ogr_contents WHERE table_name = '${table}'`);
  db.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO ${table} (fid, geom, name, status, size, secret, day)
     SELECT i, ?, ${name}, iif(i % 5 = 0, 'offline', 'online'), i, 's' || i, '2024-01-31' FROM n`,
  ).run(rows, geom);
  db.close();
}

const exportUrl = (query: string, collection = 'places') =>
  `${server.url}/ogc/features/collections/${collection}/export?${query}`;
const asAdmin = () => ({ headers: { 'x-api-key': server.adminKey } });

/** Starts curl, and stops it once it has received the first bytes. */
async function startAndPause(output: string): Promise<ChildProcess> {
  const curl = spawn('curl', ['-s', '-o', output, exportUrl('f=json', 'wide')]);
  const end = Date.now() + 20_000;
  for (let size = 0; size === 0 && Date.now() < end; ) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    try {
      size = readFileSync(output).length;
    } catch {}
  }
  curl.kill('SIGSTOP');
  return curl;
}

describe('a streamed export', () => {
  it('has all features, all that match, and only the attributes that are requested', async () => {
    const whole = await fetch(exportUrl('f=geojson'));
    expect(whole.headers.get('content-disposition')).toBe('attachment; filename="places.geojson"');
    const { features } = await whole.json();
    expect(features.map(({ id }: { id: number }) => id)).toEqual(
      Array.from({ length: PLACES }, (_, i) => i + 1),
    );
    const query = `filter=${encodeURIComponent('size > 100')}&status=offline&properties=name,size`;
    const csv = (await (await fetch(exportUrl(`f=csv&${query}`))).text()).trimEnd().split('\r\n');
    expect(csv[0]).toBe('id,geometry,name,size');
    expect(csv[1]).toBe('105,"POINT (8.5 47.25)",place 105,105');
    expect(csv.length).toBe(1 + (PLACES - 100) / 5);
    const projected = await (await fetch(exportUrl('f=json&ids=1&crs=EPSG:2056'))).json();
    expect(projected.crs.properties.name).toBe('urn:ogc:def:crs:EPSG::2056');
    expect(projected.features[0].geometry.coordinates[0]).toBeGreaterThan(2_600_000);
    const head = await fetch(exportUrl('f=csv'), { method: 'HEAD' });
    expect(head.status).toBe(200);
  });

  it('is counted by the same parameters', async () => {
    const count = async (query: string) =>
      (await fetch(exportUrl(query).replace('/export?', '/count?'))).json();
    expect(await count('')).toEqual({ numberMatched: PLACES });
    expect(await count('status=offline')).toEqual({ numberMatched: PLACES / 5 });
    expect(await count('status=offline&filter=size%20%3E%202490')).toEqual({ numberMatched: 2 });
    expect((await count('sortby=name')).status).toBe(400);
    expect((await count('filter=nothing%20%3D%201')).status).toBe(400);
  });

  it('names what is wrong with its parameters', async () => {
    for (const [query, name] of [
      ['f=gpkg', 'f'],
      ['f=csv&limit=5', 'limit'],
      ['f=csv&sortby=name', 'sortby'],
      ['f=csv&filter=nothing%20%3D%201', 'filter'],
      ['f=csv&properties=nothing', 'properties'],
      ['f=csv&crs=EPSG:999999', 'crs'],
    ]) {
      const answer = await fetch(exportUrl(query!));
      expect(answer.status, query).toBe(400);
      expect((await answer.json()).errors[0].name, query).toBe(name);
    }
    expect((await fetch(exportUrl('f=csv', 'nothing'))).status).toBe(404);
    expect((await (await fetch(exportUrl('f=gpkg'))).json()).detail).toContain(
      'Send POST /ogc/features/collections/places/export?f=gpkg,',
    );
  });

  it('has what the caller may read: rows, fields and masks', async () => {
    const scope = { service: 'default', layer: '*', role: '*' };
    const rows = await admin('POST', '/rls-policies', { ...scope, filter: 'size <= 2' });
    const mask = await admin('POST', '/field-mask-policies', { ...scope, attribute: 'secret' });
    expect([rows.status, mask.status], rows.text + mask.text).toEqual([201, 201]);
    try {
      const csv = await (await fetch(exportUrl('f=csv'))).text();
      expect(csv.split('\r\n').slice(0, 3)).toEqual([
        'id,geometry,name,status,size,day',
        '1,"POINT (8.5 47.25)",place 1,online,1,2024-01-31',
        '2,"POINT (8.5 47.25)",place 2,online,2,2024-01-31',
      ]);
      expect((await fetch(exportUrl('f=csv&filter=secret%20IS%20NULL'))).status).toBe(400);
      expect((await (await fetch(exportUrl('f=json'), asAdmin())).json()).features.length).toBe(PLACES);
    } finally {
      await admin('DELETE', `/rls-policies/${rows.body.data.policyId}`);
      await admin('DELETE', `/field-mask-policies/${mask.body.data.policyId}`);
    }
  });

  it('runs twice for a client; a client that goes away frees its place', async () => {
    const both = await Promise.all(['a', 'b'].map((name) => startAndPause(join(folder, name))));
    const third = await fetch(exportUrl('f=json', 'wide'));
    expect([third.status, third.headers.get('retry-after')]).toEqual([429, '30']);
    for (const curl of both) curl.kill('SIGKILL');
    const end = Date.now() + 20_000;
    let status = 429;
    while (status === 429 && Date.now() < end) {
      const answer = await fetch(exportUrl('f=csv&ids=1'));
      status = answer.status;
      await answer.arrayBuffer();
    }
    expect(status).toBe(200);
  });
});

describe('an export job of a reader', () => {
  // biome-ignore lint/suspicious/noExplicitAny: documents of any shape
  type Json = any;
  const start = async (query: string, init: RequestInit = {}, collection = 'places') => {
    const answer = await fetch(exportUrl(query, collection), { method: 'POST', redirect: 'manual', ...init });
    return { status: answer.status, location: answer.headers.get('location')!, body: await answer.text() };
  };
  const finish = async (location: string, init: RequestInit = {}): Promise<Json> => {
    const end = Date.now() + 60_000;
    for (;;) {
      const status = await (await fetch(`${location}?f=json`, init)).json();
      if (!['accepted', 'running'].includes(status.status) || Date.now() > end) return status;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  const remove = (location: string, init: RequestInit = {}) => fetch(location, { method: 'DELETE', ...init });
  const save = async (location: string, name: string, init: RequestInit = {}) => {
    const answer = await fetch(`${location}/file`, init);
    expect(answer.status).toBe(200);
    const path = join(folder, name);
    rmSync(path, { force: true });
    writeFileSync(path, Buffer.from(await answer.arrayBuffer()));
    return path;
  };

  it('writes GeoPackage, FlatGeobuf and GeoParquet with the types of the source', async () => {
    const query = `filter=${encodeURIComponent("status = 'offline'")}&properties=name,size,day`;
    for (const [format, ending] of [
      ['gpkg', 'gpkg'],
      ['flatgeobuf', 'fgb'],
      ['geoparquet', 'parquet'],
    ]) {
      const { status, location, body } = await start(`f=${format}&${query}`);
      expect(status, body).toBe(201);
      const done = await finish(location);
      expect(done, JSON.stringify(done)).toMatchObject({
        status: 'successful',
        features: PLACES / 5,
        progress: 100,
      });
      const path = await save(location, `offline.${ending}`);
      if (format === 'geoparquet') {
        const [layer] = await inspectParquet(path);
        expect(layer).toMatchObject({ featureCount: PLACES / 5, crs: 'OGC:CRS84', geometryType: 'Point' });
        expect(layer!.fields.map(({ name, type }) => `${name} ${type}`)).toEqual([
          'fid integer',
          'name string',
          'size integer',
          'day date',
        ]);
        const copy = join(folder, 'copy.gpkg');
        await translateParquet({ path, output: copy, table: 'copy' }, copy, () => {});
        const db = new Database(copy, { readonly: true });
        const row = db.prepare('SELECT * FROM copy WHERE size = 2500').get() as Record<string, unknown>;
        expect(row).toMatchObject({ name: 'place 2500', size: 2500, day: '2024-01-31' });
        expect(db.prepare('SELECT count(*) FROM copy').pluck().get()).toBe(PLACES / 5);
        db.close();
      } else {
        const info = execFileSync('ogrinfo', ['-so', '-al', path], { encoding: 'utf8' });
        expect(info).toContain(`Feature Count: ${PLACES / 5}`);
        expect(info).toMatch(/day: Date/);
        expect(info).not.toContain('secret');
      }
      expect((await (await remove(location)).json()).status).toBe('expired');
      expect((await fetch(`${location}/file`)).status).toBe(410);
    }
    expect((await start('f=dwg')).status).toBe(400);
    expect((await start('f=gpkg&filter=nothing%20%3D%201')).status).toBe(400);
  });

  it('warns of features without geometry, of dates and of times with offsets', async () => {
    const flatgeobuf = await start('f=flatgeobuf', {}, 'odd');
    const dates =
      'Dates that the format does not have: the values of these properties are times at midnight: day.';
    expect(JSON.parse(flatgeobuf.body).warnings).toEqual([dates]);
    expect(await (await fetch(`${server.url}/ogc/features/collections/odd?f=html`)).text()).toContain(dates);
    expect(await finish(flatgeobuf.location)).toMatchObject({
      features: 2,
      warnings: [
        dates,
        'Features without a geometry are omitted, because the format does not contain them. Number of features: 1.',
      ],
    });
    const path = await save(flatgeobuf.location, 'odd.fgb');
    expect(execFileSync('ogrinfo', ['-so', '-al', path], { encoding: 'utf8' })).toContain('Feature Count: 2');
    await remove(flatgeobuf.location);
    const parquet = await start('f=geoparquet', {}, 'odd');
    expect(await finish(parquet.location)).toMatchObject({
      features: 3,
      warnings: ['Times are in UTC, without their offset, in these properties: time.'],
    });
    const [layer] = await inspectParquet(await save(parquet.location, 'odd.parquet'));
    expect(layer!.fields.map(({ name, type }) => `${name} ${type}`)).toContain('time date-time');
    const copy = join(folder, 'odd-copy.gpkg');
    await translateParquet(
      { path: join(folder, 'odd.parquet'), output: copy, table: 'copy' },
      copy,
      () => {},
    );
    const db = new Database(copy, { readonly: true });
    expect(db.prepare('SELECT time FROM copy').pluck().all()[0]).toMatch(/^2024-01-31T09:00:00\.50*Z$/);
    db.close();
    await remove(parquet.location);
  });

  it('is listed for its caller, and for the browser that started it', async () => {
    const list = async (init: RequestInit) =>
      (await (await fetch(`${server.url}/ogc/features/exports?f=json`, init)).json()).exports.map(
        ({ id }: Json) => id,
      );
    const { location, body } = await start('f=gpkg&ids=1', asAdmin());
    await finish(location, asAdmin());
    expect(await list(asAdmin())).toContain(JSON.parse(body).id);
    const answer = await fetch(exportUrl('f=gpkg&ids=2'), {
      ...{ method: 'POST', redirect: 'manual', headers: { accept: 'text/html' } },
    });
    const [cookie] = answer.headers.get('set-cookie')!.split(';');
    const own = { headers: { cookie: cookie! } };
    const path = answer.headers.get('location')!.replace('?f=html', '');
    await finish(`${server.url}${path}`);
    expect(await list(own)).toEqual([path.split('/').at(-1)]);
    expect(await list({})).toEqual([]);
    const page = await (await fetch(`${server.url}/ogc/features/exports?f=html`, own)).text();
    expect(page).toContain(`${path}?f=html">Places: GeoPackage</a>`);
    await remove(`${server.url}${path}`);
    expect(await list(own)).toEqual([]);
    await remove(location, asAdmin());
  });

  it('leads browsers to its page, which has the download', async () => {
    const accept = { headers: { accept: 'text/html' } };
    const { status, location } = await start('f=gpkg&ids=1,2', accept);
    expect([status, location.endsWith('?f=html')]).toEqual([303, true]);
    const job = new URL(location, server.url).href.replace('?f=html', '');
    await finish(job);
    const page = await (await fetch(`${job}?f=html`)).text();
    expect(page).toContain(`href="${job}/file" download>Download places.gpkg</a>`);
    expect(page).toContain('Available until');
    await remove(job);
  });

  it('exists only for its caller, as long as the caller may read the same', async () => {
    const own = asAdmin();
    const { location } = await start('f=gpkg&properties=name', own);
    await finish(location, own);
    expect((await fetch(`${location}/file`, own)).status).toBe(200);
    for (const path of [location, `${location}/file`]) expect((await fetch(path)).status).toBe(404);
    expect((await remove(location)).status).toBe(404);
    expect((await fetch(`${location.replace('/places/', '/wide/')}/file`, own)).status).toBe(404);
    await remove(location, own);
    const stranger = await start('f=gpkg&properties=name');
    await finish(stranger.location);
    const scope = { service: 'default', layer: 'places', role: '*' };
    for (const [path, body] of [
      ['/rls-policies', { filter: 'size <= 2' }],
      ['/field-mask-policies', { attribute: 'name' }],
    ] as const) {
      expect((await fetch(`${stranger.location}/file`)).status).toBe(200);
      const { body: made } = await admin('POST', path, { ...scope, ...body });
      expect((await fetch(`${stranger.location}/file`)).status, path).toBe(410);
      await admin('DELETE', `${path}/${made.data.policyId}`);
    }
    const { collections } = await (await fetch(`${server.url}/ogc/tiles/collections?f=json`)).json();
    const { id } = collections.find(({ name }: Json) => name === 'places');
    const places = `/services/default/layers/${id}/metadata`;
    await admin('PUT', places, { accessPolicy: { allowAnonymous: false } });
    expect((await fetch(`${stranger.location}/file`)).status).toBe(401);
    await admin('PUT', places, { accessPolicy: { allowAnonymous: true } });
    expect((await fetch(`${stranger.location}/file`)).status).toBe(200);
    await remove(stranger.location);
  });

  it('can be cancelled, and a caller has few of them', async () => {
    const started = await Promise.all(Array.from({ length: 8 }, () => start('f=gpkg', {}, 'wide')));
    const accepted = started.filter(({ status }) => status === 201);
    expect(accepted.length).toBeLessThanOrEqual(4);
    expect(started.filter(({ status }) => status === 429).length).toBe(8 - accepted.length);
    expect((await start('f=gpkg&ids=1', asAdmin())).status).toBe(201);
    for (const { location } of accepted) {
      expect((await (await remove(location)).json()).status).toMatch(/dismissed|expired/);
      expect((await fetch(`${location}/file`)).status).toBeGreaterThan(400);
    }
  });
});

describe('a streamed export', () => {
  it('that the server cannot finish is cut off, so that programs do not take the file as complete', async () => {
    const output = join(folder, 'cut.json');
    const curl = await startAndPause(output);
    const db = new Database(file);
    db.exec('ALTER TABLE wide RENAME COLUMN name TO other');
    db.close();
    const ended = once(curl, 'exit');
    curl.kill('SIGCONT');
    const [code] = await ended;
    // 18: the transfer is incomplete.
    expect(code).toBe(18);
    expect(readFileSync(output, 'utf8').endsWith(']}\n')).toBe(false);
  });
});
