import { existsSync, mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import Database from '../../../src/native/sqlite.js';
import { multipart } from '../../admin/support/multipart.js';
import { call, collections, itemsOf, type Json, leftovers } from '../../exchange/remote/support.js';
import { ProcessClient } from '../../processes/support.js';
import { startServerProcess, type TestServer } from '../../support/server.js';
import { repetitions } from '../../support/soak.js';

/**
 * A server that is killed while it publishes an import and a result of a process, and changes settings of a layer: the next
 * start shows each of them as it was or as it was to be.
 */

const dataDir = mkdtempSync(join(tmpdir(), 'graticule-killed-'));
const KILLS = repetitions(import.meta.url, 60, 2);
const FEATURES = 200;
const PATIENCE = { timeout: 60_000, interval: 100 };
let server: TestServer;
let layer: number;

const start = () => startServerProcess({ sources: [], dataDir });

beforeAll(async () => {
  server = await start();
  await publishImport('base');
  const answer = await fetch(`${server.url}/?f=json`);
  const { collections: shown } = (await answer.json()) as { collections: { id: string; layerId: number }[] };
  layer = shown.find(({ id }) => id === 'base')!.layerId;
}, 240_000);
afterAll(async () => {
  await server?.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const points = JSON.stringify({
  type: 'FeatureCollection',
  features: Array.from({ length: FEATURES }, (_, i) => ({
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [i / 10, 50] },
    properties: { name: `f${i}` },
  })),
});

/** Resolves with whether the server took the change; one that was killed meanwhile took it or not. */
async function publishImport(name: string): Promise<boolean> {
  const { body, contentType } = multipart([
    { name: 'tableName', content: name },
    { name: 'file', filename: `${name}.geojson`, content: points },
  ]);
  const headers = { 'x-api-key': server.adminKey, 'content-type': contentType };
  const url = `${server.url}/api/v1/admin/import/upload`;
  const { ok } = await fetch(url, { method: 'POST', headers, body: new Uint8Array(body) });
  return ok;
}

async function publishResult(name: string): Promise<boolean> {
  const inputs = { features: { collection: 'base' }, distance: 10 };
  const outputs = { features: { publish: { collection: name } } };
  const client = new ProcessClient(server);
  const answer = await client.execute('geometry.buffer', { inputs, outputs });
  const { jobID } = (await answer.json()) as Json;
  if (answer.ok) await client.ended(String(jobID));
  return answer.ok;
}

const FIELDS = () => `/metadata/layers/${layer}/fields`;
async function rename(alias: string): Promise<boolean> {
  return (await call(server, 'PUT', FIELDS(), { fields: [{ name: 'name', alias }] })).status === 200;
}

function changesOf(n: number): Promise<boolean>[] {
  const changes = [publishImport(`import${n}`), publishResult(`result${n}`), rename(`Name ${n}`)];
  return changes.map((change) => change.catch(() => false));
}

/** Tables of features in the stores of the server, by the documents of GeoPackage and by SQLite. */
function tables(): string[] {
  const folder = join(dataDir, 'stores');
  const files = readdirSync(folder).filter((name) => name.endsWith('.gpkg'));
  return files
    .flatMap((file) => {
      const db = new Database(join(folder, file));
      const all = (sql: string) => (db.prepare(sql).all() as { name: string }[]).map(({ name }) => name);
      const listed = all("SELECT table_name AS name FROM gpkg_contents WHERE data_type = 'features'");
      const made = all(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND (name = 'base' OR name GLOB 'import*' OR name GLOB 'result*')",
      );
      expect(made.sort()).toEqual(listed.sort());
      db.close();
      return listed;
    })
    .sort();
}

/** Makes uploads old: those that no job owns are removed then. */
function ageUploads(): void {
  const folder = join(dataDir, 'uploads');
  for (const name of readdirSync(folder)) utimesSync(join(folder, name), 0, 0);
}

async function isAtRest(): Promise<void> {
  const { body } = await call(server, 'GET', '/jobs');
  const open = (body['items'] as Json[]).filter(({ status }) =>
    /queued|running|pending/i.test(String(status)),
  );
  expect(open).toEqual([]);
  expect(leftovers(server)).toEqual([]);
}

async function aliasShown(): Promise<string> {
  return JSON.stringify((await call(server, 'GET', FIELDS())).body);
}

it('shows the old or the new state of everything after kill -9 at any moment', async () => {
  const began = performance.now();
  expect(await Promise.all(changesOf(0))).toEqual([true, true, true]);
  const lastMs = performance.now() - began;
  let alias = 'Name 0';
  for (let n = 1; n <= KILLS; n++) {
    const changes = changesOf(n);
    const settled = Promise.all(changes);
    const after = Math.random() * lastMs;
    await sleep(after);
    await server.kill();
    const [isImported, isResult, isRenamed] = await settled;
    ageUploads();
    server = await start();
    await vi.waitFor(isAtRest, PATIENCE);
    const kill = `kill ${n} after ${after.toFixed(0)} ms of ${lastMs.toFixed(0)}`;
    const shown = (await collections(server)).sort();
    expect([kill, shown]).toEqual([kill, tables()]);
    if (isImported) expect([kill, ...shown]).toContain(`import${n}`);
    if (isResult) expect([kill, ...shown]).toContain(`result${n}`);
    for (const id of [`import${n}`, `result${n}`].filter((one) => shown.includes(one)))
      expect([kill, id, (await itemsOf(server, id, 'limit=1'))['numberMatched']]).toEqual([
        kill,
        id,
        FEATURES,
      ]);
    const text = await aliasShown();
    const isNew = text.includes(`"Name ${n}"`);
    expect([kill, isNew || (!isRenamed && text.includes(`"${alias}"`))]).toEqual([kill, true]);
    if (isNew) alias = `Name ${n}`;
    expect(existsSync(join(dataDir, 'stores', 'default.gpkg-journal'))).toBe(false);
  }
}, 3_600_000);
