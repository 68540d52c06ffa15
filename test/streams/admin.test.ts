import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { geoPackageStore, sender } from '../edits/support.js';
import { startServer, type TestServer } from '../support/server.js';
import { StreamClient } from './support.js';

const ADMIN = '/api/v1/admin';

describe('streams for operators, with two gateway processes', () => {
  const store = geoPackageStore();
  const folder = mkdtempSync(join(tmpdir(), 'graticule-streams-'));
  let server: TestServer;
  const clients: StreamClient[] = [];

  beforeAll(async () => {
    cpSync(store.file, join(folder, 'town.gpkg'));
    server = await startServer({ sources: [folder], args: ['--processes', '2'] });
  }, 120_000);
  afterAll(async () => {
    for (const client of clients) client.close();
    await server?.stop();
    await store.release();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Each on a connection of its own, so that it may reach either process. */
  const ask = async (path: string, method = 'GET', body?: unknown) => {
    const response = await fetch(`${server.url}${ADMIN}${path}`, {
      method,
      headers: {
        'x-api-key': server.adminKey,
        connection: 'close',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: documents are looked into
    return { status: response.status, headers: response.headers, body: (await response.json()) as any };
  };
  const connect = async (path: string, key = server.adminKey): Promise<StreamClient> => {
    const client = new StreamClient(`${server.url}${path}`, { 'x-api-key': key });
    clients.push(client);
    return client.opened();
  };
  const idOf = async (client: StreamClient, member: string) =>
    (await client.next(({ status }) => status === 'connected'))[member] as string;

  it('lists the sessions of all processes, and disconnects one wherever it is', async () => {
    const many = [];
    for (let i = 0; i < 12; i++) many.push(await connect(`/api/v1/streaming/features?clientLabel=c${i}`));
    const ids = await Promise.all(many.map((client) => idOf(client, 'sessionId')));
    await many[3]!.subscribe('s', { layers: [await layerId()], bbox: [0, 0, 5, 5] });
    await many[4]!.subscribe('s', { serviceId: 'default' });
    // A process may have taken a connection just before the others knew of it.
    while ((await ask('/streaming/features/sessions')).body.data.activeSessions !== 12);
    for (let i = 0; i < 4; i++) {
      const { body } = await ask('/streaming/features/sessions');
      expect(body.success).toBe(true);
      expect(body.data).toMatchObject({ activeSessions: 12, webSocketSessions: 12, sseSessions: 0 });
      const listed = body.data.sessions.map(({ sessionId }: { sessionId: string }) => sessionId);
      expect([...listed].sort()).toEqual([...ids].sort());
      const third = body.data.sessions.find((one: { sessionId: string }) => one.sessionId === ids[3]);
      expect(third).toMatchObject({
        transport: 'WebSocket',
        clientLabel: 'c3',
        hasFilter: true,
        filterSummary: 'bbox 0,0,5,5',
        layerIdFilter: [await layerId()],
        serviceIdFilter: null,
      });
      const fourth = body.data.sessions.find((one: { sessionId: string }) => one.sessionId === ids[4]);
      expect(fourth).toMatchObject({ layerIdFilter: null, serviceIdFilter: 'default' });
    }
    for (const [i, client] of many.entries()) {
      const gone = await ask(`/streaming/features/sessions/${ids[i]}`, 'DELETE');
      expect(gone.status).toBe(200);
      await client.until(() => client.closed);
      expect(client.closed).toEqual({ code: 1008, reason: 'AdminDisconnect' });
    }
    const again = await ask(`/streaming/features/sessions/${ids[0]}`, 'DELETE');
    expect([again.status, again.headers.get('content-type')]).toEqual([404, 'application/problem+json']);
  });

  it.each(['revoke', 'rotate'])('has no process believe a key after the answer to %s', async (change) => {
    const created = await ask('/api-keys', 'POST', { name: change, permissions: ['*'] });
    const { apiKey, key } = created.body.data;
    const read = async () =>
      (await fetch(`${server.url}${ADMIN}/jobs`, { headers: { 'x-api-key': key, connection: 'close' } }))
        .status;
    // Enough connections that both processes have looked the key up, and hold streams of it.
    for (let i = 0; i < 12; i++) expect(await read()).toBe(200);
    const streams = [];
    for (let i = 0; i < 8; i++) streams.push(await connect('/api/v1/streaming/features', key));
    expect((await ask(`/api-keys/${apiKey.id}/${change}`, 'POST')).status).toBe(200);
    expect(await Promise.all(Array.from({ length: 24 }, read))).toEqual(Array(24).fill(401));
    const { sessions } = (await ask('/streaming/features/sessions')).body.data;
    expect(sessions).toEqual([]);
    for (const stream of streams) await stream.until(() => stream.closed);
  });

  it('tells alerts to the subscribers of all processes, lists them and disconnects them', async () => {
    expect((await ask('/operations/streaming/alerts')).status).toBe(400);
    const listeners = [];
    for (let i = 0; i < 6; i++)
      listeners.push(await connect(`${ADMIN}/operations/streaming/alerts?clientLabel=a${i}`));
    const ids = await Promise.all(listeners.map((client) => idOf(client, 'subscriberId')));
    const { body } = await ask('/operations/streaming/subscribers');
    expect(body.data.subscriberCount).toBe(6);
    expect(
      body.data.subscribers.map(({ clientLabel }: { clientLabel: string }) => clientLabel).sort(),
    ).toEqual(['a0', 'a1', 'a2', 'a3', 'a4', 'a5']);

    writeFileSync(join(folder, 'broken.gpkg'), 'no GeoPackage at all');
    server.reload();
    for (const client of listeners) {
      const alert = await client.next(({ type }) => type === 'alert');
      expect(alert).toMatchObject({ kind: 'source-quarantined', severity: 'error' });
      expect(alert.subject).toContain('broken.gpkg');
      expect(client.of('alert')).toHaveLength(1);
    }
    for (const [i, client] of listeners.entries()) {
      expect((await ask(`/operations/streaming/subscribers/${ids[i]}`, 'DELETE')).status).toBe(200);
      await client.until(() => client.closed);
    }
    expect((await ask(`/operations/streaming/subscribers/${ids[0]}`, 'DELETE')).status).toBe(404);
  });

  it('ends streams whose key has been revoked or replaced, within seconds', async () => {
    const made = async (name: string) => {
      const response = await fetch(`${server.url}${ADMIN}/api-keys`, {
        method: 'POST',
        headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
        body: JSON.stringify({ name, permissions: ['admin:read'] }),
      });
      // biome-ignore lint/suspicious/noExplicitAny: documents are looked into
      const { data } = (await response.json()) as any;
      return { key: data.key as string, id: data.apiKey.id as string };
    };
    const opened = async (path: string, key: string) => {
      const client = new StreamClient(`${server.url}${path}`, { 'x-api-key': key });
      clients.push(client);
      return client.opened();
    };
    const revoked = await made('revoked');
    const rotated = await made('rotated');
    const kept = await made('kept');
    const streams = '/api/v1/streaming/features';
    const ending = [
      await opened(streams, revoked.key),
      await opened(`${ADMIN}/operations/streaming/alerts`, revoked.key),
      await opened(streams, rotated.key),
    ];
    const staying = [await opened(streams, kept.key), new StreamClient(`${server.url}${streams}`)];
    clients.push(staying[1]!);
    expect((await ask(`/api-keys/${revoked.id}/revoke`, 'POST')).status).toBe(200);
    expect((await ask(`/api-keys/${rotated.id}/rotate`, 'POST')).status).toBe(200);
    for (const client of ending) {
      await client.until(() => client.closed);
      expect(client.closed).toEqual({ code: 1008, reason: 'AdminDisconnect' });
    }
    for (const client of staying) expect(client.closed).toBeUndefined();
  });

  it('replays events by cursor and time', async () => {
    const send = sender(server.url, server.adminKey);
    const spot = (name: string) => ({
      type: 'Feature',
      geometry: { type: 'Point', coordinates: [7, 46, 0] },
      properties: { name },
    });
    for (let i = 0; i < 5; i++) expect((await send('POST', 'spots/items', spot(`n${i}`))).status).toBe(201);
    expect((await send('PATCH', 'spots/items/1', { properties: { name: 'new' } })).status).toBe(200);
    let all = (await ask('/feature-events/replay')).body;
    for (let i = 0; i < 100 && all.Events.length < 6; i++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      all = (await ask('/feature-events/replay')).body;
    }
    expect(all).toMatchObject({ HasMore: false, Gaps: [] });
    expect(all.Events.map((event: { Operation: string }) => event.Operation)).toEqual([
      ...Array(5).fill('insert'),
      'update',
    ]);
    expect(all.Events[5]).toMatchObject({
      ServiceId: 'default',
      ObjectId: 1,
      Protocol: 'OGC-Features',
      ChangedAttributes: { name: 'new' },
      GeometryChanged: false,
      GeometryEnvelope: [7, 46, 7, 46],
      GeometrySrid: 4326,
    });
    expect(JSON.parse(all.Events[5].PropertiesJson)).toEqual({ name: 'new' });
    const page = (await ask('/feature-events/replay?limit=2')).body;
    expect([page.Events.length, page.HasMore, page.NextCursor]).toEqual([2, true, all.Events[1].Cursor]);
    const rest = (await ask(`/feature-events/replay?cursor=${page.NextCursor}`)).body;
    expect(rest.Events).toEqual(all.Events.slice(2));
    const end = (await ask(`/feature-events/replay?cursor=${all.NextCursor}`)).body;
    expect(end).toEqual({ Events: [], NextCursor: all.NextCursor, HasMore: false, Gaps: [] });
    const { Timestamp } = all.Events[3];
    const since = (await ask(`/feature-events/replay?from=${Timestamp}&to=${Timestamp}`)).body;
    expect(since.Events).toContainEqual(all.Events[3]);
    expect(since.Events).not.toContainEqual(all.Events[0]);
    const foreign = (await ask('/feature-events/replay?cursor=7')).body;
    expect(foreign.Gaps).toEqual([{ Cursor: 7, Reason: 'cursor-invalid', Collections: [] }]);
    expect(foreign.Events).toEqual(all.Events);
    // A caller of a tenant gets events of its layers.
    for (const [tenantId, layers, count] of [
      ['elsewhere', ['nothing'], 0],
      ['here', ['spots'], 6],
    ] as const) {
      expect((await ask('/tenants', 'POST', { tenantId, layers })).status).toBe(201);
      const permissions = [`tenant:${tenantId}`, 'admin:feature-events:read'];
      const { key } = (await ask('/api-keys', 'POST', { name: tenantId, permissions })).body.data;
      const response = await fetch(`${server.url}${ADMIN}/feature-events/replay`, {
        headers: { 'x-api-key': key, connection: 'close' },
      });
      const told = (await response.json()) as { Events: unknown[]; NextCursor: number };
      expect([told.Events.length, told.NextCursor]).toEqual([count, all.NextCursor]);
    }
  });

  it.each([
    'limit=0',
    'limit=1001',
    'limit=x',
    'cursor=-1',
    'from=yesterday',
    'from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z',
  ])('refuses a replay of %s', async (query) => {
    const { status, headers } = await ask(`/feature-events/replay?${query}`);
    expect([status, headers.get('content-type')]).toEqual([400, 'application/problem+json']);
  });

  it.each([
    ['GET', '/streaming/features/sessions'],
    ['DELETE', '/streaming/features/sessions/x'],
    ['GET', '/operations/streaming/alerts'],
    ['GET', '/feature-events/replay'],
  ])('wants a key: %s %s', async (method, path) => {
    expect((await fetch(`${server.url}${ADMIN}${path}`, { method })).status).toBe(401);
  });

  async function layerId(): Promise<number> {
    const { layers } = (await (
      await fetch(`${server.url}/api/v1/streaming/features/capabilities`)
    ).json()) as { layers: { name: string; layerId: number }[] };
    return layers.find(({ name }) => name === 'spots')!.layerId;
  }
});
