import { spawn } from 'node:child_process';
import { renameSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type EditableStore, geoPackageStore, sender } from '../edits/support.js';
import { EventReader, until } from '../streams/support.js';
import { launchBrowser } from '../support/browser.js';
import { gateways } from '../support/processes.js';
import { startServerProcess, type TestServer } from '../support/server.js';
import { layerNumbers } from '../support/shared-server.js';

const ADMIN = '/api/v1/admin';
const STREAM = `${ADMIN}/operations/streaming/alerts`;
const SQUARE = 'POLYGON ((10 10, 11 10, 11 11, 10 11, 10 10))';

let store: EditableStore;
let server: TestServer;
let browser: Browser;
let page: Page;
let spots: number;
let zoneId: number;
let ruleId: number;
const readers: EventReader[] = [];

beforeAll(async () => {
  store = geoPackageStore();
  server = await startServerProcess({ sources: store.sources, args: ['--processes', '2'] });
  spots = (await layerNumbers(server))['spots']!;
  zoneId = (await call('POST', '/alerts/zones', { zoneName: 'depot', serviceId: 'default', wkt: SQUARE }))
    .data.zoneId;
  ruleId = (await addRule('watch')).data.ruleId;
  browser = await launchBrowser();
  const context = await browser.newContext();
  page = await context.newPage();
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await server?.stop();
  await store?.release();
});
afterEach(() => {
  for (const reader of readers.splice(0)) reader.close();
});

async function call(method: string, path: string, body?: unknown, key = server.adminKey) {
  const response = await fetch(`${server.url}${ADMIN}${path}`, {
    method,
    headers: {
      ...{ 'x-api-key': key, connection: 'close' },
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const document = await response.json();
  // biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member
  return { status: response.status, body: document as any, data: (document as any).data };
}

const addRule = (ruleName: string) =>
  call('POST', '/alerts/rules', {
    ...{ ruleName, serviceId: 'default', layerId: spots, triggerType: 'enter', zoneId },
  });

const read = (headers: Record<string, string> = {}, query = ''): EventReader => {
  const reader = new EventReader(`${server.url}${STREAM}${query}`, {
    ...{ 'x-api-key': server.adminKey, ...headers },
  });
  readers.push(reader);
  return reader;
};
const opened = async (reader: EventReader): Promise<EventReader> => {
  await reader.until(() => reader.of('status').length === 1);
  return reader;
};
const point = (x: number, y: number) => ({
  type: 'Feature',
  geometry: { type: 'Point', coordinates: [x, y, 0] },
  properties: { name: 'van' },
});
const send: ReturnType<typeof sender> = (...request) => sender(server.url, server.adminKey)(...request);
/** Puts a new feature into the zone. Returns its id. */
async function enter(): Promise<string> {
  const made = await send('POST', 'spots/items', point(10.5, 10.5));
  expect(made.status).toBe(201);
  return String(made.body.id);
}
const featuresOf = (reader: EventReader) => reader.of('alert').map(({ data }) => data['featureId']);

it('sends an alert event, its acknowledgement and its end, as the list has it', async () => {
  const reader = await opened(read());
  expect(reader.head).toMatch(/^HTTP\/1.1 200 OK/);
  expect(reader.head).toMatch(/Content-Type: text\/event-stream\r\n/);
  expect(reader.head).toMatch(/Cache-Control: no-store/);
  const id = await enter();
  await reader.until(() => reader.of('alert').length === 1);
  const { type, timestamp, ...event } = reader.of('alert')[0]!.data;
  expect(event).toMatchObject({
    ...{ ruleId, ruleName: 'watch', zoneId, layerId: spots, featureId: id, position: [10.5, 10.5] },
    ...{ incidentStatus: 'started', lifecycleStatus: 'open' },
  });
  const listed = await call('GET', `/observability/alerts/${event['eventId']}`);
  expect({ ...listed.body, incidentDurationMs: event['incidentDurationMs'] }).toEqual(event);
  await call('POST', `/observability/alerts/${event['eventId']}/acknowledge`, { note: 'seen' });
  await reader.until(() => reader.of('alert').length === 2);
  expect(reader.of('alert')[1]!.data).toMatchObject({ lifecycleStatus: 'acknowledged', note: 'seen' });
  await send('DELETE', `spots/items/${id}`);
  await reader.until(() => reader.of('alert').length === 3);
  expect(reader.of('alert')[2]!.data).toMatchObject({
    ...{ lifecycleStatus: 'acknowledged', incidentStatus: 'ended' },
  });
  const ids = reader.events.flatMap(({ id: one }) => (one === undefined ? [] : [Number(one)]));
  expect(ids).toEqual([...ids].sort((a, b) => a - b));

  const again = read({ 'last-event-id': reader.of('status')[0]!.id! });
  await again.until(() => again.of('alert').length === 1);
  expect(again.of('alert')[0]).toMatchObject({ id: reader.of('alert')[2]!.id });
  const byQuery = read({}, `?cursor=${reader.of('status')[0]!.id}`);
  await byQuery.until(() => byQuery.of('alert').length === 1);
});

it('is read by curl -N', async () => {
  const curl = spawn('curl', [
    ...['-sN', '-H', 'Accept: text/event-stream', '-H', `X-API-Key: ${server.adminKey}`],
    `${server.url}${STREAM}`,
  ]);
  let text = '';
  curl.stdout.on('data', (chunk) => {
    text += String(chunk);
  });
  try {
    await until(() => /^event: status\nid: \d+\ndata: \{"type":"status"/m.test(text));
    const id = await enter();
    await until(
      () => new RegExp(`^event: alert\\nid: \\d+\\ndata: .*"featureId":"${id}"`, 'm').test(text),
      () => text,
    );
  } finally {
    curl.kill();
  }
});

it('refuses wrong positions, other accepts, other sites, anonymous callers and too many connections', async () => {
  const accept = { accept: 'text/event-stream', 'x-api-key': server.adminKey };
  const ask = async (query: string, headers: Record<string, string>) => {
    const response = await fetch(`${server.url}${STREAM}${query}`, { headers });
    const { detail } = (await response.json()) as { detail: string };
    return [response.status, detail];
  };
  expect(await ask('?cursor=-1', accept)).toEqual([
    400,
    expect.stringMatching(/^cursor: .*integer of at least 0; received '-1'/),
  ]);
  expect(await ask('', { ...accept, 'last-event-id': 'x' })).toEqual([
    400,
    expect.stringMatching(/^last-event-id: .*integer of at least 0; received 'x'/i),
  ]);
  expect(await ask('', { 'x-api-key': server.adminKey })).toEqual([
    400,
    expect.stringContaining('text/event-stream'),
  ]);
  expect((await ask('', { ...accept, origin: 'https://elsewhere.example' }))[0]).toBe(403);
  expect((await ask('', { accept: 'text/event-stream' }))[0]).toBe(401);
  // Each process has 16 connections of a key.
  const many: EventReader[] = [];
  for (let i = 0; i < 60; i++) {
    const reader = read();
    many.push(reader);
    // A connection counts once its stream is open.
    await reader.until(() => reader.of('status').length === 1 || /^HTTP\/1.1 429/.test(reader.head));
  }
  const refused = many.filter(({ head }) => head.startsWith('HTTP/1.1 429'));
  expect(refused.length).toBeGreaterThanOrEqual(60 - 32);
  expect(refused[0]!.head).toMatch(/Retry-After: 10/i);
  const { data } = await call('GET', '/operations/streaming/subscribers');
  expect(data.subscriberCount).toBe(60 - refused.length);
  expect(data.subscribers[0]).toMatchObject({ transport: 'SSE' });
  for (const reader of many) reader.close();
  for (;;) {
    const left = await call('GET', '/operations/streaming/subscribers');
    if (left.data.subscriberCount === 0) break;
  }
});

it('shows readers their layers and tenants their rules, and ends when a right is lost', async () => {
  const addKey = async (name: string, permissions: string[]) => {
    const { data } = await call('POST', '/api-keys', { name, permissions });
    return { key: data.key as string, id: data.apiKey.id as string };
  };
  const anything = (await layerNumbers(server))['anything']!;
  const other = { ruleName: 'other', serviceId: 'default', layerId: anything, triggerType: 'enter', zoneId };
  expect((await call('POST', '/alerts/rules', other)).status).toBe(200);
  await call('POST', '/tenants', { tenantId: 'acme', layers: ['spots'] });
  const reading = ['admin:read', 'read:default'];
  const reader = await addKey('reader', reading);
  const tenant = await addKey('tenant', ['tenant:acme', ...reading]);
  const all = await opened(read());
  const own = await opened(read({ 'x-api-key': reader.key }));
  const foreign = await opened(read({ 'x-api-key': tenant.key }));
  const first = await enter();
  for (const one of [all, own]) await one.until(() => featuresOf(one).includes(first));
  const closed = { allowAnonymous: false, allowedRoles: ['administrator'] };
  expect(
    (await call('PUT', `/services/default/layers/${spots}/metadata`, { accessPolicy: closed })).status,
  ).toBe(200);
  const second = await enter();
  await all.until(() => featuresOf(all).includes(second));
  // An event of another layer shows that the reader's stream has passed the second one.
  const square = [
    [
      [10.1, 10.1],
      [10.2, 10.1],
      [10.2, 10.2],
      [10.1, 10.1],
    ],
  ];
  const area = { type: 'Polygon', coordinates: square };
  expect(
    (await send('POST', 'anything/items', { type: 'Feature', geometry: area, properties: {} })).status,
  ).toBe(201);
  await own.until(() => own.of('alert').some(({ data }) => data['layerId'] === anything));
  expect(
    own.of('alert').flatMap(({ data }) => (data['layerId'] === spots ? [data['featureId']] : [])),
  ).toEqual([first]);
  expect(featuresOf(foreign)).toEqual([]);

  expect((await call('POST', `/api-keys/${reader.id}/revoke`)).status).toBe(200);
  await own.until(() => own.ended);
  expect(own.of('error').at(-1)!.data).toMatchObject({ code: 'session-closed', message: 'AdminDisconnect' });
  expect([all.ended, foreign.ended]).toEqual([false, false]);
});

it('is read by EventSource of a browser, which misses nothing while the server restarts', async () => {
  const signIn = async () => {
    await call('POST', '/api-keys', { name: 'unused', permissions: [] });
    await page.context().setExtraHTTPHeaders({ 'x-api-key': server.adminKey });
    await page.goto(`${server.url}/robots.txt`);
  };
  await signIn();
  await page.evaluate(`
    window.seen = [];
    window.source = new EventSource('${STREAM}');
    source.addEventListener('status', () => { window.opens = (window.opens ?? 0) + 1; });
    source.addEventListener('alert', (event) => seen.push(JSON.parse(event.data).featureId));`);
  await page.waitForFunction('window.opens === 1');
  const first = await enter();
  await page.waitForFunction(`seen.length === 1`);
  for (const pid of gateways(server.process.pid!)) process.kill(pid, 'SIGKILL');
  let id: string | undefined;
  while (id === undefined)
    id = await send('POST', 'spots/items', point(10.4, 10.4)).then(
      ({ body }) => String(body.id),
      () => undefined,
    );
  await page.waitForFunction(`seen.includes(${JSON.stringify(id)})`, undefined, { timeout: 60_000 });
  expect(await page.evaluate('seen')).toEqual([first, id]);
  expect(await page.evaluate('opens')).toBeGreaterThan(1);
}, 120_000);

it('sends changes of events of a layer that is no longer published to those who read every layer', async () => {
  await enter();
  const { body: page } = await call('GET', '/observability/alerts?incidentStatus=started&pageSize=1');
  const [{ eventId }] = page.items;
  const { data: limited } = await call('POST', '/api-keys', {
    ...{ name: 'limited', permissions: ['read:default/spots', 'admin:service-operations:read'] },
  });
  const all = await opened(read());
  const own = await opened(read({ 'x-api-key': limited.key }));
  const [file] = store.sources;
  renameSync(file!, `${file}.away`);
  server.process.kill('SIGHUP');
  try {
    const isGone = async () => (await fetch(`${server.url}/ogc/features/collections/spots`)).status === 404;
    // Both processes read the sources again.
    for (let gone = 0; gone < 10; gone = (await isGone()) ? gone + 1 : 0) await sleep(100);
    await call('POST', `/observability/alerts/${eventId}/resolve`, { note: 'sold' });
    await all.until(() => all.of('alert').some(({ data }) => data['eventId'] === eventId));
    expect(all.of('alert').at(-1)!.data).toMatchObject({ note: 'sold', position: null });
    expect((await call('GET', `/observability/alerts/${eventId}`)).body).toMatchObject({ note: 'sold' });
    expect(own.of('alert')).toEqual([]);
  } finally {
    renameSync(`${file}.away`, file!);
    server.process.kill('SIGHUP');
  }
});
