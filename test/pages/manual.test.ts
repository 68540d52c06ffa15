import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { raw } from '../e2e/support/http.js';
import { launchBrowser, savePicture, watchedPage } from '../support/browser.js';
import { type SharedServer, sharedServer } from '../support/shared-server.js';
import { axeFaults } from './axe.js';
import { layoutFaults } from './walk.js';

/** The manual below /manual, as the gateway serves it, and its folder as any host of static files does. */

const FOLDER = 'dist/manual';
const ERRORS = '/manual/reference/server/errors';

let server: SharedServer;
let browser: Browser;

beforeAll(async () => {
  server = await sharedServer();
  browser = await launchBrowser();
});
afterAll(() => browser?.close());

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  raw(`${server.url}${path}`, { method, headers });

describe('the manual of a server', () => {
  it.each(['/manual/', ERRORS, `${ERRORS}.html`, '/manual/reference/', '/manual/tutorials/web-map'])(
    'has a page at %s, under the policy of all pages',
    async (path) => {
      const { status, headers, body } = await get(path);
      expect(status).toBe(200);
      expect(headers['content-type']).toBe('text/html; charset=utf-8');
      expect(headers['content-security-policy']).toContain("script-src 'self';");
      expect(headers['cache-control']).toBe('public, no-cache');
      expect(body.toString()).toContain('<main id="main"');
    },
  );

  it.each([
    ['/manual', 'manual/'],
    ['/manual/reference', 'reference/'],
    ['/manual/reference/server', 'server/'],
  ])('leads from %s to its folder, by a path that is right below any prefix', async (path, location) => {
    const { status, headers } = await get(path);
    expect([status, headers.location]).toEqual([308, location]);
  });

  it('is sent as the build compressed it', async () => {
    const plain = await get(ERRORS);
    expect(plain.headers['content-encoding']).toBeUndefined();
    const br = await get(ERRORS, { 'accept-encoding': 'br' });
    expect(br.headers['content-encoding']).toBe('br');
    expect(br.body.equals(readFileSync(join(FOLDER, 'reference/server/errors.html.br')))).toBe(true);
    expect(brotliDecompressSync(br.body).equals(plain.body)).toBe(true);
    const gzip = await get(ERRORS, { 'accept-encoding': 'gzip' });
    expect(gunzipSync(gzip.body).equals(plain.body)).toBe(true);
    const zstd = await get(ERRORS, { 'accept-encoding': 'zstd' });
    expect(zstd.body.equals(readFileSync(join(FOLDER, 'reference/server/errors.html.zst')))).toBe(true);
  });

  it('is not sent again to those who have it', async () => {
    const { etag } = (await get(ERRORS)).headers;
    const again = await get(ERRORS, { 'if-none-match': etag! });
    expect([again.status, again.body.length]).toEqual([304, 0]);
  });

  it('answers HEAD with the length of the page', async () => {
    const { status, headers, body } = await get(ERRORS, {}, 'HEAD');
    expect([status, body.length]).toEqual([200, 0]);
    expect(Number(headers['content-length'])).toBe(
      readFileSync(join(FOLDER, 'reference/server/errors.html')).length,
    );
  });

  it('keeps scripts, styles and images beside its pages', async () => {
    const [page, script] = await Promise.all([get('/manual/'), get('/manual/assets/manual.js')]);
    expect(script.headers['content-type']).toBe('text/javascript; charset=utf-8');
    expect(page.body.toString()).toContain('src="assets/manual.js"');
    const name = /search-[A-F0-9]{8}\.json/.exec(script.body.toString())![0];
    const index = await get(`/manual/assets/${name}`);
    expect(index.headers['content-type']).toBe('application/json');
    expect(index.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect((await get('/manual/pictures/start.png')).headers['content-type']).toBe('image/png');
  });

  it.each([
    '/manual/nothing',
    '/manual/reference/server/nothing',
    '/manual/a/b/c/d',
    `${ERRORS}/`,
    '/manual/index.html/',
    '/manual/..%2fcli%2fmain.js',
    '/manual/%2e%2e/cli/main.js',
    '/manual/reference%2fserver%2ferrors',
    '/manual/reference/server/errors.html.br',
    '/manual/reference/server/errors.md',
    '/manual/__proto__',
    '/manual/constructor',
    '/manual/%00',
  ])('has nothing at %s', async (path) => {
    const page = await get(path, { accept: 'text/html' });
    expect([page.status, page.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
    const problem = await get(path);
    expect([problem.status, problem.headers['content-type']]).toEqual([404, 'application/problem+json']);
  });

  it('is linked from the header of every page, and from problem documents', async () => {
    for (const path of ['/', '/docs', '/ogc/features/collections', '/ogc/maps/viewer', '/account/sign-in'])
      expect((await get(path, { accept: 'text/html' })).body.toString(), path).toContain(
        `href="${server.url}/manual/">Manual</a>`,
      );
    const url = `${server.url}/ogc/features/collections?limit=x`;
    const { help, type, code } = JSON.parse((await raw(url)).body.toString());
    expect([type, help]).toEqual([
      expect.stringMatching(/\/problems\/validation$/),
      `${server.url}${ERRORS}#${code}`,
    ]);
    expect((await raw(help.split('#')[0])).body.toString()).toContain(`<h3 id="${code}">`);
    const page = (await raw(url, { headers: { accept: 'text/html' } })).body.toString();
    expect(page).toContain(`href="${help}"`);
  });

  it.each(['admin', 'security', 'validation'])('is where the type of problems %s leads', async (type) => {
    const { status, headers } = await get(`/problems/${type}`);
    expect(status).toBe(303);
    expect((await raw(new URL(headers.location!, `${server.url}/problems/${type}`).href)).status).toBe(200);
  });

  it('knows no other type of problems', async () => {
    expect((await get('/problems/nothing')).status).toBe(404);
    expect((await get('/problems/constructor')).status).toBe(404);
  });
});

describe.each([1280, 360])('the manual at %i pixels', (width) => {
  it.each([
    ['start', ''],
    ['settings', 'reference/server/settings'],
    ['errors', 'reference/server/errors'],
    ['how-to', 'how-to/install/behind-nginx'],
  ])('has no fault on the page %s that axe finds, and does not scroll sideways', async (name, path) => {
    const { page, problems } = await openPage(`${server.url}/manual/${path}`, width);
    await savePicture(page, `manual-${name}-${width}`);
    expect(await layoutFaults(page)).toEqual([]);
    expect(await axeFaults(page)).toEqual([]);
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it('is searched with the keyboard', async () => {
    const { page, problems } = await openPage(`${server.url}/manual/how-to/install/https`, width);
    await page.keyboard.press('/');
    await page.keyboard.type('rate limit');
    const results = page.locator('[data-found] a');
    await results.first().waitFor();
    await savePicture(page, `manual-search-${width}`);
    expect(await layoutFaults(page)).toEqual([]);
    expect(await axeFaults(page)).toEqual([]);
    await page.keyboard.press('ArrowDown');
    const href = await page.evaluate(() => (document.activeElement as HTMLAnchorElement).href);
    await page.keyboard.press('Enter');
    await page.waitForURL(href);
    expect(problems).toEqual([]);
    await page.context().close();
  });
});

describe('the folder of the manual', () => {
  it('works below any path of a host of static files, without a request to anywhere else', async () => {
    const page = await (await browser.newContext({ bypassCSP: false })).newPage();
    const refused: string[] = [];
    page.on('console', (message) => refused.push(message.text()));
    await page.route('**/*', (route) => {
      const { origin, pathname } = new URL(route.request().url());
      const [, name] = /^\/some\/where\/(.*)$/.exec(pathname) ?? [];
      if (origin !== 'http://static.test' || name === undefined) {
        refused.push(route.request().url());
        return route.abort();
      }
      const path = join(FOLDER, name === '' || name.endsWith('/') ? `${name}index.html` : name);
      // A stricter policy than that of the server.
      const headers = { 'content-security-policy': "default-src 'self'" };
      return route.fulfill({ path, headers, contentType: TYPES[extname(path)] });
    });
    await page.goto('http://static.test/some/where/');
    await page.getByRole('navigation', { name: 'Contents' }).getByText('Reference', { exact: true }).click();
    await page.getByRole('searchbox').fill('invalid-parameter');
    await page.locator('[data-found] a').first().click();
    await page.waitForURL('http://static.test/some/where/reference/server/errors.html#invalid-parameter');
    expect(await page.locator(':target').textContent()).toBe('invalid-parameter');
    expect(refused).toEqual([]);
    await page.context().close();
  });
});

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
};

async function openPage(url: string, width: number): Promise<{ page: Page; problems: string[] }> {
  const watched = await watchedPage(browser, server.url, {
    viewport: { width, height: 800 },
    // Axe is a script of its own.
    bypassCSP: true,
  });
  await watched.page.goto(url);
  return watched;
}
