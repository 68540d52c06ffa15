import { copyFileSync, mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServerProcess, type TestServer } from '../support/server.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-observed-'));
const FLOOD = 400;
let server: TestServer;

beforeAll(async () => {
  copyFileSync('demo/data/world_map.gpkg', join(folder, 'world_map.gpkg'));
  server = await startServerProcess({
    sources: [folder],
    env: {
      SVC_SERVER__PROCESSES: '2',
      SVC_LOGGING__LEVEL: 'Error',
      SVC_OBSERVABILITY__OTLP_ENDPOINT: 'http://user:Sesame-4711@127.0.0.1:9/otlp?token=Sesame-4711',
    },
  });
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member
async function ask(path: string): Promise<any> {
  // Each connection can meet another gateway.
  const headers = { 'x-api-key': server.adminKey, connection: 'close' };
  const response = await fetch(`${server.url}/api/v1/admin${path}`, { headers });
  expect(response.status).toBe(200);
  return response.json();
}

it('a failed request is found by its id in each process, beside any number of wrong requests', async () => {
  truncateSync(join(folder, 'world_map.gpkg'), 5000);
  const failed = await fetch(`${server.url}/ogc/features/collections/countries/items?limit=500`);
  expect(failed.status).toBeGreaterThanOrEqual(500);
  const { correlationId: id } = (await failed.json()) as { correlationId: string };
  expect(id).toMatch(/\w{8}/);
  for (let i = 0; i < FLOOD; i += 50)
    await Promise.all(
      Array.from({ length: 50 }, async () => (await fetch(`${server.url}/nothing`)).arrayBuffer()),
    );
  const instances = new Set<string>();
  for (let i = 0; i < 12; i++) {
    const { errors, missingInstances } = await ask('/observability/errors');
    expect(missingInstances).toEqual([]);
    expect(errors.map(({ statusCode }: { statusCode: number }) => statusCode)).not.toContain(404);
    const own = errors.filter((one: { correlationId: string }) => one.correlationId === id);
    expect(own).toEqual([
      {
        ...{ timestamp: expect.any(String), statusCode: failed.status, message: expect.stringMatching(/\w/) },
        ...{
          path: '/ogc/features/collections/countries/items',
          correlationId: id,
          actor: 'anonymous',
          remoteIp: '127.0.0.1',
          instanceId: expect.any(String),
        },
      },
    ]);
    const logs = await ask('/observability/logs');
    instances.add(logs.instanceId);
    const line = logs.items.find((one: { correlationId: string }) => one.correlationId === id);
    expect(line).toMatchObject({
      statusCode: failed.status,
      path: own[0].path,
      instanceId: own[0].instanceId,
    });
    expect(line.level).toBe(failed.status === 500 ? 'error' : 'warning');
  }
  expect(instances.size).toBe(2);
  // The log itself has only the lines of its level.
  expect(server.log()).not.toContain('"@l":"Warning"');
});

it('the lines of a request are events, which an investigation can keep', async () => {
  const { errors } = await ask('/observability/errors');
  const [{ correlationId: id }] = errors;
  const { items, partialResult, sourceErrors } = await ask(
    `/observability/events?correlationId=${id}&kind=log`,
  );
  expect({ partialResult, sourceErrors }).toEqual({ partialResult: false, sourceErrors: null });
  expect(items).toHaveLength(1);
  expect(items[0]).toEqual({
    ...{ eventId: expect.stringMatching(/^log:.+\/\d+$/), kind: 'log', severity: expect.any(String) },
    ...{ title: expect.stringContaining('/ogc/features/collections/countries/items') },
    ...{ summary: expect.stringMatching(/\w/), occurredAt: expect.any(String), actor: null, serviceId: null },
    ...{ layerId: null, objectId: null, resourceRef: null, operationId: null, releaseId: null },
    ...{ replicaId: null, changeSetId: null, correlationId: id, requestId: id, detailsJson: null },
    ...{ traceId: expect.stringMatching(/^[0-9a-f]{32}$/), providerLinks: [] },
  });
  expect((await ask(`/observability/events?traceId=${items[0].traceId}`)).items).toEqual(items);
  const send = (path: string, body: object) =>
    fetch(`${server.url}/api/v1/admin${path}`, {
      method: 'POST',
      headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const made = await send('/investigations', { title: 'Broken file' });
  const { investigationId } = (await made.json()) as { investigationId: string };
  const { eventId: eventRef, occurredAt } = items[0];
  const pinned = await send(`/investigations/${investigationId}/pins`, {
    eventKind: 'log',
    eventRef,
    occurredAt,
  });
  const { pins } = (await pinned.json()) as { pins: { copy: { title: string } }[] };
  expect(pins[0]!.copy.title).toBe(items[0].title);
  // The investigation itself is in the audit trail.
  const { items: audited } = await ask('/observability/events?kind=audit&minSeverity=notice&pageSize=2');
  expect(audited.map(({ title }: { title: string }) => title)).toEqual([
    'admin.investigations.pinEventToInvestigation: Success',
    'admin.investigations.createInvestigation: Success',
  ]);
});

it('exceptions have statistics and their stacks', async () => {
  const { totalCount, exceptions } = await ask('/performance/enhanced/exceptions/recent?maxCount=500');
  expect(totalCount).toBe(exceptions.length);
  expect(totalCount).toBeGreaterThan(0);
  for (const one of exceptions) expect(one.stackTrace).toContain(one.message);
  const statistics = await ask('/performance/enhanced/exceptions/statistics');
  expect(statistics.totalExceptions).toBeGreaterThanOrEqual(totalCount);
  const bySeverity: Record<string, number> = statistics.bySeverity;
  const { exceptions: medium } = await ask(
    '/performance/enhanced/exceptions/recent?severity=medium&maxCount=500',
  );
  expect(medium).toEqual(
    exceptions.filter((one: { classification: { severity: number } }) => one.classification.severity === 2),
  );
  expect(bySeverity['Medium']).toBeGreaterThanOrEqual(medium.length);
});

it('the state of telemetry and migrations is told without secrets', async () => {
  expect(await ask('/observability/telemetry')).toEqual({
    ...{ tracingEnabled: true, otlpConfigured: true, otlpEndpoint: 'http://127.0.0.1:9/otlp' },
  });
  expect(await ask('/observability/migrations')).toEqual({
    ...{ status: 'current', isReady: true, isFailed: false, planAvailable: true, upgradeRequired: false },
    ...{ pendingScripts: [], executedButNotDiscoveredScripts: [], planError: null, message: null },
    generatedAt: expect.any(String),
  });
});
