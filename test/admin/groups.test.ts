import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { auditEvent } from '../../src/gateway/audit/admin/audit-trail.js';
import { type AdminHarness, adminHarness } from './support/admin.js';

const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

describe('management API', () => {
  let api: AdminHarness;
  beforeEach(async () => {
    api = await adminHarness();
  });
  afterEach(() => api.close());

  it('passes the compatibility gate of clients', async () => {
    const { body } = await api.call('GET /capabilities');
    expect(body).toMatchObject({ success: true, timestamp: ISO });
    expect(body.data.compatibility).toMatchObject({
      serverVersion: '2026.3.0',
      releaseChannel: 'preview',
      controlPlaneApi: { major: 1, basePath: '/api/v1/admin', deprecated: false },
    });
    const version = await api.call('GET /version');
    expect(version.body.data).toEqual({ version: '2026.3.0', metadataApiVersion: 'v1', serverTime: ISO });
  });

  it('serves its interface document', async () => {
    const { body, mediaType } = await api.call('GET /openapi.json', { query: { f: 'json' } });
    expect(mediaType).toBe('application/vnd.oai.openapi+json');
    expect(body).toEqual({ openapi: '3.0.3' });
    await expect(api.call('GET /openapi.json', { query: { f: 'yaml' } })).rejects.toMatchObject({
      status: 400,
    });
  });

  it('answers 501 by name for what is not built', async () => {
    await expect(api.call('GET /network-datasets')).rejects.toMatchObject({
      status: 501,
      message: expect.stringContaining('List Network Datasets (GET /api/v1/admin/network-datasets)'),
    });
  });

  describe('API keys', () => {
    it('creates, lists, rotates and revokes; the key is shown once', async () => {
      const made = await api.call('POST /api-keys', { body: { name: 'ci', permissions: ['admin:read'] } });
      expect(made.status).toBe(201);
      const { apiKey, key } = made.body.data;
      expect(apiKey).toEqual({
        id: expect.any(String),
        name: 'ci',
        keyPrefix: key.slice(0, 12),
        permissions: ['admin:read'],
        status: 'active',
        createdAt: ISO,
        createdBy: 'api-key:key-1',
        updatedAt: ISO,
        expiresAt: null,
        lastUsedAt: null,
        rotatedAt: null,
        revokedAt: null,
      });
      const path = { id: apiKey.id };
      const rotated = await api.call('POST /api-keys/{id}/rotate', { path });
      expect(rotated.body.data.key).not.toBe(key);
      expect(rotated.body.data.apiKey.rotatedAt).toEqual(ISO);
      const revoked = await api.call('POST /api-keys/{id}/revoke', { path });
      expect(revoked.body.data).toMatchObject({ status: 'revoked', revokedAt: ISO });
      const effective = await api.call('GET /api-keys/{id}/effective-permissions', { path });
      expect(effective.body.data).toEqual({
        id: apiKey.id,
        name: 'ci',
        status: 'revoked',
        permissions: ['admin:read'],
        canAuthenticate: false,
      });
      const list = await api.call('GET /api-keys');
      expect(list.body.data).toHaveLength(1);
      expect(JSON.stringify(list.body)).not.toContain(key.slice(12));
    });

    it.each([
      [{}, 'required'],
      [{ name: '' }, "name: must have 1 to 200 characters; received ''."],
      [{ name: 'x', permissions: 'all' }, 'array'],
      [{ name: 'x', expiresAt: 'tomorrow' }, 'date-time'],
      [{ name: 'x', expiresAt: '2001-01-01T00:00:00Z' }, 'future'],
    ])('refuses %j', async (body, message) => {
      const failing = api.call('POST /api-keys', { body });
      await expect(failing).rejects.toMatchObject({ status: 400, message: expect.stringContaining(message) });
    });

    it('lets nobody give away what they do not hold', async () => {
      const principal = {
        kind: 'api-key' as const,
        id: 'k',
        name: 'k',
        permissions: ['admin:api-keys:write'],
      };
      const stronger = api.call('POST /api-keys', { principal, body: { name: 'x', permissions: ['*'] } });
      await expect(stronger).rejects.toMatchObject({ status: 403 });
      const { key } = await api.auth.keys.create({ name: 'root', permissions: ['*'] }, 'me');
      const taken = api.call('POST /api-keys/{id}/rotate', { principal, path: { id: key.id } });
      await expect(taken).rejects.toMatchObject({ status: 403 });
      const weaker = { principal, body: { name: 'x', permissions: ['admin:api-keys:read'] } };
      expect((await api.call('POST /api-keys', weaker)).status).toBe(201);
    });

    it('answers 404 for an unknown key', async () => {
      for (const route of [
        'POST /api-keys/{id}/rotate',
        'POST /api-keys/{id}/revoke',
        'GET /api-keys/{id}/effective-permissions',
      ]) {
        await expect(api.call(route, { path: { id: 'nope' } })).rejects.toMatchObject({ status: 404 });
      }
    });
  });

  describe('cache', () => {
    it.each([
      [{ scope: 'all' }, { kind: 'all' }],
      [{ scope: 'ogc-metadata' }, { kind: 'metadata' }],
      [
        { scope: 'collection', collectionId: 'roads' },
        { kind: 'collection', collectionId: 'roads' },
      ],
      [
        { scope: 'layer', serviceId: 's', layerId: 3 },
        { kind: 'layer', serviceId: 's', layerId: 3 },
      ],
      [
        { scope: 'service', serviceId: 's' },
        { kind: 'service', serviceId: 's' },
      ],
    ])('invalidates %j', async (body, scope) => {
      const { body: reply } = await api.call('POST /cache/invalidate', { body });
      expect(reply.data).toMatchObject({ success: true, scope: body.scope, timestamp: ISO });
      expect(api.invalidated).toEqual([scope]);
    });

    it.each([
      {},
      { scope: 'world' },
      { scope: 'collection' },
      { scope: 'layer', layerId: 1 },
      { scope: 'layer', serviceId: 's' },
    ])('refuses to invalidate %j', async (body) => {
      await expect(api.call('POST /cache/invalidate', { body })).rejects.toMatchObject({ status: 400 });
      expect(api.invalidated).toEqual([]);
    });

    it.each([
      [{ keyPattern: 'a*', scope: 'all' }, { kind: 'pattern', pattern: 'a*' }, 'pattern'],
      [{ layerId: 3 }, { kind: 'layer', layerId: 3 }, 'layer'],
      [{ serviceId: 's' }, { kind: 'service', serviceId: 's' }, 'service'],
      [{ scope: 'ogc-metadata' }, { kind: 'metadata' }, 'ogc-metadata'],
    ])('invalidates %j for operators', async (body, scope, name) => {
      const reply = await api.call('POST /operations/cache/invalidate', { body });
      expect(reply.body.data).toMatchObject({ invalidated: true, scope: name });
      expect(api.invalidated).toEqual([scope]);
    });

    it('tells figures as they are', async () => {
      expect((await api.call('GET /cache/status')).body.data).toMatchObject({
        isHealthy: true,
        isUsingFallback: false,
      });
      const { body } = await api.call('GET /operations/cache/statistics');
      expect(body.data).toMatchObject({
        hits: 3,
        misses: 1,
        hitRatio: 0.75,
        missRatio: 0.25,
        localKeyCount: 3,
      });
      expect((await api.call('GET /operations/cache/health')).body.data).toMatchObject({
        cacheEnabled: true,
      });
      await expect(api.call('POST /operations/cache/invalidate', { body: {} })).rejects.toMatchObject({
        status: 400,
      });
    });

    it('tells what it saves', async () => {
      expect((await api.call('GET /performance/enhanced/cache/statistics')).body).toMatchObject({
        totalRequests: 4,
        cacheHits: 3,
        totalTimeSavedMs: 60,
        avgMissExecutionTimeMs: 20,
        byQueryType: { tile: { requests: 4, hits: 3 } },
      });
    });

    it('tells which of them are worth their memory', async () => {
      const { body } = await api.call('GET /performance/enhanced/cache/effectiveness');
      const item = {
        key: 'mvt/roads',
        accessCount: 3,
        hitRatio: 0.75,
        avgExecutionTimeMs: 20,
        memoryBytes: 300,
        lastAccessed: '2026-01-02T03:04:05.000Z',
      };
      const { evictions } = api.figures;
      expect(body).toEqual({
        topAccessedKeys: [item],
        lowEfficiencyKeys: [],
        largestItems: [item],
        evictionMetrics: {
          totalEvictions: evictions + 5,
          expirationEvictions: 2,
          memoryPressureEvictions: evictions,
          manualEvictions: 3,
        },
      });
    });

    it('invalidates results by pattern', async () => {
      const route = 'DELETE /performance/enhanced/cache/invalidate';
      const { body } = await api.call(route, { query: { pattern: 'mvt/*' } });
      expect(body).toMatchObject({ pattern: 'mvt/*', entriesInvalidated: 2, invalidatedAt: ISO });
      expect(api.invalidated).toEqual([{ kind: 'pattern', pattern: 'mvt/*' }]);
      await expect(api.call(route)).rejects.toMatchObject({ status: 400 });
    });
  });

  it('documents the configuration without giving secrets away', async () => {
    const config = (await api.call('GET /config')).body;
    expect(config).toMatchObject({ version: '2026.3.0', environment: 'test' });
    const names = config.sections.map((section: { name: string }) => section.name);
    expect(names).toEqual(['server', 'security']);
    expect(config.sections[0].properties[0]).toMatchObject({
      name: 'port',
      currentValue: 8080,
      source: 'flag',
    });
    const replies = [
      'config',
      'configuration/metadata',
      'configuration/auto-documentation',
      'configuration/summary',
    ];
    for (const path of replies) {
      expect(JSON.stringify((await api.call(`GET /${path}`)).body)).not.toContain('topsecret');
    }
    expect((await api.call('GET /configuration/summary')).body).toMatchObject({
      totalTypes: 2,
      totalProperties: 3,
      secretProperties: 1,
      totalSecrets: 1,
      invalidSecrets: 1,
    });
    expect((await api.call('GET /configuration/secrets/validate')).body.issues).toMatchObject([
      { secretReference: 'security.adminKey', severity: 'warning' },
    ]);
    expect((await api.call('GET /configuration/audit')).body).toMatchObject({
      totalConfigurationKeys: 3,
      configurationSources: { flag: 1, default: 1, environment: 1 },
    });
  });

  describe('audit trail', () => {
    async function record(status: number, id = 'k1') {
      const operation = api.operations.find((o) => o.path.endsWith('/api-keys/{id}/revoke'))!;
      const path = operation.path.replace('{id}', id);
      const principal = { kind: 'api-key' as const, id: 'me', name: 'me', permissions: [] };
      const request = {
        operation,
        principal,
        path,
        correlationId: 'c=1|2',
        remoteIp: '',
        userAgent: undefined,
      };
      await api.state.audit.append(auditEvent(request, { status }));
    }

    it('is listed newest first, page by page, and filtered', async () => {
      for (const status of [200, 404, 403, 200, 200]) await record(status);
      const seen: number[] = [];
      let cursor: string | undefined;
      do {
        const query = { pageSize: '2', ...(cursor ? { cursor } : {}) };
        const { body } = await api.call('GET /observability/audit', { query });
        seen.push(...body.items.map((item: { auditId: number }) => item.auditId));
        cursor = body.nextCursor;
      } while (cursor);
      expect(seen).toEqual([5, 4, 3, 2, 1]);
      const denied = await api.call('GET /observability/audit', { query: { outcome: 'denied' } });
      expect(denied.body.items).toEqual([
        {
          auditId: 3,
          timestamp: ISO,
          eventType: 'Authorization',
          action: 'admin.apiKeys.revokeAdminApiKey',
          actor: 'me',
          actorType: 'ApiKey',
          outcome: 'Denied',
          resourceType: 'api-keys',
          resourceId: 'k1',
          correlationId: 'c=1|2',
          remoteIp: null,
          userAgent: null,
          details: expect.stringContaining('403'),
        },
      ]);
      const later = await api.call('GET /observability/audit', { query: { from: '2100-01-01T00:00:00Z' } });
      expect(later.body.items).toEqual([]);
    });

    it.each<Record<string, string>>([
      { pageSize: '0' },
      { cursor: 'x' },
      { cursor: 'WyJqb2JzIiwxXQ' },
      { outcome: '1' },
      { from: 'yesterday' },
    ])('refuses the query %j', async (query) => {
      await expect(api.call('GET /observability/audit', { query })).rejects.toMatchObject({ status: 400 });
    });

    it('is exported for log collectors and verified', async () => {
      for (let i = 0; i < 3; i++) await record(200, 'a|b=c\nd');
      const jsonl = await api.call('GET /observability/audit/export');
      expect(jsonl.mediaType).toBe('application/x-ndjson');
      const lines = jsonl.body.trim().split('\n');
      expect(lines.map((line: string) => JSON.parse(line).auditId)).toEqual([3, 2, 1]);
      const cef = await api.call('GET /observability/audit/export', { query: { format: 'cef', limit: '1' } });
      expect(cef.body.trim().split('\n')).toHaveLength(1);
      expect(cef.body).toMatch(
        /^CEF:0\|Graticule\|graticule\|2026\.3\.0\|admin\.apiKeys\.revokeAdminApiKey\|AdminAction Success\|3\|/,
      );
      expect(cef.body).toContain('cs2=c\\=1|2');
      expect((await api.call('GET /observability/audit/verify')).body).toEqual({
        verified: true,
        rowsChecked: 3,
        unhashedRows: 0,
        firstBrokenAuditId: null,
        failureReason: null,
      });
    });
  });
});
