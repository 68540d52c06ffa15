import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LOG_EVENTS } from '../../src/core/log-events.js';
import { type Collector, logRecords, resourcesOf, startCollector } from '../support/collector.js';
import { startServer, type TestServer } from '../support/server.js';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const ITEMS = '/ogc/features/collections/countries/items?limit=1&bbox=5,45,15,55';

let collector: Collector;
let server: TestServer;
let scrape: string;

beforeAll(async () => {
  collector = await startCollector();
  server = await startServer({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } });
  const traced = await fetch(`${server.url}${ITEMS}`, {
    headers: { traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01` },
  });
  expect(traced.status).toBe(200);
  expect((await fetch(`${server.url}/ogc/features/collections/none/items`)).status).toBe(404);
  expect((await fetch(`${server.url}/tiles/countries/0/0/0`)).status).toBe(200);
  expect((await fetch(`${server.url}/ogc/maps/map?f=png&width=64&height=64`)).status).toBe(200);
  const metrics = await fetch(`${server.url}/metrics`, { headers: { 'x-api-key': server.adminKey } });
  scrape = await metrics.text();
});

afterAll(async () => {
  await server?.stop();
  collector?.server.close();
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
    expect(scrape).toMatch(/svc_request_error_total\{[^}]*error_code="404",in_band="false"\} 1/);
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
    const text = await answer.text();
    expect(text.match(/"[a-z]+[A-Z]\w*":/g)).toBeNull();
    expect(JSON.parse(text)).toMatchObject({
      database: { queries: { select: { count: expect.any(Number), mean_ms: expect.any(Number) } } },
      cache_refresh: { last_refreshed_at: expect.any(String) },
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

describe('the push', () => {
  it('delivers traces, the log and the same metrics before the server ends', async () => {
    await server.stop();
    const traces = Buffer.concat(collector.received.get('/v1/traces') ?? []);
    expect(traces.includes('svc.http.request')).toBe(true);
    // The task with its queues, and its work in the thread or process that did it.
    for (const name of [
      'svc.feature.query',
      'svc.db.query',
      'svc.tile.generate',
      'svc.map.render',
      'map.render',
    ])
      expect([name, traces.includes(name)]).toEqual([name, true]);
    for (const source of [
      'Graticule.Stores',
      'Graticule.Map',
      'process.pid',
      'svc.layer.id',
      'db.query.type',
    ])
      expect([source, traces.includes(source)]).toEqual([source, true]);
    expect(traces.includes(Buffer.from(TRACE_ID, 'hex'))).toBe(true);
    const completed = logRecords(collector).filter(({ traceId }) => traceId === TRACE_ID);
    expect(completed).toHaveLength(1);
    expect(completed[0]).toMatchObject({
      severityText: 'Information',
      eventName: 'http.request.completed',
      attributes: { 'event.id': 1000, StatusCode: 200, Protocol: 'OGC-Features', Process: 'gateway' },
    });
    expect(traces.includes(Buffer.from(completed[0]!.spanId, 'hex'))).toBe(true);
    // One resource for both, and the supervisor's lines as well.
    expect(resourcesOf(collector, '/v1/traces')).toContainEqual(completed[0]!.resource);
    const stopping = logRecords(collector).find(({ eventName }) => eventName === 'server.stopping');
    expect(stopping).toMatchObject({ body: 'SIGTERM: stopping', attributes: { Process: 'supervisor' } });
    const metrics = Buffer.concat(collector.received.get('/v1/metrics') ?? []);
    expect(metrics.includes('svc_http_request_total')).toBe(true);
    expect(metrics.includes('svc.tile.cache.hits')).toBe(true);
  });
});

/** Log lines leave in blocks, so an event may need a moment. */
async function untilFound<T>(look: () => T | undefined): Promise<T> {
  for (let i = 0; i < 100; i++) {
    const found = look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('not found in time');
}
