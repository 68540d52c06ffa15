import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EditableStore, type Editor, geoPackageStore, startEditor } from '../edits/support.js';
import { layerNumbers } from '../support/shared-server.js';
import { waitFor } from './world.js';

const BASE = '/api/v1/admin';
const SQUARE = 'POLYGON ((10 10, 11 10, 11 11, 10 11, 10 10))';

let store: EditableStore;
let editor: Editor;
let spots: number;
let parcels: number;

beforeAll(async () => {
  store = geoPackageStore();
  editor = await startEditor(store);
  const numbers = await layerNumbers(editor.server);
  [spots, parcels] = [numbers['spots']!, numbers['parcels']!];
});
afterAll(async () => {
  await editor.server.stop();
  await store.release();
});

async function call(method: string, path: string, body?: unknown, key = editor.server.adminKey) {
  const response = await fetch(`${editor.server.url}${BASE}${path}`, {
    method,
    headers: { 'x-api-key': key, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const document = await response.json();
  // biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member
  return { status: response.status, body: document as any, data: (document as any).data };
}

const zone = (more: object = {}) => ({ zoneName: 'depot', serviceId: 'default', wkt: SQUARE, ...more });
const rule = (more: object = {}) => ({
  ...{ ruleName: 'watch', serviceId: 'default', layerId: spots, triggerType: 'enter' },
  ...more,
});
const point = (x: number, y: number) => ({
  type: 'Feature',
  geometry: { type: 'Point', coordinates: [x, y] },
  properties: { name: 'van' },
});
const addZone = async (more?: object) =>
  (await call('POST', '/alerts/zones', zone(more))).data.zoneId as number;
const addRule = async (more?: object) =>
  (await call('POST', '/alerts/rules', rule(more))).data.ruleId as number;

describe('zones', () => {
  it('have every member, and multipolygons', async () => {
    const made = await call('POST', '/alerts/zones', zone({ metadata: { owner: 'ops' } }));
    expect(made.status).toBe(200);
    expect(made.data).toEqual({
      ...{ zoneId: made.data.zoneId, zoneName: 'depot', serviceId: 'default', isActive: true, srid: 4326 },
      ...{ wkt: 'MULTIPOLYGON (((10 10, 11 10, 11 11, 10 11, 10 10)))', metadata: { owner: 'ops' } },
    });
    const path = `/alerts/zones/${made.data.zoneId}`;
    expect((await call('GET', path)).data).toEqual(made.data);
    const changed = await call('PUT', path, zone({ zoneName: 'yard', wkt: null, isActive: false }));
    expect(changed.data).toMatchObject({ zoneName: 'yard', wkt: null, isActive: false, metadata: {} });
    expect((await call('GET', '/alerts/zones?serviceId=default')).data.length).toBeGreaterThan(0);
    expect((await call('GET', '/alerts/zones?serviceId=other')).data).toEqual([]);
    expect((await call('DELETE', path)).status).toBe(200);
    expect((await call('GET', path)).status).toBe(404);
  });

  it.each([
    [{ wkt: 'POINT (1 1)' }, 400, 'wkt'],
    [{ wkt: 'POLYGON ((0 0, 2 2, 2 0, 0 2, 0 0))' }, 400, 'wkt'],
    [{ srid: 999_999 }, 400, 'srid'],
    [{ serviceId: 'other' }, 400, 'serviceId'],
    [{ zoneName: '' }, 400, 'zoneName'],
    [{ isActive: 'yes' }, 400, 'isActive'],
    [{ metadata: { a: 1 } }, 400, 'metadata'],
  ])('refuse %j', async (more, status, name) => {
    const refused = await call('POST', '/alerts/zones', zone(more));
    expect([refused.status, refused.body.detail]).toEqual([status, expect.stringContaining(name)]);
  });

  it('refuse ten megabytes of text', async () => {
    const positions = Array.from({ length: 2_000_000 }, (_, i) => `${i % 180} ${i % 90}`).join(',');
    expect((await call('POST', '/alerts/zones', zone({ wkt: `POLYGON((${positions}))` }))).status).toBe(413);
  });

  it('are kept while rules use them', async () => {
    const zoneId = await addZone();
    const ruleId = await addRule({ zoneId });
    const refused = await call('DELETE', `/alerts/zones/${zoneId}`);
    expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining("'watch'")]);
    await call('DELETE', `/alerts/rules/${ruleId}`);
    expect((await call('DELETE', `/alerts/zones/${zoneId}`)).status).toBe(200);
  });
});

describe('rules', () => {
  it.each([
    [{}, 'zoneId'],
    [{ zoneId: 4711 }, 'zoneId'],
    [{ triggerType: 'threshold', zoneId: 1 }, 'zoneId'],
    [{ triggerType: 'left' }, 'triggerType'],
    [{ triggerType: 'threshold' }, 'conditionsJson'],
    [{ triggerType: 'threshold', conditionsJson: '{"field":"none","operator":">","value":1}' }, 'none'],
    [
      { triggerType: 'threshold', conditionsJson: '{"field":"floors","operator":"between","value":[5,1]}' },
      'value must have the smaller value first',
    ],
    [
      { triggerType: 'threshold', conditionsJson: '{"field":"name","operator":"like","value":1}' },
      'operator',
    ],
    [{ triggerType: 'dwell', zoneId: 1, conditionsJson: '{"dwellSeconds":0}' }, 'dwellSeconds'],
    [{ triggerType: 'enter', zoneId: 1, conditionsJson: '{"dwellSeconds":5}' }, 'dwellSeconds'],
    [{ triggerType: 'enter', zoneId: 1, conditionsJson: '{"__proto__":{"path":true}}' }, '__proto__'],
    [{ triggerType: 'enter', zoneId: 1, conditionsJson: '[]' }, 'conditionsJson'],
    [{ triggerType: 'enter', zoneId: 1, conditionsJson: 'x'.repeat(1_000_000) }, 'conditionsJson'],
    [
      { triggerType: 'enter', zoneId: 1, conditionsJson: '['.repeat(10_000) + ']'.repeat(10_000) },
      'conditionsJson',
    ],
    [{ triggerType: 'enter', zoneId: 1, conditionsJson: '{"exitBuffer":1e308}' }, 'exitBuffer'],
    [{ triggerType: 'enter', zoneId: 1, conditionsJson: '{"filter":"nothing ="}' }, 'filter'],
    [{ layerId: 4711 }, 'layerId'],
    [{ channels: ['pigeon'] }, 'channels'],
    [{ cooldownSeconds: -1 }, 'cooldownSeconds'],
  ])('refuse wrong conditions and members (%#)', async (more, name) => {
    const refused = await call('POST', '/alerts/rules', rule(more));
    expect([refused.status, refused.body.detail]).toEqual([400, expect.stringContaining(name)]);
    const tested = await call('POST', '/alerts/rules/test', { rule: rule(more) });
    // Drafts that do not fit the schema are no drafts.
    if (tested.status === 200) {
      expect(tested.data).toMatchObject({ isValid: false, simulation: null });
      expect(tested.data.errors.join(' ')).toContain(name);
    } else expect(tested.status).toBe(400);
  });

  it('have every member, and are enabled and disabled', async () => {
    const zoneId = await addZone();
    const made = await call(
      'POST',
      '/alerts/rules',
      rule({ zoneId, channels: ['slack', 'slack', 'webhook'] }),
    );
    expect(made.data).toEqual({
      ...{ ruleId: made.data.ruleId, ruleName: 'watch', serviceId: 'default', layerId: spots, zoneId },
      ...{ triggerType: 'enter', severity: 'warning', editionRequired: 'pro', conditionsJson: '{}' },
      ...{ cooldownSeconds: 0, isActive: true, channels: ['slack', 'webhook'] },
    });
    const path = `/alerts/rules/${made.data.ruleId}`;
    for (const enabled of [false, false, true])
      expect((await call('PUT', `${path}/enabled`, { enabled })).data.isActive).toBe(enabled);
    expect((await call('GET', `/alerts/rules?layerId=${parcels}`)).data).toEqual([]);
    expect((await call('PUT', path, rule({ zoneId, severity: 'critical' }))).data).toMatchObject({
      severity: 'critical',
      channels: [],
    });
    await call('DELETE', path);
    expect((await call('GET', path)).status).toBe(404);
  });
});

describe('alert events', () => {
  it('follow from edits, page without holes, and have a lifecycle', async () => {
    const zoneId = await addZone();
    const ruleId = await addRule({ zoneId, channels: ['websocket', 'slack'] });
    const { body: made } = await editor.send('POST', 'spots/items', point(0, 0));
    const id = made.id as number;
    for (let i = 0; i < 6; i++)
      await editor.send('PUT', `spots/items/${id}`, point(i % 2 ? 0 : 10.5, i % 2 ? 0 : 10.5));
    const list = async (query = '') =>
      (await call('GET', `/observability/alerts?ruleId=${ruleId}${query}`)).body;
    await waitFor(async () => (await list('&incidentStatus=ended')).items.length === 3);
    const { items } = await list();
    expect(items[0]).toMatchObject({
      ...{ ruleId, ruleName: 'watch', zoneId, serviceId: 'default', layerId: spots, objectId: id },
      ...{ triggerType: 'enter', severity: 'warning', incidentStatus: 'ended', lifecycleStatus: 'open' },
      ...{ acknowledgedAt: null, resolvedBy: null, resourceRef: `alert/${items[0].eventId}` },
    });
    const first = await list('&pageSize=2');
    const second = await list(`&pageSize=2&cursor=${first.nextCursor}`);
    expect([...first.items, ...second.items]).toEqual(items);
    expect(second.nextCursor).toBeUndefined();
    const page = (await call('GET', `/alerts/rules/${ruleId}/events?limit=2`)).data;
    await editor.send('PUT', `spots/items/${id}`, point(10.2, 10.2));
    await waitFor(async () => (await list()).items.length === 4);
    const rest = (await call('GET', `/alerts/rules/${ruleId}/events?limit=2&before=${page.nextCursor}`)).data;
    const ids = [...page.items, ...rest.items].map(({ eventId }: { eventId: number }) => eventId);
    expect(ids).toEqual(items.map(({ eventId }: { eventId: number }) => eventId));
    expect(rest.nextCursor).toBeUndefined();

    const event = `/observability/alerts/${ids[0]}`;
    const acknowledged = await call('POST', `${event}/acknowledge`, { note: 'on my way' });
    expect(acknowledged.body).toMatchObject({ lifecycleStatus: 'acknowledged', note: 'on my way' });
    expect((await call('POST', `${event}/acknowledge`)).body).toEqual(acknowledged.body);
    expect((await call('POST', `${event}/acknowledge`, { note: 'there' })).body).toEqual({
      ...acknowledged.body,
      note: 'there',
      incidentDurationMs: expect.any(Number),
    });
    expect((await list('&objectId=van')).detail).toContain("objectId: must be an integer; received 'van'");
    expect((await list('&lifecycleStatus=acknowledged,resolved')).items.length).toBe(1);
    expect((await call('POST', `${event}/resolve`, {})).body).toMatchObject({ lifecycleStatus: 'resolved' });
    expect((await call('POST', `${event}/resolve`, { note: 'x'.repeat(1025) })).status).toBe(400);
    const past = await call('POST', `${event}/suppress`, { suppressUntil: '2020-01-01T00:00:00Z' });
    expect([past.status, past.body.detail]).toEqual([400, expect.stringContaining('suppressUntil')]);
    const until = new Date(Date.now() + 3_600_000).toISOString();
    expect((await call('POST', `${event}/suppress`, { suppressUntil: until })).body).toMatchObject({
      ...{ lifecycleStatus: 'suppressed', suppressedUntil: until },
    });
    await editor.send('PUT', `spots/items/${id}`, point(0, 0));
    await editor.send('PUT', `spots/items/${id}`, point(10.3, 10.3));
    await waitFor(async () => (await list()).items.length === 5);
    expect((await list()).items[0]).toMatchObject({ lifecycleStatus: 'suppressed' });
    const { data: health } = await call('GET', `/alerts/rules/${ruleId}/health`);
    expect(health).toMatchObject({
      ...{
        ruleId,
        activeIncidentCount: 1,
        coolingDownFeatureCount: 1,
        recentTriggerCount: 5,
        evaluation: 'active',
      },
      lastTriggeredAt: expect.any(String),
      nextCooldownExpiresAt: until,
    });
    expect(health.linkedEventIds.length).toBe(5);
    expect(health.deliveryChannels.map(({ channel }: { channel: string }) => channel)).toEqual([
      'websocket',
      'slack',
    ]);
    const tested = await call('POST', '/alerts/rules/test', { rule: rule(), zone: zone() });
    expect(tested.data).toMatchObject({
      isValid: true,
      errors: [],
      simulation: { triggerCount: 5, isComplete: true },
    });
    expect((await call('GET', '/observability/alerts/999999')).status).toBe(404);
  });
});

it('has a command that tests a rule, and says what is wrong with it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'graticule-alerts-'));
  const run = (text: string) => {
    const file = join(folder, 'rule.yaml');
    writeFileSync(file, text);
    const args = ['dist/cli/main.js', 'alerts', 'test', file, '--url', editor.server.url];
    return spawnSync('node', [...args, '--key', editor.server.adminKey], { encoding: 'utf8' });
  };
  const rule = `{ruleName: names, serviceId: default, layerId: ${spots}, triggerType: threshold`;
  const { status, stdout, stderr } = run(`${rule}, conditions: {field: name, operator: '=', value: bus}}`);
  expect([status, stdout]).toEqual([0, expect.stringMatching(/^0 triggers in \d+ edits since 20/)]);
  expect(stderr).toContain('warning: The rule has no channels');
  const wrong = run(`{rule: ${rule}, conditions: {field: nane, operator: '=', value: bus}}}`);
  expect([wrong.status, wrong.stderr]).toEqual([
    64,
    expect.stringContaining(
      "must be conditions for this layer: there is no property 'nane'. Did you mean 'name'?\n",
    ),
  ]);
  expect(run('[]').status).toBe(64);
  rmSync(folder, { recursive: true });
});
