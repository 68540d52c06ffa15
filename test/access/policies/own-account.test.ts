import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { axeFaults } from '../../pages/axe.js';
import { launchBrowser, watchedPage } from '../../support/browser.js';
import { startServer, type TestServer } from '../../support/server.js';

/** Pages to sign in and of the account, and what users have of their own: sessions and keys. */

let server: TestServer;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([startServer({ sources: ['demo/data/years'] }), launchBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

const PASSWORD = 'correct horse battery';

async function send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(server.url + path, {
    method,
    redirect: 'manual',
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json');
  return { status: response.status, headers: response.headers, json: isJson ? JSON.parse(text) : {} };
}
const origin = () => ({ origin: server.url });

async function addUser(name: string, more: object = {}): Promise<string> {
  const body = { name, password: PASSWORD, ...more };
  const { status, json } = await send('POST', '/api/v1/users', body, { 'x-api-key': server.adminKey });
  expect(status).toBe(201);
  return json.userId;
}

/** Headers of a new session, as a browser sends them. */
async function signIn(name: string, agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0') {
  const { status, headers } = await send(
    'POST',
    '/account/sign-in',
    { name, password: PASSWORD },
    { 'user-agent': agent },
  );
  expect(status).toBe(204);
  return { cookie: headers.get('set-cookie')!.split(';')[0]!, ...origin() };
}

async function createKey(session: Record<string, string>, body: object = { name: 'QGIS' }): Promise<string> {
  const { status, json } = await send('POST', '/account/keys', body, session);
  expect(status).toBe(201);
  return json.key;
}
const whoAmI = async (headers: Record<string, string>) =>
  (await send('GET', '/account', undefined, headers)).json;

describe('a browser', () => {
  it('sets up the first administrator, changes the password, and makes and deletes a key', async () => {
    const { page, problems } = await watchedPage(browser, server.url, { bypassCSP: true });
    await page.goto(`${server.url}/ogc/features/collections?q=none`);
    await page.getByRole('link', { name: 'Sign in' }).click();
    expect(await axeFaults(page)).toEqual([]);
    await page.getByLabel('Administrator key', { exact: true }).fill(server.adminKey);
    await page.locator('[data-first]').getByLabel('User name').fill('root');
    const password = page.getByLabel('New password, at least 12 characters', { exact: true });
    await password.fill(PASSWORD);
    await page.getByRole('button', { name: 'Show New password' }).click();
    expect(await password.getAttribute('type')).toBe('text');
    await page.getByRole('button', { name: 'Create the administrator' }).click();
    // Back where the visitor was, query and all.
    await page.waitForURL(`${server.url}/ogc/features/collections?q=none`);
    await page.getByRole('link', { name: 'Account of root' }).click();
    await page.waitForURL(`${server.url}/account`);

    await page.getByLabel('Current password', { exact: true }).fill(PASSWORD);
    await page
      .getByLabel('New password, at least 12 characters', { exact: true })
      .fill('another horse battery');
    await page.getByRole('button', { name: 'Change the password' }).click();
    await page.getByText('The password was changed.').waitFor();

    await page.getByLabel('Name of the new key').fill('<b>my QGIS</b>');
    await page.getByRole('button', { name: 'Create the key' }).click();
    const secret = page.locator('[data-secret]');
    await secret.waitFor();
    const key = (await secret.textContent())!;
    expect(await whoAmI({ 'x-api-key': key })).toMatchObject({ kind: 'user', name: 'root' });
    expect(await axeFaults(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 800 });
    await page.reload();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    expect(await page.content()).not.toContain(key);
    await page.getByRole('button', { name: 'Delete the key <b>my QGIS</b>' }).click();
    await page.getByRole('button', { name: 'Delete the key' }).waitFor({ state: 'detached' });
    expect((await send('GET', '/account', undefined, { 'x-api-key': key })).status).toBe(401);

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    // There is an administrator now.
    expect(await page.getByText('Set up the first administrator').count()).toBe(0);
    expect(problems).toEqual([]);
  }, 60_000);

  it('is sent to the page to sign in, and from there to its account', async () => {
    const html = { accept: 'text/html' };
    const stranger = await send('GET', '/account', undefined, html);
    expect([stranger.status, stranger.headers.get('location')]).toEqual([
      303,
      '/account/sign-in?to=%2Faccount',
    ]);
    await addUser('moe');
    const session = await signIn('moe');
    const again = await send('GET', '/account/sign-in', undefined, { ...html, ...session });
    expect([again.status, again.headers.get('location')]).toEqual([303, '/account']);
  });
});

describe('a key of a user', () => {
  it('has the rights of its user as they are now, until the user loses them, is disabled, or deletes it', async () => {
    const id = await addUser('kim', { roles: ['editor'] });
    const session = await signIn('kim');
    const key = await createKey(session);
    expect(key).toMatch(/^gru_[\w-]{43}$/);
    const basic = { authorization: `Basic ${Buffer.from(`any:${key}`).toString('base64')}` };
    for (const headers of [{ 'x-api-key': key }, { authorization: `Bearer ${key}` }, basic])
      expect(await whoAmI(headers)).toMatchObject({ kind: 'user', id, roles: ['editor'] });
    const admin = { 'x-api-key': server.adminKey };
    const change = (body: object) => send('PATCH', `/api/v1/users/${id}`, body, admin);
    await change({ roles: ['reader'] });
    expect(await whoAmI({ 'x-api-key': key })).toMatchObject({ roles: ['reader'] });
    await change({ isActive: false });
    for (const headers of [{ 'x-api-key': key }, basic])
      expect((await send('GET', '/account', undefined, headers)).status).toBe(401);
    await change({ isActive: true });
    expect(await whoAmI({ 'x-api-key': key })).toMatchObject({ id });
    const { json } = await send('GET', '/account/keys', undefined, await signIn('kim'));
    expect(json.keys).toMatchObject([{ name: 'QGIS', keyPrefix: key.slice(0, 12), expiresAt: null }]);
    expect(JSON.stringify(json)).not.toContain(key);
    const own = await signIn('kim');
    expect((await send('DELETE', `/account/keys/${json.keys[0].id}`, undefined, own)).status).toBe(204);
    for (const headers of [{ 'x-api-key': key }, basic])
      expect((await send('GET', '/account', undefined, headers)).status).toBe(401);
  });

  it('ends at its time, and with its user', async () => {
    const id = await addUser('lea');
    const session = await signIn('lea');
    const short = await createKey(session, {
      name: 'short',
      expiresAt: new Date(Date.now() + 1500).toISOString(),
    });
    const long = await createKey(session);
    expect(await whoAmI({ 'x-api-key': short })).toMatchObject({ id });
    const late = { name: 'late', expiresAt: '2020-01-01T00:00:00Z' };
    const refused = await send('POST', '/account/keys', late, session);
    expect([refused.status, refused.json.errors?.[0]?.name]).toEqual([400, '/expiresAt']);
    await expect
      .poll(async () => (await send('GET', '/account', undefined, { 'x-api-key': short })).status, {
        timeout: 5000,
      })
      .toBe(401);
    await send('DELETE', `/api/v1/admin/users/${id}`, undefined, { 'x-api-key': server.adminKey });
    expect((await send('GET', '/account', undefined, { 'x-api-key': long })).status).toBe(401);
  });

  it('makes no keys, and sees no sessions: only who signed in does', async () => {
    await addUser('ned');
    const key = await createKey(await signIn('ned'));
    for (const [method, path, body] of [
      ['POST', '/account/keys', { name: 'more' }],
      ['GET', '/account/keys', undefined],
      ['GET', '/account/sessions', undefined],
      ['DELETE', '/account/sessions', undefined],
    ] as const) {
      expect((await send(method, path, body, { 'x-api-key': key })).status, `${method} ${path}`).toBe(403);
      const admin = { 'x-api-key': server.adminKey };
      expect((await send(method, path, body, admin)).status, `${method} ${path} of a key`).toBe(403);
      expect((await send(method, path, body)).status, `${method} ${path} of a stranger`).toBe(401);
    }
  });
});

describe('sessions of a user', () => {
  it('are listed with their browsers, and end one by one or all others at once', async () => {
    await addUser('oda');
    await addUser('pia');
    const [one, two] = [await signIn('oda'), await signIn('oda', 'curl/8.0')];
    const { json } = await send('GET', '/account/sessions', undefined, one);
    expect(json.sessions).toHaveLength(2);
    const [other] = json.sessions.filter((session: { isCurrent: boolean }) => !session.isCurrent);
    expect(other).toMatchObject({ userAgent: 'curl/8.0', provider: null });
    const stranger = await signIn('pia');
    expect((await send('DELETE', `/account/sessions/${other.id}`, undefined, stranger)).status).toBe(404);
    expect(await whoAmI(two)).toMatchObject({ name: 'oda' });
    expect((await send('DELETE', `/account/sessions/${other.id}`, undefined, one)).status).toBe(204);
    expect(await whoAmI(two)).toMatchObject({ isAuthenticated: false });
    const three = await signIn('oda');
    expect((await send('DELETE', '/account/sessions', undefined, one)).status).toBe(204);
    expect(await whoAmI(three)).toMatchObject({ isAuthenticated: false });
    expect(await whoAmI(one)).toMatchObject({ name: 'oda' });
    // Another site cannot end them.
    const foreign = { cookie: one.cookie, origin: 'https://elsewhere.example' };
    expect((await send('DELETE', '/account/sessions', undefined, foreign)).status).toBe(403);
  });
});
