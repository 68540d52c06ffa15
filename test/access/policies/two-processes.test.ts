import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { geoPackageStore, sender } from '../../edits/support.js';
import { startServer, type TestServer } from '../../support/server.js';
import { until } from './support/streams.js';

/** Changes of rules, asked of each process of a server as soon as they are answered, and on streams that are open there. */

const store = geoPackageStore();
const LAYER = 'untended';
const ITEMS = `/ogc/features/collections/${LAYER}/items?f=json`;

const STREAM = '/api/v1/streaming/features';
/** Connections until both processes have taken one. */
const MAX_TRIES = 100;

let server: TestServer;
let layerId: number;

beforeAll(async () => {
  server = await startServer({ sources: store.sources, env: { SVC_SERVER__PROCESSES: '2' } });
  await add('Anna', 1);
  const { collections } = (await (await fetch(`${server.url}/?f=json`)).json()) as {
    collections: { id: string; layerId: number }[];
  };
  layerId = collections.find(({ id }) => id === LAYER)!.layerId;
});
afterAll(async () => {
  await server?.stop();
  await store.release();
});

const add = (name: string, x: number) =>
  sender(server.url, server.adminKey)('POST', `${LAYER}/items`, {
    ...{ type: 'Feature', geometry: { type: 'Point', coordinates: [x, 1] }, properties: { name } },
  });

/** Resolves when all processes have taken the change over, which a busy one may be named as late with. */
async function change<T = Record<string, never>>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(`${server.url}/api/v1${path}`, {
    method,
    headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  isPending = response.headers.has('pending-instances');
  const json = text === '' ? {} : (JSON.parse(text) as { data?: T });
  return (json.data ?? json) as T;
}
let isPending = false;
const admin = <T = Record<string, never>>(method: string, path: string, body?: unknown) =>
  change<T>(method, `/admin${path}`, body);

type Headers = Record<string, string>;

/** What numbers of requests begin with: each process has its own. */
const processOf = (headers: { get(name: string): string | null }) =>
  headers.get('x-request-id')!.split('-')[0]!;

/** The first answer of each process, each over a connection of its own. */
async function askEach(headers: Headers, path = ITEMS): Promise<{ status: number; text: string }[]> {
  const answers = new Map<string, { status: number; text: string }>();
  for (let i = 0; answers.size < 2; i++) {
    if (i === MAX_TRIES) throw new Error(`only ${[...answers.keys()]} answer`);
    const response = await fetch(server.url + path, { headers: { ...headers, connection: 'close' } });
    const name = processOf(response.headers);
    const answer = { status: response.status, text: await response.text() };
    if (!answers.has(name)) answers.set(name, answer);
  }
  return [...answers.values()];
}

/** Both processes answer so, at once unless one was named as late. */
async function expectEach(headers: Headers, holds: (answer: { status: number; text: string }) => boolean) {
  if (isPending) await until('the change', async () => (await askEach(headers)).every(holds));
  for (const answer of await askEach(headers)) expect(holds(answer), JSON.stringify(answer)).toBe(true);
}

interface Stream {
  text(): string;
  isClosed(): boolean;
  close(): void;
}

/** Sockets, of which a process takes each; both have some in all but one of a thousand cases. */
const SOCKETS = 10;

/** Event streams at each process, and sockets. */
async function streams(headers: Headers): Promise<Stream[]> {
  const query = `layers=${layerId}&mode=delta`;
  const events = new Map<string, Stream>();
  for (let i = 0; i < MAX_TRIES && events.size < 2; i++) {
    const { name, stream } = await openEvents(headers, query);
    if (events.has(name)) stream.close();
    else events.set(name, stream);
  }
  const sockets = await Promise.all(Array.from({ length: SOCKETS }, () => openSocket(headers, query)));
  const all = [...events.values(), ...sockets];
  await until('subscriptions', () => all.every((one) => one.text().includes('subscription is active')));
  return all;
}

async function openEvents(headers: Headers, query: string): Promise<{ name: string; stream: Stream }> {
  const controller = new AbortController();
  const response = await fetch(`${server.url}${STREAM}?${query}`, {
    headers: { ...headers, accept: 'text/event-stream', connection: 'close' },
    signal: controller.signal,
  });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  let text = '';
  let isClosed = false;
  const read = async () => {
    for await (const part of response.body!) text += Buffer.from(part as Uint8Array).toString();
  };
  read()
    .catch(() => undefined)
    .finally(() => {
      isClosed = true;
    });
  const stream = { text: () => text, isClosed: () => isClosed, close: () => controller.abort() };
  return { name: processOf(response.headers), stream };
}

async function openSocket(headers: Headers, query: string): Promise<Stream> {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}${STREAM}?${query}`, { headers });
  let text = '';
  let isClosed = false;
  socket.on('message', (data) => {
    text += `${String(data)}\n`;
  });
  socket.on('close', () => {
    isClosed = true;
  });
  await once(socket, 'open');
  return { text: () => text, isClosed: () => isClosed, close: () => socket.close() };
}

async function keyOf(...permissions: string[]): Promise<{ id: string; headers: Headers }> {
  const { apiKey, key } = await admin<{ apiKey: { id: string }; key: string }>('POST', '/api-keys', {
    ...{ name: 'test', permissions },
  });
  return { id: apiKey.id, headers: { 'x-api-key': key } };
}

const refused = (status: number) => (answer: { status: number }) => answer.status === status;
const open = refused(200);
let next = 0;
async function role(): Promise<{ name: string; roleId: string }> {
  next += 1;
  const name = `role${next}`;
  return { name, roleId: (await admin<{ roleId: string }>('POST', '/roles', { name })).roleId };
}

const allEnd = (open: readonly Stream[]) =>
  until('the end of the streams', () => open.every((one) => one.isClosed()));

describe('each of two processes', () => {
  it('knows a policy for rows, and judges its streams by it', async () => {
    const { name } = await role();
    const { headers } = await keyOf(`role:${name}`);
    await expectEach(headers, ({ text }) => text.includes('Anna'));
    const told = await streams(headers);
    const policy = { service: '*', layer: LAYER, role: name, filter: "name = 'Berta'" };
    const { policyId } = await admin<{ policyId: string }>('POST', '/rls-policies', policy);
    await expectEach(headers, (answer) => open(answer) && !answer.text.includes('Anna'));
    await add('Cecile', 2);
    await add('Berta', 3);
    await until('the visible row', () => told.every((one) => one.text().includes('Berta')));
    for (const one of told) expect(one.text()).not.toContain('Cecile');
    await admin('DELETE', `/rls-policies/${policyId}`);
    await expectEach(headers, ({ text }) => text.includes('Anna'));
    for (const one of told) one.close();
  });

  it('knows a mask, and what it leaves', async () => {
    const { name } = await role();
    const { headers } = await keyOf(`role:${name}`);
    await expectEach(headers, ({ text }) => text.includes('Anna'));
    const told = await streams(headers);
    const mask = {
      service: '*',
      layer: LAYER,
      role: name,
      attribute: 'name',
      treatment: 'truncate',
      length: 2,
    };
    await admin('POST', '/field-mask-policies', mask);
    await expectEach(headers, ({ text }) => text.includes('"An"') && !text.includes('Anna'));
    await add('Dorothea', 4);
    await until('what the mask leaves', () => told.every((one) => one.text().includes('"Do"')));
    for (const one of told) expect(one.text()).not.toContain('Dorothea');
    // Of two masks the strict one holds; both processes hash with one key.
    await admin('POST', '/field-mask-policies', { ...mask, treatment: 'hash', length: null });
    await expectEach(headers, ({ text }) => /"name":"[\da-f]{16}"/.test(text));
    const texts = (await askEach(headers)).map(({ text }) => text.match(/[\da-f]{16}/g)!.join());
    expect(texts[0]).toBe(texts[1]);
    for (const one of told) one.close();
  });

  it('knows the grants of a role, and ends streams of its callers', async () => {
    const service = '/services/default/access-policy';
    const { name, roleId } = await role();
    const { headers } = await keyOf(`role:${name}`);
    await admin('PUT', service, { allowAnonymous: false });
    await expectEach(headers, refused(403));
    const grants = (operation: string) => ({ permissions: [{ service: '*', layer: '*', operation }] });
    await admin('PUT', `/roles/${roleId}/permissions`, grants('read'));
    await expectEach(headers, open);
    const told = await streams(headers);
    await admin('PUT', `/roles/${roleId}/permissions`, { permissions: [] });
    await expectEach(headers, refused(403));
    await allEnd(told);
    await admin('PUT', service, { allowAnonymous: true });
    await expectEach(headers, open);
  });

  it('knows that a tenant is suspended, and ends streams of its callers', async () => {
    await admin('POST', '/tenants', { tenantId: 'acme' });
    const { headers } = await keyOf('tenant:acme');
    await expectEach(headers, open);
    const told = await streams(headers);
    await admin('POST', '/tenants/acme/suspend');
    await expectEach(headers, refused(403));
    await allEnd(told);
    await admin('POST', '/tenants/acme/resume');
    await expectEach(headers, open);
  });

  it('knows that a user is switched off, and ends their streams', async () => {
    const password = 'correct horse battery';
    const { userId } = await change<{ userId: string }>('POST', '/users', {
      name: 'ursula',
      password,
      roles: [],
    });
    const headers = { authorization: `Basic ${Buffer.from(`ursula:${password}`).toString('base64')}` };
    await expectEach(headers, open);
    const told = await streams(headers);
    await change('PATCH', `/users/${userId}`, { isActive: false });
    await expectEach(headers, refused(401));
    await allEnd(told);
  });

  it('knows that a key is revoked, and ends its streams', async () => {
    const { id, headers } = await keyOf();
    await expectEach(headers, open);
    const told = await streams(headers);
    await admin('POST', `/api-keys/${id}/revoke`);
    await expectEach(headers, refused(401));
    await allEnd(told);
  });

  it('knows that an embed key is revoked, and ends its streams', async () => {
    const origin = 'https://maps.example.org';
    const { embedKey, key } = await admin<{ embedKey: { id: string }; key: string }>('POST', '/embed/keys', {
      ...{ name: 'page', scope: { allowedEmbedOrigins: [origin] } },
    });
    // With an Origin of another site no stream is opened at all.
    const headers = { referer: `${origin}/a/page`, 'x-api-key': key };
    await expectEach(headers, open);
    const told = await streams(headers);
    await admin('POST', `/embed/keys/${embedKey.id}/revoke`);
    await expectEach(headers, refused(401));
    await allEnd(told);
  });
});
