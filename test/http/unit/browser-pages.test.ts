import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiError, ERROR_TABLE, type ErrorCode } from '../../../src/core/errors/errors.js';
import { asksForHtml } from '../../../src/core/http/media.js';
import { defineOperation } from '../../../src/core/http/operation.js';
import { bboxParam } from '../../../src/core/http/params.js';
import type { HttpServer } from '../../../src/gateway/http/server.js';
import { jsonPage, pageHeaders, problemPage } from '../../../src/gateway/pages/for-browsers.js';
import { raw } from '../../e2e/support/http.js';
import { expectSoundPage } from '../../pages/structure.js';
import { serverOf } from '../support.js';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';
const HOSTILE = `</title><script>alert(1)</script>"'&`;
const LONG = { members: Array.from({ length: 20_000 }, (_, i) => `member ${i}`) };

describe('what asks for HTML', () => {
  it.each([BROWSER, 'text/html', 'text/html, application/json;q=0.9'])('is %s', (accept) =>
    expect(asksForHtml(accept)).toBe(true),
  );

  it.each([undefined, '*/*', 'application/json', 'application/json, text/html;q=0.9', 'text/plain, */*'])(
    'is not %s',
    (accept) => expect(asksForHtml(accept)).toBe(false),
  );
});

describe('a browser', () => {
  let server: HttpServer;
  let url: string;

  beforeAll(async () => {
    const operation = (name: string, run: () => object) =>
      defineOperation({
        id: `test.${name}`,
        method: 'GET',
        path: `/${name}`,
        surface: 'site',
        protocol: 'Site',
        summary: 'Test',
        permission: 'public',
        responses: {},
        run: async () => {
          const body = JSON.stringify(run());
          return { status: 200, mediaType: 'application/json', body, etag: 'a', cacheControl: 'max-age=60' };
        },
      });
    const failing = (Object.keys(ERROR_TABLE) as ErrorCode[]).map((code) =>
      operation(code, () => {
        throw new ApiError(code, HOSTILE, { errors: [{ name: HOSTILE, detail: HOSTILE }] });
      }),
    );
    const document = operation('document', () => ({
      title: HOSTILE,
      links: [{ href: '/elsewhere', rel: 'related', title: 'Where it leads' }],
    }));
    const list = defineOperation({
      ...operation('list', () => ({ title: 'List' })),
      params: { box: bboxParam },
      run: (x) =>
        Promise.resolve({
          status: 200,
          mediaType: 'application/json',
          body: JSON.stringify({ title: `query ${x.query}` }),
        }),
    });
    const operations = [...failing, document, list, operation('long', () => LONG)];
    server = serverOf(operations, { pages: { headers: pageHeaders(), jsonPage, problemPage } });
    url = `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}`;
  });
  afterAll(() => server?.close(0));

  it('gets a page without the empty fields of its form, which are errors in other formats', async () => {
    const get = (path: string, accept: string) => fetch(url + path, { headers: { accept } });
    for (const attempt of [1, 2]) {
      const page = await get('/list?bbox=&b', BROWSER);
      expect([attempt, page.status, await page.text()]).toEqual([
        attempt,
        200,
        expect.stringContaining('query '),
      ]);
      expect((await get('/list?bbox=', 'application/json')).status).toBe(400);
    }
    expect(await (await get('/list?bbox=&f=html', '*/*')).text()).toContain('query f=html');
    expect((await get('/list?bbox=1,2', BROWSER)).status).toBe(400);
  });

  const open = (path: string, headers: Record<string, string> = { accept: BROWSER }) =>
    raw(`${url}${path}`, { headers });

  it.each(Object.entries(ERROR_TABLE))('is shown %s as a page, programs get JSON', async (code, [status]) => {
    const page = await open(`/${code}`);
    expect([page.status, page.headers['content-type']]).toEqual([status, 'text/html; charset=utf-8']);
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    expect(page.headers['cache-control']).toBe('no-store');
    if (status === 401) expect(page.headers['www-authenticate']).toBeDefined();
    const challenges = async (headers: Record<string, string>) =>
      String((await open(`/${code}`, headers)).headers['www-authenticate'] ?? 'none');
    const ownScript = { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'empty' };
    expect(await challenges(ownScript)).not.toContain('Basic');
    expect((await challenges({ 'sec-fetch-site': 'same-origin' })).includes('Basic')).toBe(status === 401);
    const text = page.body.toString();
    expectSoundPage(text);
    expect(text).toContain('&lt;script&gt;');
    expect(text).not.toContain('<script>');
    expect(text).toContain(`${status} ${code}`);
    for (const accept of ['*/*', 'application/json', 'application/geo+json, */*;q=0.1']) {
      const problem = await open(`/${code}`, { accept });
      expect([problem.status, problem.headers['content-type']]).toEqual([status, 'application/problem+json']);
      expect(JSON.parse(problem.body.toString())).toMatchObject({ status, code });
    }
  });

  it('is shown what does not exist as a page, by every method', async () => {
    for (const method of ['GET', 'HEAD', 'POST', 'DELETE']) {
      const page = await raw(`${url}/nothing`, { method, headers: { accept: BROWSER } });
      expect([page.status, page.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
    }
  });

  it('is shown a JSON document as a page with its links, and the JSON where it asks for that', async () => {
    const page = await open('/document');
    expectSoundPage(page.body.toString());
    expect(page.body.toString()).toContain('<a href="/elsewhere" rel="related">Where it leads</a>');
    expect(page.headers.vary).toContain('accept');
    expect(page.headers.etag).not.toBe('"a"');
    const again = await open('/document', { accept: BROWSER, 'if-none-match': page.headers.etag! });
    expect(again.status).toBe(304);
    for (const [path, accept] of [
      ['/document?f=json', BROWSER],
      ['/document', '*/*'],
    ] as const) {
      const json = await open(path, { accept });
      expect(json.headers['content-type']).toBe('application/json');
      expect(json.headers.etag).toBe('"a"');
    }
  });

  it('is shown where a long JSON document is, which the event loop does not read', async () => {
    const page = (await open('/long')).body.toString();
    expectSoundPage(page);
    expect(page.length).toBeLessThan(8000);
    expect(page).toContain(`/long?f=json">Open the JSON document</a>`);
  });
});
