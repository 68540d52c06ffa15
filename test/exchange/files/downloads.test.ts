import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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
