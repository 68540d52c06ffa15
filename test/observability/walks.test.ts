import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { geoPackageStore, sender } from '../edits/support.js';
import { makeServerCertificate } from '../support/certificates.js';
import { fillDisk } from '../support/full-disk.js';
import { freePort } from '../support/ports.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { startServerProcess, type TestServer } from '../support/server.js';
import { until } from '../webhooks/receiver.js';

/** Faults of a server, whose causes the management API names. The guide "Find the cause" has the same walks. */

const ADMIN = '/api/v1/admin';
// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member
type Document = any;

describe('the cause of', () => {
  let folder: string;
  let postgres: TestPostgres;
  let database: pg.Client;
  let onlooker: pg.Client;
  let server: TestServer;
  let deadPort: number;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'graticule-walks-'));
    mkdirSync(join(folder, 'files'));
    copyFileSync('demo/data/world_map.gpkg', join(folder, 'files/world_map.gpkg'));
    postgres = await startPostgres();
    database = new pg.Client(postgres.url);
    await database.connect();
    onlooker = new pg.Client(postgres.url);
    await onlooker.connect();
    await database.query(`CREATE TABLE cars (fid integer PRIMARY KEY, name text, geom geometry(Point, 4326));
      INSERT INTO cars SELECT i, 'car', ST_SetSRID(ST_MakePoint(i, i), 4326) FROM generate_series(1, 50) i;
      CREATE TABLE vans (LIKE cars INCLUDING ALL)`);
    deadPort = await freePort();
    const webhooks = [
      { name: 'erp', url: `http://127.0.0.1:${deadPort}/in`, secret: 'a secret of the receiver' },
    ];
    server = await startServerProcess({
      sources: [join(folder, 'files'), postgres.url],
      args: ['--processes', '2'],
      env: {
        SVC_EVENTS__WEBHOOKS: JSON.stringify(webhooks),
        SVC_REMOTE__ALLOW: '127.0.0.1',
      },
    });
    const cars = `${server.url}/ogc/features/collections/cars`;
    await until(async () => (await fetch(cars)).status === 200);
  }, 120_000);
  afterAll(async () => {
    await server?.stop();
    await database?.end();
    await onlooker?.end();
    await postgres?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const send = (path: string, init: RequestInit = {}, key = server.adminKey) =>
    // Each connection can meet another process.
    fetch(`${server.url}${path}`, {
      ...init,
      headers: { 'x-api-key': key, connection: 'close', ...(init.headers as Record<string, string>) },
    });
  async function ask(path: string): Promise<Document> {
    const response = await send(ADMIN + path);
    expect(response.status).toBe(200);
    return response.json();
  }
  const post = async (path: string, body: object, key?: string): Promise<Document> => {
    const headers = { 'content-type': 'application/json' };
    const response = await send(ADMIN + path, { method: 'POST', headers, body: JSON.stringify(body) }, key);
    return response.json();
  };
  const addCar = (fid: number) =>
    send('/ogc/features/collections/cars/items', {
      method: 'POST',
      headers: { 'content-type': 'application/geo+json' },
      body: JSON.stringify({
        ...{ type: 'Feature', id: fid, properties: { name: 'van' } },
        geometry: { type: 'Point', coordinates: [1, 1] },
      }),
    });
  /** Locks the tables, as a long transaction of another program does. */
  const holdTables = async <T>(work: () => Promise<T>): Promise<T> => {
    await database.query('BEGIN; LOCK TABLE cars, vans IN ACCESS EXCLUSIVE MODE');
    try {
      return await work();
    } finally {
      await database.query('ROLLBACK');
    }
  };

  it('a slow database is a statement of the request', async () => {
    const items = '/ogc/features/collections/cars/items?limit=7';
    // A process that has not read the table before first measures it, and would wait with that.
    const sendAnonymously = (limit: number) =>
      fetch(`${server.url}${items.replace('7', String(limit))}`, { headers: { connection: 'close' } });
    for (let limit = 10; limit < 30; limit++) expect((await sendAnonymously(limit)).status).toBe(200);
    const sendSlowly = (sendNow: () => Promise<Response>) =>
      holdTables(async () => {
        const waiting = sendNow();
        // Statements of the server itself wait for the lock, too.
        await until(async () => {
          const { rows } = await onlooker.query(
            `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"cars"%LIMIT $1%'`,
          );
          return rows.length > 0;
        });
        await new Promise((resolve) => setTimeout(resolve, 700));
        await database.query('ROLLBACK');
        return waiting;
      });
    const response = await sendSlowly(() => send(items));
    const anonymous = await sendSlowly(() => sendAnonymously(6));
    expect(response.status).toBe(200);
    // The header names the stage, the id of the response the statement.
    const timing = response.headers.get('server-timing')!;
    expect(Number(/database;dur=([\d.]+)/.exec(timing)![1])).toBeGreaterThan(400);
    const id = response.headers.get('x-request-id')!;
    const { slowQueries } = await ask('/performance/enhanced/database/slow-queries');
    const own = slowQueries.filter((one: Document) => one.correlationId === id);
    expect(own.length).toBeGreaterThan(0);
    expect(own[0].queryText).toContain('cars');
    expect(own[0].executionTimeMs).toBeGreaterThan(400);
    // The header also has the path of the record, with the stages and the statement.
    const link = /request;desc="([^"]+)"/.exec(timing)![1]!;
    const record = (await (await send(link)).json()) as Document;
    expect(record.requests).toMatchObject([{ requestId: id, statusCode: 200, longestStage: 'database' }]);
    expect(record.requests[0].path).toBe(items.split('?')[0]);
    expect(record.requests[0].durationMs).toBeGreaterThan(400);
    expect(record.slowStatements.length).toBeGreaterThan(0);
    expect(record.slowStatements).toEqual(own);
    expect(record.missingInstances).toEqual([]);
    const page = await (await send(`${link}?f=html`)).text();
    expect(page).toContain('<strong>database</strong>');
    expect(page).toContain('Slow statements');
    // The caller without a key receives no stages, but the operator does.
    expect(anonymous.headers.get('server-timing')).toMatch(/^vector-items;dur=[\d.]+$/);
    const other = await ask(`/observability/requests/${anonymous.headers.get('x-request-id')}`);
    expect(other.requests).toMatchObject([{ actor: 'anonymous', longestStage: 'database' }]);
    const { requests } = await ask('/observability/requests?minDurationMs=400');
    expect(requests.map((one: Document) => one.requestId)).toEqual(
      expect.arrayContaining([id, other.requestId]),
    );
    // A permission is required for the record, and another one for its statements.
    expect((await fetch(`${server.url}${link}`)).status).toBe(401);
    const { data: watch } = await post('/api-keys', {
      name: 'watch',
      permissions: ['admin:observability:read'],
    });
    const seen = (await (await send(link, {}, watch.key)).json()) as Document;
    expect(seen.requests).toEqual(record.requests);
    expect(seen.slowStatements).toBeNull();
    const { data: reader } = await post('/api-keys', { name: 'reader', permissions: ['read:*'] });
    expect((await send(link, {}, reader.key)).status).toBe(403);
    expect((await send(`${ADMIN}/observability/requests/nothing`)).status).toBe(404);
  });

  it('a broken source is in the error, and in the list of sources', async () => {
    const file = join(folder, 'files/world_map.gpkg');
    truncateSync(file, 5000);
    const failed = await send('/ogc/features/collections/countries/items?limit=500');
    expect(failed.status).toBeGreaterThanOrEqual(500);
    const { correlationId } = (await failed.json()) as Document;
    const { errors } = await ask('/observability/errors');
    const own = errors.find((one: Document) => one.correlationId === correlationId);
    expect(own).toMatchObject({
      statusCode: failed.status,
      path: '/ogc/features/collections/countries/items',
    });
    server.reload();
    await until(async () => {
      const { data } = await ask('/sources?state=refused');
      return data.sources.some(
        (one: Document) => one.source.endsWith('world_map.gpkg') && /\w/.test(one.reason),
      );
    });
    copyFileSync('demo/data/world_map.gpkg', file);
    server.reload();
    await until(async () => (await ask('/sources?state=refused')).data.total === 0);
  });

  it('slow tiles is a cold cache, which a person emptied', async () => {
    const tile = '/ogc/tiles/collections/countries/tiles/WebMercatorQuad/2/1/1?f=mvt';
    await until(async () => (await send(tile)).status === 200);
    const { data } = await post('/api-keys', { name: 'bob', permissions: ['admin:cache:write'] });
    expect((await post('/cache/invalidate', { scope: 'all' }, data.key)).success).toBe(true);
    const cold = await send(tile);
    expect(cold.headers.get('server-timing')).toMatch(/(encode|database);/);
    const { items } = await ask('/observability/events?kind=audit&pageSize=20');
    const emptied = items.find(({ title }: Document) => /invalidate/i.test(title));
    expect(emptied.actor).toBe(data.apiKey.id);
  });

  it('an exhausted pool is in the health of the database', async () => {
    const utilization = async () =>
      (await ask('/observability/ops-health')).database.connectionPoolUtilization as number;
    await holdTables(async () => {
      const waiting = ['cars', 'vans'].flatMap((table) =>
        Array.from({ length: 12 }, (_, i) =>
          send(`/ogc/features/collections/${table}/items?limit=${i + 1}`).then((response) => response.text()),
        ),
      );
      // Each table gets a part of the connections, and some are reserved.
      await until(async () => (await utilization()) >= 0.6);
      await database.query('ROLLBACK');
      await Promise.all(waiting);
    });
    await until(async () => (await utilization()) < 0.3);
  });

  it('missing messages is a failing webhook', async () => {
    expect((await addCar(901)).status).toBe(201);
    const deliveries = async () =>
      (await ask('/observability/ops-health')).health.entries.find(
        (one: Document) => one.name === 'deliveries',
      );
    await until(async () => (await deliveries()).status === 'Degraded');
    expect((await deliveries()).description).toMatch(
      /^webhook erp failed \d+ times in a row, 1 messages wait$/,
    );
  });

  it('refused requests is one client', async () => {
    const { data: greedy } = await post('/api-keys', { name: 'greedy', permissions: ['read:*'] });
    const window = { requestsPerWindow: 5, windowDurationSeconds: 60 };
    await post('/rate-limits', { name: 'greedy', scope: 'api-key', key: greedy.apiKey.id, ...window });
    const statuses = [];
    for (let i = 0; i < 30; i++)
      statuses.push((await send('/ogc/features/collections/cars/items?limit=1', {}, greedy.key)).status);
    expect(statuses).toContain(429);
    const { errors } = await ask('/observability/errors');
    const refused = errors.filter(({ statusCode }: Document) => statusCode === 429);
    expect(new Set(refused.map(({ actor }: Document) => actor))).toEqual(new Set([greedy.apiKey.id]));
    const { data: keys } = await ask('/api-keys');
    expect(keys.find(({ id }: Document) => id === greedy.apiKey.id).name).toBe('greedy');
  });
});

describe('the cause of refused connections and wrong times', () => {
  it('is an expired certificate, and a wrong clock', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'graticule-walks-'));
    const { cert, key } = makeServerCertificate(folder, 'maps');
    const postgres = await startPostgres();
    const server = await startServerProcess({
      sources: ['demo/data/world_map.gpkg'],
      ca: readFileSync(cert, 'utf8'),
      env: {
        ...{ SVC_SERVER__TLS__CERT: cert, SVC_SERVER__TLS__KEY: key, SVC_STATE__URL: postgres.url },
        LD_PRELOAD: '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1',
        ...{ FAKETIME: '+3d', FAKETIME_DONT_FAKE_MONOTONIC: '1' },
      },
    });
    try {
      // curl -k connects although the certificate is wrong.
      const text = execFileSync(
        'curl',
        ['-sk', '-H', `X-API-Key: ${server.adminKey}`, `${server.url}${ADMIN}/observability/ops-health`],
        { encoding: 'utf8' },
      );
      const { overallStatus, health } = JSON.parse(text) as Document;
      const entry = (name: string) => health.entries.find((one: Document) => one.name === name);
      expect(overallStatus).toBe('Unhealthy');
      expect(entry('tls-certificate')).toMatchObject({ status: 'Unhealthy' });
      expect(entry('tls-certificate').description).toMatch(/^The TLS certificate expired at \d{4}/);
      expect(entry('clock')).toMatchObject({ status: 'Degraded' });
      expect(entry('clock').description).toMatch(/is 2\d{5} seconds ahead of the clock of the state/);
    } finally {
      await server.stop();
      await postgres.stop();
      rmSync(folder, { recursive: true });
    }
  });
});

it('the cause of refused edits is a full disk', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'graticule-walks-'));
  const dataDir = join(parent, 'data');
  mkdirSync(dataDir);
  const store = geoPackageStore();
  const mount = `mount -t tmpfs -o size=64m tmpfs ${dataDir} && exec "$@"`;
  const server = await startServerProcess({
    sources: store.sources,
    dataDir,
    launcher: ['unshare', '-rm', 'sh', '-c', mount, 'sh'],
  });
  const headers = { 'x-api-key': server.adminKey };
  const disk = async (): Promise<Document> => {
    const health = (await (
      await fetch(`${server.url}${ADMIN}/observability/ops-health`, { headers })
    ).json()) as Document;
    return health.health.entries.find((one: Document) => one.name === 'disk');
  };
  try {
    expect((await disk()).status).toBe('Healthy');
    const filler = `/proc/${server.process.pid}/root${dataDir}/filler`;
    fillDisk(filler);
    const refused = await sender(server.url, server.adminKey)('POST', 'spots/items', {
      ...{ type: 'Feature', geometry: { type: 'Point', coordinates: [1, 2] }, properties: { name: 'a' } },
    });
    expect(refused.status).toBeGreaterThanOrEqual(500);
    await until(async () => (await disk()).status !== 'Healthy');
    expect((await disk()).description).toMatch(/MiB|free/);
    rmSync(filler);
    await until(async () => (await disk()).status === 'Healthy');
  } finally {
    await server.stop();
    await store.release();
    rmSync(parent, { recursive: true, force: true });
  }
});
