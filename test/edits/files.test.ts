import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OUTBOX_EVENTS } from '../../src/core/kit/limits.js';
import Database from '../../src/native/sqlite.js';
import { eventually } from '../e2e/support/http.js';
import { startServer, type TestServer } from '../support/server.js';
import { type Editor, geoPackageStore, parcel, sender, square, startEditor } from './support.js';

/** What edits owe the GeoPackage file itself, and the processes that share it. */

const point = (x: number, y: number, name = 'p') => ({
  type: 'Feature',
  geometry: { type: 'Point', coordinates: [x, y] },
  properties: { name },
});

describe('a GeoPackage that is edited', () => {
  const store = geoPackageStore();
  let editor: Editor;
  const send: Editor['send'] = (...request) => editor.send(...request);

  beforeAll(async () => {
    editor = await startEditor(store, ['--processes', '2']);
  });
  afterAll(async () => {
    await editor?.server.stop();
    await store.release();
  });

  it.each(['untended', 'spots'])('keeps its spatial index true (%s)', async (table) => {
    const indexed = () =>
      store.query(`SELECT id, round(minx) AS x, round(maxy) AS y FROM rtree_${table}_geom ORDER BY id`);
    const inBox = async (box: string) => {
      const page = await send('GET', `${table}/items?bbox=${box}`);
      return page.body.features.map((feature: { id: number }) => feature.id);
    };
    const { id } = (await send('POST', `${table}/items`, point(10, 20))).body;
    expect(await indexed()).toEqual([{ id, x: 10, y: 20 }]);
    await send('PATCH', `${table}/items/${id}`, { geometry: { type: 'Point', coordinates: [30, 40] } });
    expect(await indexed()).toEqual([{ id, x: 30, y: 40 }]);
    expect([await inBox('29,39,31,41'), await inBox('9,19,11,21')]).toEqual([[id], []]);
    await send('PATCH', `${table}/items/${id}`, { geometry: null });
    expect(await indexed()).toEqual([]);
    await send('PATCH', `${table}/items/${id}`, { geometry: { type: 'Point', coordinates: [5, 6] } });
    await send('DELETE', `${table}/items/${id}`);
    expect(await indexed()).toEqual([]);
  });

  it('states when it changed and a box around all rows', async () => {
    const before = new Date(Date.now() - 1000).toISOString();
    await send('POST', 'anything/items', { ...point(-10, -20), properties: {} });
    await send('POST', 'anything/items', { ...point(50, 60), properties: {} });
    const sql =
      "SELECT last_change, min_x, min_y, max_x, max_y FROM gpkg_contents WHERE table_name = 'anything'";
    const [row] = await store.query(sql);
    expect(row).toMatchObject({ min_x: -10, min_y: -20, max_x: 50, max_y: 60 });
    expect((row!['last_change'] as string) > before).toBe(true);
  });

  it('is read by GDAL, and passes its integrity check', async () => {
    await send(
      'POST',
      'parcels/items',
      parcel(7, 46, { name: 'gdal', seen: '2020-02-29T10:00:00Z', active: true }),
    );
    const out = execFileSync('ogrinfo', ['-ro', '-al', store.file, 'parcels'], { encoding: 'utf8' });
    expect(out).toContain('seen (DateTime) = 2020/02/29 10:00:00');
    expect(out).toContain('active (Integer(Boolean)) = 1');
    expect(out).toContain('MULTIPOLYGON (((');
    expect(await store.query('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  });

  it('tells every process of an edit, without reading the file again', async () => {
    const large = Array.from({ length: 400 }, (_, i) => [Math.cos(i / 64) * 5, Math.sin(i / 64) * 5]);
    const feature = {
      type: 'Feature',
      geometry: { type: 'LineString', coordinates: large },
      properties: {},
    };
    const operations = Array.from({ length: 1000 }, () => ({ type: 'CREATE', feature }));
    const json = { 'content-type': 'application/json' };
    const counts = async () =>
      Promise.all(
        Array.from({ length: 12 }, async () => {
          const page = await fetch(`${editor.server.url}/ogc/features/collections/anything/items?limit=1`, {
            // A connection of its own may reach either process.
            headers: { connection: 'close' },
          });
          return (await page.json()).numberMatched as number;
        }),
      );
    for (let attempt = 1; ; attempt++) {
      const before = editor.server.log().length;
      const began = performance.now();
      // Enough pages for a checkpoint: the file itself changes, not only its log.
      expect((await send('POST', 'anything/items/batch', { operations }, json)).status).toBe(200);
      const tookMs = performance.now() - began;
      const [{ n }] = (await store.query('SELECT count(*) AS n FROM anything')) as [{ n: number }];
      await eventually(async () => expect(new Set(await counts())).toEqual(new Set([n])));
      await pause(2000);
      const told = editor.server.log().slice(before);
      // A machine that stands still in the middle of a write lets the file be quiet before anybody tells of the edit.
      if (attempt < 3 && tookMs > 800 && told.includes('reload:')) continue;
      expect(told).not.toContain('reload:');
      return;
    }
  });

  it('is read again when another program changes it', async () => {
    const other = new Database(store.file);
    other.exec("UPDATE gpkg_contents SET identifier = 'Renamed' WHERE table_name = 'spots'");
    other.pragma('wal_checkpoint(TRUNCATE)');
    other.close();
    await eventually(async () => expect((await send('GET', 'spots?f=json')).body.title).toBe('Renamed'));
  });

  it('waits for another program that writes, then is right', async () => {
    const other = new Database(store.file);
    other.exec('BEGIN IMMEDIATE');
    const answer = send('POST', 'untended/items', point(1, 1, 'patient'));
    await pause(300);
    other.exec("INSERT INTO untended (name) VALUES ('other')");
    other.exec('COMMIT');
    other.close();
    expect((await answer).status).toBe(201);
    const names = await store.query('SELECT name FROM untended ORDER BY fid');
    expect(names).toEqual([{ name: 'other' }, { name: 'patient' }]);
  });

  it('forgets old events, and never gives a cursor twice', async () => {
    const other = new Database(store.file);
    other.exec(`INSERT INTO graticule_outbox (event_id, time, collection, layer_id, table_name, feature_id, operation,
        protocol, request_id, actor, changed_attributes, geometry_changed)
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${OUTBOX_EVENTS})
      SELECT 'e' || i, '', '', 0, '', '', 'insert', '', '', '', '[]', 0 FROM n`);
    other.close();
    await send('POST', 'untended/items', point(1, 1));
    const [row] = await store.query(
      'SELECT count(*) AS n, max(cursor) - min(cursor) + 1 AS span, max(cursor) AS newest FROM graticule_outbox',
    );
    expect(row).toMatchObject({ n: OUTBOX_EVENTS, span: OUTBOX_EVENTS });
    await send('POST', 'untended/items', point(1, 1));
    const [after] = await store.query('SELECT max(cursor) AS newest FROM graticule_outbox');
    expect(after!['newest']).toBe((row!['newest'] as number) + 1);
  });
});

describe('what is read-only', () => {
  const folder = mkdtempSync(join(tmpdir(), 'graticule-edits-'));
  let server: TestServer;

  beforeAll(async () => {
    const feature = {
      type: 'Feature',
      properties: { a: 1 },
      geometry: { type: 'Polygon', coordinates: square(1, 1) },
    };
    writeFileSync(
      join(folder, 'foreign.geojson'),
      JSON.stringify({ type: 'FeatureCollection', features: [feature] }),
    );
    copyFileSync('demo/data/L7_ETMs.tif', join(folder, 'scene.tif'));
    server = await startServer({ sources: [folder] });
  });
  afterAll(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('a copy of a foreign file: Allow without edits, 403 that says why', async () => {
    const send = sender(server.url, server.adminKey);
    for (const path of ['foreign/items', 'foreign/items/1']) {
      const { headers } = await send('OPTIONS', path);
      expect(headers.get('allow')).toBe('GET, HEAD, OPTIONS');
      expect(headers.get('access-control-allow-methods')).toBe('GET, HEAD, OPTIONS');
    }
    const answer = await send('DELETE', 'foreign/items/1');
    expect([answer.status, answer.body.detail]).toEqual([403, expect.stringContaining('converted copy')]);
    expect((await send('GET', 'foreign/items')).body.features).toHaveLength(1);
  });

  it('a raster is no feature collection: 404', async () => {
    const send = sender(server.url, server.adminKey);
    expect((await send('POST', 'scene/items', point(1, 1))).status).toBe(404);
  });
});
