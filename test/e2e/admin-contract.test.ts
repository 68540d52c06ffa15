import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AdminDeps } from '../../src/gateway/admin/deps.js';
import type { RunServices } from '../../src/gateway/admin/row-run.js';
import { adminOperations } from '../../src/gateway/start/management-groups.js';
import { contractOperations, OPEN } from '../contract/operations.js';
import { startServer } from '../support/server.js';

const built = new Set(
  adminOperations({} as AdminDeps, {} as RunServices)
    .filter((o) => o.built)
    .map((o) => `${o.method} ${o.path}`),
);

/** A path whose parameters name nothing: only the dispatcher and the first lookup see it. */
const concrete = (path: string) => `/api/v1/admin${path.replaceAll(/\{\w+\}/g, '0')}`;

describe('management API over HTTP', () => {
  let server: Awaited<ReturnType<typeof startServer>>;
  beforeAll(async () => {
    // Convergence needs a declared release.
    server = await startServer({ env: { SVC_DEPLOY__RELEASE: '2026.9.0' } });
  });
  afterAll(() => server?.stop());

  it.each(contractOperations())('$method $path', async ({ method, path }) => {
    const url = server.url + concrete(path);
    const stranger = await fetch(url, { method });
    // Who is to sign in has no key yet.
    if (OPEN.has(`${method} ${path}`)) expect(stranger.status).toBeLessThan(500);
    else {
      expect(stranger.status).toBe(401);
      expect(stranger.headers.get('www-authenticate')).toBeTruthy();
    }
    const wrong = await fetch(url, { method, headers: { 'x-api-key': 'grt_wrong' } });
    expect(wrong.status).toBe(401);
    await Promise.all([stranger.text(), wrong.text()]);

    const known = await fetch(url, { method, headers: { 'x-api-key': server.adminKey } });
    if (built.has(`${method} /api/v1/admin${path}`)) {
      expect(known.status).not.toBe(501);
      expect(known.status).toBeLessThan(500);
      await known.text();
      return;
    }
    expect(known.status).toBe(501);
    expect(known.headers.get('content-type')).toContain('application/problem+json');
    expect(await known.json()).toMatchObject({
      status: 501,
      type: expect.stringMatching(/\/problems\/admin$/),
    });
  });

  it('documents every operation in its OpenAPI document', async () => {
    const reply = await fetch(`${server.url}/api/v1/admin/openapi.json`, {
      headers: { 'x-api-key': server.adminKey },
    });
    const { paths } = (await reply.json()) as { paths: Record<string, Record<string, unknown>> };
    for (const { method, path } of contractOperations()) {
      expect(paths[`/api/v1/admin${path}`]?.[method.toLowerCase()], `${method} ${path}`).toBeDefined();
    }
  });

  it('takes a list with a trailing slash, a bearer token and basic credentials', async () => {
    const url = `${server.url}/api/v1/admin/api-keys`;
    const basic = Buffer.from(`admin:${server.adminKey}`).toString('base64');
    const replies = [
      await fetch(`${url}/`, { headers: { 'x-api-key': server.adminKey } }),
      await fetch(url, { headers: { authorization: `Bearer ${server.adminKey}` } }),
      await fetch(url, { headers: { authorization: `Basic ${basic}` } }),
    ];
    expect(replies.map((reply) => reply.status)).toEqual([200, 200, 200]);
  });

  it('writes an audit row for a change, and for one that failed', async () => {
    const headers = { 'x-api-key': server.adminKey, 'content-type': 'application/json' };
    const body = JSON.stringify({ name: 'contract test', permissions: ['admin:read'] });
    const made = await fetch(`${server.url}/api/v1/admin/api-keys`, { method: 'POST', headers, body });
    expect(made.status).toBe(201);
    const missing = await fetch(`${server.url}/api/v1/admin/api-keys/none/revoke`, {
      method: 'POST',
      headers,
    });
    expect(missing.status).toBe(404);
    const trail = await fetch(
      `${server.url}/api/v1/admin/observability/audit?pageSize=2&eventType=AdminAction`,
      { headers },
    );
    expect(await trail.json()).toMatchObject({
      items: [
        { action: 'admin.apiKeys.revokeAdminApiKey', outcome: 'Failure', resourceId: 'none' },
        { action: 'admin.apiKeys.createAdminApiKey', outcome: 'Success' },
      ],
    });
  });
});
