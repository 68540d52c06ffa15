import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openState } from '../../src/stores/state/state.js';
import { type EditableStore, geoPackageStore } from '../edits/support.js';
import { gateways } from '../support/processes.js';
import { startServerProcess, type TestServer } from '../support/server.js';
import { stateWorker } from '../support/state.js';
import { isSigned, SECRET, startReceiver, type TestReceiver, until } from './receiver.js';

describe('webhooks of a server', () => {
  let store: EditableStore;
  let all: TestReceiver;
  let cows: TestReceiver;
  let server: TestServer;

  beforeAll(async () => {
    store = geoPackageStore();
    all = await startReceiver();
    cows = await startReceiver();
    const webhooks = [
      { name: 'all', url: all.url, secret: SECRET, collections: ['spots'] },
      { name: 'cows', url: cows.url, secret: SECRET, filter: "name LIKE 'cow%'" },
    ];
    const env = { SVC_EVENTS__WEBHOOKS: JSON.stringify(webhooks), SVC_REMOTE__ALLOW: '127.0.0.1' };
    server = await startServerProcess({ sources: store.sources, env: { ...store.env, ...env } });
  }, 120_000);
  afterAll(async () => {
    await server?.stop();
    await Promise.all([all?.close(), cows?.close()]);
    await store?.release();
  });

  const spot = (name: string) => ({
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [1, 2, 0] },
    properties: { name },
  });
  async function send(method: string, path: string, body: unknown): Promise<string> {
    const response = await fetch(`${server.url}/ogc/features/collections/spots/items${path}`, {
      method,
      headers: { 'content-type': 'application/geo+json', 'x-api-key': server.adminKey },
      body: JSON.stringify(body),
    });
    expect(response.status, await response.clone().text()).toBeLessThan(300);
    return response.headers.get('location')?.split('/').at(-1) ?? '';
  }
  const events = (receiver: TestReceiver) => receiver.received.map(({ body }) => JSON.parse(body));

  it('tell what passes a filter, and when it ceases to', async () => {
    await send('POST', '', spot('sheep'));
    const id = await send('POST', '', spot('cow 1'));
    await send('PUT', `/${id}`, spot('goat'));
    await until(() => cows.received.length === 2 && all.received.length === 3);
    const [first, second] = events(cows);
    expect(first).toMatchObject({ operation: 'insert', featureId: id, attributes: { name: 'cow 1' } });
    expect(first.geometry).toEqual({ type: 'Point', coordinates: [1, 2, 0] });
    expect(second).toMatchObject({ operation: 'delete', featureId: id });
    expect(second).not.toHaveProperty('attributes');
    expect([...all.received, ...cows.received].every(isSigned)).toBe(true);
  });

  it('lose nothing when the gateway is killed while the receiver is away', async () => {
    const from = all.received.length;
    all.answer = (response) => response.writeHead(503).end();
    const ids: string[] = [];
    for (let i = 0; i < 30; i++) ids.push(await send('POST', '', spot(`kept ${i}`)));
    await until(() => all.received.length > from);
    const [gateway] = gateways(server.process.pid!);
    process.kill(gateway!, 'SIGKILL');
    const attempted = all.received.length;
    all.answer = undefined;
    await until(() => all.received.length >= attempted + 30);
    const told = events(all)
      .slice(attempted)
      .map(({ featureId }) => featureId);
    expect([...new Set(told)]).toEqual(ids);
  });

  it('are counted', async () => {
    const sample = async (name: string) => {
      const response = await fetch(`${server.url}/metrics`, { headers: { 'x-api-key': server.adminKey } });
      return Number(new RegExp(`^${name}(?:{[^}]*})? ([\\d.]+)$`, 'm').exec(await response.text())?.[1]);
    };
    expect(await sample('svc_event_sink_published_total')).toBeGreaterThanOrEqual(30);
    for (const name of ['pending_count', 'dead_lettered_count', 'oldest_pending_age_seconds'])
      await until(async () => (await sample(`svc_outbox_${name}`)) >= 0);
  });

  it('get dead letters again by the command', async () => {
    const state = await openState(join(server.dataDir, 'state.db'), stateWorker());
    try {
      const { deliveries } = state;
      await deliveries.claim('gone', 'test', 0, 60_000);
      await deliveries.add('gone', 'test', [{ eventId: 'e', body: '{}' }], 0);
      const { deliveries: taken } = (await deliveries.take('gone', 'test', { limit: 1, probesAfter: 5 }))!;
      await deliveries.settle('gone', 'test', {
        dispatched: [],
        refused: [{ id: taken[0]!.id, error: 'x' }],
      });
      const command = ['dist/cli/main.js', 'events', 'redrive', 'gone', '--data-dir', server.dataDir];
      expect(execFileSync(process.execPath, command, { encoding: 'utf8' })).toMatch(/^1 events/);
      expect(await deliveries.counts(['gone'])).toMatchObject({ pending: 1, dead: 0 });
    } finally {
      await state.close();
    }
  });
});
