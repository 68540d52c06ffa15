import pg from 'pg';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { taskHosts } from '../support/processes.js';
import { startServerProcess, type TestServer } from '../support/server.js';
import { type Json, ProcessClient } from './support.js';

/** Jobs whose work PostGIS does. */

let postgres: TestPostgres;
let sql: pg.Client;
let server: TestServer;
let client: ProcessClient;

/** Circles that overlap: to compare all of them takes minutes. */
const TABLES = `CREATE EXTENSION IF NOT EXISTS postgis;
  CREATE TABLE plots (id int PRIMARY KEY, geom geometry(Polygon, 3857), zone text, secret text, size int);
  INSERT INTO plots SELECT i, ST_SetSRID(ST_MakeEnvelope(i, 0, i + 3, 3), 3857), 'zone ' || i % 3, 'secret ' || i, i
    FROM generate_series(1, 90) i;
  CREATE INDEX ON plots USING gist (geom);
  CREATE TABLE circles (id int PRIMARY KEY, geom geometry(Polygon, 3857));
  INSERT INTO circles SELECT i, ST_SetSRID(ST_Buffer(ST_Point(sin(i), cos(i)), 5 + sin(i * i), 100), 3857)
    FROM generate_series(1, 4000) i;
  CREATE INDEX ON circles USING gist (geom);
  CREATE TABLE pace (seconds float8);
  INSERT INTO pace VALUES (0);
  CREATE VIEW slow AS SELECT p.* FROM plots p, pace WHERE pg_sleep(seconds + 0 * p.size) IS NOT NULL;`;

beforeAll(async () => {
  postgres = await startPostgres();
  sql = new pg.Client({ connectionString: postgres.url });
  await sql.connect();
  await sql.query(TABLES);
  server = await startServerProcess({ sources: [postgres.url] });
  client = new ProcessClient(server);
});
afterAll(async () => {
  await server?.stop();
  await sql?.end();
  await postgres?.stop();
});

async function logOf(id: string): Promise<string[]> {
  const { items } = await client.json(`/api/v1/admin/jobs/${id}/logs`);
  return items.map(({ message }: Json) => message);
}

it('says what is pushed down, and why something is not', async () => {
  const features = { collection: 'plots', filter: 'size > 30' };
  const pushed = await client.run('analytics.summary-statistics', {
    inputs: { features, groupBy: ['zone'] },
  });
  expect(await logOf(pushed.jobID)).toEqual(
    expect.arrayContaining([
      'Pushed down into PostGIS as one statement: GROUP BY.',
      '3 rows came from the database, 3 written.',
    ]),
  );
  const own = await client.run('geometry.dissolve', { inputs: { features } });
  expect(await logOf(own.jobID)).toEqual(
    expect.arrayContaining([
      'Not pushed down into PostGIS: it takes less work here.',
      '60 features were read, 1 written.',
    ]),
  );
  const { features: rows } = (await client.json(`/ogc/processes/jobs/${pushed.jobID}/results`)).features;
  expect(rows.map(({ properties }: Json) => [properties.zone, properties.featureCount])).toEqual([
    ['zone 1', 20],
    ['zone 2', 20],
    ['zone 0', 20],
  ]);
});

const admin = async (method: string, path: string, body: unknown): Promise<Json> => {
  const response = await fetch(`${server.url}/api/v1/admin${path}`, {
    method,
    headers: { authorization: `Bearer ${server.adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  expect([path, response.ok, text]).toEqual([path, true, text]);
  return JSON.parse(text).data;
};

it('keeps to the rows and the masks of who executes', async () => {
  await admin('POST', '/roles', { name: 'limited' });
  const rule = { service: 'default', layer: 'plots', role: 'limited' };
  await admin('POST', '/rls-policies', { ...rule, attribute: 'zone', claimType: 'zone' });
  await admin('POST', '/field-mask-policies', { ...rule, attribute: 'secret', treatment: 'hash' });
  const permissions = ['role:limited', 'claim:zone=zone 1', 'processes:execute', 'processes:read'];
  const { key } = await admin('POST', '/api-keys', { name: 'limited', permissions });
  const limited = new ProcessClient({ url: server.url, adminKey: key });
  const features = { collection: 'plots' };
  const near = { features, near: features, count: 2, unit: 'crs' };
  const { jobID } = await limited.run('analytics.nearest', { inputs: near });
  expect(await logOf(jobID)).toContain(
    'Pushed down into PostGIS as one statement: JOIN LATERAL, ordered by <->.',
  );
  const { features: rows } = (await limited.json(`/ogc/processes/jobs/${jobID}/results`)).features;
  expect(rows).toHaveLength(60);
  for (const { properties } of rows) {
    expect([properties.zone, properties.zone_]).toEqual(['zone 1', 'zone 1']);
    expect([properties.secret, properties.secret_]).toEqual([
      expect.stringMatching(/^[0-9a-f]{16}$/),
      expect.stringMatching(/^[0-9a-f]{16}$/),
    ]);
  }
  const hidden = { features, statistics: [{ type: 'max', field: 'secret' }] };
  expect((await limited.execute('analytics.summary-statistics', { inputs: hidden })).status).toBe(400);
});

const PUSHED = `SELECT count(*)::int AS n FROM pg_stat_activity
  WHERE state = 'active' AND query ~ 'LATERAL|HAVING' AND pid <> pg_backend_pid()`;

const statements = async (): Promise<number> => (await sql.query(PUSHED)).rows[0].n;

async function begin(id: string, inputs: Json): Promise<string> {
  const response = await client.execute(id, { inputs });
  expect(response.status).toBe(201);
  const { jobID } = (await response.json()) as Json;
  await vi.waitFor(async () => expect(await statements()).toBe(1), 20_000);
  return jobID;
}

it('ends the statement when the job is dismissed', async () => {
  const features = { collection: 'circles' };
  const id = await begin('analytics.spatial-join', { features, join: features, mode: 'count' });
  expect((await client.dismiss(id)).status).toBe(200);
  await vi.waitFor(async () => expect(await statements()).toBe(0), 5000);
  expect((await client.ended(id)).status).toBe('dismissed');
});

it('ends a statement that sends nothing when its process is killed', async () => {
  await sql.query('UPDATE pace SET seconds = 2');
  const id = await begin('analytics.summary-statistics', { features: { collection: 'slow' } });
  for (const pid of taskHosts(server.process.pid!)) process.kill(pid, 'SIGKILL');
  expect((await client.ended(id)).status).toBe('failed');
  await vi.waitFor(async () => expect(await statements()).toBe(0), 10_000);
});
