import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { type RawRequest, raw, run } from './support/http.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-encodings-'));
let server: TestServer;

beforeAll(async () => {
  for (const name of ['world_map.gpkg', 'L7_ETMs.tif'])
    copyFileSync(join('demo/data', name), join(folder, name));
  server = await startServer({ sources: [folder] });
});

afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const get = (path: string, headers: Record<string, string> = {}, request: RawRequest = {}) =>
  raw(`${server.url}${path}`, { ...request, headers });

/** Readers that nobody here wrote. */
const READERS = {
  identity: (body: Buffer) => body,
  gzip: (body: Buffer) => gunzipSync(body),
  br: (body: Buffer) => brotliDecompressSync(body),
  zstd: (body: Buffer) => execFileSync('zstd', ['-dcq'], { input: body, maxBuffer: 1e9 }),
};
type Coding = keyof typeof READERS;
const CODINGS = Object.keys(READERS) as Coding[];

const ITEM = '/ogc/features/collections/countries/items/3';
const PAGE = '/ogc/features/collections/states_provinces/items?limit=20';
const LONG_PAGE = '/ogc/features/collections/states_provinces/items?limit=2000';
const TILE = '/ogc/tiles/collections/3/tiles/WebMercatorQuad/2/1/2';
const QUERY = '/rest/services/default/FeatureServer/3/query?where=1%3D1&outFields=*&resultRecordCount=50';
const NEGOTIABLE = [
  ...[ITEM, PAGE, `${PAGE}&f=csv`, `${PAGE}&f=gml`, `${PAGE}&f=html`],
  ...[LONG_PAGE, `${LONG_PAGE}&f=csv`, `${LONG_PAGE}&f=gml`],
  ...[TILE, `${TILE}?f=mlt`, `${QUERY}&f=json`, `${QUERY}&f=pbf`],
  ...['/ogc/features/api', '/ogc/maps/fonts/Noto%20Sans%20Regular/0-255.pbf', '/assets/viewer.js'],
];
const PLAIN = [
  `${TILE}?f=png`,
  `${TILE}?f=webp`,
  '/ogc/coverages/collections/l7_etms/coverage?scale-size=8,8',
];
/** Pages in parts have no tag: what they hold is not known before they are out. */
const TAGGED = NEGOTIABLE.filter((path) => !path.startsWith(LONG_PAGE) && !path.startsWith(QUERY));
const varies = (vary: string | undefined) => (vary ?? '').includes('accept-encoding');

/** The time of an answer is in pages. */
const stable = (body: Buffer) =>
  body
    .toString('latin1')
    .replace(/"timeStamp":"[^"]+"|numberReturned="\d+" timeStamp="[^"]+"|timeStamp="[^"]+"/g, '');

describe('every content coding', () => {
  it.each(NEGOTIABLE)('of %s holds the same, with Vary and a tag of its own', async (path) => {
    const plain = await get(path, { 'accept-encoding': 'identity' });
    const tags = new Set<string>();
    for (const coding of CODINGS) {
      const answer = await get(path, { 'accept-encoding': coding });
      const { etag, vary, 'content-encoding': name } = answer.headers;
      expect([coding, answer.status, name]).toEqual([
        coding,
        200,
        coding === 'identity' ? undefined : coding,
      ]);
      expect(varies(vary)).toBe(true);
      expect(stable(READERS[coding](answer.body)) === stable(plain.body)).toBe(true);
      if (coding !== 'identity') expect(answer.body.length).toBeLessThan(plain.body.length);
      if (etag) tags.add(etag);
    }
    expect(tags.size).toBe(TAGGED.includes(path) ? CODINGS.length : 0);
  });

  it.each(TAGGED)('of %s is 304 under its own tag to who takes it, by GET and HEAD', async (path) => {
    for (const coding of CODINGS) {
      const headers = { 'accept-encoding': coding };
      const { etag } = (await get(path, headers)).headers;
      for (const method of ['GET', 'HEAD']) {
        const again = await get(path, { ...headers, 'if-none-match': `"x", ${etag}` }, { method });
        expect([again.status, again.headers.etag, again.body.length]).toEqual([304, etag, 0]);
        expect([varies(again.headers.vary), again.headers['content-encoding']]).toEqual([true, undefined]);
      }
      const browser = { 'accept-encoding': 'gzip, deflate, br, zstd', 'if-none-match': etag! };
      expect((await get(path, browser)).status).toBe(304);
      const other = { 'accept-encoding': 'deflate', 'if-none-match': etag! };
      expect((await get(path, other)).status).toBe(coding === 'identity' ? 304 : 200);
    }
  });

  it.each(NEGOTIABLE)('of %s has the head by HEAD that it has by GET', async (path) => {
    for (const coding of CODINGS) {
      const [whole, head] = [
        await get(path, { 'accept-encoding': coding }),
        await get(path, { 'accept-encoding': coding }, { method: 'HEAD' }),
      ];
      expect(head.body.length).toBe(0);
      for (const name of ['content-type', 'content-encoding', 'etag', 'vary', 'cache-control'])
        expect([coding, name, head.headers[name]]).toEqual([coding, name, whole.headers[name]]);
    }
  });

  it.each(PLAIN)('is identity of %s, without Vary', async (path) => {
    for (const accept of ['gzip, deflate, br, zstd', 'identity;q=0, gzip', '*;q=0']) {
      const answer = await get(path, { 'accept-encoding': accept });
      const { etag, vary, 'content-encoding': name } = answer.headers;
      expect([answer.status, name, varies(vary)]).toEqual([200, undefined, false]);
      const again = await get(path, { 'accept-encoding': accept, 'if-none-match': etag! });
      expect([again.status, again.headers.etag, varies(again.headers.vary)]).toEqual([304, etag, false]);
    }
  });

  it('is identity of parts', async () => {
    const path = PLAIN[2]!;
    const headers = { 'accept-encoding': 'gzip, br, zstd' };
    const whole = await get(path, headers);
    const part = await get(path, { ...headers, range: 'bytes=0-99' });
    expect([part.status, part.headers['content-encoding']]).toEqual([206, undefined]);
    expect(part.body.equals(whole.body.subarray(0, 100))).toBe(true);
    const coded = await get(path, {
      ...headers,
      range: 'bytes=0-99',
      'if-range': whole.headers.etag!.replace(/"$/, '-br"'),
    });
    expect(coded.status).toBe(200);
  });

  it('of a problem is that of the request, too', async () => {
    const answer = await get('/ogc/features/collections/nothing', { 'accept-encoding': 'br' });
    expect([answer.status, varies(answer.headers.vary)]).toEqual([404, true]);
  });
});

it.each([TILE, `${TILE}?f=mlt`])('%s has the same tag whoever asked for it first', async (path) => {
  const firstTag = async (coding: Coding) => {
    const headers = { 'x-api-key': server.adminKey, 'content-type': 'application/json' };
    const all = { method: 'POST', body: '{"scope":"all"}' };
    expect((await get('/api/v1/admin/cache/invalidate', headers, all)).status).toBe(200);
    const { etag, 'server-timing': stages } = (await get(path, { 'accept-encoding': coding })).headers;
    expect(stages).toContain('vector-tile');
    return etag!.replace(/-\w+"$/, '"');
  };
  const tags = new Set<string>();
  for (const coding of CODINGS) tags.add(await firstTag(coding));
  expect(tags.size).toBe(1);
});

it.each(CODINGS)('an edit goes by the tag that its client got by %s, once', async (coding) => {
  const patch = async (tag: string) => {
    const body = JSON.stringify({ properties: { NAME: `edited by ${coding}` } });
    const type = { 'content-type': 'application/merge-patch+json' };
    const headers = { ...type, 'x-api-key': server.adminKey, 'if-match': tag };
    return (await get(ITEM, headers, { method: 'PATCH', body })).status;
  };
  const { etag } = (await get(ITEM, { 'accept-encoding': coding })).headers;
  expect(etag!.endsWith(coding === 'identity' ? '"' : `-${coding}"`)).toBe(true);
  expect(await patch(etag!)).toBe(200);
  expect(await patch(etag!)).toBe(412);
});

it('a document of the management API goes by the tag of any of its forms, once', async () => {
  const path = '/api/v1/admin/rate-limits';
  const headers = { 'x-api-key': server.adminKey, 'content-type': 'application/json' };
  const policy = JSON.stringify({
    scope: 'address',
    key: '192.0.2.1',
    name: 'by tag',
    requestsPerWindow: 1000,
    windowDurationSeconds: 60,
  });
  const first = await get(path, headers, { method: 'POST', body: policy });
  const item = `${path}/${JSON.parse(first.body.toString()).data.policyId}`;
  for (const coding of CODINGS) {
    const accept = {
      ...headers,
      'accept-encoding': `${coding}, identity;q=${coding === 'identity' ? 1 : 0}`,
    };
    const { etag } = (await get(item, accept)).headers;
    expect(etag!.endsWith(coding === 'identity' ? '"' : `-${coding}"`)).toBe(true);
    const put = { method: 'PUT', body: policy };
    expect((await get(item, { ...headers, 'if-match': etag! }, put)).status).toBe(200);
    expect((await get(item, { ...headers, 'if-match': etag! }, put)).status).toBe(412);
  }
  const { etag } = (await get(item, headers)).headers;
  const list = { ...headers, 'if-match': `"other", ${etag!.replace(/"$/, '-br"')}` };
  expect((await get(item, list, { method: 'PUT', body: policy })).status).toBe(200);
  const stale = async (tags: string) =>
    (await get(item, { ...headers, 'if-match': tags }, { method: 'DELETE' })).status;
  expect([await stale(list['if-match']), await stale('no tag'), await stale(`W/${etag}`)]).toEqual([
    ...[412, 412, 412],
  ]);
  const { etag: last } = (await get(item, headers)).headers;
  expect((await get(item, { ...headers, 'if-match': `"a", ${last}` }, { method: 'DELETE' })).status).toBe(
    200,
  );
});

describe('clients', () => {
  const plain = async (path: string) => (await get(path, { 'accept-encoding': 'identity' })).body;

  it('curl reads what it asks for', async () => {
    for (const path of [ITEM, TILE, `${LONG_PAGE}&f=csv`]) {
      const output = join(folder, 'curl.out');
      const args = ['-sf', '--compressed', '-D', '-', '-o', output, `${server.url}${path}`];
      const head = await run('curl', args);
      expect(head).toMatch(/content-encoding: (zstd|gzip)/i);
      const same = await run('sh', ['-c', `sha256sum < ${output}`]);
      const body = await plain(path);
      expect(same).toBe(execFileSync('sha256sum', { input: body }).toString());
    }
  });

  it('fetch of Node reads what it asks for', async () => {
    for (const path of [ITEM, TILE, `${LONG_PAGE}&f=csv`]) {
      const response = await fetch(server.url + path);
      expect(response.headers.get('content-encoding')).toMatch(/^(gzip|br|zstd)$/);
      expect(Buffer.from(await response.arrayBuffer()).equals(await plain(path))).toBe(true);
    }
  });

  it('GDAL reads pages that it is sent compressed', async () => {
    const info = await run(
      'sh',
      ['-c', `ogrinfo -ro -al -so 'OAPIF:${server.url}/ogc/features/' countries 2>&1`],
      { CPL_CURL_VERBOSE: 'YES', CPL_DEBUG: 'ON' },
    ).catch((error: Error) => error.message);
    expect(info).toMatch(/content-encoding: gzip/i);
    expect(info).toMatch(/Feature Count: [1-9]\d*/);
  });

  it('GDAL reads tiles as they are sent compressed', async () => {
    const [z, y, x] = TILE.split('/').slice(-3);
    const answer = await get(TILE, { 'accept-encoding': 'gzip' });
    expect(answer.headers['content-encoding']).toBe('gzip');
    const file = join(folder, 'tile.pbf');
    writeFileSync(file, answer.body);
    const address = ['-oo', `Z=${z}`, '-oo', `X=${x}`, '-oo', `Y=${y}`];
    const info = await run('ogrinfo', ['-ro', '-al', '-so', ...address, `MVT:${file}`]);
    expect(info).toMatch(/Feature Count: [1-9]\d*/);
  });
});
