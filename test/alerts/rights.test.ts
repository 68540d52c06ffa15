import { afterAll, beforeAll, expect, it } from 'vitest';
import WebSocket from 'ws';
import { type EditableStore, geoPackageStore, parcel, sender } from '../edits/support.js';
import { startServer, type TestServer } from '../support/server.js';
import { layerNumbers } from '../support/shared-server.js';
import { SECRET, startReceiver, type TestReceiver, until } from '../webhooks/receiver.js';
import { createResource, sendAs } from './requests.js';

/** Alerts show what their author can read now, to callers who can read the layer, within their tenant. */

const HIDDEN = 'zorilla';
const YARD = 'POLYGON ((7 46, 8 46, 8 47, 7 47, 7 46))';
const [INSIDE, OUTSIDE] = [7.2, 20] as const;

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member
type Json = any;

let store: EditableStore;
let server: TestServer;
let receiver: TestReceiver;
let parcels: number;
const keys = {} as Record<
  'author' | 'colleague' | 'outsider' | 'acme' | 'globex',
  { id: string; key: string }
>;
let feature: number;

const send = (key: string, method: string, path: string, body?: unknown) =>
  sendAs(server, key, method, path, body);
const make = (path: string, body: unknown, key?: string): Promise<Json> =>
  createResource(server, path, body, key);

const draft = {
  serviceId: 'default',
  channels: ['webhook', 'websocket'],
  conditionsJson: '{"notifyEnd":true}',
};
async function watch(key: string, name: string): Promise<number> {
  const { zoneId } = await make('/alerts/zones', { zoneName: name, serviceId: 'default', wkt: YARD }, key);
  const rule = { ...draft, ruleName: name, layerId: parcels, triggerType: 'enter', zoneId };
  return (await make('/alerts/rules', rule, key)).ruleId;
}

/** Moves the parcel into the yard, and out of it. */
async function visit(): Promise<void> {
  const edit = sender(server.url, server.adminKey);
  for (const x of [INSIDE, OUTSIDE])
    expect(
      (await edit('PUT', `parcels/items/${feature}`, parcel(x, 46.2, { name: 'A', note: HIDDEN, code: 'K' })))
        .status,
    ).toBeLessThan(300);
}
const told = (ruleId: number) =>
  receiver.received
    .map(({ body }) => ({ body, json: JSON.parse(body) as Json }))
    .filter(({ json }) => json.ruleId === ruleId);
/** Messages of the visits from now on, as soon as there is one. */
async function nextMessages(ruleId: number) {
  const before = told(ruleId).length;
  await visit();
  await until(() => told(ruleId).length > before);
  return told(ruleId).slice(before);
}
const healthOf = async (key: string, id: number) =>
  (await send(key, 'GET', `/alerts/rules/${id}/health`)).data;

beforeAll(async () => {
  store = geoPackageStore();
  receiver = await startReceiver();
  server = await startServer({
    sources: store.sources,
    env: {
      SVC_ALERTS__CHANNELS__WEBHOOK__URL: receiver.url,
      SVC_ALERTS__CHANNELS__WEBHOOK__SECRET: SECRET,
      SVC_ALERTS__CHANNELS__WEBHOOK__RATE_PER_MINUTE: '100000',
      SVC_REMOTE__ALLOW: '127.0.0.1',
    },
  });
  parcels = (await layerNumbers(server))['parcels']!;
  for (const name of ['watchers', 'others']) await make('/roles', { name });
  for (const tenantId of ['acme', 'globex']) await make('/tenants', { tenantId, layers: ['parcels'] });
  const issue = async (...permissions: string[]) => {
    const { apiKey, key } = await make('/api-keys', { name: 'rights', permissions });
    return { id: apiKey.id as string, key: key as string };
  };
  keys.author = await issue('role:watchers', 'admin:*', 'read:*');
  keys.colleague = await issue('role:watchers', 'admin:*', 'read:*');
  keys.outsider = await issue('role:others', 'admin:*', 'read:*');
  for (const tenant of ['acme', 'globex'] as const)
    keys[tenant] = await issue(`tenant:${tenant}`, 'admin:*', 'read:*');
  const made = await sender(server.url, server.adminKey)(
    'POST',
    'parcels/items',
    parcel(OUTSIDE, 46.2, { name: 'A' }),
  );
  feature = made.body.id;
}, 120_000);
afterAll(async () => {
  await server?.stop();
  await receiver?.close();
  await store?.release();
});

it('messages contain nothing that a mask hides from the author now', async () => {
  const rule = await watch(keys.author.key, 'masked');
  await until(async () => (await nextMessages(rule)).some(({ body }) => body.includes(HIDDEN)));
  const mask = { service: 'default', layer: 'parcels', role: 'watchers', attribute: 'note' };
  await make('/field-mask-policies', mask);
  await until(async () => (await nextMessages(rule)).every(({ body }) => !body.includes(HIDDEN)));
  for (let i = 0; i < 3; i++)
    for (const { body, json } of await nextMessages(rule)) {
      expect(body).not.toContain(HIDDEN);
      expect(json.attributes).toMatchObject({ name: 'A' });
    }
  const drafted = { ...draft, ruleName: 'by note', layerId: parcels, triggerType: 'threshold' };
  const hidden = { ...drafted, conditionsJson: `{"field":"note","operator":"=","value":"${HIDDEN}"}` };
  const refused = await send(keys.author.key, 'POST', '/alerts/rules', hidden);
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('conditionsJson')]);
  await send(server.adminKey, 'DELETE', `/alerts/rules/${rule}`);
});

it('rows that a policy hides from the author trigger nothing', async () => {
  const rule = await watch(keys.author.key, 'limited');
  await nextMessages(rule);
  const policy = {
    service: 'default',
    layer: 'parcels',
    role: 'watchers',
    attribute: 'code',
    claimType: 'code',
  };
  const { policyId } = await make('/rls-policies', policy);
  const control = await watch(server.adminKey, 'control');
  const quiet = async () => {
    const before = told(rule).length;
    await nextMessages(control);
    await nextMessages(control);
    return told(rule).length === before;
  };
  await until(quiet);
  expect(await quiet()).toBe(true);
  await send(server.adminKey, 'DELETE', `/rls-policies/${policyId}`);
  for (const id of [rule, control]) await send(server.adminKey, 'DELETE', `/alerts/rules/${id}`);
});

it('a rule stops when its author may no longer read the layer, and says so', async () => {
  const rule = await watch(keys.author.key, 'lost');
  await nextMessages(rule);
  await send(server.adminKey, 'POST', `/api-keys/${keys.author.id}/revoke`);
  await until(async () => (await healthOf(server.adminKey, rule)).evaluation === 'unauthorized');
  const control = await watch(server.adminKey, 'control');
  const before = told(rule).length;
  await nextMessages(control);
  expect(told(rule).length).toBe(before);
  expect((await healthOf(server.adminKey, rule)).activeIncidentCount).toBe(0);
  for (const id of [rule, control]) await send(server.adminKey, 'DELETE', `/alerts/rules/${id}`);
});

it('callers who cannot read a layer see none of its events, by any operation', async () => {
  const rule = await watch(server.adminKey, 'closed');
  await nextMessages(rule);
  const access = { accessPolicy: { allowAnonymous: false, allowedRoles: ['watchers'] } };
  expect(
    (await send(server.adminKey, 'PUT', `/services/default/layers/${parcels}/metadata`, access)).status,
  ).toBe(200);
  const frames: Record<'colleague' | 'outsider', Json[]> = { colleague: [], outsider: [] };
  const sockets = (['colleague', 'outsider'] as const).map((name) => {
    const url = `${server.url.replace('http', 'ws')}/api/v1/admin/operations/streaming/alerts`;
    const socket = new WebSocket(url, { headers: { 'x-api-key': keys[name].key } });
    socket.on('message', (data) => frames[name].push(JSON.parse(String(data))));
    return socket;
  });
  await until(() => Object.values(frames).every((list) => list.length > 0));
  await nextMessages(rule);
  await until(() => frames.colleague.some(({ type }) => type === 'alert'));
  const { items } = (await send(server.adminKey, 'GET', `/observability/alerts?ruleId=${rule}`)).data;
  expect(items.length).toBeGreaterThan(0);
  const { key } = keys.outsider;
  const [{ eventId }] = items;
  expect((await send(key, 'GET', '/observability/alerts')).data.items).toEqual([]);
  expect((await send(key, 'GET', `/alerts/rules/${rule}/events`)).data.items).toEqual([]);
  expect(await healthOf(key, rule)).toMatchObject({
    ...{ recentTriggers: [], linkedEventIds: [], recentTriggerCount: 0, activeIncidentCount: 0 },
    ...{ lastTriggeredAt: null, coolingDownFeatureCount: 0 },
  });
  expect((await healthOf(keys.colleague.key, rule)).recentTriggerCount).toBe(items.length);
  const event = `/observability/alerts/${eventId}`;
  expect((await send(key, 'GET', event)).status).toBe(404);
  const until_ = new Date(Date.now() + 60_000).toISOString();
  for (const [name, body] of [
    ['acknowledge', {}],
    ['resolve', {}],
    ['suppress', { suppressUntil: until_ }],
  ] as const)
    expect([name, (await send(key, 'POST', `${event}/${name}`, body)).status]).toEqual([name, 404]);
  const again = { ...draft, ruleName: 'theirs', layerId: parcels, triggerType: 'enter', zoneId: 1 };
  expect((await send(key, 'POST', '/alerts/rules', again)).status).toBe(400);
  expect(frames.outsider.filter(({ type }) => type === 'alert')).toEqual([]);
  for (const socket of sockets) socket.close();
  await send(server.adminKey, 'PUT', `/services/default/layers/${parcels}/metadata`, {
    accessPolicy: { allowAnonymous: true, allowedRoles: [] },
  });
  await send(server.adminKey, 'DELETE', `/alerts/rules/${rule}`);
});

it('tenants have their own zones, rules and events', async () => {
  const rule = await watch(keys.acme.key, `${HIDDEN} of acme`);
  await nextMessages(rule);
  const { zoneId } = (await send(keys.acme.key, 'GET', `/alerts/rules/${rule}`)).data;
  const { items } = (await send(keys.acme.key, 'GET', '/observability/alerts')).data;
  expect(items.length).toBeGreaterThan(0);
  const { key } = keys.globex;
  for (const path of ['/alerts/zones', '/alerts/rules', '/observability/alerts']) {
    const { status, text } = await send(key, 'GET', path);
    expect([path, status, text.includes(HIDDEN), text.includes('eventId')]).toEqual([
      path,
      200,
      false,
      false,
    ]);
  }
  const zone = { zoneName: 'mine', serviceId: 'default', wkt: YARD };
  const own = { ...draft, ruleName: 'mine', layerId: parcels, triggerType: 'enter', zoneId };
  const attempts: [method: string, path: string, body?: unknown][] = [
    ['GET', `/alerts/zones/${zoneId}`],
    ['PUT', `/alerts/zones/${zoneId}`, zone],
    ['DELETE', `/alerts/zones/${zoneId}`],
    ['GET', `/alerts/rules/${rule}`],
    ['PUT', `/alerts/rules/${rule}`, own],
    ['DELETE', `/alerts/rules/${rule}`],
    ['PUT', `/alerts/rules/${rule}/enabled`, { enabled: false }],
    ['GET', `/alerts/rules/${rule}/health`],
    ['GET', `/alerts/rules/${rule}/events`],
    ['GET', `/observability/alerts/${items[0].eventId}`],
    ['POST', `/observability/alerts/${items[0].eventId}/acknowledge`, {}],
    ['POST', `/observability/alerts/${items[0].eventId}/resolve`, {}],
  ];
  for (const [method, path, body] of attempts)
    expect([method, path, (await send(key, method, path, body)).status]).toEqual([method, path, 404]);
  expect((await send(key, 'POST', '/alerts/rules', own)).status).toBe(400);
  const tested = (await send(key, 'POST', '/alerts/rules/test', { rule: own })).data;
  expect(tested).toMatchObject({ isValid: false, errors: [expect.stringContaining('zoneId')] });
  expect((await send(keys.acme.key, 'GET', `/alerts/rules/${rule}`)).data.isActive).toBe(true);
  // All tenants use the same channels.
  for (const [method, path] of [
    ['GET', '/alerts/channels'],
    ['POST', '/alerts/channels/webhook/pause'],
    ['POST', '/alerts/channels/webhook/resume'],
    ['POST', '/alerts/dispatch/redrive'],
  ] as const)
    expect([method, path, (await send(key, method, path)).status]).toEqual([method, path, 403]);
  // An administrator outside the tenants changes them for the tenant.
  expect((await send(server.adminKey, 'PUT', `/alerts/zones/${zoneId}`, zone)).status).toBe(200);
  expect((await send(server.adminKey, 'PUT', `/alerts/rules/${rule}`, own)).status).toBe(200);
  const [theirZone, theirRule] = await Promise.all([
    send(keys.acme.key, 'GET', `/alerts/zones/${zoneId}`),
    send(keys.acme.key, 'GET', `/alerts/rules/${rule}`),
  ]);
  expect([theirZone.data.zoneName, theirRule.data.ruleName]).toEqual(['mine', 'mine']);
});
