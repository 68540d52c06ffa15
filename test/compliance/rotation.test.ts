import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { SecretKeys } from '../../src/services/access/keys/secret-keys.js';
import { StateCipher } from '../../src/services/access/keys/state-cipher.js';
import { startServerProcess } from '../support/server.js';
import { openPlace } from '../support/state.js';

const KEY = 'a key for the state of this test';
const CONNECTIONS = 40;
const folder = mkdtempSync(join(tmpdir(), 'graticule-rotation-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('leaves every password readable when the server is killed during a rotation', async () => {
  const dataDir = folder;
  const start = () => startServerProcess({ sources: [], dataDir, env: { SVC_SECURITY__STATE_KEY: KEY } });
  const readPasswords = async () => {
    const state = await openPlace(join(dataDir, 'state.db'));
    try {
      const keys = new SecretKeys(state.documents, new StateCipher(KEY));
      const all = await state.documents.list<{ name: string; password: string }>('connection');
      const opened = all.map(async ({ id, body }) => [
        body.name,
        await keys.open(body.password, id),
        Number(body.password.split(':')[1]),
      ]);
      return (await Promise.all(opened)) as [string, string, number][];
    } finally {
      await state.close();
    }
  };
  let server = await start();
  const send = (path: string, body?: object) =>
    fetch(`${server.url}/api/v1/admin${path}`, {
      method: 'POST',
      headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
  for (let i = 0; i < CONNECTIONS; i++) {
    const target = { host: '127.0.0.1', port: 9, databaseName: 'none', username: 'u', sslRequired: false };
    const made = await send('/connections', { ...target, name: `c${i}`, password: `secret ${i}` });
    expect(made.status).toBe(201);
  }
  const versions = new Set<number>();
  let interrupted = 0;
  for (let attempt = 0; attempt < 20 && interrupted < 2; attempt++) {
    const rotation = send('/compliance/encryption/rotate-key').then(
      () => 'finished',
      () => 'interrupted',
    );
    // Some passwords are under the new key, and others are not.
    for (let seen = false; !seen; ) {
      const passwords = await readPasswords();
      const found = new Set(passwords.map(([, , version]) => version));
      seen = found.size > 1 || found.has(Math.max(1, ...versions) + 1);
    }
    await server.kill();
    if ((await rotation) === 'interrupted') interrupted += 1;
    const passwords = await readPasswords();
    for (const [, , version] of passwords) versions.add(version);
    expect(passwords.map(([name, text]) => `${name} ${text}`).sort()).toEqual(
      Array.from({ length: CONNECTIONS }, (_, i) => `c${i} secret ${i}`).sort(),
    );
    server = await start();
  }
  expect(versions.size).toBeGreaterThan(1);
  expect(interrupted).toBeGreaterThan(0);
  const { data } = await (await send('/compliance/encryption/rotate-key')).json();
  expect(data.succeeded).toBe(true);
  expect(new Set((await readPasswords()).map(([, , version]) => version))).toEqual(
    new Set([data.newVersion]),
  );
  await server.stop();
}, 240_000);
