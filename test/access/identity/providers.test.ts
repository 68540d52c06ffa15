import { createHmac, generateKeyPairSync } from 'node:crypto';
import { SignJWT } from 'jose';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { axeFaults } from '../../pages/axe.js';
import { launchBrowser, savePicture } from '../../support/browser.js';
import { startProvider, type TestProvider } from '../../support/oidc-provider.js';
import { freePort } from '../../support/ports.js';
import { startServer, type TestServer } from '../../support/server.js';

/** An OpenID provider, its tokens, and signing in with it. */

let server: TestServer;
let provider: TestProvider;
let browser: Browser;
let key: string;

const CLIENT = { clientId: 'graticule', clientSecret: 'a secret of the client' };
const HOSTILE = 'Mallory\r\nSet-Cookie: graticule=evil\u2028<script>alert(1)</script>';
const CLAIMS: Record<string, Record<string, unknown>> = {
  ann: { name: 'Ann', preferred_username: 'ann', email: 'ann@example.org', roles: ['gis-editors', 'other'] },
  mallory: { name: HOSTILE, preferred_username: 'a\r\nb/../root', roles: 'gis-editors' },
};

beforeAll(async () => {
  const [port, ofProvider] = [await freePort(), await freePort()];
  provider = await startProvider({
    ...CLIENT,
    port: ofProvider,
    redirectUri: `http://127.0.0.1:${port}/account/callback`,
    claims: (name) => CLAIMS[name] ?? {},
  });
  server = await startServer({
    port,
    sources: ['demo/data/years'],
    env: { SVC_REMOTE__ALLOW: '127.0.0.1', SVC_SECURITY__STATE_KEY: 'a passphrase of the test' },
  });
  browser = await launchBrowser();
  const { status, json } = await asAdmin('POST', '/oidc/providers', {
    ...{ name: 'Example', providerType: 'Generic', authority: provider.issuer, ...CLIENT },
    roleMapping: { 'gis-editors': 'editor', bosses: 'administrator' },
  });
  expect([status, json]).toEqual([201, expect.anything()]);
  key = (json['data'] as unknown as { providerId: string }).providerId;
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
  await provider?.stop();
});

async function send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(server.url + path, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const json = (text === '' ? {} : JSON.parse(text)) as Record<string, never>;
  return { status: response.status, headers: response.headers, json, text };
}
const asAdmin = (method: string, path: string, body?: unknown, headers = {}) =>
  send(method, `/api/v1/admin${path}`, body, { 'x-api-key': server.adminKey, ...headers });
const whoAmI = (token: string) => send('GET', '/account', undefined, { authorization: `Bearer ${token}` });
const own = () => new URL(server.url).origin;

describe('providers', () => {
  it('are shown without their secret, changed under their etag, and tested', async () => {
    const read = await asAdmin('GET', `/oidc/providers/${key}`);
    expect(read.json['data']).toMatchObject({ name: 'Example', enabled: true, isHealthy: false });
    expect(read.text).not.toContain('ecret');
    const stale = { 'if-match': '"no"' };
    expect((await asAdmin('PUT', `/oidc/providers/${key}`, { name: 'x' }, stale)).status).toBe(412);
    expect((await asAdmin('PUT', `/oidc/providers/${key}`, { name: 'Example' })).status).toBe(200);
    const tested = await asAdmin('POST', `/oidc/providers/${key}/test`);
    expect(tested.json['data']).toMatchObject({ providerId: key, isReachable: true });
    const after = await asAdmin('GET', '/oidc/providers');
    expect(after.json['data']).toMatchObject([{ isHealthy: true, lastHealthCheck: expect.any(String) }]);
    const listed = await asAdmin('GET', '/identity/providers');
    expect(listed.json['data']).toMatchObject({
      enabled: true,
      providers: [{ type: 'Generic', displayName: 'Example', callbackPath: '/account/callback' }],
    });
    const test = await asAdmin('GET', '/identity/providers/generic/test');
    expect(test.json['data']).toMatchObject({ isReachable: true, issuer: provider.issuer });
    expect((await asAdmin('GET', '/identity/providers/Google/test')).status).toBe(404);
  });

  it('are asked only where the configuration allows it', async () => {
    const { json } = await asAdmin('POST', '/oidc/providers', {
      ...{ name: 'Inside', providerType: 'Generic', clientId: 'x', enabled: false },
      authority: 'http://169.254.169.254/',
    });
    const { providerId } = json['data'] as unknown as { providerId: string };
    const { json: tested } = await asAdmin('POST', `/oidc/providers/${providerId}/test`);
    expect(tested['data']).toMatchObject({
      isReachable: false,
      message: expect.stringContaining('remote.allow'),
    });
    expect((await asAdmin('DELETE', `/oidc/providers/${providerId}`)).status).toBe(200);
    expect((await asAdmin('GET', `/oidc/providers/${providerId}`)).status).toBe(404);
    const wrong = { name: 'x', providerType: 'Generic', clientId: 'x', authority: 'file:///etc/passwd' };
    expect((await asAdmin('POST', '/oidc/providers', wrong)).status).toBe(400);
  });

  it('name roles that are made later, where their caller may give every permission', async () => {
    const mapped = {
      ...{ name: 'x', providerType: 'Generic', clientId: 'x', enabled: false },
      ...{ authority: 'https://example.org', roleMapping: { a: 'made later' } },
    };
    const { status, json } = await asAdmin('POST', '/oidc/providers', mapped);
    expect(status).toBe(201);
    const { providerId, roleMapping } = json['data'] as unknown as {
      providerId: string;
      roleMapping: object;
    };
    expect(roleMapping).toEqual({ a: 'made later' });
    expect((await asAdmin('DELETE', `/oidc/providers/${providerId}`)).status).toBe(200);
    const permissions = ['admin:oidc:write', 'claim:*', 'tenant:*'];
    const made = await asAdmin('POST', '/api-keys', { name: 'q', permissions });
    const weak = { 'x-api-key': (made.json['data'] as unknown as { key: string }).key };
    expect((await send('POST', '/api/v1/admin/oidc/providers', mapped, weak)).status).toBe(403);
  });

  it('give no rights beyond those of who names them', async () => {
    const { json } = await asAdmin('POST', '/api-keys', { name: 'p', permissions: ['admin:oidc:write'] });
    const weak = { 'x-api-key': (json['data'] as unknown as { key: string }).key };
    const path = '/api/v1/admin/oidc/providers';
    const body = { name: 'x', providerType: 'Generic', clientId: 'x', authority: 'https://example.org' };
    expect((await send('POST', path, body, weak)).status).toBe(403);
    expect((await send('PUT', `${path}/${key}`, { authority: 'https://evil.example' }, weak)).status).toBe(
      403,
    );
  });
});

describe('tokens of a provider', () => {
  it('make the user that they speak of, with the roles of the mapping', async () => {
    const token = await provider.token({ sub: 'ann', ...CLAIMS['ann'] });
    expect((await whoAmI(token)).json).toMatchObject({ kind: 'user', name: 'ann', roles: ['editor'] });
    const changed = await provider.token({ sub: 'ann', ...CLAIMS['ann'], roles: ['unknown'] });
    expect((await whoAmI(changed)).json).toMatchObject({ name: 'ann', roles: [] });
    const { json } = await asAdmin('GET', '/users?source=oidc');
    expect(json['data']).toMatchObject({ users: [{ displayName: 'Ann', providerId: key }], totalCount: 1 });
  });

  it('that are not for this server, not of the provider, not in time, or not signed as they must be are refused', async () => {
    const now = Math.floor(Date.now() / 1000);
    const good = await provider.token({ sub: 'ann' });
    const [head, body, signature] = good.split('.') as [string, string, string];
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const { keys } = (await (await fetch(`${provider.issuer}/jwks`)).json()) as { keys: { kid: string }[] };
    const header = { alg: 'RS256', kid: keys[0]!.kid };
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as Record<string, unknown>;
    const confused = `${part({ ...header, alg: 'HS256' })}.${body}`;
    const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const hmac = createHmac('sha256', JSON.stringify(keys[0])).update(confused).digest('base64url');
    const refused = {
      'another audience': await provider.token({ sub: 'ann', aud: 'another' }),
      'another issuer': await provider.token({ sub: 'ann', iss: 'https://example.org' }),
      expired: await provider.token({ sub: 'ann', exp: now - 61 }),
      'not yet valid': await provider.token({ sub: 'ann', nbf: now + 300 }),
      'without an end': await provider.token({ sub: 'ann', exp: undefined }),
      'without a subject': await provider.token({}),
      none: `${part({ alg: 'none' })}.${body}.`,
      tampered: `${head}.${part({ ...claims, sub: 'root' })}.${signature}`,
      'the public key as a secret': `${confused}.${hmac}`,
      'a foreign key': await new SignJWT(claims).setProtectedHeader(header).sign(stranger.privateKey),
    };
    for (const [what, token] of Object.entries(refused)) expect((await whoAmI(token)).status, what).toBe(401);
    // Clocks may differ by a minute.
    const late = await provider.token({ sub: 'ann', exp: now - 30, nbf: now + 30 });
    expect((await whoAmI(late)).json).toMatchObject({ kind: 'user' });
  });

  it('bring no control characters in, and take no name of another user', async () => {
    await send('POST', '/api/v1/users', { name: 'ab..root' }, { 'x-api-key': server.adminKey });
    const { json, headers } = await whoAmI(await provider.token({ sub: 'mallory', ...CLAIMS['mallory'] }));
    const { name, id } = json as unknown as { name: string; id: string };
    expect(name).toMatch(/^ab\.\.root-[0-9a-f]{8}$/);
    expect(headers.has('set-cookie')).toBe(false);
    const user = await asAdmin('GET', `/users/${id}`);
    const { displayName } = user.json['data'] as unknown as { displayName: string };
    expect(displayName).not.toMatch(/[\p{Cc}\p{Zl}]/u);
  });

  it('of users who are switched off, and of a provider that is, are refused', async () => {
    const token = await provider.token({ sub: 'zoe' });
    const { json } = await whoAmI(token);
    const admin = { 'x-api-key': server.adminKey };
    const path = `/api/v1/users/${json['id']}`;
    expect((await send('PATCH', path, { isActive: false }, admin)).status).toBe(200);
    expect((await whoAmI(token)).status).toBe(401);
    expect((await send('PATCH', path, { isActive: true }, admin)).status).toBe(200);
    expect((await whoAmI(token)).status).toBe(200);
    expect((await asAdmin('PUT', `/oidc/providers/${key}`, { enabled: false })).status).toBe(200);
    expect((await whoAmI(token)).status).toBe(401);
    expect((await asAdmin('PUT', `/oidc/providers/${key}`, { enabled: true })).status).toBe(200);
    expect((await whoAmI(token)).status).toBe(200);
  });

  it('go on while the provider is away, and with a key that it changed', async () => {
    expect((await whoAmI(await provider.token({ sub: 'ann' }))).status).toBe(200);
    await provider.stop();
    expect((await whoAmI(await provider.token({ sub: 'ann', jti: 'new' }))).status).toBe(200);
    const begun = await send('POST', `/api/v1/admin/auth/providers/${key}/authorize-url`, {});
    expect(begun.status).toBe(503);
    await provider.rotate();
    expect((await whoAmI(await provider.token({ sub: 'ann' }))).status).toBe(200);
  });
});

/** A cookie jar of one name and value each. */
function cookiesOf(headers: Headers): string {
  return headers
    .getSetCookie()
    .map((line) => line.split(';')[0]!)
    .join('; ');
}

/** Signs in at the provider as its pages ask; gives the address that it sends the browser back to. */
async function atProvider(authorizeUrl: string, name: string): Promise<URL> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const back = page.waitForRequest((request) => request.url().startsWith(`${own()}/account/callback`));
  await page.route(`${own()}/**`, (route) => route.abort());
  await page.goto(authorizeUrl);
  await signInThere(page, name);
  const url = new URL((await back).url());
  await context.close();
  return url;
}

async function signInThere(page: import('playwright-core').Page, name: string): Promise<void> {
  await page.fill('input[name=login]', name);
  await page.fill('input[name=password]', 'any');
  await page.click('button[type=submit]');
  await page.waitForSelector('text=Authorize');
  await page.click('button[type=submit]', { noWaitAfter: true });
}

describe('signing in with a provider', () => {
  const auth = (path: string) => `/api/v1/admin/auth/${path}`;

  it('goes by code, state and nonce, each once and only in the browser that began', async () => {
    const config = await send('GET', auth('config'));
    expect(config.json).toMatchObject({ oidcEnabled: true, providers: [{ key, displayName: 'Example' }] });
    expect((await send('GET', auth('session'))).json).toMatchObject({ isAuthenticated: false, claims: [] });
    const begin = () => send('POST', auth(`providers/${key}/authorize-url`), {});
    const begun = await begin();
    const line = begun.headers.get('set-cookie')!;
    expect(line).toMatch(/^graticule-sign-in=eyJ[\w.-]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/);
    const url = new URL(begun.json['authorizeUrl'] as unknown as string);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      ...{ response_type: 'code', code_challenge_method: 'S256', client_id: CLIENT.clientId },
      ...{ redirect_uri: `${server.url}/account/callback`, nonce: expect.any(String) },
    });
    const { searchParams } = await atProvider(url.href, 'ann');
    const [code, state] = [searchParams.get('code')!, searchParams.get('state')!];
    const body = { grantType: 'authorization_code', code, state };
    const cookie = cookiesOf(begun.headers);
    const finish = (more: object, jar: string) =>
      send('POST', auth(`providers/${key}/token`), { ...body, ...more }, jar === '' ? {} : { cookie: jar });
    const another = cookiesOf((await begin()).headers);
    expect((await finish({}, '')).status, 'no cookie').toBe(400);
    expect((await finish({}, another)).status, 'the cookie of another sign-in').toBe(400);
    expect((await finish({ state: `${key}.x` }, cookie)).status, 'another state').toBe(400);
    expect((await finish({}, `${cookie}x`)).status, 'a tampered cookie').toBe(400);
    expect((await finish({ iss: 'https://evil.example' }, cookie)).status, 'another issuer').toBe(400);
    expect((await finish({ grantType: 'password' }, cookie)).status).toBe(400);
    const done = await finish({}, cookie);
    expect(done.status).toBe(204);
    const [session, ended] = done.headers.getSetCookie();
    expect(session).toMatch(/^graticule=[\w-]{43}; .*HttpOnly; SameSite=Lax$/);
    expect(ended).toMatch(/^graticule-sign-in=; Max-Age=0/);
    const jar = { cookie: session!.split(';')[0]! };
    const known = await send('GET', auth('session'), undefined, jar);
    expect(known.json).toMatchObject({ isAuthenticated: true, providerKey: key });
    expect(known.json['claims']).toContainEqual({ type: 'name', value: 'ann' });
    expect((await finish({}, cookie)).status, 'the code again').toBe(400);
    const out = await send('POST', auth('logout'), undefined, { ...jar, origin: own() });
    expect(out.json['logoutUrl']).toContain(`${provider.issuer}/session/end?`);
    expect((await send('GET', auth('session'), undefined, jar)).json).toMatchObject({
      isAuthenticated: false,
    });
    const logout = await send('GET', auth(`providers/${key}/logout-url?idTokenHint=x.y.z`));
    expect(logout.json['logoutUrl']).toContain('id_token_hint=x.y.z');
    expect((await send('POST', auth('providers/none/authorize-url'), {})).status).toBe(404);
  });

  it('leads in the browser to the provider, back to the page that it began on, and out again', async () => {
    const page = await (await browser.newContext()).newPage();
    await page.goto(`${server.url}/account/sign-in?to=/docs`);
    await page.click(`[data-provider="${key}"]`);
    await page.waitForURL(`${provider.issuer}/**`);
    await signInThere(page, 'ann');
    await page.waitForURL(`${server.url}/docs`);
    await page.goto(`${server.url}/account/sign-in`);
    expect(await page.textContent('.lead')).toContain('You are signed in as Ann.');
    await page.click('[data-sign-out]');
    await page.waitForURL(`${provider.issuer}/session/end**`);
    await page.goto(`${server.url}/account/sign-in`);
    expect(await page.textContent('h1')).toBe('Sign in');
    await page.context().close();
  });

  it('has pages that everybody can use', async () => {
    const context = await browser.newContext({ bypassCSP: true });
    const page = await context.newPage();
    for (const path of ['sign-in', 'callback?code=x&state=y.z']) {
      await page.goto(`${server.url}/account/${path}`);
      await savePicture(page, `account-${path.split('?')[0]}`);
      expect(await axeFaults(page), path).toEqual([]);
    }
    await context.close();
  });

  it('sends the browser to no other site', async () => {
    const page = await browser.newPage();
    for (const to of [
      'https://evil.example/',
      '//evil.example',
      '/\\evil.example',
      'javascript:alert(1)',
      '/%0d%0aX',
      '/\t/evil.example',
    ]) {
      await page.goto(`${server.url}/account/sign-in?to=${encodeURIComponent(to)}`);
      expect(await page.getAttribute('[data-account]', 'data-to'), to).toMatch(/^\/(%0d%0aX)?$/);
    }
    await page.evaluate(() => sessionStorage.setItem('graticule-to', '//evil.example/'));
    await page.goto(`${server.url}/account/callback`);
    await page.waitForSelector('[role=alert]:not([hidden])');
    expect(new URL(page.url()).origin).toBe(own());
    await page.close();
  });

  it('sets the first administrator up with the key, and leads from a refusal to a password and back', async () => {
    const page = await browser.newPage();
    await page.goto(`${server.url}/account/sign-in`);
    await page.fill('#key', server.adminKey);
    await page.fill('#first-name', 'first');
    await page.fill('#first-password', 'a long password');
    await page.click('[data-first] button:not([data-show])');
    await page.waitForURL(`${server.url}/`);
    await page.goto(`${server.url}/account/sign-in`);
    await page.click('[data-sign-out]');
    await page.waitForURL(`${server.url}/`);
    await page.goto(`${server.url}/api/v1/admin/api-keys`);
    await page.click('main a:has-text("Sign in")');
    await page.fill('#name', 'first');
    await page.fill('#password', 'not the password');
    await page.click('[data-sign-in] .primary');
    await page.waitForSelector('[role=alert]:not([hidden])');
    await page.fill('#password', 'a long password');
    await page.click('[data-sign-in] .primary');
    await page.waitForURL(`${server.url}/api/v1/admin/api-keys`);
    expect(await page.textContent('main')).toContain('SVC_ADMIN_KEY');
    await page.close();
  });
});
