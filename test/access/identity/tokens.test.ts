import { createHmac, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { exportJWK, importJWK, type JWK, jwtVerify, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { startServer, type TestServer } from '../../support/server.js';

/** Access tokens of this server: for programs at the token endpoint, and for who is signed in. */

let server: TestServer;

beforeAll(async () => {
  server = await startServer({
    sources: ['demo/data/world_map.gpkg'],
    args: ['--processes', '2'],
    env: { SVC_SECURITY__STATE_KEY: 'a passphrase of the test' },
  });
});
afterAll(() => server?.stop());

interface Answer {
  status: number;
  headers: Headers;
  json: Record<string, never>;
}

async function send(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(server.url + path, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    json: (text === '' ? {} : JSON.parse(text)) as Record<string, never>,
  };
}
const asAdmin = (method: string, path: string, body?: unknown) =>
  send(method, `/api/v1/admin${path}`, body, { 'x-api-key': server.adminKey });
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const basic = (name: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
});

async function askToken(fields: Record<string, string>, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams(fields),
    headers,
  });
  return {
    status: response.status,
    headers: response.headers,
    json: (await response.json()) as Record<string, string>,
  };
}

async function addScope(scope: string, permissions: string[]): Promise<void> {
  expect((await asAdmin('PUT', '/oauth-scopes', { scope, permissions })).status).toBe(200);
}

async function addClient(name: string, more: object = {}): Promise<{ id: string; secret: string }> {
  const { status, json, headers } = await asAdmin('POST', '/oauth-clients', { name, ...more });
  expect(status).toBe(201);
  const { client, clientSecret } = json['data'] as unknown as {
    client: { id: string };
    clientSecret: string;
  };
  expect(headers.get('location')).toContain(`/oauth-clients/${client.id}`);
  return { id: client.id, secret: clientSecret };
}

const GRANT = { grant_type: 'client_credentials' };
const READ_KEYS = '/api/v1/admin/api-keys';

async function tokenOf(name: string, scope: string): Promise<string> {
  const { id, secret } = await addClient(name, { allowedScopes: [scope] });
  const { json } = await askToken({ ...GRANT, client_id: id, client_secret: secret });
  return json['access_token']!;
}

describe('clients', () => {
  it('get tokens by secret, in the header or in the form, and act by their scopes', async () => {
    await addScope('keys:read', ['admin:api-keys:read']);
    await addScope('jobs:read', ['admin:jobs:read']);
    const { id, secret } = await addClient('reports', { allowedScopes: ['keys:read', 'jobs:read'] });
    const posted = await askToken({ ...GRANT, client_id: id, client_secret: secret, scope: 'keys:read' });
    expect([posted.status, posted.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(posted.json).toMatchObject({ token_type: 'Bearer', expires_in: 3600, scope: 'keys:read' });
    const token = bearer(posted.json['access_token']!);
    expect((await send('GET', READ_KEYS, undefined, token)).status).toBe(200);
    expect((await send('GET', '/api/v1/admin/jobs', undefined, token)).status).toBe(403);
    expect((await send('GET', '/account', undefined, token)).json).toMatchObject({
      ...{ kind: 'oauth-client', id, name: 'reports' },
      permissions: ['admin:api-keys:read'],
    });
    const all = await askToken(GRANT, basic(id, secret));
    expect(all.json['scope']).toBe('keys:read jobs:read');
    const listed = await asAdmin('GET', `/oauth-clients/${id}`);
    expect(listed.json['data']).toMatchObject({ status: 'active', lastUsedAt: expect.any(String) });
    expect(JSON.stringify(listed.json)).not.toContain(secret);
  });

  it('are refused as RFC 6749 says', async () => {
    await addScope('some', ['admin:jobs:read']);
    const { id, secret } = await addClient('wrong', { allowedScopes: ['some'] });
    const own = { client_id: id, client_secret: secret };
    const refusals: [Record<string, string>, number, string][] = [
      [{ ...GRANT, client_id: id, client_secret: `${secret}x` }, 401, 'invalid_client'],
      [{ ...GRANT, client_id: 'nobody', client_secret: secret }, 401, 'invalid_client'],
      [{ ...GRANT }, 401, 'invalid_client'],
      [{ ...own }, 400, 'invalid_request'],
      [{ ...own, grant_type: 'password' }, 400, 'unsupported_grant_type'],
      [{ ...own, ...GRANT, scope: 'some keys:write' }, 400, 'invalid_scope'],
    ];
    for (const [fields, status, error] of refusals) {
      const answer = await askToken(fields);
      expect([answer.status, answer.json['error']], JSON.stringify(fields)).toEqual([status, error]);
      expect(answer.headers.has('www-authenticate')).toBe(status === 401);
    }
    const both = await askToken({ ...own, ...GRANT }, basic(id, secret));
    expect(both.json['error']).toBe('invalid_request');
    const open = await addClient('page', { clientType: 'public' });
    expect(open.secret).toBeNull();
    expect((await askToken({ ...GRANT, client_id: open.id, client_secret: '' })).status).toBe(401);
  });

  it('are registered only with what this server grants', async () => {
    const wrong = async (body: object) => {
      const { status, json } = await asAdmin('POST', '/oauth-clients', { name: 'x', ...body });
      return [status, (json['errors'] as unknown as { name: string }[])?.[0]?.name];
    };
    expect(await wrong({ allowedScopes: ['none'] })).toEqual([400, '/allowedScopes/0']);
    expect(await wrong({ allowedGrantTypes: ['password'] })).toEqual([400, '/allowedGrantTypes/0']);
    expect(await wrong({ redirectUris: ['http://example.org/'] })).toEqual([400, '/redirectUris/0']);
    expect(await wrong({ expiresAt: '2001-01-01T00:00:00Z' })).toEqual([400, '/expiresAt']);
  });

  it('are given no more than the one who registers them holds', async () => {
    await addScope('all', ['*']);
    const { json } = await asAdmin('POST', '/api-keys', {
      name: 'registrar',
      permissions: ['admin:oauth:write'],
    });
    const key = { 'x-api-key': (json['data'] as unknown as { key: string }).key };
    const path = '/api/v1/admin/oauth-clients';
    expect((await send('POST', path, { name: 'strong', allowedScopes: ['all'] }, key)).status).toBe(403);
    const define = { scope: 'mine', permissions: ['*'] };
    expect((await send('PUT', '/api/v1/admin/oauth-scopes', define, key)).status).toBe(403);
  });

  it('lose their tokens with a scope, and when they are deleted, in all processes', async () => {
    await addScope('gone', ['admin:api-keys:read']);
    const { id, secret } = await addClient('leaver', { allowedScopes: ['gone'] });
    const { json } = await askToken({ ...GRANT, client_id: id, client_secret: secret });
    const token = bearer(json['access_token']!);
    const statuses = async () =>
      new Set(
        await Promise.all(
          Array.from({ length: 8 }, async () => (await send('GET', READ_KEYS, undefined, token)).status),
        ),
      );
    expect(await statuses()).toEqual(new Set([200]));
    expect((await asAdmin('DELETE', '/oauth-scopes/gone')).status).toBe(200);
    expect(await statuses()).toEqual(new Set([403]));
    const deleted = await asAdmin('DELETE', `/oauth-clients/${id}`);
    expect(deleted.json['data']).toMatchObject({ status: 'revoked' });
    expect(await statuses()).toEqual(new Set([401]));
    expect((await askToken({ ...GRANT, client_id: id, client_secret: secret })).status).toBe(401);
  });
});

const own = () => new URL(server.url).origin;

describe('who is signed in', () => {
  it('gets a token that ends with the session, and with the user', async () => {
    const password = 'correct horse battery';
    const user = { name: 'tess', password, roles: ['administrator'] };
    const added = await send('POST', '/api/v1/users', user, { 'x-api-key': server.adminKey });
    expect(added.status).toBe(201);
    const signIn = async () => {
      const { headers } = await send('POST', '/account/sign-in', { name: 'tess', password });
      return { cookie: headers.get('set-cookie')!.split(';')[0]!, origin: own() };
    };
    const session = await signIn();
    const issued = await send('POST', '/api/v1/admin/auth/bearer', undefined, session);
    expect(issued.json).toMatchObject({ tokenType: 'Bearer', expiresIn: 900 });
    const token = bearer(issued.json['accessToken'] as unknown as string);
    expect((await send('GET', '/account', undefined, token)).json).toMatchObject({
      kind: 'user',
      name: 'tess',
    });
    expect((await send('GET', READ_KEYS, undefined, token)).status).toBe(200);
    // A token is no session: none is made of it.
    expect((await send('POST', '/api/v1/admin/auth/bearer', undefined, token)).status).toBe(401);
    expect((await send('POST', '/api/v1/admin/auth/bearer')).status).toBe(401);
    await send('POST', '/account/sign-out', undefined, session);
    expect((await send('GET', READ_KEYS, undefined, token)).status).toBe(401);
    const again = await send('POST', '/api/v1/admin/auth/bearer', undefined, await signIn());
    const other = bearer(again.json['accessToken'] as unknown as string);
    expect((await send('GET', READ_KEYS, undefined, other)).status).toBe(200);
    await asAdmin('DELETE', `/users/${added.json['userId']}`);
    expect((await send('GET', READ_KEYS, undefined, other)).status).toBe(401);
  });

  it('ends the streams that the token opened, with the token and with its session', async () => {
    const password = 'correct horse battery';
    const user = { name: 'timo', password, roles: ['administrator'] };
    await send('POST', '/api/v1/users', user, { 'x-api-key': server.adminKey });
    const signIn = async () => {
      const { headers } = await send('POST', '/account/sign-in', { name: 'timo', password });
      const session = { cookie: headers.get('set-cookie')!.split(';')[0]!, origin: own() };
      const { json } = await send('POST', '/api/v1/admin/auth/bearer', undefined, session);
      return { session, token: bearer(json['accessToken'] as unknown as string) };
    };
    const [first, second] = [await signIn(), await signIn()];
    await addScope('stream:end', ['read:*']);
    const { id, secret } = await addClient('streamer', { allowedScopes: ['stream:end'] });
    const program = bearer((await askToken(GRANT, basic(id, secret))).json['access_token']!);
    const ended = new Set<string>();
    const controller = new AbortController();
    const open = async (name: string, headers: Record<string, string>) => {
      const url = `${server.url}/api/v1/streaming/features?layers=1`;
      const init = { headers: { accept: 'text/event-stream', ...headers }, signal: controller.signal };
      const response = await fetch(url, init);
      expect(response.status).toBe(200);
      const read = async () => {
        for await (const _ of response.body!);
      };
      void read().then(
        () => ended.add(name),
        () => {},
      );
    };
    await open('token', first.token);
    await open('of the session', second.token);
    await open('program', program);
    await open('key', { 'x-api-key': server.adminKey });
    const logout = '/api/v1/admin/auth/logout';
    expect((await send('POST', logout, undefined, first.token)).status).toBe(200);
    await expect.poll(() => [...ended], { timeout: 3000 }).toEqual(['token']);
    await send('POST', '/account/sign-out', undefined, second.session);
    await expect.poll(() => [...ended], { timeout: 3000 }).toEqual(['token', 'of the session']);
    expect((await send('POST', logout, undefined, program)).status).toBe(200);
    await expect.poll(() => [...ended], { timeout: 3000 }).toEqual(['token', 'of the session', 'program']);
    controller.abort();
  });

  it('ends the streams that it opened when it expires', async () => {
    await addScope('stream:expire', ['read:*']);
    const [ends, lasts] = await Promise.all([
      addClient('guest', {
        allowedScopes: ['stream:expire'],
        expiresAt: new Date(Date.now() + 3000).toISOString(),
      }),
      addClient('resident', { allowedScopes: ['stream:expire'] }),
    ]);
    const url = `${server.url.replace('http', 'ws')}/api/v1/streaming/features?layers=1`;
    const open = async ({ id, secret }: { id: string; secret: string }) => {
      const token = (await askToken(GRANT, basic(id, secret))).json['access_token']!;
      const stream = new WebSocket(url, { headers: bearer(token) });
      const closed = new Promise((resolve) =>
        stream.once('close', (code, reason) => resolve([code, reason.toString()])),
      );
      await once(stream, 'message');
      return { stream, closed };
    };
    const [guest, resident] = await Promise.all([open(ends), open(lasts)]);
    expect(await guest.closed).toEqual([1008, 'AdminDisconnect']);
    expect(resident.stream.readyState).toBe(WebSocket.OPEN);
    resident.stream.close();
  });

  it('ends the token that it signs out with, of whatever kind', async () => {
    const password = 'correct horse battery';
    const user = { name: 'tilda', password, roles: ['administrator'] };
    await send('POST', '/api/v1/users', user, { 'x-api-key': server.adminKey });
    const generated = async (form: Record<string, string>) => {
      const body = new URLSearchParams({ f: 'json', ...form });
      const response = await fetch(`${server.url}/sharing/rest/generateToken`, { method: 'POST', body });
      return ((await response.json()) as { token: string }).token;
    };
    const portal = () => generated({ username: 'tilda', password });
    await addScope('keys:end', ['admin:api-keys:read']);
    const { id, secret } = await addClient('leaver', { allowedScopes: ['keys:end'] });
    const program = async () => (await askToken(GRANT, basic(id, secret))).json['access_token']!;
    const { headers } = await send('POST', '/account/sign-in', { name: 'tilda', password });
    const cookie = headers.get('set-cookie')!.split(';')[0]!;
    const issued = await send('POST', '/api/v1/admin/auth/bearer', undefined, { cookie, origin: own() });
    const ofSession = issued.json['accessToken'] as unknown as string;
    const kept = await program();
    const ways: [string, string, Record<string, string>][] = [
      [ofSession, '/account/sign-out', bearer(ofSession)],
      [await program(), '/account/sign-out', {}],
      [await portal(), '/api/v1/admin/auth/logout', {}],
      [await portal(), '/account/sign-out?token=', {}],
      [await portal(), '/account/sign-out', { 'x-esri-authorization': 'Bearer ' }],
    ];
    for (const [token, path, how] of ways) {
      expect((await send('GET', READ_KEYS, undefined, bearer(token))).status).toBe(200);
      const isQuery = path.endsWith('=');
      const esri = how['x-esri-authorization'];
      const headers: Record<string, string> = esri
        ? { 'x-esri-authorization': esri + token }
        : isQuery
          ? {}
          : bearer(token);
      const end = await send('POST', isQuery ? path + token : path, undefined, headers);
      expect([path, Math.floor(end.status / 100)]).toEqual([path, 2]);
      for (let i = 0; i < 4; i++)
        expect((await send('GET', READ_KEYS, undefined, bearer(token))).status).toBe(401);
      expect(await generated({ token })).toBeUndefined();
    }
    // The token of the session took the session along, and no token of another.
    expect((await send('GET', '/account', undefined, { cookie })).json['isAuthenticated']).toBe(false);
    expect((await send('GET', READ_KEYS, undefined, bearer(kept))).status).toBe(200);
  });

  it('is not given a token at the behest of another site', async () => {
    const password = 'correct horse battery';
    await send('POST', '/api/v1/users', { name: 'uma', password }, { 'x-api-key': server.adminKey });
    const { headers } = await send('POST', '/account/sign-in', { name: 'uma', password });
    const cookie = headers.get('set-cookie')!.split(';')[0]!;
    const path = '/api/v1/admin/auth/bearer';
    expect((await send('POST', path, undefined, { cookie, origin: 'https://evil.example' })).status).toBe(
      403,
    );
    for (const [name, value] of [
      ['sec-fetch-site', 'cross-site'],
      ['referer', 'https://evil.example/page'],
    ] as const)
      expect((await send('POST', path, undefined, { cookie, [name]: value })).status).toBe(403);
    expect((await send('POST', '/api/v1/admin/roles', { name: 'uninvited' }, { cookie })).status).toBe(403);
  });

  it('gets a token, and signs out, with the cookie alone as programs send it', async () => {
    const password = 'correct horse battery';
    await send('POST', '/api/v1/users', { name: 'una', password }, { 'x-api-key': server.adminKey });
    const { headers } = await send('POST', '/account/sign-in', { name: 'una', password });
    const cookie = headers.get('set-cookie')!.split(';')[0]!;
    const issued = await send('POST', '/api/v1/admin/auth/bearer', undefined, { cookie });
    expect(issued).toMatchObject({ status: 200, json: { tokenType: 'Bearer' } });
    expect((await send('POST', '/api/v1/admin/auth/logout', undefined, { cookie })).status).toBe(200);
    expect((await send('GET', '/account', undefined, { cookie })).json['isAuthenticated']).toBe(false);
  });
});

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const keySet = async () =>
  (await (await fetch(`${server.url}/.well-known/jwks.json`)).json()) as { keys: JWK[] };

describe('tokens', () => {
  it('are verified by others with the published keys', async () => {
    await addScope('read', ['admin:api-keys:read']);
    const token = await tokenOf('verified', 'read');
    const metadata = (await (
      await fetch(`${server.url}/.well-known/oauth-authorization-server`)
    ).json()) as Record<string, string>;
    expect(metadata).toMatchObject({
      issuer: server.url,
      token_endpoint: `${server.url}/oauth/token`,
      jwks_uri: `${server.url}/.well-known/jwks.json`,
    });
    const { keys } = await keySet();
    expect(keys.every((key) => !('d' in key) && key.alg === 'ES256')).toBe(true);
    const { payload } = await jwtVerify(token, await importJWK(keys.at(-1)!, 'ES256'), {
      issuer: metadata['issuer']!,
      audience: 'graticule',
      typ: 'at+jwt',
    });
    expect(payload['scope']).toBe('read');
  });

  it('that were tampered with, forged, unsigned or misused are refused', async () => {
    await addScope('read', ['admin:api-keys:read']);
    const token = await tokenOf('attacked', 'read');
    const [head, body, signature] = token.split('.') as [string, string, string];
    const header = JSON.parse(Buffer.from(head, 'base64url').toString()) as Record<string, string>;
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as Record<string, unknown>;
    const { keys } = await keySet();
    const published = keys.find(({ kid }) => kid === header['kid'])!;
    const publicText = JSON.stringify(published);
    const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const forge = (protectedHeader: object) =>
      new SignJWT(claims).setProtectedHeader(protectedHeader as never).sign(stranger.privateKey);
    const hmac = (input: string) => createHmac('sha256', publicText).update(input).digest('base64url');
    const confused = `${part({ ...header, alg: 'HS256' })}.${body}`;
    const flipped = `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;
    const forgeries = {
      'another claim': `${head}.${part({ ...claims, scope: 'read all', client_id: 'x' })}.${signature}`,
      'another signature': `${head}.${body}.${flipped}`,
      'no signature': `${head}.${body}.`,
      none: `${part({ ...header, alg: 'none' })}.${body}.`,
      'the public key as a secret': `${confused}.${hmac(confused)}`,
      'a key of a stranger under our name': await forge(header),
      'a key in the token': await forge({
        ...header,
        kid: undefined,
        jwk: await exportJWK(stranger.publicKey),
      }),
      'a key of nobody': await forge({ ...header, kid: 'nobody' }),
      'another type': await forge({ ...header, typ: 'JWT' }),
      'no JSON': `eyJ.${body}.${signature}`,
      'too long': `${head}.${body}${'A'.repeat(9000)}.${signature}`,
    };
    expect((await send('GET', READ_KEYS, undefined, bearer(token))).status).toBe(200);
    for (const [what, forged] of Object.entries(forgeries)) {
      expect((await send('GET', READ_KEYS, undefined, bearer(forged))).status, what).toBe(401);
      // Nor are they a stranger's who reads what everybody reads.
      expect((await send('GET', '/ogc/features', undefined, bearer(forged))).status, what).toBe(401);
    }
  });

  it('live on when keys are rotated, and end when keys are withdrawn', async () => {
    await addScope('read', ['admin:api-keys:read']);
    const before = await tokenOf('early', 'read');
    const admin = { 'x-api-key': server.adminKey };
    const first = (await keySet()).keys;
    expect((await send('POST', '/api/v1/signing-keys', {}, admin)).status).toBe(204);
    const both = (await keySet()).keys;
    expect(both.map(({ kid }) => kid)).toEqual(expect.arrayContaining(first.map(({ kid }) => kid)));
    expect(both).toHaveLength(first.length + 1);
    const after = await tokenOf('late', 'read');
    const kidOf = (token: string) =>
      (JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()) as { kid: string }).kid;
    expect(kidOf(after)).toBe(both.at(-1)!.kid);
    const statuses = async () => [
      (await send('GET', READ_KEYS, undefined, bearer(before))).status,
      (await send('GET', READ_KEYS, undefined, bearer(after))).status,
    ];
    expect(await statuses()).toEqual([200, 200]);
    expect((await send('POST', '/api/v1/signing-keys', { withdraw: true }, admin)).status).toBe(204);
    expect((await keySet()).keys).toHaveLength(1);
    for (let i = 0; i < 4; i++) expect(await statuses()).toEqual([401, 401]);
    expect((await send('POST', '/api/v1/signing-keys', {})).status).toBe(401);
  });
});

describe('callers who are limited', () => {
  const MANAGING = ['read', 'admin:api-keys:write', 'admin:users:write', 'admin:oauth:write'].map(
    (operation) => ({ service: '*', layer: '*', operation }),
  );
  const LIMITED = ['role:bounded', 'claim:region=north', 'claim:region=south'];
  const key = async (permissions: string[]) => {
    const { status, json } = await asAdmin('POST', '/api-keys', { name: 'a key', permissions });
    expect(status).toBe(201);
    return json['data'] as unknown as { key: string; apiKey: { id: string } };
  };

  beforeAll(async () => {
    for (const name of ['bounded', 'other']) {
      const { json } = await asAdmin('POST', '/roles', { name });
      const { roleId } = json['data'] as unknown as { roleId: string };
      const granted = await asAdmin('PUT', `/roles/${roleId}/permissions`, { permissions: MANAGING });
      expect(granted.status).toBe(200);
    }
    const about = { service: '*', layer: 'countries', attribute: 'iso_a2', claimType: 'region' };
    expect((await asAdmin('POST', '/rls-policies', { ...about, role: 'bounded' })).status).toBe(201);
  });

  it('make keys only for who is limited as well, and take over no others', async () => {
    const own = { 'x-api-key': (await key([...LIMITED, 'role:other'])).key };
    const make = async (...permissions: string[]) =>
      (await send('POST', '/api/v1/admin/api-keys', { name: 'x', permissions }, own)).status;
    expect(await make('read:*')).toBe(403);
    expect(await make('role:other')).toBe(403);
    expect(await make()).toBe(403);
    expect(await make('role:bounded', 'claim:region=east')).toBe(403);
    expect(await make('role:bounded')).toBe(201);
    expect(await make('role:bounded', 'role:other', 'claim:region=north')).toBe(201);
    const rotate = async (id: string) =>
      (await send('POST', `/api/v1/admin/api-keys/${id}/rotate`, undefined, own)).status;
    expect(await rotate((await key(['read:*'])).apiKey.id)).toBe(403);
    expect(await rotate((await key([])).apiKey.id)).toBe(403);
    expect(await rotate((await key(LIMITED)).apiKey.id)).toBe(200);
  });

  it('give all values of a claim where a policy looks for the one value', async () => {
    const about = {
      service: '*',
      layer: 'countries',
      attribute: 'NAME',
      claimType: 'town',
      comparison: 'equals',
    };
    await asAdmin('POST', '/rls-policies', { ...about, role: 'bounded' });
    const towns = ['claim:town=a', 'claim:town=b'];
    const own = { 'x-api-key': (await key(['role:bounded', ...towns])).key };
    const make = async (...permissions: string[]) =>
      (await send('POST', '/api/v1/admin/api-keys', { name: 'x', permissions }, own)).status;
    expect(await make('role:bounded', 'claim:town=a')).toBe(403);
    expect(await make('role:bounded', ...towns)).toBe(201);
    expect(await make('role:bounded')).toBe(201);
  });

  it('make and change only users who are limited as well', async () => {
    const own = { 'x-api-key': (await key([...LIMITED, 'role:other'])).key };
    const users = '/api/v1/users';
    const add = (name: string, more: object, headers = own) =>
      send('POST', users, { name, password: 'correct horse battery', ...more }, headers);
    expect((await add('free', {})).status).toBe(403);
    const added = await add('north', { roles: ['bounded'], claims: { region: ['north'] } });
    expect(added.status).toBe(201);
    const id = added.json['userId'] as unknown as string;
    expect((await send('PATCH', `${users}/${id}`, { roles: ['other'] }, own)).status).toBe(403);
    expect((await send('PATCH', `${users}/${id}`, { roles: [] }, own)).status).toBe(403);
    expect((await send('PUT', `/api/v1/admin/users/${id}/roles`, { roles: [] }, own)).status).toBe(403);
    expect((await send('PATCH', `${users}/${id}`, { claims: { region: ['east'] } }, own)).status).toBe(403);
    expect((await send('PATCH', `${users}/${id}`, { claims: { region: ['south'] } }, own)).status).toBe(200);
    const free = (await add('freed', {}, { 'x-api-key': server.adminKey })).json['userId'];
    const password = { password: 'another horse battery' };
    expect((await send('PUT', `${users}/${free}/password`, password, own)).status).toBe(403);
    expect((await send('PUT', `${users}/${id}/password`, password, own)).status).toBe(204);
    expect((await send('DELETE', `/api/v1/admin/users/${free}`, undefined, own)).status).toBe(403);
  });

  it('define no scope without their limits, and clients have none without them', async () => {
    const own = { 'x-api-key': (await key(LIMITED)).key };
    const define = async (scope: string, permissions: string[]) =>
      (await send('PUT', '/api/v1/admin/oauth-scopes', { scope, permissions }, own)).status;
    expect(await define('free', ['read:*'])).toBe(403);
    expect(await define('within', ['read:*', 'role:bounded'])).toBe(200);
    await addScope('all', ['read:*']);
    const register = async (allowedScopes: string[]) =>
      (await send('POST', '/api/v1/admin/oauth-clients', { name: 'x', allowedScopes }, own)).status;
    expect(await register(['all'])).toBe(403);
    expect(await register(['all', 'within'])).toBe(201);
    expect((await send('DELETE', '/api/v1/admin/oauth-scopes/all', undefined, own)).status).toBe(403);
    // A token for one scope alone keeps what limits its client.
    const { id, secret } = await addClient('both', { allowedScopes: ['all', 'within'] });
    const { json } = await askToken({ ...GRANT, client_id: id, client_secret: secret, scope: 'all' });
    const { json: me } = await send('GET', '/account', undefined, bearer(json['access_token']!));
    expect(me).toMatchObject({ permissions: expect.arrayContaining(['role:bounded']) });
  });

  it('keep their tenant to themselves, administrators too', async () => {
    expect((await asAdmin('POST', '/tenants', { tenantId: 'acme' })).status).toBe(201);
    for (const labels of [['role:other'], ['*']]) {
      const own = { 'x-api-key': (await key([...labels, 'tenant:acme'])).key };
      const make = async (...permissions: string[]) =>
        (await send('POST', '/api/v1/admin/api-keys', { name: 'x', permissions }, own)).status;
      expect(await make(...labels)).toBe(403);
      expect(await make(...labels, 'tenant:acme')).toBe(201);
      const user = (name: string, more: object) =>
        send('POST', '/api/v1/users', { name, password: 'correct horse battery', ...more }, own);
      const name = labels[0] === '*' ? 'root' : 'mere';
      expect((await user(`${name}-a`, {})).status).toBe(403);
      expect((await user(`${name}-b`, { tenantId: 'acme' })).status).toBe(201);
    }
    const own = { 'x-api-key': (await key(['*', 'tenant:acme'])).key };
    const embed = (tenantId?: string) =>
      send(
        'POST',
        '/api/v1/admin/embed/keys',
        { name: 'p', scope: { allowedEmbedOrigins: ['https://a.example'], tenantId } },
        own,
      );
    expect((await embed()).status).toBe(403);
    expect((await embed('acme')).status).toBe(201);
    const provider = { name: 'p', authority: 'https://id.example', clientId: 'c' };
    expect((await send('POST', '/api/v1/admin/oidc-providers', provider, own)).status).not.toBe(201);
  });
});

describe('rights that nobody takes', () => {
  const key = async (...permissions: string[]) => {
    const { status, json } = await asAdmin('POST', '/api-keys', { name: 'a key', permissions });
    expect(status).toBe(201);
    return { 'x-api-key': (json['data'] as unknown as { key: string }).key };
  };
  const role = async (name: string, operation?: string) => {
    const { json } = await asAdmin('POST', '/roles', { name });
    const { roleId } = json['data'] as unknown as { roleId: string };
    const permissions = operation ? [{ service: '*', layer: '*', operation }] : [];
    expect((await asAdmin('PUT', `/roles/${roleId}/permissions`, { permissions })).status).toBe(200);
    return `/api/v1/admin/roles/${roleId}`;
  };

  it('roles that grant more keep their name, their grants and themselves', async () => {
    const boss = await role('boss', '*');
    const helper = await role('helper', 'admin:jobs:read');
    const own = await key('admin:roles:write', 'role:helper');
    expect((await send('PUT', helper, { name: 'helper2' }, own)).status).toBe(200);
    expect((await send('PUT', boss, { name: 'helper' }, own)).status).toBe(403);
    expect((await send('PUT', `${boss}/permissions`, { permissions: [] }, own)).status).toBe(403);
    expect((await send('DELETE', boss, undefined, own)).status).toBe(403);
    const resource = {
      apiVersion: 'v1',
      kind: 'Role',
      metadata: { name: 'boss' },
      spec: { permissions: [] },
    };
    const manifest = { resources: [resource] };
    const applied = await send('POST', '/api/v1/admin/metadata/manifest/apply', manifest, {
      ...(await key('admin:roles:write', 'admin:manifest:write')),
    });
    expect(applied.status).toBeGreaterThanOrEqual(400);
    expect((await send('PUT', `${boss}/permissions`, { permissions: [] }, await key('*'))).status).toBe(200);
  });

  it('claims of any name are values, not what all objects have', async () => {
    for (const type of ['constructor', '__proto__', 'toString'])
      expect((await send('GET', '/account', undefined, await key(`claim:${type}=x`))).status).toBe(200);
    const about = {
      service: '*',
      layer: 'countries',
      role: '*',
      attribute: 'NAME',
      claimType: 'constructor',
    };
    const { status, json } = await asAdmin('POST', '/rls-policies', about);
    expect(status).toBe(201);
    const { policyId } = json['data'] as unknown as { policyId: string };
    const items = await send('GET', '/ogc/features/collections/countries/items?limit=1', undefined, {});
    expect([items.status, items.json['features']]).toEqual([200, []]);
    expect((await asAdmin('DELETE', `/rls-policies/${policyId}`)).status).toBe(200);
  });

  it('passwords are set only by who has the claims of the user', async () => {
    const { json } = await send(
      'POST',
      '/api/v1/users',
      { name: 'swiss', password: 'correct horse battery', claims: { country: ['CH'] } },
      { 'x-api-key': server.adminKey },
    );
    const path = `/api/v1/users/${json['userId']}`;
    const own = await key('admin:users:write');
    const password = { password: 'another horse battery' };
    expect((await send('PUT', `${path}/password`, password, own)).status).toBe(403);
    expect((await send('PATCH', path, { isActive: false }, own)).status).toBe(403);
    const same = await key('admin:users:write', 'claim:country=CH');
    expect((await send('PUT', `${path}/password`, password, same)).status).toBe(204);
  });

  it('a role without rights is not one beyond the policies of anonymous', async () => {
    const about = { service: '*', layer: 'countries', role: 'anonymous', filter: "iso_a2 = 'CH'" };
    const { json } = await asAdmin('POST', '/rls-policies', about);
    const { policyId } = json['data'] as unknown as { policyId: string };
    await role('grantless');
    const count = async (headers: Record<string, string>) => {
      const path = '/ogc/features/collections/countries/items?limit=3';
      return ((await send('GET', path, undefined, headers)).json['features'] as unknown as object[]).length;
    };
    expect(await count({})).toBe(1);
    for (const name of ['grantless', 'bogus']) expect(await count(await key(`role:${name}`))).toBe(1);
    expect(await count(await key('role:reader'))).toBe(3);
    await asAdmin('DELETE', `/rls-policies/${policyId}`);
  });

  it('a client keeps what limits it when a scope is deleted or defined again', async () => {
    await asAdmin('POST', '/tenants', { tenantId: 'kept' });
    const own = await key('admin:oauth:write', 'tenant:kept', 'read:default');
    const scopes = '/api/v1/admin/oauth-scopes';
    const tenant = { scope: 'tenant', permissions: ['tenant:kept'] };
    expect((await send('PUT', scopes, tenant, own)).status).toBe(200);
    await addScope('reading', ['read:default']);
    const client = { name: 'x', allowedScopes: ['tenant', 'reading'] };
    expect((await send('POST', '/api/v1/admin/oauth-clients', client, own)).status).toBe(201);
    expect((await send('DELETE', `${scopes}/tenant`, undefined, own)).status).toBe(403);
    expect((await asAdmin('DELETE', '/oauth-scopes/tenant')).status).toBe(200);
  });
});
