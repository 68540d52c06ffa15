import { execFileSync } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { geoPackageStore, sender } from '../edits/support.js';
import { startServer, type TestServer } from '../support/server.js';

/** A data folder that is deleted, or whose disk is full, while the server runs. */

const isRoot = process.getuid?.() === 0;
const parent = mkdtempSync(join(tmpdir(), 'graticule-folder-'));
const dataDir = join(parent, 'data');
const store = geoPackageStore();
let server: TestServer;

beforeAll(async () => {
  execFileSync('mkdir', [dataDir]);
  // Full disks need one that is small.
  if (isRoot) execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'small', parent]);
  if (isRoot) execFileSync('mkdir', [dataDir]);
  server = await startServer({ sources: store.sources, dataDir });
});
afterAll(async () => {
  await server?.stop();
  if (isRoot) execFileSync('umount', ['-l', parent]);
  rmSync(parent, { recursive: true, force: true });
  await store.release();
});

async function ready() {
  const response = await fetch(`${server.url}/healthz/ready`);
  const text = await response.text();
  return response.status === 200 ? [] : JSON.parse(text).errors.map(({ name }: { name: string }) => name);
}
const insert = async () => {
  const point = {
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [1, 2] },
    properties: { name: 'a' },
  };
  return (await sender(server.url, server.adminKey)('POST', 'spots/items', point)).status;
};

describe('a data folder that is deleted', () => {
  it('turns readiness red and refuses edits, until it is there again', async () => {
    expect([await ready(), await insert()]).toEqual([[], 201]);
    renameSync(dataDir, `${dataDir}-away`);
    expect([await ready(), await insert()]).toEqual([['data-folder'], 503]);
    execFileSync('mkdir', [dataDir]);
    expect([await ready(), await insert()]).toEqual([['data-folder'], 503]);
    rmSync(dataDir, { recursive: true });
    renameSync(`${dataDir}-away`, dataDir);
    expect([await ready(), await insert()]).toEqual([[], 201]);
  });

  it('refuses edits without the state database alone', async () => {
    renameSync(join(dataDir, 'state.db'), join(parent, 'state.db'));
    expect([await ready(), await insert()]).toEqual([['data-folder'], 503]);
    renameSync(join(parent, 'state.db'), join(dataDir, 'state.db'));
    expect(await insert()).toBe(201);
  });
});

it.skipIf(!isRoot)('a full disk turns readiness red', async () => {
  const filler = join(parent, 'filler');
  const free = Number(execFileSync('stat', ['-f', '-c', '%a', parent], { encoding: 'utf8' })) * 4096;
  writeFileSync(filler, Buffer.alloc(free - (8 << 20)));
  expect(await ready()).toEqual(['disk']);
  rmSync(filler);
  expect(await ready()).toEqual([]);
});
