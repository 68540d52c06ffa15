import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import type { OperationCase } from './support/audit-case.js';
import { CASES } from './support/audit-cases.js';
import { inOtherCase, type Schema, withNulls } from './support/audit-schema.js';
import { type Answer, AuditWorld, BASE, type CallOptions } from './support/audit-world.js';

/**
 * Every operation of the management API as drivers call it: valid, invalid, members in another case, nulls, a stale tag,
 * without and with too few rights. The operations are those of the interface document: one without a case fails.
 */

interface OperationDocument {
  readonly security?: unknown;
  readonly 'x-not-implemented'?: boolean;
  readonly parameters: readonly { name: string; in: string; required: boolean; schema: Schema }[];
  readonly requestBody?: { content: Record<string, { schema: Schema }> };
  readonly responses: Record<
    string,
    { headers?: Record<string, unknown>; content?: Record<string, unknown> }
  >;
}

const OPERATIONS = readFileSync('test/contract/operations.txt', 'utf8')
  .split('\n')
  .map((line) => /^(GET|POST|PUT|PATCH|DELETE) (\S+)/.exec(line))
  .filter((match) => match !== null)
  .map(([, method, path]) => `${method} ${path}`);
/** Operations of Graticule beside those of the contract. */
const OWN = Object.keys(CASES).filter((name) => !OPERATIONS.includes(name));
const NAMES = [...OPERATIONS, 'GET /metadata/manifest', ...OWN];

/** Folder of the scenes. */
const folder = mkdtempSync(join(tmpdir(), 'graticule-audit-'));
let server: TestServer;
let w: AuditWorld;
let weak: string;
let documents: Map<string, OperationDocument>;

beforeAll(async () => {
  server = await startServer({
    sources: ['demo/data/world_map.gpkg', folder],
    env: { SVC_REMOTE__ALLOW: '[]', SVC_LOG__LEVEL: 'Error' },
  });
  w = new AuditWorld(server);
  await w.open();
  weak = await w.secret(['read:default/countries']);
  const { body } = await w.send('GET', '/openapi.json');
  documents = new Map(
    Object.entries<Record<string, OperationDocument>>(body.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, one]): [string, OperationDocument] => [
        `${method.toUpperCase()} ${path.slice(BASE.length)}`,
        one,
      ]),
    ),
  );
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const isChange = (method: string) => ['PUT', 'PATCH', 'DELETE'].includes(method);

/** One way of calling an operation. */
class Caller {
  readonly method: string;
  readonly template: string;
  readonly document: OperationDocument;
  readonly about: OperationCase;

  constructor(name: string) {
    [this.method, this.template] = name.split(' ') as [string, string];
    this.document = documents.get(name)!;
    this.about = CASES[name] ?? {};
  }

  get status(): number {
    return this.about.status ?? 200;
  }

  get schema(): Schema | undefined {
    return this.document.requestBody?.content['application/json']?.schema;
  }

  async path(template = this.template, values?: Record<string, string>): Promise<string> {
    const all = values ?? (await this.about.path?.(w)) ?? {};
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(all[name] ?? 'x'));
    const query = new URLSearchParams(this.about.query).toString();
    return query === '' ? path : `${path}?${query}`;
  }

  async call(path: string, sending: CallOptions = {}): Promise<Answer> {
    const { body, bytes, headers } = this.about;
    const content = bytes ? { bytes: bytes() } : body ? { body: await body(w) } : {};
    return w.send(this.method, path, { ...content, ...sending, headers: { ...headers, ...sending.headers } });
  }

  /** The tag of what a path shows now; undefined where the case says that there is none. */
  async tag(values: Record<string, string>): Promise<string | null | undefined> {
    const { tag, shownBy = this.template } = this.about;
    if (tag === null) return undefined;
    if (tag) return tag(w, await this.path(this.template, values));
    return (await w.send('GET', await this.path(shownBy, values))).etag;
  }
}

it('has a case for every operation of the interface document', () => {
  expect([...documents.keys()].filter((name) => !NAMES.includes(name))).toEqual([]);
  expect(NAMES.filter((name) => !documents.has(name))).toEqual([]);
  const isSimple = ({ parameters, requestBody }: OperationDocument, name: string) =>
    !/[{]/.test(name) && !requestBody && parameters.every(({ required }) => !required);
  const lacking = [...documents].filter(
    ([name, one]) => !one['x-not-implemented'] && !isSimple(one, name) && !CASES[name],
  );
  expect(lacking.map(([name]) => name)).toEqual([]);
});

describe.each(NAMES)('%s', (name) => {
  it('does what a driver may expect', async () => {
    const caller = new Caller(name);
    const { method, document, about, status } = caller;
    const values = (await about.path?.(w)) ?? {};
    const path = await caller.path(caller.template, values);
    if (document['x-not-implemented']) {
      expect((await caller.call(path)).status).toBe(501);
      return;
    }
    expect(Object.keys(document.responses)).toContain('429');

    // Rights.
    if (document.security) {
      expect([401, (await caller.call(path, { key: '' })).status]).toEqual([401, 401]);
      expect([403, (await caller.call(path, { key: weak })).status]).toEqual([403, 403]);
    }

    // What is wrong.
    const wrong = await caller.call(`${path}${path.includes('?') ? '&' : '?'}noSuchParameter=1`);
    expect(wrong).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('noSuchParameter') },
    });
    if (caller.schema) {
      const invalid = await caller.call(await caller.path(), { body: 'no object' });
      expect(['invalid body', invalid.status]).toEqual(['invalid body', 400]);
    }

    // What is right, however it is spelled.
    const plain = await caller.call(path);
    expect(['valid', plain.status, plain.status === status ? '' : plain.body]).toEqual(['valid', status, '']);
    const { schema } = caller;
    if (schema && about.body) {
      for (const [way, change] of [
        ['in another case', inOtherCase],
        ['with nulls', withNulls],
      ] as const) {
        const body = change(await about.body(w), schema);
        const answer = await caller.call(await caller.path(), { body });
        expect([way, answer.status, detailOf(answer)]).toEqual([way, plain.status, detailOf(plain)]);
      }
    }
    if (method === 'GET' && plain.status === 200 && document.responses['200']?.headers?.['ETag'])
      expect(['an ETag', plain.etag]).toEqual(['an ETag', expect.stringMatching(/^"[^"]+"$/)]);

    if (isChange(method)) await expectConditional(caller, plain);
  });
});

/** Says what failed, without the ids of things. */
function detailOf({ status, body }: Answer): string {
  if (status < 400) return '';
  const detail =
    typeof body === 'string' ? body : (body?.detail ?? body?.errorMessage ?? body?.message ?? '');
  return detail.replace(/[0-9a-f-]{36}|\b\w+-?\d+\b/g, '…');
}

async function expectConditional(caller: Caller, plain: Answer): Promise<void> {
  const { document, about, method } = caller;
  expect(document.parameters.map((one) => one.name)).toContain('If-Match');
  const staleStatus = about.requiresIfMatch ? 409 : 412;
  expect(Object.keys(document.responses)).toContain(String(staleStatus));
  expect(Object.keys(document.responses).includes('412')).toBe(staleStatus === 412);
  const values = (await about.path?.(w)) ?? {};
  const path = await caller.path(caller.template, values);
  const stale = await caller.call(path, { headers: { 'if-match': '"nope"' } });
  // What is not there has no tag.
  expect(['stale', stale.status]).toEqual([
    'stale',
    plain.status === 404 ? expect.toSatisfy(isRefusal) : staleStatus,
  ]);
  if (plain.status >= 300) return;
  if (method !== 'DELETE')
    expect(['a tag after the change', plain.etag]).toEqual([expect.any(String), expect.any(String)]);
  const tag = await caller.tag(values);
  if (tag === undefined) return;
  expect(['a tag before', tag]).toEqual(['a tag before', expect.any(String)]);
  const right = await caller.call(path, { headers: { 'if-match': tag! } });
  expect(['right', right.status, right.status < 300 ? '' : right.body]).toEqual(['right', plain.status, '']);
}

const isRefusal = (status: number) => status === 404 || status === 412;

describe('members of bodies', () => {
  it('bind where they close a service, and are refused there when they are misspelt', async () => {
    const path = '/services/default/access-policy';
    const open = await w.send('PUT', path, { body: { allowAnonymous: true, allowedRoles: [] } });
    expect(open.body.data.accessPolicy).toMatchObject({ allowAnonymous: true });
    const closed = await w.send('PUT', path, { body: { AllowAnonymous: false, ALLOWEDROLES: ['reader'] } });
    expect(closed.body.data.accessPolicy).toMatchObject({ allowAnonymous: false, allowedRoles: ['reader'] });
    const misspelt = await w.send('PUT', path, { body: { allowAnonymus: true } });
    expect(misspelt).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('allowAnonymus') },
    });
    const layer = `/services/default/layers/${w.layers['countries']}/metadata`;
    const metadata = await w.send('PUT', layer, {
      body: { ACCESSPOLICY: { AllowAnonymous: false }, other: 1 },
    });
    expect(metadata.body.data).toMatchObject({ accessPolicy: { allowAnonymous: false } });
    expect(metadata.body.data).not.toHaveProperty('other');
  });

  it('are not stored and shown where nothing reads them; keys of maps stay as they are', async () => {
    const body = { ...w.newProvider(), note: 'kept?', ROLEMAPPING: { Staff: 'reader', STAFF: 'editor' } };
    const { roleMapping: _, ...sent } = body as typeof body & { roleMapping?: unknown };
    const made = await w.send('POST', '/oidc/providers', { body: sent });
    expect(made.status).toBe(201);
    const { data } = (await w.send('GET', `/oidc/providers/${made.body.data.providerId}`)).body;
    expect(data).not.toHaveProperty('note');
    expect(data.roleMapping).toEqual({ Staff: 'reader', STAFF: 'editor' });
    const mask = await w.send('POST', '/field-mask-policies', { body: { ...w.newMask(), evil: true } });
    expect(mask.body.data).not.toHaveProperty('evil');
  });

  it('bind in the specs of manifests', async () => {
    const resources = [
      { KIND: 'Role', Metadata: { Name: 'bound' }, spec: { Permissions: [], Description: 'x' } },
    ];
    const { body } = await w.send('POST', '/metadata/manifest/apply', {
      body: { Resources: resources, DRYRUN: true },
    });
    expect(body.data.entries[0].after).toEqual({ permissions: [], description: 'x' });
  });
});

describe('entity tags', () => {
  it('let one of the changes through that were made of the same state', async () => {
    const layer = `/metadata/layers/${w.layers['states_provinces']}`;
    const drawingInfo = { renderer: { type: 'simple', symbol: { type: 'esriSFS', color: [9, 9, 9, 255] } } };
    for (const [path, body] of [
      [`${layer}/fields`, (n: number) => ({ fields: [{ name: 'name', alias: `Alias ${n}` }] })],
      [`${layer}/style`, () => ({ drawingInfo })],
      ['/services/default/mapserver', (n: number) => ({ defaultDpi: 90 + n })],
      [`/connections/${await w.connection()}`, (n: number) => ({ description: `${n}` })],
    ] as const) {
      const shown = path.endsWith('mapserver') ? '/services/default/settings' : path;
      const headers = { 'if-match': (await w.send('GET', shown)).etag! };
      const answers = await Promise.all(
        [1, 2, 3, 4].map((n) => w.send('PUT', path, { body: body(n), headers })),
      );
      expect([path, answers.map(({ status }) => status).sort()]).toEqual([path, [200, 412, 412, 412]]);
      const done = answers.find(({ status }) => status === 200)!;
      expect([path, (await w.send('GET', shown)).etag]).toEqual([path, done.etag]);
    }
  });

  it('hold for * and for one of a list, and weak tags never', async () => {
    const path = `/roles/${await w.role()}`;
    const { etag } = await w.send('GET', path);
    const put = async (tag: string) =>
      (await w.send('PUT', path, { body: { description: tag }, headers: { 'if-match': tag } })).status;
    expect([await put(`W/${etag}`), await put('*'), await put(`"a", ${etag}`)]).toEqual([412, 200, 412]);
    const now = (await w.send('GET', path)).etag;
    expect([await put(`"a", ${now}`), await put('nonsense')]).toEqual([200, 412]);
    const gone = await w.send('PUT', '/roles/none', { body: {}, headers: { 'if-match': '*' } });
    expect(gone.status).toBe(404);
  });
});

it('resolves the roles of a key, and takes enumerations of queries in any case', async () => {
  const id = await w.apiKey(['role:reader', 'admin:jobs:read']);
  const { permissions } = (await w.send('GET', `/api-keys/${id}/effective-permissions`)).body.data;
  expect(permissions).toEqual(expect.arrayContaining(['role:reader', 'admin:jobs:read']));
  expect(permissions.length).toBeGreaterThan(2);
  expect((await w.send('GET', '/users?source=OIDC&active=TRUE')).status).toBe(200);
  expect((await w.send('GET', '/users?source=1')).status).toBe(400);
  const sources = (await w.send('GET', '/connections')).body.data;
  const { storageType } = sources.find(({ owner }: { owner: string }) => owner === 'configuration');
  expect(storageType).toBe('managed');
});

describe('what the contract leaves free', () => {
  it('is accepted: labels, names of roles and limits, protocols', async () => {
    const key = await w.send('POST', '/api-keys', {
      body: { name: 'free', permissions: ['billing:export'] },
    });
    expect(key).toMatchObject({
      status: 201,
      body: { data: { apiKey: { permissions: ['billing:export'] } } },
    });
    expect((await w.send('GET', '/roles', { key: key.body.data.key })).status).toBe(403);
    const name = 'GIS Editors (Zürich)';
    const role = await w.send('POST', '/roles', { body: { name } });
    expect(role).toMatchObject({ status: 201, body: { data: { name } } });
    const grants = [{ service: '*', layer: '*', operation: 'admin:roles:read' }];
    await w.send('PUT', `/roles/${role.body.data.roleId}/permissions`, { body: { permissions: grants } });
    expect((await w.send('GET', '/roles', { key: await w.secret([`role:${name}`]) })).status).toBe(200);
    expect((await w.send('POST', '/roles', { body: { name: 'two\nlines' } })).status).toBe(400);
    const limit = { ...w.newRateLimit(), name: 'Grenze „eins“', scope: 'endpoint', key: '/rest/info' };
    const policy = await w.send('POST', '/rate-limits', { body: limit });
    expect(policy).toMatchObject({ status: 201, body: { data: { name: limit.name } } });
    const { headers } = await fetch(`${server.url}/rest/info?f=json`);
    expect(headers.get('ratelimit')).toMatch(/^"Grenze \?eins\?";r=\d+;t=\d+$/);
    await w.send('DELETE', `/rate-limits/${policy.body.data.policyId}`);
  });

  it('names requests on jobs in X-Correlation-Id, those that fail too', async () => {
    const ask = (path: string, key = server.adminKey) =>
      fetch(`${server.url}${BASE}${path}`, { headers: { 'x-api-key': key, 'x-request-id': 'mine-1' } });
    for (const [path, key, status] of [
      ['/jobs', server.adminKey, 200],
      ['/jobs/none', server.adminKey, 404],
      ['/jobs/none/diagnostics', server.adminKey, 404],
      ['/jobs', 'no key', 401],
    ] as const) {
      const response = await ask(path, key);
      expect([path, response.status, response.headers.get('x-correlation-id')]).toEqual([
        path,
        status,
        'mine-1',
      ]);
    }
    expect((await ask('/roles')).headers.get('x-correlation-id')).toBeNull();
    expect(documents.get('GET /jobs/{jobId}')!.responses['404']!.headers).toHaveProperty('X-Correlation-Id');
  });
});

it('carries a repeated upload out once, whatever its boundary', async () => {
  const upload = async (content: string) => {
    // Each FormData has a boundary of its own.
    const form = new FormData();
    form.append('TableName', 'repeated');
    form.append('SourceSrid', '4326');
    form.append('file', new Blob([content]), 'points.csv');
    const headers = { 'x-api-key': server.adminKey, 'idempotency-key': 'upload-1' };
    const response = await fetch(`${server.url}${BASE}/import/upload`, {
      method: 'POST',
      headers,
      body: form,
    });
    return [response.status, response.headers.get('idempotency-replayed')];
  };
  const points = 'id,lon,lat\n1,7,47\n';
  expect(await upload(points)).toEqual([200, null]);
  expect(await upload(points)).toEqual([200, 'true']);
  expect(await upload(`${points}2,8,47\n`)).toEqual([422, null]);
});
