import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LOG_EVENTS } from '../../src/core/kit/log-events.js';
import { range, writeZarr } from '../rasters/support.js';
import {
  type Collector,
  logRecords,
  resourcesOf,
  startCollector,
  type TraceSpan,
  traceSpans,
} from '../support/collector.js';
import { startRedis, type TestRedis } from '../support/redis.js';
import { startServerProcess, type TestServer } from '../support/server.js';
import { smallWorld } from '../support/small-world.js';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const ITEMS = '/ogc/features/collections/countries/items?limit=1&bbox=5,45,15,55';

/** Requests of traces of their own, with what their spans have to be: the task, and the work below it. */
const TRACED = {
  item: [
    '/ogc/features/collections/countries/items/1',
    'svc.feature.query',
    'svc.db.query',
    'Graticule.Stores',
  ],
  places: [
    '/rest/services/countries/GeocodeServer/suggest?text=norw&f=json',
    'svc.geocoding.searchFeatures',
    'geocoding.searchFeatures',
    'Graticule.Geocoding',
  ],
  tile: ['/tiles/countries/0/0/0', 'svc.tile.generate', 'svc.db.query', 'Graticule.Stores'],
  map: ['/ogc/maps/collections/3/map?width=64&height=64', 'svc.map.render', 'map.render', 'Graticule.Map'],
  cells: [
    '/ogc/features/collections/countries/h3?resolution=1',
    'ogc.features.h3',
    'svc.db.query',
    'Graticule.Stores',
  ],
  zarr: [
    '/ogc/coverages/collections/store/coverage?f=geotiff',
    'svc.coverage.read',
    'zarr.raster-slice.read',
    'Graticule.Rasters',
  ],
  file: [
    '/ogc/coverages/collections/l7_etms/coverage?f=geotiff',
    'svc.coverage.read',
    'raster.window.read',
    'Graticule.Rasters',
  ],
} as const;
interface TraceParts {
  path: string;
  /** Spans below the request, with attributes that they have; those of several of one name. */
  spans: Readonly<Record<string, object | readonly object[]>>;
  attributes?: object;
  body?: object;
}

const AREA = JSON.stringify({
  rings: [
    [
      [290_000, 9_110_000],
      [291_000, 9_114_000],
      [296_500, 9_116_000],
      [290_000, 9_110_000],
    ],
  ],
  spatialReference: { wkid: 31985 },
});

/** Requests that have spans for their parts, by the names of their traces; those with a body are of an administrator. */
const PARTED: Readonly<Record<string, TraceParts>> = {
  export: {
    path: '/rest/services/default/MapServer/export?bbox=0,40,20,50&size=64,64&f=image',
    spans: { 'svc.mapserver.export': {}, 'svc.map.render': {} },
    attributes: {
      'svc.protocol': 'MapServer',
      'svc.service.id': 'default',
      'svc.latency.category': expect.anything(),
    },
  },
  identify: {
    path: '/rest/services/default/MapServer/identify?geometry=8,47&geometryType=esriGeometryPoint&mapExtent=0,40,20,50&imageDisplay=400,200,96&tolerance=2&sr=4326&f=json',
    spans: { 'svc.mapserver.identify': {}, 'svc.feature.query': { 'svc.feature.count': expect.any(Number) } },
  },
  featureinfo: {
    path: '/rest/services/default/MapServer/WMSServer?service=WMS&version=1.3.0&request=GetFeatureInfo&layers=COUNTRIES&query_layers=COUNTRIES&styles=&crs=CRS:84&bbox=0,40,20,50&width=200&height=100&i=80&j=30&info_format=application/json',
    spans: { 'svc.feature.identify': {} },
  },
  look: {
    path: '/ogc/tiles/collections/countries/tiles/WebMercatorQuad/1/0/1?f=mvt',
    spans: {
      'svc.cache.operation': ['memory', 'disk', 'redis'].map((tier) => ({
        ...{ 'svc.cache.tier': tier, 'svc.operation': 'get' },
      })),
      'svc.tile.generate': {},
    },
    attributes: { 'svc.tile.z': '1', 'svc.tile.y': 0, 'svc.tile.x': 1 },
  },
  esri: {
    path: '/rest/services/default/MapServer/tile/1/0/1',
    spans: { 'svc.cache.operation': {} },
    attributes: { 'svc.service.id': 'default', 'svc.tile.z': 1, 'svc.tile.y': 0, 'svc.tile.x': 1 },
  },
  found: {
    path: '/ogc/features/collections/countries/items?limit=3',
    spans: {
      'svc.feature.query': {
        'svc.collection.id': 'countries',
        'svc.feature.count': 3,
        'svc.service.id': 'default',
      },
    },
    attributes: { 'svc.collection.id': 'countries', 'svc.correlation.id': expect.any(String) },
  },
  task: {
    path: '/rest/services/Processes/GPServer/geometry.centroid/submitJob',
    body: {
      f: 'json',
      features: JSON.stringify({ url: 'SERVER/rest/services/default/FeatureServer/COUNTRIES' }),
    },
    spans: { 'svc.auth.validate': {}, 'svc.geoprocessing.dispatch': {} },
  },
  statistics: {
    path: '/ogc/features/collections/countries/statistics?f=json',
    spans: { 'svc.analytics.statistics': { 'svc.collection.id': 'countries' }, 'svc.db.query': {} },
  },
  density: {
    path: '/ogc/features/collections/countries/density',
    body: { cellSize: 100_000 },
    spans: { 'svc.analytics.density': { 'svc.collection.id': 'countries' }, 'svc.db.query': {} },
  },
  clusters: {
    path: '/ogc/features/collections/countries/clusters',
    body: { algorithm: 'kmeans', k: 3 },
    spans: { 'svc.analytics.clusters': {} },
  },
  buffers: {
    path: '/ogc/features/collections/countries/buffer-aggregate',
    body: { distance: 10, dissolve: false },
    spans: { 'svc.analytics.buffer_aggregate': {} },
  },
  join: {
    path: '/ogc/features/collections/countries/spatial-join',
    body: { joinLayerId: 'BORDERS' },
    spans: { 'svc.analytics.spatial_join': {} },
  },
  position: {
    path: '/rest/services/olinda_dem_utm25s/ImageServer/identify?geometry=-34.87,-8.01&geometryType=esriGeometryPoint&sr=4326&f=json',
    spans: { 'svc.coverage.position': {} },
  },
  histograms: {
    path: `/rest/services/olinda_dem_utm25s/ImageServer/computeHistograms?geometry=${encodeURIComponent(AREA)}&geometryType=esriGeometryPolygon&f=json`,
    spans: { 'svc.coverage.histograms': {} },
  },
  edit: {
    path: '/ogc/features/collections/traced/items/batch',
    body: {
      operations: [{ type: 'CREATE', feature: { type: 'Feature', geometry: null, properties: { a: 2 } } }],
    },
    spans: { 'svc.feature.edit': { 'svc.collection.id': 'traced', 'svc.operation': 'vector.edit' } },
  },
  manifest: {
    path: '/api/v1/admin/metadata/manifest/apply',
    body: {
      resources: [{ kind: 'Role', metadata: { name: 'traced' }, spec: { permissions: [] } }],
    },
    spans: {
      'svc.auth.validate': {},
      'svc.security.check': { 'svc.operation': 'admin:manifest:write' },
      'svc.spec.plan': {},
      'svc.spec.apply': {},
      'svc.spec.node': {},
    },
    attributes: { 'svc.protocol': 'Admin' },
  },
};

const RASTERS = ['demo/data/L7_ETMs.tif', 'demo/data/olinda_dem_utm25s.tif'];

const traceOf = (name: string) => Buffer.from(name.padEnd(16)).toString('hex');

const folder = mkdtempSync(join(tmpdir(), 'graticule-telemetry-'));
let collector: Collector;
let redis: TestRedis;
let server: TestServer;
let scrape: string;

beforeAll(async () => {
  [collector, redis] = await Promise.all([startCollector(), startRedis()]);
  const grid = { lons: range(36, 5, 10), lats: range(18, -85, 10), value: () => 1 };
  writeZarr(join(folder, 'store.zarr'), grid);
  const broken = join(folder, 'broken.gpkg');
  writeFileSync(broken, 'no GeoPackage at all');
  server = await startServerProcess({
    sources: [smallWorld(folder), ...RASTERS, join(folder, 'store.zarr'), broken],
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      SVC_CACHE__DISK__DIRECTORY: join(folder, 'tiles'),
      SVC_CACHE__REDIS__URL: redis.url,
      SVC_GEOCODING__COLLECTIONS: '{"countries":{"name":"NAME"}}',
    },
  });
  for (const [name, [path]] of Object.entries(TRACED)) {
    const answer = await fetch(server.url + path, {
      headers: { traceparent: `00-${traceOf(name)}-00f067aa0ba902b7-01` },
    });
    expect([path, answer.status]).toEqual([path, 200]);
    await answer.arrayBuffer();
  }
  const traced = await fetch(`${server.url}${ITEMS}`, {
    headers: { traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01` },
  });
  expect(traced.status).toBe(200);
  expect((await fetch(`${server.url}/ogc/features/collections/none/items`)).status).toBe(404);
  const metrics = await fetch(`${server.url}/metrics`, { headers: { 'x-api-key': server.adminKey } });
  scrape = await metrics.text();
});

afterAll(async () => {
  await server?.stop();
  await redis?.stop();
  collector?.server.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('the scrape', () => {
  it('is for administrators', async () => {
    expect((await fetch(`${server.url}/metrics`)).status).toBe(401);
    expect((await fetch(`${server.url}/healthz/metrics`)).status).toBe(401);
  });

  it('counts requests, errors, tasks and the event loop', () => {
    expect(scrape).toMatch(
      /svc_http_request_total\{method="GET",endpoint="\/ogc\/features\/collections\/\{collectionId\}\/items",status_code="200"\} 1/,
    );
    expect(scrape).toMatch(
      /svc_serving_request_duration_ms_count\{svc_protocol="OGC-Features"[^}]*status_class="2xx"\} 1/,
    );
    expect(scrape).toMatch(
      /svc_request_error_total\{[^}]*operation="items",error_code="404",in_band="false"\} 1/,
    );
    expect(scrape).toMatch(/svc_database_query_total\{query_type="select",layer_id="\d+"\} 1/);
    expect(scrape).toMatch(/svc_gc_collection_total\{generation="m\w+"\} [1-9]/);
    expect(scrape).toMatch(/svc_memory_pressure_percent [\d.]+/);
    expect(scrape).toMatch(/svc_db_pool_utilization_ratio 0/);
    expect(scrape).toMatch(/svc_gateway_event_loop_delay_ms\{quantile="0.99"\} \d/);
    expect(scrape).toMatch(/svc_gateway_event_loop_turn_ms_bucket\{le="5"\} [1-9]/);
    expect(scrape).toMatch(/svc_gateway_event_loop_longest_turn_ms [\d.]+/);
    expect(scrape).toMatch(/svc_pool_workers\{pool="engine"\} [1-9]/);
  });

  it('has a snapshot in one naming style, with queries, refresh and licence', async () => {
    const answer = await fetch(`${server.url}/healthz/metrics`, {
      headers: { 'x-api-key': server.adminKey },
    });
    const snapshot = (await answer.json()) as object;
    expect(memberNames(snapshot).filter((name) => !/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name))).toEqual([]);
    expect(snapshot).toMatchObject({
      ready: true,
      checks: expect.arrayContaining([{ name: 'state-database', healthy: true }]),
      database: {
        queries: {
          select: { count: 1, total_ms: expect.any(Number), mean_ms: expect.any(Number) },
          select_by_id: { count: 1 },
        },
        sources: [],
      },
      catalog: {
        quarantined: 1,
        problems: [{ source: expect.stringMatching(/broken\.gpkg$/), reason: expect.any(String) }],
      },
      cache_refresh: { generation: expect.any(Number), last_refreshed_at: expect.any(String) },
      tile_cache: { collections: expect.any(Array) },
      license: { validation_state: 'not_required', active_entitlements: [] },
    });
  });

  it('has cumulative buckets that end at the count', () => {
    const name = 'svc_http_request_duration_ms';
    const lines = scrape
      .split('\n')
      .filter((line) => line.includes('{collectionId}/items",status_code="200"'));
    const buckets = lines
      .filter((line) => line.startsWith(`${name}_bucket`))
      .map((line) => Number(line.split(' ').at(-1)));
    const count = Number(
      lines
        .find((line) => line.startsWith(`${name}_count`))
        ?.split(' ')
        .at(-1),
    );
    expect(buckets.length).toBeGreaterThan(5);
    expect(buckets).toEqual([...buckets].sort((a, b) => a - b));
    expect(buckets.at(-1)).toBe(count);
  });
});

describe('the log', () => {
  const events = () =>
    server
      .log()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  it('has one completion event per request, with trace and span', async () => {
    const completed = await untilFound(() => events().find((event) => event['@tr'] === TRACE_ID));
    expect(completed).toMatchObject({ Method: 'GET', StatusCode: 200, Protocol: 'OGC-Features' });
    expect(completed['@sp']).toMatch(/^[0-9a-f]{16}$/);
    expect(events().filter((event) => event['@tr'] === TRACE_ID)).toHaveLength(1);
  });

  it('never holds a query string', () => {
    expect(server.log()).not.toContain('bbox=');
  });

  it('has the id of its kind in every line', async () => {
    await untilFound(() => events().find((event) => event['@i'] === 1000));
    const byId = new Map(Object.values(LOG_EVENTS).map((event) => [event.id, event]));
    for (const event of events()) {
      expect(byId.has(event['@i'] as never), JSON.stringify(event)).toBe(true);
      if (event['@i'] !== 1000) expect(event['@l']).toBe(byId.get(event['@i'] as never)!.level);
    }
  });

  it('does not show probes at its usual level', () => {
    expect(events().some((event) => String(event.Path).startsWith('/healthz/ready'))).toBe(false);
  });
});

/** Imports a file, and asks for its job in a trace of its own. Returns the id of the job. */
async function importTraced(): Promise<string> {
  const key = { 'x-api-key': server.adminKey };
  const form = new FormData();
  form.set('TableName', 'traced');
  const point = { type: 'Feature', geometry: { type: 'Point', coordinates: [1, 2] }, properties: { a: 1 } };
  form.set('File', new Blob([JSON.stringify(point)]), 'traced.geojson');
  const url = `${server.url}/api/v1/admin`;
  const imported = await fetch(`${url}/import/upload`, {
    method: 'POST',
    headers: { ...key, traceparent: `00-${traceOf('import')}-00f067aa0ba902b7-01` },
    body: form,
  });
  const { jobId } = (await imported.json()) as { jobId: string };
  const headers = { ...key, traceparent: `00-${traceOf('job')}-00f067aa0ba902b7-01` };
  expect((await fetch(`${url}/jobs/${jobId}`, { headers })).status).toBe(200);
  return jobId;
}

let importJob: string;

async function askParted(): Promise<void> {
  importJob = await importTraced();
  const list = await (await fetch(`${server.url}/ogc/tiles/collections?f=json`)).json();
  const { collections } = list as { collections: { id: string; title: string }[] };
  const idOf = (name: string) => collections.find(({ title }) => title === name)!.id;
  const countries = idOf('Countries');
  const borders = idOf('Disputed borders');
  for (const [name, { path, body }] of Object.entries(PARTED)) {
    const filled = (text: string) =>
      text
        .replaceAll('SERVER/', `${server.url}/`)
        .replaceAll('COUNTRIES', countries)
        .replaceAll('BORDERS', borders);
    const answer = await fetch(server.url + filled(path), {
      headers: {
        traceparent: `00-${traceOf(name)}-00f067aa0ba902b7-01`,
        ...(body ? { 'x-api-key': server.adminKey, 'content-type': 'application/json' } : {}),
      },
      ...(body ? { method: 'POST', body: filled(JSON.stringify(body)) } : {}),
    });
    expect([path, answer.status, (await answer.text()).includes('"error"')]).toEqual([path, 200, false]);
  }
}

/** The engines of the server, which render. */
function engineIds(): number[] {
  const { pid } = server.process;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
  return children.filter((one) => /graticule: engine\0/.test(readFileSync(`/proc/${one}/cmdline`, 'utf8')));
}

/** A map whose engine stands still. */
function exportFrozen() {
  for (const pid of engineIds()) process.kill(pid, 'SIGSTOP');
  const path = '/rest/services/default/MapServer/export?bbox=0,40,20,51&size=65,64&f=image';
  const headers = { traceparent: `00-${traceOf('unfinished')}-00f067aa0ba902b7-01` };
  const answer = fetch(server.url + path, { headers }).then((response) => response.text());
  // A reply to a later request on the same loop: the map was asked for before.
  const sent = fetch(`${server.url}/healthz/live`).then(() => fetch(`${server.url}/healthz/live`));
  return { answer, sent };
}

describe('the push', () => {
  it('delivers traces, the log and the same metrics before the server ends', async () => {
    await askParted();
    const [unfinished, engines] = [exportFrozen(), engineIds()];
    await unfinished.sent;
    const stopped = server.stop();
    const text = await unfinished.answer;
    for (const pid of engines) process.kill(pid, 'SIGCONT');
    await stopped;
    expect(text).toMatch(/"code":503,"message":"The server is stopping, and could not finish the request/);
    const spans = traceSpans(collector);
    const completed = logRecords(collector).filter(({ traceId }) => traceId === TRACE_ID);
    expect(completed).toHaveLength(1);
    expect(completed[0]).toMatchObject({
      severityText: 'Information',
      eventName: 'http.request.completed',
      attributes: { 'event.id': 1000, StatusCode: 200, Protocol: 'OGC-Features', Process: 'gateway' },
    });
    const request = spans.find(({ spanId }) => spanId === completed[0]!.spanId);
    expect(request).toMatchObject({ name: 'svc.http.request', traceId: TRACE_ID, scope: 'Graticule' });
    // One resource for both, and the supervisor's lines as well.
    expect(resourcesOf(collector, '/v1/traces')).toContainEqual(completed[0]!.resource);
    const stopping = logRecords(collector).find(({ eventName }) => eventName === 'server.stopping');
    expect(stopping).toMatchObject({
      body: 'the server received SIGTERM; stopping',
      attributes: { Process: 'supervisor' },
    });
    const metrics = Buffer.concat(collector.received.get('/v1/metrics') ?? []);
    expect(metrics.includes('svc_http_request_total')).toBe(true);
    expect(metrics.includes('svc.tile.cache.hits')).toBe(true);
  });
});

it('a map that the stop cut off has its spans', () => {
  const spans = traceSpans(collector).filter(({ traceId }) => traceId === traceOf('unfinished'));
  const request = spans.find(({ name }) => name === 'svc.http.request')!;
  expect(request.attributes).toMatchObject({ 'svc.protocol': 'MapServer' });
  const map = spans.find(({ name }) => name === 'svc.mapserver.export');
  expect(map, `of ${spans.map(({ name }) => name)}`).toMatchObject({ parentSpanId: request.spanId });
});

describe('the trace of a request', () => {
  it.each(Object.entries(TRACED))(
    'goes through the task to the work in its thread or process: %s',
    (name, [, task, work, source]) => {
      const spans = traceSpans(collector).filter(({ traceId }) => traceId === traceOf(name));
      const below = (parent: string, wanted: string): TraceSpan => {
        const found = spans.find((span) => span.name === wanted && span.parentSpanId === parent);
        expect(found, `${wanted} of ${spans.map((span) => span.name)}`).toBeDefined();
        return found!;
      };
      const request = below('00f067aa0ba902b7', 'svc.http.request');
      expect(request.attributes).toMatchObject({
        'svc.protocol': expect.any(String),
        'svc.operation': expect.any(String),
      });
      const stage = below(request.spanId, task);
      expect(stage.scope).toBe('Graticule');
      expect(stage.attributes).toMatchObject({
        'svc.service.id': 'default',
        'svc.operation': expect.stringContaining('.'),
        'svc.layer.id': expect.stringMatching(/^\d+$/),
      });
      const inner = below(stage.spanId, work);
      expect(inner.scope).toBe(source);
      expect(inner.attributes).toMatchObject({ 'process.pid': expect.any(Number) });
      if (work === 'svc.db.query') expect(inner.attributes['db.query.type']).toEqual(expect.any(String));
    },
  );
});

it('an import has a span with its job, and a request for the job names it', () => {
  const spans = traceSpans(collector);
  const job = { 'svc.job.id': importJob };
  const [file] = spans.filter(({ name }) => name === 'svc.import.file');
  expect(file!.attributes).toMatchObject({ ...job, 'svc.collection.id': 'traced' });
  const upload = spans.find(
    ({ traceId, name }) => traceId === traceOf('import') && name === 'svc.http.request',
  );
  expect([file!.traceId, file!.parentSpanId]).toEqual([upload!.traceId, upload!.spanId]);
  const asked = spans.find(({ traceId, name }) => traceId === traceOf('job') && name === 'svc.http.request');
  expect(asked!.attributes).toMatchObject(job);
});

describe('the parts of a request', () => {
  it.each(Object.entries(PARTED))(
    'have their spans and attributes: %s',
    (name, { spans, attributes = {} }) => {
      const all = traceSpans(collector).filter(({ traceId }) => traceId === traceOf(name));
      const request = all.find((span) => span.name === 'svc.http.request')!;
      expect(request.attributes).toMatchObject(attributes);
      for (const [wanted, with_] of Object.entries(spans)) {
        const found = all.filter((span) => span.name === wanted);
        expect(found.length, `${wanted} of ${all.map((span) => span.name)}`).toBeGreaterThan(0);
        for (const attributes of [with_].flat())
          expect(found.map((span) => span.attributes)).toContainEqual(expect.objectContaining(attributes));
      }
      // Each hangs under another one of the trace, or under the client's.
      const ids = new Set(['00f067aa0ba902b7', ...all.map(({ spanId }) => spanId)]);
      expect(all.filter(({ parentSpanId }) => !ids.has(parentSpanId!))).toEqual([]);
    },
  );
});

/** The names of all members of a document, however deep. */
function memberNames(value: unknown): string[] {
  if (value === null || typeof value !== 'object') return [];
  const own = Array.isArray(value) ? [] : Object.keys(value);
  return [...own, ...Object.values(value).flatMap(memberNames)];
}

/** Log lines leave in blocks, so an event may need a moment. */
async function untilFound<T>(look: () => T | undefined): Promise<T> {
  for (let i = 0; i < 100; i++) {
    const found = look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('not found in time');
}
