import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stores, startStores } from '../cql2/stores.js';
import { COLUMNS, rows } from '../features/rows.js';
import { startServer, type TestServer } from '../support/server.js';
import { run } from './support/http.js';

/** GDAL copies a layer page by page while others add features to it. */

const ROWS = 600;
let stores: Stores;
let server: TestServer;
let folder: string;
const ids: Record<string, string> = {};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-paging-'));
  const some = rows();
  stores = await startStores(COLUMNS, [...some, ...some]);
  server = await startServer({ sources: [stores.geopackage.path, stores.postgis.database] });
  const { collections } = (await (await fetch(`${server.url}/ogc/features/collections`)).json()) as {
    collections: { id: string }[];
  };
  for (const { id } of collections) ids[id.startsWith('public') ? 'PostGIS' : 'GeoPackage'] = id;
});
afterAll(async () => {
  await server?.stop();
  await stores?.stop();
  rmSync(folder, { recursive: true });
});

/** Adds features until told to stop, at a pace that leaves time for reading; returns how many. */
async function insertUntil(collection: string, stopped: () => boolean, firstId: number): Promise<number> {
  let added = 0;
  for (; !stopped(); added++) {
    const response = await fetch(`${server.url}/ogc/features/collections/${collection}/items`, {
      method: 'POST',
      headers: { 'x-api-key': server.adminKey, 'content-type': 'application/geo+json' },
      body: JSON.stringify({
        type: 'Feature',
        id: firstId + added,
        geometry: { type: 'Point', coordinates: [added % 90, 1] },
        properties: { name: `added ${added}` },
      }),
    });
    if (response.status !== 201) throw new Error(`${response.status}: ${await response.text()}`);
    await response.arrayBuffer();
    await pause(20);
  }
  return added;
}

describe.each(['GeoPackage', 'PostGIS'])('a %s', (store) => {
  let next = 10_000;

  it.each([1, 7, 999, 2000])('is copied by ogr2ogr in pages of %i: every feature once', async (size) => {
    const output = join(folder, `${store}-${size}.gpkg`);
    let copied = false;
    const adding = insertUntil(ids[store]!, () => copied, next);
    const source = ['-oo', `PAGE_SIZE=${size}`, `OAPIF:${server.url}/ogc/features`, ids[store]!];
    try {
      // An id that comes twice breaks the primary key.
      await run('ogr2ogr', ['-f', 'GPKG', output, ...source, '-nln', 'copy', '-preserve_fid']);
    } finally {
      copied = true;
      next += await adding;
    }
    const read = (await run('sqlite3', [output, 'SELECT fid FROM copy ORDER BY fid']))
      .trim()
      .split('\n')
      .map(Number);
    expect(new Set(read).size).toBe(read.length);
    const old = read.filter((id) => id <= ROWS);
    expect(old).toHaveLength(ROWS);
  });
});
