import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { type Json, ProcessClient } from './support.js';

/** Features that a test sends when it wants to. */
let requests: ServerResponse[] = [];
const remote = createServer((_, response) => requests.push(response));
const POINT = {
  type: 'FeatureCollection',
  features: [{ type: 'Feature', geometry: { type: 'Point', coordinates: [1, 2] }, properties: {} }],
};

let server: TestServer;
let admin: ProcessClient;

beforeAll(async () => {
  await new Promise<void>((resolve) => remote.listen(0, '127.0.0.1', resolve));
  server = await startServer({
    sources: ['demo/data/world_map.gpkg'],
    env: { SVC_REMOTE__ALLOW: '127.0.0.1' },
  });
  admin = new ProcessClient(server);
});
afterAll(async () => {
  remote.closeAllConnections();
  remote.close();
  await server?.stop();
});

async function manage(path: string, body: object = {}): Promise<Json> {
  const response = await fetch(`${server.url}/api/v1/admin${path}`, {
    method: 'POST',
    headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBeLessThan(300);
  return (await response.json().catch(() => ({}))).data;
}

const href = () => `http://127.0.0.1:${(remote.address() as AddressInfo).port}/points.geojson`;
const step = (stepId: string, processId: string, inputs: Json) => ({
  ...{ kind: 'geoprocess', stepId, processId, inputs },
});

/** Starts an execution that waits for the remote features, does something, sends them, and returns how the job ended. */
async function runWhile(
  work: (keyId: string) => Promise<unknown>,
  process: string,
  body: Json,
): Promise<Json> {
  const { apiKey, key } = await manage('/api-keys', {
    name: 'runner',
    permissions: ['processes:execute', 'processes:read', 'admin:import:write', 'read:*'],
  });
  requests = [];
  const client = new ProcessClient({ url: server.url, adminKey: key });
  const response = await client.execute(process, body);
  expect(response.status).toBe(201);
  const { jobID } = (await response.json()) as Json;
  await expect.poll(() => requests.length, { timeout: 60_000 }).toBeGreaterThan(0);
  await work(apiKey.id);
  for (const one of requests) {
    one.setHeader('content-type', 'application/geo+json');
    one.end(JSON.stringify(POINT));
  }
  return admin.ended(jobID);
}

const revoke = (id: string) => manage(`/api-keys/${id}/revoke`);

it('a plan whose key is revoked runs no further step', async () => {
  const steps = [
    step('a', 'geometry.centroid', { features: { href: href() } }),
    step('b', 'analytics.nearest', {
      features: 'a.features',
      near: { collection: 'countries' },
    }),
  ];
  const body = { inputs: { plan: { planId: 'p', steps } } };
  const done = await runWhile(async () => undefined, 'svc-geoprocessing', body);
  expect([done.status, done.message]).toEqual(['successful', expect.any(String)]);
  const { status, message } = await runWhile(revoke, 'svc-geoprocessing', body);
  expect([status, message]).toEqual(['failed', 'runner no longer has access.']);
});

it('a process whose key is revoked publishes nothing', async () => {
  const body = {
    inputs: { features: { href: href() } },
    outputs: { features: { publish: { collection: 'after_revocation' } } },
  };
  const { status, message } = await runWhile(revoke, 'geometry.centroid', body);
  expect([status, message]).toEqual(['failed', 'runner no longer has access.']);
  expect((await admin.get('/ogc/features/collections/after_revocation')).status).toBe(404);
});
