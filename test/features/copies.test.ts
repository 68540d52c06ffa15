import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import Database from '../../src/native/sqlite.js';
import { alive, family } from '../e2e/support/processes.js';
import { freePort, startServer } from '../support/server.js';

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
