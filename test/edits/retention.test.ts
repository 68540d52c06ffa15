import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { type EditableStore, geoPackageStore, postgisStore, sender } from './support.js';

describe.each([
  ['GeoPackage', geoPackageStore],
  ['PostGIS', postgisStore],
])('the outbox of a %s', (_name, makeStore) => {
  let store: EditableStore;
  let server: TestServer;

  beforeAll(async () => {
    store = await makeStore();
    const env = { SVC_EVENTS__RETENTION__COUNT: '1000', SVC_EVENTS__RETENTION__HOURS: '1' };
    server = await startServer({ sources: store.sources, env: { ...store.env, ...env } });
  }, 120_000);
  afterAll(async () => {
    await server?.stop();
    await store?.release();
  });

  async function insert(count: number): Promise<void> {
    const feature = { type: 'Feature', geometry: null, properties: { name: 'x' } };
    const operations = Array.from({ length: count }, () => ({ type: 'create', feature }));
    const headers = { 'content-type': 'application/json' };
    const send = sender(server.url, server.adminKey);
    const { status, body } = await send('POST', 'spots/items/batch', { operations }, headers);
    expect({
      status,
      failed: body.results?.find((one: { isSuccess: boolean }) => !one.isSuccess) ?? body.detail,
    }).toEqual({ status: 200 });
  }
  const kept = async () => {
    const [row] = await store.query(`SELECT count(*) AS n, min(cursor) AS first FROM ${store.outbox}`);
    return { n: Number(row!.n), first: Number(row!.first) };
  };

  it('keeps as many events as the configuration says, and clients are told how many', async () => {
    await insert(900);
    await insert(300);
    expect(await kept()).toEqual({ n: 1000, first: 201 });
    const response = await fetch(`${server.url}/api/v1/streaming/features/capabilities`);
    expect(await response.json()).toMatchObject({ cursorRetentionLimit: 1000 });
  });
});
