import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';

const ADMIN = '/api/v1/admin';

describe('exports in the audit trail', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer({ sources: ['demo/data/world_map.gpkg'] });
  });
  afterAll(() => server?.stop());

  const send = (path: string, init: RequestInit = {}, key = server.adminKey) =>
    fetch(server.url + path, {
      ...init,
      headers: {
        ...(key === '' ? {} : { 'x-api-key': key }),
        ...(init.body ? { 'content-type': 'application/json' } : {}),
        ...init.headers,
      },
    });
  // biome-ignore lint/suspicious/noExplicitAny: rows are compared member by member
  const rows = async (query: string): Promise<any[]> => {
    const { items } = await (await send(`${ADMIN}/observability/audit?pageSize=500&${query}`)).json();
    return items;
  };
  const exportsNow = async () => (await rows('eventType=DataExport')).length;
  /** The one row that a request adds. */
  async function rowOf(path: string, init: RequestInit = {}, key = server.adminKey) {
    const before = await exportsNow();
    const response = await send(path, init, key);
    expect(response.status, path).toBeLessThan(300);
    const text = await response.text();
    const found = await rows('eventType=DataExport');
    expect(found, path).toHaveLength(before + 1);
    const { details, ...row } = found[0];
    return { ...row, details: JSON.parse(details), text, headers: response.headers };
  }

  it('have one row with format, filter, count and actor', async () => {
    const { collections } = await (await send('/?f=json')).json();
    const { layerId } = collections.find(({ id }: { id: string }) => id === 'countries');
    const layer = await rowOf(
      `${ADMIN}/services/default/layers/${layerId}/export?format=csv&where=NAME%3E%27M%27`,
    );
    const lines = layer.text.trim().split('\n').length - 1;
    expect(lines).toBeGreaterThan(5);
    expect(layer).toMatchObject({ actorType: 'ApiKey', outcome: 'Success', resourceType: 'services' });
    expect(layer.details).toMatchObject({
      ...{ format: 'csv', filter: { where: "NAME>'M'" }, count: lines },
    });

    const trail = await rowOf(
      `${ADMIN}/observability/audit/export?outcome=x&action=auth.signIn`.replace('outcome=x&', ''),
    );
    const signIns = trail.text.trim().split('\n').filter(Boolean);
    expect(signIns.every((line: string) => JSON.parse(line).action === 'auth.signIn')).toBe(true);
    expect(trail.details).toMatchObject({
      ...{ format: 'jsonl', filter: { action: 'auth.signIn', limit: 100_000 }, count: signIns.length },
    });

    const manifest = await rowOf(`${ADMIN}/metadata/manifest`);
    expect(manifest.details.count).toBe(JSON.parse(manifest.text).data.resources.length);
    const usage = await rowOf(`${ADMIN}/tenants/usage`);
    expect(usage.details).toMatchObject({ format: 'json', filter: null, count: 0 });

    const features = await rowOf(
      '/ogc/features/collections/countries/export?f=csv&filter=NAME%3E%27M%27&filter-lang=cql2-text',
    );
    expect(features.details).toMatchObject({ format: 'csv', filter: expect.stringContaining('NAME') });
    expect(features.actor).toBe(layer.actor);

    await send(`${ADMIN}/migration/runs`, {
      method: 'POST',
      body: JSON.stringify({ runId: 'run1', sourceKind: 'geoserver-rest' }),
    });
    expect((await send(`${ADMIN}/migration/runs/run1/scorecard`)).status).toBe(404);
    const [failed] = await rows('eventType=DataExport');
    expect(failed).toMatchObject({ outcome: 'Failure', resourceType: 'migration' });
  });

  it('have a row for the file of a job, and none for a later part of it', async () => {
    const started = await send('/ogc/features/collections/countries/export?f=gpkg', { method: 'POST' });
    expect(started.status).toBe(201);
    const { id, exportId = id } = await started.json();
    const job = `/ogc/features/collections/countries/export/${exportId}`;
    for (;;) {
      const { status } = await (await send(`${job}?f=json`)).json();
      if (status !== 'accepted' && status !== 'running') break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const { details } = await rowOf(`${job}/file`);
    expect(details).toMatchObject({ filter: { job: exportId }, count: 1 });
    const before = await exportsNow();
    expect((await send(`${job}/file`, { headers: { range: 'bytes=100-' } })).status).toBe(206);
    expect((await send(`${job}/file`, { method: 'HEAD' })).status).toBe(200);
    expect(await exportsNow()).toBe(before);
  });

  it('of anonymous clients have at most one row a minute for an address and an operation', async () => {
    const before = await exportsNow();
    for (let n = 0; n < 5; n++)
      expect(
        (await send('/ogc/features/collections/countries/export?f=csv&limit=1', {}, '')).status,
      ).toBeLessThan(500);
    const added = (await exportsNow()) - before;
    expect(added).toBeGreaterThanOrEqual(1);
    // Two if a minute ends between them.
    expect(added).toBeLessThanOrEqual(2);
  });

  it('are recorded when they are refused, as all refusals', async () => {
    const { data } = await (
      await send(`${ADMIN}/api-keys`, {
        method: 'POST',
        body: JSON.stringify({ name: 'weak', permissions: ['admin:jobs:read'] }),
      })
    ).json();
    const { key, apiKey } = data;
    const denied = async () => rows(`outcome=Denied&actor=${apiKey.id}`);
    // A report that changes nothing and exports nothing.
    for (let n = 0; n < 5; n++) expect((await send(`${ADMIN}/observability/logs`, {}, key)).status).toBe(403);
    const reports = await denied();
    expect(reports.length).toBeGreaterThanOrEqual(1);
    expect(reports.length).toBeLessThanOrEqual(2);
    expect(reports[0]).toMatchObject({ eventType: 'Authorization', outcome: 'Denied' });
    expect((await send(`${ADMIN}/observability/audit/export`, {}, key)).status).toBe(403);
    expect((await denied()).length).toBe(reports.length + 1);
    const anonymous = await rows('outcome=Denied&actorType=Anonymous');
    expect((await send(`${ADMIN}/observability/errors`, {}, '')).status).toBe(401);
    expect((await rows('outcome=Denied&actorType=Anonymous')).length).toBe(anonymous.length + 1);
  });
});
