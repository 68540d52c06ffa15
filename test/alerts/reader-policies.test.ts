import { afterAll, beforeAll, expect, it } from 'vitest';
import { type EditableStore, geoPackageStore, parcel, sender } from '../edits/support.js';
import { startServer, type TestServer } from '../support/server.js';
import { layerNumbers } from '../support/shared-server.js';
import { until } from '../webhooks/receiver.js';
import { createResource, sendAs } from './requests.js';

/** Readers under row policies and field masks, by each operation that shows alert events. */

const YARD = 'POLYGON ((7 46, 8 46, 8 47, 7 47, 7 46))';
const SECRET_NOTE = 'quagga';

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member
type Json = any;

let store: EditableStore;
let server: TestServer;
let parcels: number;
let ruleId: number;
let eventId: number;
const keys = {} as Record<'limited' | 'masked' | 'free', string>;

const send = (key: string, method: string, path: string, body?: unknown) =>
  sendAs(server, key, method, path, body);
const make = (path: string, body: unknown): Promise<Json> => createResource(server, path, body);

beforeAll(async () => {
  store = geoPackageStore();
  server = await startServer({ sources: store.sources, env: store.env });
  parcels = (await layerNumbers(server))['parcels']!;
  const service = { service: 'default', layer: 'parcels' };
  for (const name of ['limited', 'masked', 'free'] as const) {
    await make('/roles', { name });
    const permissions = [`role:${name}`, 'admin:*', 'read:*'];
    keys[name] = (await make('/api-keys', { name, permissions })).key;
  }
  await make('/rls-policies', { ...service, role: 'limited', attribute: 'code', claimType: 'code' });
  await make('/field-mask-policies', { ...service, role: 'masked', attribute: 'note' });
  const { zoneId } = await make('/alerts/zones', { zoneName: 'yard', serviceId: 'default', wkt: YARD });
  const rule = { ruleName: 'yard', serviceId: 'default', layerId: parcels, triggerType: 'enter', zoneId };
  ruleId = (await make('/alerts/rules', { ...rule, channels: ['websocket'] })).ruleId;
  const edit = sender(server.url, server.adminKey);
  const members = { name: 'A', note: SECRET_NOTE, code: 'K' };
  const { body } = await edit('POST', 'parcels/items', parcel(20, 46.2, members));
  expect((await edit('PUT', `parcels/items/${body.id}`, parcel(7.2, 46.2, members))).status).toBeLessThan(
    300,
  );
  await until(
    async () => (await send(server.adminKey, 'GET', '/observability/alerts')).data.items.length > 0,
  );
  eventId = (await send(server.adminKey, 'GET', '/observability/alerts')).data.items[0].eventId;
}, 120_000);
afterAll(async () => {
  await server?.stop();
  await store?.release();
});

/** Reads an event stream until its status, and for a moment longer. */
async function follow(key: string): Promise<string> {
  const ending = new AbortController();
  const response = await fetch(`${server.url}/api/v1/admin/operations/streaming/alerts?cursor=0`, {
    headers: { 'x-api-key': key, accept: 'text/event-stream' },
    signal: ending.signal,
  });
  let text = '';
  const decoder = new TextDecoder();
  const timer = setTimeout(() => ending.abort(), 3000);
  try {
    for await (const part of response.body!) {
      text += decoder.decode(part as Uint8Array, { stream: true });
      if (text.includes('event: alert')) break;
    }
  } catch (error) {
    if (!ending.signal.aborted) throw error;
  }
  clearTimeout(timer);
  ending.abort();
  return text;
}

it('under a row policy see no events, and change none', async () => {
  const key = keys.limited;
  expect((await send(key, 'GET', '/observability/alerts')).data.items).toEqual([]);
  expect((await send(key, 'GET', `/alerts/rules/${ruleId}/events`)).data.items).toEqual([]);
  const { data: health } = await send(key, 'GET', `/alerts/rules/${ruleId}/health`);
  expect([health.activeIncidentCount, health.recentTriggers, health.linkedEventIds]).toEqual([0, [], []]);
  const event = `/observability/alerts/${eventId}`;
  const suppressUntil = new Date(Date.now() + 60_000).toISOString();
  const statuses = [
    (await send(key, 'GET', event)).status,
    (await send(key, 'POST', `${event}/acknowledge`, {})).status,
    (await send(key, 'POST', `${event}/resolve`, {})).status,
    (await send(key, 'POST', `${event}/suppress`, { suppressUntil })).status,
  ];
  expect(statuses).toEqual([404, 404, 404, 404]);
  const { data: feed } = await send(key, 'GET', '/observability/events?kind=alert');
  expect(feed.items).toEqual([]);
  expect(await follow(key)).not.toContain('event: alert');
});

it('under a mask see events without a position and attributes', async () => {
  const { text, data } = await send(keys.masked, 'GET', `/observability/alerts/${eventId}`);
  expect([data.eventId, data.position]).toEqual([eventId, null]);
  expect(text).not.toContain(SECRET_NOTE);
  const stream = await follow(keys.masked);
  expect(stream).toContain(`"eventId":${eventId}`);
  expect(stream).not.toContain(SECRET_NOTE);
  const feed = await send(keys.masked, 'GET', '/observability/events?kind=alert');
  expect(feed.data.items.map((one: Json) => one.eventId)).toEqual([`alert:${eventId}`]);
  expect(feed.text).not.toContain(SECRET_NOTE);
});

it('without policies see all of them', async () => {
  const { data } = await send(keys.free, 'GET', `/observability/alerts/${eventId}`);
  expect([data.eventId, data.position]).toEqual([eventId, [expect.any(Number), expect.any(Number)]]);
  expect(await follow(keys.free)).toContain(`"eventId":${eventId}`);
  const feed = await send(keys.free, 'GET', '/observability/events?kind=alert');
  expect(feed.data.items).toHaveLength(1);
});
