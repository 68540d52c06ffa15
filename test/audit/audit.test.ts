import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { STREAM_LIMITS } from '../../src/core/streams/limits.js';
import { auditEvent } from '../../src/gateway/audit/admin/audit-trail.js';
import { RefusalCounts } from '../../src/gateway/audit/admin/refusal-counts.js';
import { AuditScope, auditResource, inAuditScope } from '../../src/stores/audit/audit-scope.js';
import { type AdminHarness, adminHarness } from '../admin/support/admin.js';
import { type EditableStore, geoPackageStore } from '../edits/support.js';
import { startServer, type TestServer } from '../support/server.js';
import { describeStates, type TemporaryState } from '../support/state.js';

const key = (id: string) => ({
  id,
  name: id,
  prefix: 'grt_',
  hash: id,
  permissions: [],
  createdAt: 1,
  createdBy: null,
  updatedAt: 1,
  expiresAt: null,
  lastUsedAt: null,
  rotatedAt: null,
  revokedAt: null,
});

describeStates('an audit row in the transaction of its change', (temporary, database) => {
  let api: AdminHarness;
  let t: TemporaryState;
  beforeEach(async () => {
    api = await adminHarness(temporary);
    t = api;
  });
  afterEach(() => api.close());

  const scope = () => {
    const operation = api.operations.find((o) => o.path.endsWith('/api-keys') && o.method === 'POST')!;
    const principal = { kind: 'api-key' as const, id: 'me', name: 'me', permissions: [] };
    const request = {
      operation,
      principal,
      path: operation.path,
      correlationId: 'c1',
      remoteIp: '192.0.2.1',
      userAgent: 'test',
    };
    return new AuditScope(({ resourceId, details }) =>
      auditEvent(request, { status: 201, resourceId, details }),
    );
  };

  it('is there with the change, and names what was created', async () => {
    await inAuditScope(scope(), () => t.state.apiKeys.add(key('k1')));
    const [row, ...others] = await t.state.audit.list({ limit: 10 });
    expect(others).toEqual([]);
    expect(row).toMatchObject({
      resource_id: 'k1',
      outcome: 'Success',
      remote_ip: '192.0.2.1',
      user_agent: 'test',
    });
    expect(await t.state.audit.verify()).toEqual({ rowsChecked: 1 });
  });

  it('undoes the change when the row cannot be written', async () => {
    await t.run(
      database === 'SQLite'
        ? `CREATE TRIGGER no_audit BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no'); END`
        : 'CREATE TRIGGER no_audit BEFORE INSERT ON audit EXECUTE FUNCTION refuse_change()',
    );
    await expect(inAuditScope(scope(), () => t.state.apiKeys.add(key('k1')))).rejects.toThrow();
    expect(await t.state.apiKeys.get('k1')).toBeUndefined();
    const job = { kind: 'import', input: {}, owner: 'me', maxAttempts: 3, resources: [] };
    await expect(inAuditScope(scope(), () => t.state.jobs.add(job))).rejects.toThrow();
    expect(await t.state.jobs.list({ limit: 10 })).toEqual([]);
    await t.run(database === 'SQLite' ? 'DROP TRIGGER no_audit' : 'DROP TRIGGER no_audit ON audit');
    // The connection is usable: nothing of the failed transactions is left open.
    await t.state.apiKeys.add(key('k2'));
    expect(await t.state.apiKeys.get('k2')).toBeDefined();
  });

  it('is written once, by the first change, and not by work that goes on after the answer', async () => {
    const one = scope();
    let later: () => Promise<unknown> = async () => {};
    await inAuditScope(one, async () => {
      await t.state.apiKeys.add(key('k1'));
      await t.state.apiKeys.add(key('k2'));
      later = () => t.state.apiKeys.add(key('k3'));
    });
    expect(one.end()).toBe(true);
    await inAuditScope(one, later as () => Promise<unknown>);
    expect(await t.state.audit.list({ limit: 10 })).toHaveLength(1);
  });

  it('is not written for a statement that changes nothing', async () => {
    const one = scope();
    await inAuditScope(one, () => t.state.apiKeys.revoke('nobody', 1));
    expect(one.end()).toBe(false);
    expect(await t.state.audit.list({ limit: 10 })).toEqual([]);
  });

  it('keeps the chain whole among many writers', async () => {
    const event = auditEvent(
      {
        operation: api.operations[0]!,
        principal: { kind: 'anonymous', id: 'anonymous', name: '', permissions: [] },
        path: '/',
        correlationId: 'c',
        remoteIp: '',
        userAgent: undefined,
      },
      { status: 200 },
    );
    await Promise.all([
      ...Array.from({ length: 300 }, () => t.state.audit.append(event)),
      ...Array.from({ length: 30 }, (_, n) => inAuditScope(scope(), () => t.state.apiKeys.add(key(`k${n}`)))),
    ]);
    expect(await t.state.audit.verify()).toEqual({ rowsChecked: 330 });
  });

  it('is nothing outside of a request', () => {
    expect(() => auditResource('x')).not.toThrow();
  });

  it('bounds the rows of refusals, and counts repetitions for each caller', () => {
    let now = 0;
    const written: [string, number][] = [];
    const counts = new RefusalCounts<string>(
      (subject, repeated) => written.push([subject, repeated]),
      () => now,
    );
    const take = (key: string) => counts.take(key, `request of ${key}`);
    expect(take('a')).toBe(0);
    expect([take('a'), take('a')]).toEqual([undefined, undefined]);
    expect(take('b')).toBe(0);
    expect(take('b')).toBeUndefined();
    let taken = 2;
    for (let n = 0; n < 1000; n++) if (take(`other ${n}`) !== undefined) taken += 1;
    expect(taken).toBe(STREAM_LIMITS.refusalsPerMinute);
    now = 60_000;
    // The row has the repetitions of its caller, and the events that got no row at all.
    expect(take('a')).toBe(2 + 1002 - taken);
    expect(written).toEqual([]);
    counts.flush();
    expect(written).toEqual([['request of b', 1]]);
    now = 120_000;
    counts.flush();
    expect(written).toHaveLength(1);
  });
});

describe('the audit trail of a server', () => {
  let server: TestServer;
  let store: EditableStore;
  beforeAll(async () => {
    store = geoPackageStore();
    server = await startServer({ sources: store.sources });
  }, 90_000);
  afterAll(async () => {
    await server?.stop();
    await store?.release();
  });

  const admin = (path: string, init: RequestInit = {}) =>
    fetch(`${server.url}/api/v1/admin${path}`, {
      ...init,
      headers: {
        'x-api-key': server.adminKey,
        'content-type': 'application/json',
        'user-agent': 'auditor/1',
        ...init.headers,
      },
    });
  interface Entry {
    action: string;
    [member: string]: unknown;
  }
  const entries = async (query: string) =>
    ((await (await admin(`/observability/audit?${query}`)).json()) as { items: Entry[] }).items;
  const createKey = (permissions: string[]) =>
    admin('/api-keys', { method: 'POST', body: JSON.stringify({ name: 'k', permissions }) });

  it('names who, from where, with what, and what was created', async () => {
    const answer = await createKey(['admin:read']);
    const { data } = (await answer.json()) as { data: { apiKey: { id: string } } };
    const [entry] = await entries('action=admin.apiKeys.createAdminApiKey&pageSize=1');
    expect(entry).toMatchObject({
      resourceId: data.apiKey.id,
      outcome: 'Success',
      actorType: 'ApiKey',
      remoteIp: '127.0.0.1',
      userAgent: 'auditor/1',
    });
  });

  it('has the refusals of what is audited, once a minute for an address', async () => {
    for (let n = 0; n < 5; n++)
      await fetch(`${server.url}/api/v1/admin/api-keys`, { method: 'POST', body: '{}' });
    await expect
      .poll(() => entries('action=admin.apiKeys.createAdminApiKey&outcome=Denied'))
      .toMatchObject([{ eventType: 'Authentication', actorType: 'Anonymous', remoteIp: '127.0.0.1' }]);
  });

  it('has failures of callers without credentials once a minute, and no sign-out of nobody', async () => {
    const signIn = () =>
      fetch(`${server.url}/account/sign-in`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'nobody', password: 'a wrong password' }),
      });
    for (let n = 0; n < 4; n++) {
      expect((await signIn()).status).toBe(401);
      expect((await fetch(`${server.url}/account/sign-out`, { method: 'POST' })).status).toBe(204);
    }
    // An attempt of another minute may have a row of its own.
    await expect.poll(async () => (await entries('action=account.signIn')).length).toBeGreaterThan(0);
    expect((await entries('action=account.signIn')).length).toBeLessThan(3);
    expect(await entries('action=account.signOut')).toEqual([]);
  });

  it('has credentials that are not valid, wherever they are presented', async () => {
    await fetch(`${server.url}/ogc/features`, { headers: { 'x-api-key': 'wrong' } });
    await expect
      .poll(async () => (await entries('eventType=Authentication&outcome=Denied')).length)
      .toBeGreaterThan(1);
  });

  it('has sign-ins, once per key and way of presenting it', async () => {
    const basic = Buffer.from(`someone:${server.adminKey}`).toString('base64');
    for (let n = 0; n < 3; n++)
      await fetch(`${server.url}/api/v1/admin/version`, { headers: { authorization: `Basic ${basic}` } });
    await expect
      .poll(async () =>
        (await entries('action=auth.signIn')).map(({ details }) => JSON.parse(String(details)).scheme),
      )
      .toEqual(expect.arrayContaining(['api-key', 'basic']));
    const schemes = (await entries('action=auth.signIn')).map(
      ({ details }) => JSON.parse(String(details)).scheme,
    );
    expect(schemes.filter((scheme) => scheme === 'basic').length).toBeLessThanOrEqual(2);
  });

  it('has edits of features with their ids', async () => {
    const items = `${server.url}/ogc/features/collections/parcels/items`;
    const headers = { 'x-api-key': server.adminKey, 'content-type': 'application/geo+json' };
    const feature = JSON.stringify({
      type: 'Feature',
      geometry: {
        type: 'MultiPolygon',
        coordinates: [
          [
            [
              [7, 50],
              [7.001, 50],
              [7.001, 50.001],
              [7, 50],
            ],
          ],
        ],
      },
      properties: { name: 'audited' },
    });
    const made = await fetch(items, { method: 'POST', headers, body: feature });
    expect([made.status, await made.clone().text()]).toEqual([201, expect.any(String)]);
    const location = new URL(made.headers.get('location')!, server.url).href;
    const id = location.slice(location.lastIndexOf('/') + 1);
    expect((await fetch(location, { method: 'DELETE', headers })).status).toBe(204);
    expect(await entries('resourceType=features&pageSize=2')).toMatchObject([
      { action: 'features.deleteItem', eventType: 'DataDelete', resourceId: `parcels/${id}` },
      { action: 'features.createItem', outcome: 'Success', resourceId: `parcels/${id}` },
    ]);
    expect((await fetch(items, { method: 'POST', body: feature })).status).toBe(401);
  });

  it('is whole', async () => {
    expect(await (await admin('/observability/audit/verify')).json()).toMatchObject({ verified: true });
  });

  it('grants nothing by permissions that mean nothing', async () => {
    const answer = await createKey(['admin:jbos:read', 'read', 'write:a b', ':*', '*:*', '/']);
    expect(answer.status).toBe(201);
    const { data } = (await answer.json()) as { data: { key: string } };
    for (const path of ['jobs', 'api-keys', 'roles', 'connections'])
      expect(
        (await fetch(`${server.url}/api/v1/admin/${path}`, { headers: { 'x-api-key': data.key } })).status,
      ).toBe(403);
  });

  it.each(['write:default/parcels', 'write:default', 'write:parcels', 'features:write'])(
    'lets a key with %s write',
    async (permission) => {
      const { data } = (await (await createKey([permission])).json()) as { data: { key: string } };
      const headers = { 'x-api-key': data.key, 'content-type': 'application/geo+json' };
      const items = `${server.url}/ogc/features/collections/parcels/items`;
      const answer = await fetch(`${items}/999999`, { method: 'DELETE', headers });
      expect(answer.status).toBe(404);
      const other = await createKey(['write:default/roads']);
      const { data: wrong } = (await other.json()) as { data: { key: string } };
      const refused = await fetch(`${items}/999999`, {
        method: 'DELETE',
        headers: { 'x-api-key': wrong.key },
      });
      expect(refused.status).toBe(403);
    },
  );

  it('finds no fault with the secrets of a default server but the short ones that are set', async () => {
    expect(await (await admin('/configuration/secrets/validate')).json()).toEqual({
      totalSecrets: 1,
      validSecrets: 1,
      invalidSecrets: 0,
      issues: [],
    });
  });
});
