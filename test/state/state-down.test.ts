import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { startServerProcess, type TestServer } from '../support/server.js';
import { makeDatabase, openPlace } from '../support/state.js';

const ITEMS = '/ogc/features/collections/countries/items?limit=1';
const TILE = '/ogc/tiles/collections/countries/tiles/WebMercatorQuad/0/0/0';
const SECRET = 'not-to-be-shown';
/** Longer than what is asked while PostgreSQL is down takes on a busy machine. */
const GRACE_SECONDS = 18;

describe('a server whose state is in PostgreSQL', () => {
  let postgres: TestPostgres;
  let server: TestServer;
  let place: string;
  beforeAll(async () => {
    postgres = await startPostgres();
    place = await makeDatabase(postgres.url);
    const url = new URL(place);
    url.password = SECRET;
    server = await startServerProcess({
      env: {
        SVC_STATE__URL: url.href,
        SVC_STATE__CONNECT_MS: '1000',
        SVC_STATE__GRACE_SECONDS: String(GRACE_SECONDS),
      },
    });
  });
  afterAll(async () => {
    await server?.stop();
    await postgres?.stop();
  });

  const admin = (path: string, init: RequestInit = {}) =>
    fetch(`${server.url}/api/v1/admin${path}`, {
      ...init,
      headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
    });
  const createKey = () =>
    admin('/api-keys', { method: 'POST', body: JSON.stringify({ name: 'k', permissions: [] }) });
  const statusOf = async (path: string) => (await fetch(server.url + path)).status;
  async function until(good: () => Promise<boolean>): Promise<void> {
    for (let i = 0; i < 300; i++) {
      if (await good()) return;
      await sleep(100);
    }
    throw new Error('it did not come to that');
  }

  it('keeps keys and their audit rows there, and no file', async () => {
    const answer = await createKey();
    expect(answer.status).toBe(201);
    const state = await openPlace(place);
    const { id } = (await state.apiKeys.list()).find(({ name }) => name === 'k')!;
    expect(await answer.text()).toContain(id);
    expect(await state.audit.list({ limit: 2, equals: { resource_id: id } })).toHaveLength(1);
    expect((await state.audit.verify()).broken).toBeUndefined();
    await state.close();
    expect(existsSync(join(server.dataDir, 'state.db'))).toBe(false);
  });

  it('shows the password of its URL nowhere', async () => {
    const shown = await (await admin('/config')).text();
    expect(shown).toContain('state');
    expect(shown).not.toContain(SECRET);
    expect(server.log()).not.toContain(SECRET);
  });

  it('is not ready while the database takes no changes, and says so', async () => {
    const database = new URL(place).pathname.slice(1);
    const client = new pg.Client(postgres.url);
    await client.connect();
    const setReadOnly = async (setting: 'on' | 'off') => {
      await client.query(`ALTER DATABASE "${database}" SET default_transaction_read_only = ${setting}`);
      await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [
        database,
      ]);
    };
    const ready = async () => (await fetch(`${server.url}/healthz/ready`)).text();
    try {
      await setReadOnly('on');
      await until(async () => (await ready()).includes('read-only'));
      expect(await ready()).toContain('state-database');
      expect(await statusOf(ITEMS)).toBe(200);
    } finally {
      await setReadOnly('off');
      await client.end();
    }
    await until(async () => (await statusOf('/healthz/ready')) === 200);
  });

  it('serves data while PostgreSQL is down, says so, and goes on when it is back', async () => {
    expect([await statusOf(ITEMS), await statusOf(TILE)]).toEqual([200, 200]);
    const { pid } = server.process;
    await postgres.halt();
    const answer = await createKey();
    expect(answer.status).toBe(503);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await answer.text()).not.toContain(SECRET);
    expect([await statusOf(ITEMS), await statusOf(TILE)]).toEqual([200, 200]);
    const statusWith = async (key: string) =>
      (await fetch(server.url + ITEMS, { headers: { 'x-api-key': key } })).status;
    // A key that was checked before is believed, also when that was a while ago; others cannot be looked up.
    await sleep(1200);
    expect([await statusWith(server.adminKey), await statusWith(server.adminKey)]).toEqual([200, 200]);
    expect(await statusWith('grt_unknown')).toBe(503);
    expect(await statusOf('/healthz/ready')).toBe(503);
    expect(await statusOf('/healthz/live')).toBe(200);

    // Others may have revoked the key since: it changes nothing when they stop waiting for it, and reads on.
    const change = async () => {
      const headers = { 'x-api-key': server.adminKey };
      const url = `${server.url}/ogc/features/collections/countries/items/999999`;
      const answer = await fetch(url, { method: 'DELETE', headers });
      return `${answer.status} ${answer.headers.get('retry-after')} ${await answer.text()}`;
    };
    expect(await change()).not.toContain('disconnected from its state');
    await until(async () => (await change()).includes('disconnected from its state'));
    expect(await change()).toMatch(/^503 5 /);
    expect(await statusOf(ITEMS)).toBe(200);

    // Others may have changed rules since: it does not serve by old ones for longer than it is told.
    await until(async () => (await statusOf(ITEMS)) === 503);
    expect([await statusOf(TILE), await statusWith(server.adminKey)]).toEqual([503, 503]);
    expect(await statusOf('/healthz/live')).toBe(200);

    await postgres.start();
    await until(async () => (await statusOf('/healthz/ready')) === 200);
    await until(async () => (await statusOf(ITEMS)) === 200);
    expect((await createKey()).status).toBe(201);
    expect(server.process.pid).toBe(pid);
    expect(server.process.exitCode).toBeNull();
    expect(server.log()).not.toContain(SECRET);
    const state = await openPlace(place);
    expect((await state.audit.verify()).broken).toBeUndefined();
    await state.close();
  });
});
