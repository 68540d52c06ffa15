import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, describe, expect, it, vi } from 'vitest';
import Database from '../../src/native/sqlite.js';
import { freePort } from '../support/ports.js';
import { alive, family } from '../support/processes.js';
import { startServer, startServerProcess } from '../support/server.js';

/** A copy of a file is there as a whole or not at all, although nothing of it is written to the disk before its end. */

const root = mkdtempSync(join(tmpdir(), 'graticule-copies-'));
const folder = join(root, 'files');
const dataDir = join(root, 'data');
const converted = join(dataDir, 'converted');
for (const path of [folder, dataDir]) mkdirSync(path);
afterAll(() => rmSync(root, { recursive: true, force: true }));

const ROWS = 150_000;

it('leaves no half copy when it is killed in the middle', async () => {
  const lines = Array.from(
    { length: ROWS },
    (_, i) => `p${i},${(i % 3599) / 10 - 180},${(i % 1700) / 10 - 85}`,
  );
  writeFileSync(join(folder, 'places.csv'), `name,lon,lat\n${lines.join('\n')}\n`);
  const args = [
    'dist/cli/main.js',
    'serve',
    folder,
    '--port',
    String(await freePort()),
    '--data-dir',
    dataDir,
  ];
  const killed = spawn(process.execPath, args, { stdio: 'ignore' });
  // The rows are being copied from the file that GDAL wrote.
  const isLoading = () =>
    existsSync(converted) && readdirSync(converted).some((name) => /\.partial$/.test(name));
  await vi.waitFor(() => expect(isLoading()).toBe(true), { timeout: 60_000, interval: 5 });
  const all = family(killed.pid!);
  for (const pid of all) process.kill(pid, 'SIGKILL');
  await once(killed, 'exit');
  await vi.waitFor(() => expect(all.filter(alive)).toEqual([]), { timeout: 10_000 });
  expect(
    readdirSync(converted).filter((name) => name.endsWith('.gpkg') && !name.includes('.partial')),
  ).toEqual([]);

  const server = await startServer({ sources: [folder], dataDir });
  try {
    const page = await fetch(`${server.url}/ogc/features/collections/places/items?limit=1`);
    expect(await page.json()).toMatchObject({ numberMatched: ROWS });
  } finally {
    await server.stop();
  }
  expect(readdirSync(converted).filter((name) => name.includes('.partial'))).toEqual([]);
  const copies = readdirSync(converted).filter((name) => name.endsWith('.gpkg'));
  expect(copies).toHaveLength(1);
  const copy = new Database(join(converted, copies[0]!), { readonly: true });
  expect(copy.pragma('integrity_check', { simple: true })).toBe('ok');
  copy.close();
});

describe('a server that starts again', () => {
  /** Starts a server and returns the collections that it publishes, and the numbers of inspections that were made and kept. */
  async function start() {
    const server = await startServerProcess({ sources: [folder], dataDir });
    try {
      const headers = { 'x-api-key': server.adminKey };
      const read = async (path: string) =>
        (await (await fetch(server.url + path, { headers })).text()).replaceAll(server.url, '');
      const { collections } = JSON.parse(await read('/ogc/features/collections?f=json'));
      const metrics = await read('/metrics');
      const counts = ['made', 'kept'].map((origin) => {
        const pattern = new RegExp(`^svc_catalog_inspections_total\\{origin="${origin}"\\} (\\d+)$`, 'm');
        return Number(pattern.exec(metrics)?.[1] ?? 0);
      });
      await vi.waitFor(() => expect(readdirSync(join(dataDir, 'inspections'))).toHaveLength(3), 10_000);
      return { collections, counts };
    } finally {
      await server.stop();
    }
  }

  it('inspects only files that changed', async () => {
    copyFileSync('demo/data/olinda_dem_utm25s.tif', join(folder, 'height.tif'));
    copyFileSync('demo/data/world_map.gpkg', join(folder, 'world.gpkg'));
    // Inspections of files that were just written are not kept.
    await pause(2100);
    const first = await start();
    // Of tables, what else is in their file is another inspection.
    expect(first.counts).toEqual([5, 0]);
    const second = await start();
    expect(second.counts).toEqual([0, 5]);
    expect(second.collections).toEqual(first.collections);

    const db = new Database(join(folder, 'world.gpkg'));
    db.exec('ALTER TABLE countries RENAME COLUMN NAME TO title');
    db.close();
    const third = await start();
    expect(third.counts).toEqual([2, 3]);
  });
});
