import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.js';

/** Users with passwords: how they are made, how they sign in, and what ends that. */

let server: TestServer;

beforeAll(async () => {
  const env = { SVC_SERVER__TRUST_PROXY: '127.0.0.1' };
  server = await startServer({ sources: ['demo/data/years'], env });
});
afterAll(() => server?.stop());

const basic = (name: string, password: string) =>
  `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;

async function send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(server.url + path, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const json = (text === '' ? {} : JSON.parse(text)) as Record<string, never>;
  return { status: response.status, headers: response.headers, json };
}
const asAdmin = (method: string, path: string, body?: unknown) =>
  send(method, path, body, { 'x-api-key': server.adminKey });

const PASSWORD = 'correct horse battery';

async function addUser(name: string, more: object = {}): Promise<string> {
  const { status, json } = await asAdmin('POST', '/api/v1/users', { name, password: PASSWORD, ...more });
  expect(status).toBe(201);
  return json['userId'] as unknown as string;
}

async function signIn(
  name: string,
  password = PASSWORD,
): Promise<{ status: number; cookie: string; line: string }> {
  const { status, headers } = await send('POST', '/account/sign-in', { name, password });
  const line = headers.get('set-cookie') ?? '';
  return { status, line, cookie: line.split(';')[0]! };
}
const whoAmI = async (headers: Record<string, string>) =>
  (await send('GET', '/account', undefined, headers)).json;

describe('users', () => {
  it('are made by administrators, and are asked for by name and password', async () => {
    const id = await addUser('Ann', { displayName: 'Ann Example', roles: ['editor'] });
    expect(await whoAmI({ authorization: basic('ann', PASSWORD) })).toMatchObject({
      ...{ isAuthenticated: true, kind: 'user', id, name: 'ann', roles: ['editor'] },
      permissions: expect.arrayContaining(['read:*', 'write:*']),
    });
    const { json } = await asAdmin('GET', `/api/v1/admin/users/${id}`);
    expect(json['data']).toMatchObject({
      userId: id,
      displayName: 'Ann Example',
      provisioningSource: 'manual',
    });
    const effective = await asAdmin('GET', `/api/v1/admin/users/${id}/effective-permissions`);
    expect(effective.json['data']).toMatchObject({
      roles: ['editor'],
      permissions: [
        { service: '*', layer: '*', operation: 'read' },
        { service: '*', layer: '*', operation: 'write' },
      ],
    });
    expect((await asAdmin('POST', '/api/v1/users', { name: 'ann', password: PASSWORD })).status).toBe(409);
    expect((await asAdmin('POST', '/api/v1/users', { name: 'short', password: 'abc' })).status).toBe(400);
    expect(
      (await asAdmin('POST', '/api/v1/users', { name: 'x', roles: ['nobody'] })).json['errors'],
    ).toMatchObject([
      {
        name: '/roles/0',
        detail: expect.stringMatching(
          /^: there is no role 'nobody'\. Use reader, editor, .*or create the role/,
        ),
      },
    ]);
    // The contract leaves the names of roles free here. A role that does not exist gives nothing.
    const named = await asAdmin('PUT', `/api/v1/admin/users/${id}/roles`, { roles: ['editor', 'later'] });
    expect(named).toMatchObject({ status: 200, json: { data: { roles: ['editor', 'later'] } } });
    const still = await asAdmin('GET', `/api/v1/admin/users/${id}/effective-permissions`);
    const { permissions } = effective.json['data'] as unknown as { permissions: object[] };
    expect(still.json['data']).toMatchObject({ permissions });
    await asAdmin('PUT', `/api/v1/admin/users/${id}/roles`, { roles: ['editor'] });
    const list = await asAdmin('GET', '/api/v1/admin/users?role=editor&source=manual&active=true&limit=1');
    expect(list.json['data']).toMatchObject({ totalCount: 1, users: [{ userId: id }] });
    expect((await asAdmin('GET', '/api/v1/admin/users?role=edit_r')).json['data']).toMatchObject({
      totalCount: 0,
    });
  });

  it('sign in and out with a cookie that no script reads', async () => {
    await addUser('bea', { roles: ['reader'] });
    const { status, line, cookie } = await signIn('bea');
    expect(status).toBe(204);
    expect(line).toMatch(/^graticule=[\w-]{43}; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax$/);
    expect(await whoAmI({ cookie })).toMatchObject({ kind: 'user', name: 'bea' });
    const origin = new URL(server.url).origin;
    expect((await send('POST', '/account/sign-out', undefined, { cookie, origin })).status).toBe(204);
    expect(await whoAmI({ cookie })).toMatchObject({ isAuthenticated: false });
  });

  it('do nothing at the behest of another site', async () => {
    await addUser('cleo', { roles: ['administrator'] });
    const { cookie } = await signIn('cleo');
    const path = '/api/v1/admin/roles';
    const body = { name: 'made-elsewhere' };
    const from = (headers: Record<string, string>) => send('POST', path, body, { cookie, ...headers });
    expect((await from({ origin: 'https://evil.example' })).status).toBe(403);
    expect((await from({ 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await from({})).status).toBe(403);
    expect((await from({ origin: new URL(server.url).origin, 'sec-fetch-site': 'same-origin' })).status).toBe(
      201,
    );
    // Keys are no cookies: nobody sends them by accident.
    expect((await asAdmin('POST', path, { name: 'another' })).status).toBe(201);
  });

  it('do nothing by a password that the browser sends along for another site', async () => {
    await addUser('cora', { roles: ['administrator'] });
    const authorization = basic('cora', PASSWORD);
    const from = (name: string, headers: Record<string, string>) =>
      send('POST', '/api/v1/admin/roles', { name }, { authorization, ...headers });
    expect((await from('elsewhere', { origin: 'https://evil.example' })).status).toBe(403);
    expect((await from('elsewhere', { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await from('by-a-program', {})).status).toBe(201);
    const origin = new URL(server.url).origin;
    expect((await from('by-a-page', { origin, 'sec-fetch-site': 'same-origin' })).status).toBe(201);
  });

  it('are refused alike whether the name or the password is wrong, and after too many attempts', async () => {
    const id = await addUser('dan');
    const [unknown, wrong] = [await signIn('nobody', 'x'), await signIn('dan', 'x')];
    expect([unknown.status, wrong.status]).toEqual([401, 401]);
    for (let i = 0; i < 4; i++) expect((await signIn('dan', 'x')).status).toBe(401);
    expect((await signIn('dan')).status).toBe(401);
    // Who has a new password need not wait.
    expect((await asAdmin('PUT', `/api/v1/users/${id}/password`, { password: `${PASSWORD}!` })).status).toBe(
      204,
    );
    expect((await signIn('dan', `${PASSWORD}!`)).status).toBe(204);
  });

  it('are not guessed from one address, whatever way the guesses take', async () => {
    await addUser('dodo');
    const from = (address: string) => ({ 'x-forwarded-for': address });
    const byForm = (path: string, form: Record<string, string>, headers: Record<string, string>) =>
      fetch(server.url + path, { method: 'POST', body: new URLSearchParams(form), headers });
    const ways = (address: string, password: string): Record<string, () => Promise<number>> => ({
      page: async () =>
        (await send('POST', '/account/sign-in', { name: 'dodo', password }, from(address))).status,
      basic: async () =>
        (
          await send('GET', '/account', undefined, {
            ...from(address),
            authorization: basic('dodo', password),
          })
        ).status,
      client: async () => {
        const form = { grant_type: 'client_credentials', client_id: 'dodo', client_secret: password };
        return (await byForm('/oauth/token', form, from(address))).status;
      },
      // GeoServices say failures in the body.
      portal: async () => {
        const form = { username: 'dodo', password, f: 'json' };
        const answer = await byForm('/sharing/rest/generateToken', form, from(address));
        return ((await answer.json()) as { error?: { code: number } }).error?.code ?? answer.status;
      },
    });
    const guesses = Object.values(ways('192.0.2.1', 'wrong'));
    const statuses: number[] = [];
    for (let i = 0; i < 30; i++) statuses.push(await guesses[i % 4]!());
    expect(new Set(statuses)).toEqual(new Set([401, 400]));
    for (const [way, guess] of Object.entries(ways('192.0.2.1', PASSWORD)))
      expect([way, await guess()]).toEqual([way, 429]);
    const late = await send('POST', '/account/sign-in', { name: 'x', password: 'x' }, from('192.0.2.1'));
    expect(Number(late.headers.get('retry-after'))).toBeGreaterThan(0);
    // Other addresses have attempts of their own, and those that are right cost none.
    const id = await addUser('dorothy');
    for (let i = 0; i < 40; i++) {
      const body = { name: 'dorothy', password: PASSWORD };
      expect((await send('POST', '/account/sign-in', body, from('192.0.2.2'))).status).toBe(204);
    }
    const own = { 'x-api-key': server.adminKey, ...from('192.0.2.1') };
    expect((await send('GET', `/api/v1/admin/users/${id}`, undefined, own)).status).toBe(200);
  });

  it('leave no session behind that a browser signs in over', async () => {
    await addUser('fern');
    const planted = (await signIn('fern')).cookie;
    const over = { name: 'fern', password: PASSWORD };
    const origin = new URL(server.url).origin;
    expect(
      (await send('POST', '/account/sign-in', { ...over, password: 'x' }, { cookie: planted, origin }))
        .status,
    ).toBe(401);
    expect(await whoAmI({ cookie: planted })).toMatchObject({ name: 'fern' });
    const answer = await send('POST', '/account/sign-in', over, { cookie: planted, origin });
    expect(answer.status).toBe(204);
    expect(await whoAmI({ cookie: planted })).toMatchObject({ isAuthenticated: false });
    const fresh = answer.headers.get('set-cookie')!.split(';')[0]!;
    expect(await whoAmI({ cookie: fresh })).toMatchObject({ name: 'fern' });
  });

  it('are signed out everywhere by a new password, when they are switched off, and when they are gone', async () => {
    const id = await addUser('eve');
    const [first, second] = [await signIn('eve'), await signIn('eve')];
    const own = { cookie: first.cookie, origin: new URL(server.url).origin };
    const change = { current: PASSWORD, password: 'another good password' };
    expect((await send('PUT', '/account/password', { ...change, current: 'wrong' }, own)).status).toBe(403);
    expect((await send('PUT', '/account/password', change, own)).status).toBe(204);
    expect(await whoAmI(own)).toMatchObject({ name: 'eve' });
    expect(await whoAmI({ cookie: second.cookie })).toMatchObject({ isAuthenticated: false });
    expect((await asAdmin('PATCH', `/api/v1/users/${id}`, { isActive: false })).status).toBe(200);
    expect(await whoAmI(own)).toMatchObject({ isAuthenticated: false });
    expect((await signIn('eve', change.password)).status).toBe(401);
    expect((await asAdmin('DELETE', `/api/v1/admin/users/${id}`)).status).toBe(200);
    expect((await asAdmin('GET', `/api/v1/admin/users/${id}`)).status).toBe(404);
  });

  it('get no more from each other than they hold', async () => {
    const id = await addUser('fay');
    await asAdmin('POST', '/api/v1/admin/roles', { name: 'personnel' });
    const { json } = await asAdmin('GET', '/api/v1/admin/roles');
    const { roleId } = (json['data'] as unknown as { roleId: string; name: string }[]).find(
      ({ name }) => name === 'personnel',
    )!;
    const grants = { permissions: [{ service: '*', layer: '*', operation: 'admin:users:write' }] };
    expect((await asAdmin('PUT', `/api/v1/admin/roles/${roleId}/permissions`, grants)).status).toBe(200);
    await addUser('gil', { roles: ['personnel'] });
    const gil = { authorization: basic('gil', PASSWORD) };
    const give = (roles: string[]) => send('PUT', `/api/v1/admin/users/${id}/roles`, { roles }, gil);
    expect((await give(['administrator'])).status).toBe(403);
    expect((await give(['personnel'])).status).toBe(200);
    expect(
      (await send('POST', '/api/v1/users', { name: 'hal', claims: { region: ['x'] } }, gil)).status,
    ).toBe(403);
    expect((await send('POST', '/api/v1/users', { name: 'hal' }, gil)).status).toBe(201);
  });
});

it('links of the management API start with the prefix of a proxy', async () => {
  const headers = { 'x-api-key': server.adminKey, 'x-forwarded-prefix': '/geo' };
  const base = `${server.url}/api/v1/admin`;
  const role = await fetch(`${base}/roles`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: '{"name":"prefixed"}',
  });
  const location = role.headers.get('location')!;
  expect([role.status, location.slice(0, 24)]).toEqual([201, '/geo/api/v1/admin/roles/']);
  const removed = await fetch(`${server.url}${location.slice('/geo'.length)}`, { method: 'DELETE', headers });
  expect(removed.status).toBe(200);
  const document = await (await fetch(`${base}/openapi.json`, { headers })).json();
  expect(document).toMatchObject({ servers: [{ url: '/geo' }] });
  const form = new FormData();
  form.set('TableName', 'prefixed');
  form.set('ForceBackground', 'true');
  const point = { type: 'Feature', geometry: { type: 'Point', coordinates: [1, 2] }, properties: { a: 1 } };
  form.set('File', new Blob([JSON.stringify(point)]), 'prefixed.geojson');
  const queued = await fetch(`${base}/import/upload`, { method: 'POST', headers, body: form });
  const { jobId, statusUrl, cancelUrl } = (await queued.json()) as Record<string, string>;
  const job = `/geo/api/v1/admin/import/jobs/${jobId}`;
  expect([statusUrl, cancelUrl, queued.headers.get('location')]).toEqual([job, `${job}/cancel`, job]);
  const shown = await (await fetch(`${base}/jobs/${jobId}`, { headers })).text();
  expect(shown.match(/"href":\s*"[^"]*/g)).toEqual(
    expect.arrayContaining([expect.stringContaining(`"/geo/api/v1/admin/jobs/${jobId}`)]),
  );
  // Without a proxy there is no prefix.
  expect(
    await (await fetch(`${base}/jobs/${jobId}`, { headers: { 'x-api-key': server.adminKey } })).text(),
  ).not.toContain('/geo');
});
