import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stores, startStores } from '../cql2/stores.js';
import { type Collector, startCollector, traceSpans } from '../support/collector.js';
import { startServerProcess, type TestServer } from '../support/server.js';

/** A value of a filter and of a row. It must not occur in any management response, log line or export. */
const SECRET = 'S3cret-4711';
const POINT = Buffer.from('0101000000000000000000f03f0000000000000040', 'hex');

/** A view whose rows fail in different ways, once the switch is set. */
const FAILING_VIEW = `
  CREATE TABLE switch (position integer NOT NULL); INSERT INTO switch VALUES (0);
  CREATE FUNCTION check_value(value text) RETURNS text LANGUAGE plpgsql AS $$
  DECLARE at integer := (SELECT position FROM switch);
  BEGIN
    IF at = 1 THEN RAISE EXCEPTION 'the value % is bad', value USING DETAIL = value, HINT = value; END IF;
    IF at = 2 THEN RETURN value::integer::text; END IF;
    IF at = 3 THEN RAISE WARNING 'the value % is odd', value; PERFORM 1 / (at - 3); END IF;
    RETURN value;
  END $$;
  CREATE VIEW failing AS SELECT fid, geom, check_value(name) AS name FROM rows`;
/** A trigger that refuses an edit with its value. */
const TRIGGER = `
  CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN RAISE EXCEPTION 'no %', NEW.name USING ERRCODE = 'XX000'; END $$;
  CREATE TRIGGER refuse BEFORE UPDATE ON rows FOR EACH ROW EXECUTE FUNCTION refuse()`;

let stores: Stores;
let collector: Collector;
let server: TestServer;
let ids: string[] = [];
// biome-ignore lint/suspicious/noExplicitAny: compared member by member
let slowQueries: any[] = [];
/** Statuses and correlation ids of the requests with the value. */
const sent: { readonly what: string; readonly status: number; readonly id: string }[] = [];

beforeAll(async () => {
  stores = await startStores(
    [{ name: 'name', type: 'string' }],
    [
      [POINT, SECRET],
      [POINT, 'other'],
    ],
  );
  await stores.query(FAILING_VIEW);
  collector = await startCollector();
  server = await startServerProcess({
    sources: [stores.geopackage.path, stores.postgis.database],
    env: {
      SVC_OBSERVABILITY__SLOW_STATEMENT_MS: '0',
      SVC_OBSERVABILITY__OTLP_ENDPOINT: collector.url,
      SVC_LOGGING__LEVEL: 'Verbose',
    },
  });
  await stores.query(TRIGGER);
  const { collections } = await json('/ogc/features/collections');
  ids = collections.map(({ id }: { id: string }) => id);
  await sendRequests();
  ({ slowQueries } = await ask('/performance/enhanced/database/slow-queries?maxCount=200'));
});

afterAll(async () => {
  await server?.stop();
  collector?.server.close();
  await stores?.stop();
});

const headers = (): Record<string, string> => ({ 'x-api-key': server.adminKey });

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member
async function json(path: string): Promise<any> {
  const response = await fetch(server.url + path, { headers: headers() });
  expect(response.status, path).toBe(200);
  return response.json();
}

// biome-ignore lint/suspicious/noExplicitAny: as above
const ask = (path: string): Promise<any> => json(`/api/v1/admin${path}`);

async function send(what: string, path: string, init: RequestInit = {}): Promise<void> {
  const response = await fetch(server.url + path, { ...init, headers: { ...headers(), ...init.headers } });
  await response.arrayBuffer();
  sent.push({ what, status: response.status, id: response.headers.get('x-request-id')! });
}

async function sendRequests(): Promise<void> {
  const filter = encodeURIComponent(`name = '${SECRET}'`);
  for (const id of ids.filter((one) => !isFailing(one))) {
    const items = `/ogc/features/collections/${id}/items`;
    await send(`items ${id}`, `${items}?filter=${filter}`);
    await send(`items like ${id}`, `${items}?filter=${encodeURIComponent(`name LIKE '%${SECRET}%'`)}`);
    await send(`wrong filter ${id}`, `${items}?filter=${encodeURIComponent(`nothing = '${SECRET}'`)}`);
    await send(
      `tile ${id}`,
      `/ogc/tiles/collections/${id}/tiles/WebMercatorQuad/0/0/0?f=mvt&filter=${filter}`,
    );
    const feature = { type: 'Feature', id: 77, geometry: null, properties: { name: SECRET } };
    const body = JSON.stringify(feature);
    const type = { 'content-type': 'application/geo+json' };
    await send(`create ${id}`, items, { method: 'POST', body, headers: type });
    await send(`replace ${id}`, `${items}/2`, { method: 'PUT', body, headers: type });
  }
  for (const position of [1, 2, 3]) {
    await stores.query('UPDATE switch SET position = $1', [position]);
    await send(
      `failing ${position}`,
      `/ogc/features/collections/${ids.find(isFailing)}/items?limit=${position}`,
    );
  }
}

/** Operations that show rows of layers. */
const ROWS: ReadonlySet<string> = new Set(['/feature-events/replay']);

const isFailing = (id: string) => id.includes('failing');

/** Everything that the management API shows. Events are the rows themselves, for callers who may read them. */
async function readManagement(): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const line of readFileSync('test/contract/operations.txt', 'utf8').split('\n')) {
    const [method, path = ''] = line.split(' ');
    if (method !== 'GET' || path.includes('{') || path.includes('streaming/alerts')) continue;
    if (ROWS.has(path)) continue;
    const response = await fetch(`${server.url}/api/v1/admin${path.replace('/api/v1/admin', '')}`, {
      headers: headers(),
    });
    found.set(path, await response.text());
  }
  return found;
}

describe('a value of a filter and of a row', () => {
  it('was in requests of each kind', () => {
    const statusOf = (start: string) =>
      sent.filter(({ what }) => what.startsWith(start)).map(({ status }) => status);
    expect(statusOf('items')).toEqual([200, 200, 200, 200]);
    expect(statusOf('wrong filter')).toEqual([400, 400]);
    expect(statusOf('tile')).toEqual([200, 200]);
    expect(statusOf('create')).toEqual([201, 201]);
    for (const status of statusOf('failing')) expect(status).toBeGreaterThanOrEqual(400);
  });

  it('is in no byte of a management response', async () => {
    const responses = await readManagement();
    expect(responses.size).toBeGreaterThan(80);
    expect([...responses].filter(([, text]) => text.includes(SECRET)).map(([path]) => path)).toEqual([]);
  });

  it('is in no byte of the log and of the exports', async () => {
    await expect.poll(() => traceSpans(collector).length, { timeout: 20_000 }).toBeGreaterThan(10);
    const bytes = [...collector.received].flatMap(([, bodies]) => bodies);
    expect(bytes.filter((body) => body.includes(SECRET))).toEqual([]);
    expect(
      server
        .log()
        .split('\n')
        .filter((line) => line.includes(SECRET)),
    ).toEqual([]);
  });
});

describe('a request id', () => {
  it('finds the statements of the request, its log line, its worker and its store', async () => {
    const stored = new Set<string>();
    for (const { id } of sent.filter(({ what }) => what.startsWith('items') || what.startsWith('create'))) {
      const own = slowQueries.filter(({ correlationId }) => correlationId === id);
      for (const one of own) {
        stored.add(one.additionalMetrics.store);
        expect(one).toEqual({
          queryType: expect.stringMatching(/^(select|select_by_id|edit)$/),
          executionTimeMs: expect.any(Number),
          executedAt: expect.any(String),
          failed: false,
          rowCount: one.rowCount,
          queryText: expect.stringMatching(/\w{5}/),
          correlationId: id,
          exceptionType: null,
          exceptionMessage: null,
          additionalMetrics: {
            store: one.additionalMetrics.store,
            operation: expect.stringMatching(/^vector\./),
            instanceId: expect.any(String),
            processId: expect.any(Number),
            threadId: expect.any(Number),
          },
        });
      }
      expect(server.log()).toContain(`"CorrelationId":"${id}"`);
    }
    expect([...stored].sort()).toEqual(['postgres', 'sqlite']);
  });
});

describe('the figures of statements', () => {
  it('count what was executed, on all stores', async () => {
    const before = await ask('/performance/enhanced/database/query-performance');
    const readable = ids.filter((id) => !isFailing(id));
    for (const collection of readable)
      for (let i = 0; i < 5; i++) await json(`/ogc/features/collections/${collection}/items?limit=${11 + i}`);
    await ask('/users');
    const after = await ask('/performance/enhanced/database/query-performance');
    const count = (of: typeof before) => of.byQueryType.select.count;
    expect(count(after) - count(before)).toBeGreaterThanOrEqual(5 * readable.length);
    expect(after.byQueryType.state.count).toBeGreaterThan(before.byQueryType.state.count);
    expect(after.totalQueries).toBe(
      Object.values<{ count: number }>(after.byQueryType).reduce((sum, one) => sum + one.count, 0),
    );
    // The list has the statements that took the most time, so that a store can be missing.
    for (const { store } of after.statements) expect(['sqlite', 'postgres', 'state']).toContain(store);
    expect(after.failedQueries).toBeGreaterThan(0);
    expect(after.maxExecutionTimeMs).toBeGreaterThanOrEqual(after.avgExecutionTimeMs);
  });

  it('show that a statement is prepared once and used again', async () => {
    const before = await ask('/performance/database/query-cache/statistics');
    const collection = ids.find((id) => !isFailing(id));
    for (let i = 0; i < 20; i++) await json(`/ogc/features/collections/${collection}/items/2`);
    const after = await ask('/performance/database/query-cache/statistics');
    expect(after.cacheHits).toBeGreaterThan(before.cacheHits);
    expect(after.hitRatio).toBeCloseTo(after.cacheHits / (after.cacheHits + after.cacheMisses), 10);
    expect(after.preparedStatements).toBeGreaterThan(0);
    expect(after.totalStatements).toBeGreaterThanOrEqual(after.cacheHits + after.cacheMisses);
    expect(after.cacheUtilization).toBeGreaterThan(0);
    expect(after.cacheUtilization).toBeLessThanOrEqual(1);
  });
});

describe('Server-Timing', () => {
  const stagesOf = (response: Response) =>
    (response.headers.get('server-timing') ?? '').split(', ').map((stage) => stage.split(';')[0]);

  it('has the stages for callers with a key, and not for others', async () => {
    for (const id of ids.filter((one) => !isFailing(one))) {
      const items = `${server.url}/ogc/features/collections/${id}/items`;
      const keyed = await fetch(`${items}?limit=3`, { headers: headers() });
      expect(stagesOf(keyed)).toEqual(['vector-items', 'queue', 'database', 'encode', 'request']);
      expect(keyed.headers.get('server-timing')).toMatch(
        /queue;dur=\d+(\.\d)?;desc="process \d+ thread \d+", database;dur=\d+(\.\d)?, encode;dur=\d+(\.\d)?, request;desc="\/api\/v1\/admin\/observability\/requests\/[\w-]+"$/,
      );
      expect(stagesOf(await fetch(`${items}?limit=4`))).toEqual(['vector-items']);
      const tile = `${server.url}/ogc/tiles/collections/${id}/tiles/WebMercatorQuad/1/0/0?f=mvt`;
      expect(stagesOf(await fetch(tile, { headers: headers() }))).toEqual([
        ...['vector-tile', 'cache', 'queue', 'database', 'encode', 'request'],
      ]);
      expect(stagesOf(await fetch(tile.replace('/1/0/0', '/1/0/1')))).toEqual(['vector-tile']);
      const map = `${server.url}/ogc/maps/collections/${id}/map?width=32&height=32`;
      expect(stagesOf(await fetch(map, { headers: headers() }))).toContain('render');
      expect(stagesOf(await fetch(`${map}&bgcolor=0xffffff`))).not.toContain('render');
    }
  });
});
