import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { geoPackageStore, sender } from '../edits/support.js';
import { gateways } from '../support/processes.js';
import { startServer, startServerProcess, type TestServer } from '../support/server.js';
import { isFullRun } from '../support/soak.js';
import { eventually } from './support/http.js';

/**
 * A data folder that is deleted, or whose disk is full, while the server runs, and one whose state is lost. A brief run has
 * one of each.
 */

const IS_FULL = isFullRun(import.meta.url);
const full = it.runIf(IS_FULL);

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

describe('a data folder that is deleted before a gateway is started again', () => {
  full('starts no gateway with a new state, and one with the old state when the folder is back', async () => {
    const folder = join(parent, 'other');
    execFileSync('mkdir', [folder]);
    const other = await startServerProcess({ sources: store.sources, dataDir: folder });
    const read = () =>
      fetch(`${other.url}/ogc/features/collections/spots/items?f=json`, {
        signal: AbortSignal.timeout(20_000),
      }).then(
        (response) => response.status,
        (error) => (error.name === 'TimeoutError' ? 408 : 0),
      );
    try {
      const closed = await fetch(`${other.url}/api/v1/admin/services/default/access-policy`, {
        method: 'PUT',
        headers: { 'x-api-key': other.adminKey, 'content-type': 'application/json' },
        body: JSON.stringify({ allowAnonymous: false }),
      });
      expect([closed.status, await read()]).toEqual([200, 401]);
      renameSync(folder, `${folder}-away`);
      const killed = gateways(other.process.pid!);
      for (const pid of killed) process.kill(pid, 'SIGKILL');
      expect(killed).toHaveLength(1);
      const log = join(`${folder}-away`, 'test.log');
      const found = new Set<number>();
      // The supervisor ends a server whose gateway fails to start three times, unless its data is lost.
      await eventually(async () => {
        found.add(await read());
        const text = readFileSync(log, 'utf8');
        expect(text.split(' was deleted while the server runs').length, text).toBeGreaterThan(5);
      });
      expect([...found].filter((status) => status !== 0 && status !== 401)).toEqual([]);
      rmSync(folder, { recursive: true, force: true });
      renameSync(`${folder}-away`, folder);
      await eventually(async () => expect(await read(), other.log()).not.toBe(0));
      expect(await read()).toBe(401);
    } finally {
      await other.stop();
    }
  });
});

describe('a data folder that is deleted', () => {
  full('is not made anew by threads and background tasks, and files are read without it', async () => {
    const folder = join(parent, 'gone');
    execFileSync('mkdir', [folder]);
    const source = join(parent, 'sources');
    execFileSync('mkdir', [source]);
    copyFileSync(store.file, join(source, 'town.gpkg'));
    const other = await startServerProcess({ sources: [source], dataDir: folder });
    try {
      renameSync(folder, `${folder}-away`);
      const point = { type: 'Feature', geometry: { type: 'Point', coordinates: [1, 2] }, properties: {} };
      const path = '/ogc/features/collections/spots/items?f=json';
      const status = async (filter: string) => (await fetch(other.url + path + filter)).status;
      // More at the same time than threads were started before.
      const filters = Array.from({ length: 24 }, (_, n) => `&filter=name%20LIKE%20%27%25${n}%25%27`);
      const write = sender(other.url, other.adminKey)('POST', 'spots/items', point);
      const statuses = await Promise.all(filters.map(status));
      expect([(await write).status, new Set(statuses)]).toEqual([503, new Set([200])]);
      // The inspections of a file that changed are written a second after they were made.
      copyFileSync(store.file, join(source, 'later.gpkg'));
      await new Promise((next) => setTimeout(next, 3000));
      expect(existsSync(folder)).toBe(false);
    } finally {
      renameSync(`${folder}-away`, folder);
      await other.stop();
    }
  });

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

  full('refuses edits without the state database alone', async () => {
    renameSync(join(dataDir, 'state.db'), join(parent, 'state.db'));
    expect([await ready(), await insert()]).toEqual([['data-folder'], 503]);
    renameSync(join(parent, 'state.db'), join(dataDir, 'state.db'));
    expect(await insert()).toBe(201);
  });
});

describe('a data folder that becomes read-only', () => {
  const lock = () => {
    if (!isRoot) chmodSync(dataDir, 0o500);
    else {
      execFileSync('mount', ['--bind', dataDir, dataDir]);
      execFileSync('mount', ['-o', 'remount,bind,ro', dataDir]);
    }
  };
  /** The server may just have a file of the folder open. */
  const unlock = async () => {
    if (!isRoot) return chmodSync(dataDir, 0o700);
    for (let attempt = 0; ; attempt++)
      try {
        return void execFileSync('umount', [dataDir], { stdio: 'pipe' });
      } catch (error) {
        if (attempt === 100) throw error;
        await pause(100);
      }
  };

  it('turns readiness red and refuses edits, and reads go on', async () => {
    const count = async () => {
      const response = await fetch(`${server.url}/ogc/features/collections/spots/items?f=json&limit=1`);
      return [response.status, (await response.json()).numberMatched];
    };
    const before = await count();
    lock();
    try {
      expect([await ready(), await insert()]).toEqual([['data-folder'], 503]);
      const role = await fetch(`${server.url}/api/v1/admin/roles`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': server.adminKey },
        body: JSON.stringify({ name: 'nobody', permissions: [] }),
      });
      expect([role.status, (await role.json()).detail]).toEqual([
        503,
        `The server cannot store changes: ${dataDir} became read-only while the server runs. Make it writable for the user of the server.`,
      ]);
      expect(await count()).toEqual(before);
      const keys = await fetch(`${server.url}/api/v1/admin/api-keys`, {
        headers: { 'x-api-key': server.adminKey },
      });
      expect(keys.status).toBe(200);
    } finally {
      await unlock();
    }
    expect([await ready(), await insert()]).toEqual([[], 201]);
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

describe('a state that is lost', () => {
  const LAYERS = ['anything', 'parcels', 'spots', 'untended'];
  const OPENED = { allowAnonymous: true };

  const admin = (method: string, path: string, body?: unknown) =>
    send(server.adminKey, method, `/api/v1/admin${path}`, body);

  async function send(key: string | undefined, method: string, path: string, body?: unknown) {
    const response = await fetch(server.url + path, {
      method,
      headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { 'x-api-key': key }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  }

  /** Statuses of the items of each layer. */
  async function statuses(key?: string) {
    const read = (id: string) => send(key, 'GET', `/ogc/features/collections/${id}/items?f=json`);
    const replies = await Promise.all(LAYERS.map(read));
    return replies.map(({ status }) => status);
  }

  async function makeKey(...permissions: string[]) {
    const { text } = await admin('POST', '/api-keys', { name: 'reader', permissions });
    return JSON.parse(text).data.key as string;
  }

  async function metadataPath(id: string) {
    const { text } = await send(server.adminKey, 'GET', '/ogc/tiles/collections?f=json');
    const collections = JSON.parse(text).collections as { id: string; name: string }[];
    return `/services/default/layers/${collections.find(({ name }) => name === id)!.id}/metadata`;
  }

  const putAccess = async (id: string, accessPolicy: object) =>
    (await admin('PUT', await metadataPath(id), { accessPolicy })).status;

  /** Stops the server, deletes its state, and starts it again. */
  async function loseState(env: Record<string, string> = {}) {
    await server.stop();
    for (const name of ['state.db', 'state.db-wal', 'state.db-shm'])
      rmSync(join(dataDir, name), { force: true });
    server = await startServer({ sources: store.sources, dataDir, env });
  }

  const losses = () =>
    server
      .log()
      .split('\n')
      .filter((line) => line.includes('"@i":1611'));

  it('keeps layers closed that it restricted, and says so', async () => {
    expect(await putAccess('parcels', { allowAnonymous: false })).toBe(200);
    // The list is written before the answer.
    expect(readFileSync(join(dataDir, 'restricted.json'), 'utf8')).toContain('"parcels"');
    expect((await admin('POST', '/roles', { name: 'clerk', permissions: [] })).status).toBe(201);
    const scope = { service: '*', role: 'clerk', attribute: 'name' };
    const rows = await admin('POST', '/rls-policies', { ...scope, layer: 'spots', claimType: 'name' });
    const mask = await admin('POST', '/field-mask-policies', { ...scope, layer: 'untended' });
    expect([rows.status, mask.status]).toEqual([201, 201]);
    expect(await statuses()).toEqual([200, 401, 200, 200]);

    await loseState();
    expect(await ready()).toEqual([]);
    expect(await statuses()).toEqual([200, 401, 401, 401]);
    expect(await statuses(await makeKey('read:default'))).toEqual([200, 403, 403, 403]);
    expect(await statuses(server.adminKey)).toEqual([200, 200, 200, 200]);
    expect(losses()).toEqual([expect.stringContaining('parcels, spots, untended')]);
  });

  full('opens layers by access policies that administrators set, for good', async () => {
    const publisher = await makeKey('admin:services:write', 'admin:read', 'read:default');
    const path = `/api/v1/admin${await metadataPath('parcels')}`;
    expect((await send(publisher, 'PUT', path, { accessPolicy: OPENED })).status).toBe(403);
    const service = '/api/v1/admin/services/default/access-policy';
    expect((await send(publisher, 'PUT', service, OPENED)).status).toBe(403);
    // A member that is left out keeps its value: closed.
    expect(await putAccess('parcels', {})).toBe(200);
    expect(await putAccess('spots', OPENED)).toBe(200);
    expect(await statuses()).toEqual([200, 401, 200, 401]);
    expect(await statuses(await makeKey('read:default'))).toEqual([200, 200, 200, 403]);
    await server.stop();
    server = await startServer({ sources: store.sources, dataDir });
    expect(await statuses()).toEqual([200, 401, 200, 401]);
    expect(await putAccess('untended', OPENED)).toBe(200);
    expect(await putAccess('parcels', OPENED)).toBe(200);
    expect(await statuses()).toEqual([200, 200, 200, 200]);
  });

  full('keeps services and disabled layers closed, and layers are closed by access.default', async () => {
    const policy = '/services/default/access-policy';
    expect((await admin('PUT', policy, { allowAnonymous: false })).status).toBe(200);
    expect((await admin('PUT', await metadataPath('anything'), { enabled: false })).status).toBe(200);
    await loseState();
    expect(await statuses()).toEqual([401, 401, 401, 401]);
    expect((await admin('PUT', policy, OPENED)).status).toBe(200);
    expect(await statuses()).toEqual([401, 200, 200, 200]);
    expect(await putAccess('anything', OPENED)).toBe(200);
    expect(await statuses()).toEqual([200, 200, 200, 200]);

    await loseState({ SVC_ACCESS__DEFAULT: 'closed' });
    const before = losses().length;
    expect(await statuses()).toEqual([401, 401, 401, 401]);
    expect(await statuses(await makeKey('read:default'))).toEqual([200, 200, 200, 200]);
    expect(await putAccess('spots', OPENED)).toBe(200);
    expect(await statuses()).toEqual([401, 401, 200, 401]);
    expect(losses()).toHaveLength(before);
  });
});
