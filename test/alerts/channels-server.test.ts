import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import WebSocket from 'ws';
import { type Channel, formatLane } from '../../src/core/alerts/alerts.js';
import { openState, type State } from '../../src/stores/state/state.js';
import { type EditableStore, geoPackageStore } from '../edits/support.js';
import { startServerProcess, type TestServer } from '../support/server.js';
import { stateWorker } from '../support/state.js';
import { isSigned, SECRET, startReceiver, type TestReceiver, until } from '../webhooks/receiver.js';
import { AWS_KEY, isSignedV4, MESSAGE, startMailServer, type TestMailServer } from './recorders.js';

describe('alert channels of a server', () => {
  let store: EditableStore;
  let server: TestServer;
  let receiver: TestReceiver;
  let mail: TestMailServer;
  let state: State;

  beforeAll(async () => {
    store = geoPackageStore();
    receiver = await startReceiver();
    mail = await startMailServer();
    const env = {
      SVC_ALERTS__CHANNELS__WEBHOOK__URL: `${receiver.url}/alerts`,
      SVC_ALERTS__CHANNELS__WEBHOOK__SECRET: SECRET,
      SVC_ALERTS__CHANNELS__SLACK__URL: `${receiver.url}/slack`,
      SVC_ALERTS__CHANNELS__EMAIL__SERVER: mail.url,
      SVC_ALERTS__CHANNELS__EMAIL__FROM: 'alerts@example.org',
      SVC_ALERTS__CHANNELS__EMAIL__TO: 'duty@example.org',
      SVC_ALERTS__CHANNELS__AWS_SNS__TOPIC_ARN: 'arn:aws:sns:eu-central-1:123456789012:alerts',
      SVC_ALERTS__CHANNELS__AWS_SNS__ENDPOINT: receiver.url,
      AWS_ACCESS_KEY_ID: AWS_KEY.accessKeyId,
      AWS_SECRET_ACCESS_KEY: AWS_KEY.secretAccessKey,
      SVC_ALERTS__NOTICES__CHANNELS: '["webhook","slack"]',
      SVC_REMOTE__ALLOW: '127.0.0.1',
    };
    server = await startServerProcess({ sources: store.sources, env: { ...store.env, ...env } });
    state = await openState(join(server.dataDir, 'state.db'), stateWorker());
  }, 120_000);
  afterAll(async () => {
    await state?.close();
    await server?.stop();
    await receiver?.close();
    await mail?.close();
    await store?.release();
  });

  const admin = async (method: string, path: string, body?: unknown) => {
    const headers = { 'x-api-key': server.adminKey, 'content-type': 'application/json' };
    const json = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${server.url}/api/v1/admin${path}`, { method, headers, ...json });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const enqueue = (channel: Channel, ids: readonly string[]) =>
    state.deliveries.record(
      ids.map((eventId) => ({
        ...{ sink: formatLane(channel), eventId, ruleId: 7, alertId: 42 },
        body: JSON.stringify({ ...MESSAGE, layerId: 1 }),
      })),
    );
  const at = (path: string) => receiver.received.filter((one) => one.path === path);
  const ids = () => at('/alerts').map(({ headers }) => headers['x-svc-event-id']);

  it('send what is enqueued, and wait while they are paused', async () => {
    expect(await admin('POST', '/alerts/channels/webhook/pause')).toMatchObject({
      ...{ status: 200, body: { data: { channel: 'webhook', paused: true } } },
    });
    await enqueue('webhook', ['a', 'b']);
    const { body } = await admin('GET', '/alerts/channels');
    expect(body['data']).toHaveLength(10);
    expect(body['data']).toContainEqual({
      ...{ channel: 'webhook', paused: true, isConfigured: true, pendingCount: 2, failedCount: 0 },
      ...{ deadLetterCount: 0, circuit: 'closed', nextAttemptAt: null },
    });
    expect(body['data']).toContainEqual(
      expect.objectContaining({ channel: 'azure_eventhub', paused: false, isConfigured: false }),
    );
    expect(at('/alerts')).toEqual([]);
    expect((await admin('POST', '/alerts/channels/webhook/resume')).body).toMatchObject({
      data: { channel: 'webhook', paused: false },
    });
    await until(() => ids().length === 2);
    expect(ids()).toEqual(['a', 'b']);
    expect(at('/alerts').every(isSigned)).toBe(true);
    expect((await admin('POST', '/alerts/channels/fax/pause')).status).toBe(400);
  });

  it('redrive dead letters, and report a failing channel through the others', async () => {
    receiver.answer = (response, { path }) => response.writeHead(path === '/slack' ? 400 : 204).end();
    await enqueue('slack', ['c', 'd', 'e']);
    await until(async () => (await state.deliveries.counts([formatLane('slack')])).dead === 3);
    const notices = () => at('/alerts').filter(({ body }) => body.startsWith('{"type":"notice"'));
    await until(() => notices().length > 0);
    expect(JSON.parse(notices()[0]!.body)).toMatchObject({
      ...{ kind: 'delivery-failing', subject: formatLane('slack') },
    });
    expect(at('/slack')).toHaveLength(3);
    receiver.answer = undefined;
    expect((await admin('POST', '/alerts/dispatch/redrive?maxCount=2')).body).toMatchObject({
      data: { redriven: 2 },
    });
    expect((await admin('POST', '/alerts/dispatch/redrive?maxCount=9999')).body).toMatchObject({
      data: { redriven: 1 },
    });
    await until(() => at('/slack').length === 6);
    expect(notices()).toHaveLength(1);
    expect((await admin('POST', '/alerts/dispatch/redrive?maxCount=0')).status).toBe(400);
  });

  it('send alerts of readable layers to the stream', async () => {
    const url = `${server.url.replace('http', 'ws')}/api/v1/admin/operations/streaming/alerts`;
    const { body } = await admin('POST', '/api-keys', {
      ...{ name: 'reader', permissions: ['read:*', 'admin:service-operations:read'] },
    });
    const open = async (key: string) => {
      const socket = new WebSocket(url, { headers: { 'x-api-key': key } });
      const frames: Record<string, unknown>[] = [];
      socket.on('message', (data) => frames.push(JSON.parse(String(data))));
      await until(() => frames.length > 0);
      return { socket, alerts: () => frames.filter(({ type }) => type === 'alert') };
    };
    const reader = await open((body['data'] as { key: string }).key);
    const administrator = await open(server.adminKey);
    const unknown = JSON.stringify({ ...MESSAGE, layerId: 4711 });
    await state.deliveries.record([{ sink: formatLane('websocket'), eventId: 'hidden', body: unknown }]);
    await enqueue('websocket', ['shown']);
    await until(() => reader.alerts().length > 0 && administrator.alerts().length > 1);
    const shown = { alertId: 'shown', subject: 'Depot', event: { ruleName: 'Depot' } };
    expect(reader.alerts()).toMatchObject([shown]);
    // Administrators receive the headline of alerts about layers that are not published.
    expect(administrator.alerts()).toMatchObject([{ alertId: 'hidden' }, shown]);
    expect(administrator.alerts()[0]).not.toHaveProperty('event');
    for (const { socket } of [reader, administrator]) socket.close();
  });

  it('send mails and messages of AWS', async () => {
    await enqueue('email', ['mail']);
    await enqueue('aws_sns', ['sns']);
    await until(() => mail.mails.length === 1 && at('/').length > 0);
    expect(mail.mails[0]).toMatchObject({ from: 'alerts@example.org', to: ['duty@example.org'] });
    expect(isSignedV4(at('/')[0]!, 'sns', 'eu-central-1')).toBe(true);
  });

  it('report a feature that enters a zone, and its end', async () => {
    const wkt = 'POLYGON ((7 46, 8 46, 8 47, 7 47, 7 46))';
    const zone = await admin('POST', '/alerts/zones', { zoneName: 'Yard', serviceId: 'default', wkt });
    const layers = state.jobs.db.selectFrom('collection_ids').select('id').where('slug', '=', 'spots');
    const layer = await layers.executeTakeFirstOrThrow();
    const rule = {
      ...{ ruleName: 'Depot', serviceId: 'default', layerId: layer.id },
      ...{ triggerType: 'enter', zoneId: (zone.body['data'] as { zoneId: number }).zoneId },
      ...{ channels: ['webhook'], conditionsJson: '{"notifyEnd":true}' },
    };
    expect((await admin('POST', '/alerts/rules', rule)).status).toBe(200);
    const before = ids().length;
    const feature = (x: number) => ({
      ...{ type: 'Feature', geometry: { type: 'Point', coordinates: [x, 46.5, 0] } },
      properties: { name: 'truck' },
    });
    const items = '/ogc/features/collections/spots/items';
    const created = await fetch(`${server.url}${items}`, {
      method: 'POST',
      headers: { 'content-type': 'application/geo+json', 'x-api-key': server.adminKey },
      body: JSON.stringify(feature(7.5)),
    });
    const id = created.headers.get('location')?.split('/').at(-1);
    await until(() => ids().length > before);
    expect(JSON.parse(at('/alerts').at(-1)!.body)).toMatchObject({
      ...{ type: 'alert', ruleName: 'Depot', zoneName: 'Yard', featureId: id, incidentStatus: 'started' },
      attributes: { name: 'truck' },
    });
    await fetch(`${server.url}${items}/${id}`, {
      method: 'DELETE',
      headers: { 'x-api-key': server.adminKey },
    });
    await until(() => ids().length > before + 1);
    expect(JSON.parse(at('/alerts').at(-1)!.body)).toMatchObject({ featureId: id, incidentStatus: 'ended' });
  });

  it('are counted by channel', async () => {
    const scrape = async () =>
      await (await fetch(`${server.url}/metrics`, { headers: { 'x-api-key': server.adminKey } })).text();
    const text = await scrape();
    expect(text).toMatch(/^svc_alerts_deliveries_succeeded_total\{channel="slack"\} 3$/m);
    expect(text).toMatch(/^svc_alerts_deliveries_dead_lettered_total\{channel="slack"\} 3$/m);
    expect(text).toMatch(/^svc_alerts_delivery_latency_count\{channel="slack",outcome="dead_lettered"\} 3$/m);
    expect(text).toMatch(/^svc_alerts_dispatch_backlog_count \d+$/m);
  });
});
