import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ABSENT_INSTRUMENTS, expandNames } from '../../src/gateway/telemetry/absent-instruments.js';
import { geoPackageStore, parcel, sender } from '../edits/support.js';
import { EventReader, StreamClient } from '../streams/support.js';
import { engines } from '../support/processes.js';
import { startServerProcess, type TestServer } from '../support/server.js';
import { CONTRACT_INSTRUMENTS } from '../telemetry/contract-instruments.js';
import { SECRET, startReceiver, type TestReceiver } from '../webhooks/receiver.js';
import { eventually } from './support/http.js';

/** Instruments that need a fault or another server, and the test that makes it. */
const OF_FAULTS: Record<string, string> = {
  svc_application_errors_total: 'test/http/unexpected-errors.test.ts',
  'svc.streaming.slow_consumer_drops_total': 'test/streams/slow.test.ts',
  'svc.alerts.deliveries_failed_total': 'test/alerts/channels-server.test.ts',
  'svc.alerts.deliveries_dead_lettered_total': 'test/alerts/channels-server.test.ts',
  'svc.alerts.deliveries_rate_capped_total': 'test/alerts/lanes.test.ts',
  'svc.alerts.deliveries_circuit_deferred_total': 'test/alerts/lanes.test.ts',
  'svc.reporting.render.failure.count': 'test/compliance/evidence.test.ts',
  'svc.license.capacity.surge_mode_changes': 'test/licensing/licences.test.ts',
  svc_federation_source_duration_ms: 'test/federation/faults.test.ts',
  svc_federation_source_requests_total: 'test/federation/faults.test.ts',
  svc_federation_source_rows_total: 'test/federation/faults.test.ts',
};

const ADMIN = '/api/v1/admin';
const store = geoPackageStore();
const folder = mkdtempSync(join(tmpdir(), 'graticule-instruments-'));
const closers: { close(): void }[] = [];
let receiver: TestReceiver;
let server: TestServer;
let scrape: string;

beforeAll(async () => {
  mkdirSync(join(folder, 'data'));
  cpSync(store.file, join(folder, 'data/town.gpkg'));
  receiver = await startReceiver();
  server = await startServerProcess({
    sources: ['demo/data', join(folder, 'data')],
    env: {
      SVC_CACHE__DISK__DIRECTORY: join(folder, 'tiles'),
      SVC_EVENTS__WEBHOOKS: JSON.stringify([{ name: 'all', url: receiver.url, secret: SECRET }]),
      SVC_REMOTE__ALLOW: '127.0.0.1',
    },
  });
  await read();
  await edit();
  await alert();
  await runJob();
  await runPlan();
  await breakAndMend();
  await answered(`${ADMIN}/observability/audit/verify`);
  await answered(`${ADMIN}/compliance/report?format=csv`);
  // These are counted now and then.
  await eventually(async () => {
    scrape = await (await ask('/metrics')).text();
    expect(scrape).toMatch(/^svc_cache_hit_ratio_detailed_count/m);
    expect(scrape).toMatch(/^svc_alerts_deliveries_succeeded_total/m);
    for (const line of ['svc_outbox_pending_count 0', 'svc_event_sink_published_total 4'])
      expect(scrape.split('\n')).toContain(line);
  }, 30_000);
}, 120_000);

afterAll(async () => {
  for (const one of closers) one.close();
  await server?.stop();
  await receiver?.close();
  await store.release();
  rmSync(folder, { recursive: true, force: true });
});

function ask(path: string, body?: unknown): Promise<Response> {
  const headers = { 'x-api-key': server.adminKey, 'content-type': 'application/json' };
  return fetch(
    server.url + path,
    body === undefined ? { headers } : { headers, method: 'POST', body: JSON.stringify(body) },
  );
}

async function answered(path: string, body?: unknown): Promise<unknown> {
  const answer = await ask(path, body);
  expect([path, answer.status]).toEqual([path, expect.toSatisfy((status: number) => status < 300)]);
  const bytes = Buffer.from(await answer.arrayBuffer());
  return answer.headers.get('content-type')?.includes('json') ? JSON.parse(bytes.toString()) : bytes;
}

/** Reads what there is, in many ways. */
async function read(): Promise<void> {
  const countries = '/ogc/features/collections/countries';
  const here = 'filter=S_INTERSECTS(geom,POINT(10 50))';
  await answered(`${countries}/items?${here}&crs=http://www.opengis.net/def/crs/EPSG/0/3857`);
  await answered(`${countries}/items/1`);
  await answered(`${countries}/h3?resolution=1`);
  for (let i = 0; i < 2; i++) await answered('/tiles/countries/1/1/0');
  await answered('/ogc/maps/map?f=png&width=64&height=64');
  expect((await ask('/ogc/features/collections/none/items')).status).toBe(404);
  // Said in band.
  expect((await ask('/rest/services/default/FeatureServer/replicas/none?f=json')).status).toBe(200);
}

/** Edits while somebody listens, and lets somebody listen from the past on. */
async function edit(): Promise<void> {
  const send = sender(server.url, server.adminKey);
  const stream = `${server.url}/api/v1/streaming/features`;
  const client = await new StreamClient(stream, { 'x-api-key': server.adminKey }).opened();
  closers.push(client);
  const layers = [await layerId('parcels')];
  await client.subscribe('a', { layers });
  for (const x of [1, 2]) expect((await send('POST', 'parcels/items', parcel(x, 1))).status).toBe(201);
  const changes = () => client.of('feature-change');
  const first = await client.until(() => (changes().length === 2 ? changes()[0] : undefined));
  const past = await new StreamClient(stream, { 'x-api-key': server.adminKey }).opened();
  closers.push(past);
  await past.subscribe('b', { layers, cursor: first.cursor });
  await past.next(({ type }) => type === 'feature-change');
  const reader = new EventReader(`${stream}?layers=${layers[0]}`);
  await reader.until(() => reader.of('status').length > 0);
  reader.close();
  client.close();
}

/** Changes a feature twice. The second alert is suppressed, because the feature cools down. */
async function alert(): Promise<void> {
  const rule = { ruleName: 'names', serviceId: 'default', layerId: await layerId('parcels') };
  const conditionsJson = JSON.stringify({ field: 'name', operator: 'changed' });
  await answered(`${ADMIN}/alerts/rules`, {
    ...{ ...rule, triggerType: 'threshold', conditionsJson, cooldownSeconds: 3600, channels: ['websocket'] },
  });
  const send = sender(server.url, server.adminKey);
  const type = { 'content-type': 'application/merge-patch+json' };
  for (const name of ['one', 'two'])
    expect((await send('PATCH', 'parcels/items/1', { properties: { name } }, type)).status).toBe(200);
}

async function runJob(): Promise<void> {
  const body = { operation: 'archive', layerId: await layerId('countries'), maxZoom: 2 };
  const { JobId } = (await answered(`${ADMIN}/tile-operations/jobs`, body)) as { JobId: string };
  await eventually(async () => {
    const job = (await answered(`${ADMIN}/tile-operations/jobs/${JobId}`)) as { Status: number };
    expect(job.Status).toBe(2);
  }, 60_000);
}

/** A plan of one step. */
async function runPlan(): Promise<void> {
  const steps = [{ kind: 'geoprocess', processId: 'echo', inputs: { doubleInput: 1 } }];
  const body = { inputs: { plan: { planId: 'p', steps } } };
  const path = '/ogc/processes/processes/svc-geoprocessing/execution';
  const headers = { 'x-api-key': server.adminKey, 'content-type': 'application/json', prefer: 'wait=30' };
  const answer = await fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  expect([answer.status, await answer.json()]).toEqual([200, { 's1.doubleOutput': 1 }]);
}

async function layerId(name: string): Promise<number> {
  const { collections } = (await answered('/ogc/tiles/collections?f=json')) as {
    collections: { id: string; name: string }[];
  };
  return Number(collections.find((one) => one.name === name)!.id);
}

/** Kills the engine and awaits the next one; publishes a file that is broken, and mends it. */
async function breakAndMend(): Promise<void> {
  const [engine] = engines(server.process.pid!);
  process.kill(engine!, 'SIGKILL');
  await answered('/ogc/maps/map?f=png&width=65&height=65');
  const file = join(folder, 'data/mended.gpkg');
  for (const put of [() => writeFileSync(file, 'no GeoPackage at all'), () => cpSync(store.file, file)]) {
    const before = await generation();
    put();
    server.reload();
    await eventually(async () => expect(await generation()).toBeGreaterThan(before));
  }
}

async function generation(): Promise<number> {
  const { catalog } = (await answered('/healthz/metrics')) as { catalog: { generation: number } };
  return catalog.generation;
}

/** The label names of the samples of an instrument, each combination once. */
function labelsOf(name: string): string[] {
  const suffix = '(?:_bucket|_count|_sum)?';
  const samples = scrape.matchAll(
    new RegExp(`^${name}${suffix}(?:\\{([^}]*(?:\\{[^}]*\\}[^}]*)*)\\})? `, 'gm'),
  );
  const names = [...samples].map(([, labels = '']) =>
    [...labels.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)]
      .map(([, label]) => label!)
      .filter((label) => label !== 'le'),
  );
  return [...new Set(names.map((one) => one.join()))];
}

const absent = new Set(ABSENT_INSTRUMENTS.flatMap(([, names]) => names.flatMap(expandNames)));
const present = CONTRACT_INSTRUMENTS.filter(({ name }) => !absent.has(name) && !OF_FAULTS[name]);

it('all instruments of the interface that exist here are in the scrape after a walk, with their labels', () => {
  expect(present.length).toBeGreaterThan(80);
  const [shown, expected]: [unknown[], unknown[]] = [[], []];
  for (const { name, type, labels } of present) {
    const exposed = name.replaceAll('.', '_').replace(/(_total)?$/, type === 'counter' ? '_total' : '$1');
    expected.push([exposed, type, labels === undefined ? expect.any(Array) : [labels.join()]]);
    const of = labelsOf(exposed);
    const typed = scrape.includes(`# TYPE ${exposed} ${type}\n`) ? type : undefined;
    shown.push([exposed, typed, of.length === 1 ? of : undefined]);
  }
  expect(shown).toEqual(expected);
});

it.each(['engine', 'source'])('the time is measured until the %s serves again', (subject) => {
  expect(scrape).toMatch(
    new RegExp(`^svc_error_recovery_duration_ms_count\\{subject="${subject}"\\} [1-9]`, 'm'),
  );
});

it.each([
  ['svc_database_query_records_sum{query_type="select",layer_id="\\d+"}', '1'],
  ['svc_spatial_filter_total{predicate="s_intersects"}', '\\d+'],
  ['svc_coordinate_transform_total{operation="vector.items"}', '1'],
  ['svc_geometry_operation_total{operation="h3"}', '1'],
  ['svc_geometry_complexity_coordinates_sum', '10'],
  ['svc_transaction_total{outcome="committed"}', '4'],
  ['svc_alerts_deliveries_suppressed_total{channel="websocket"}', '1'],
  ['svc_alerts_deliveries_succeeded_total{channel="websocket"}', '1'],
  ['svc_alerts_events_emitted_total{trigger="threshold"}', '2'],
  ['svc_cache_operation_total{cache_type="tile",operation="get"}', '\\d+'],
  ['svc_cache_operation_total{cache_type="tile-disk",operation="set"}', '\\d+'],
  ['svc_alerts_ops_notifications_total{source="source-quarantined",severity="error",outcome="unheard"}', '1'],
  [
    'svc_execution_queue_depth{svc_controlplane_execution_status="Queued",svc_controlplane_backend="embedded"}',
    '0',
  ],
  ['execution_admission_evaluated_total{outcome="admitted"}', '\\d+'],
  ['svc_upload_queue_depth', '0'],
  ['svc_orchestration_steps_completed_total', '1'],
  ['svc_streaming_replay_events_delivered_total{transport="WebSocket"}', '1'],
])('%s is what was done', (series, value) => {
  const pattern = series.replace(/[{}]/g, '\\$&');
  const line = new RegExp(`^${pattern} (\\S+)$`, 'm').exec(scrape);
  expect(line?.[1]).toMatch(new RegExp(`^${value}$`));
});
