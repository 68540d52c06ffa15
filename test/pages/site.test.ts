import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { CatalogSnapshot } from '../../src/core/catalog/collection.js';
import type { LiveData } from '../../src/core/catalog/page-data.js';
import { ApiError } from '../../src/core/errors/errors.js';
import { HTML_FORMAT, JSON_FORMAT } from '../../src/core/http/media.js';
import {
  ANONYMOUS,
  defineOperation,
  type Exchange,
  type Operation,
  type Principal,
  type Reply,
} from '../../src/core/http/operation.js';
import { defineIntegerParam } from '../../src/core/http/params.js';
import { type HomeDocument, SURFACES } from '../../src/gateway/site/documents.js';
import { siteOperations } from '../../src/gateway/site/operations.js';
import { referenceOperations } from '../../src/gateway/site/reference.js';
import { RegionBoxes } from '../../src/services/exchange/places.js';
import { BASE, published, vectorCollection } from './collections.js';
import { expectSoundPage, pageJson } from './structure.js';

const SCRIPT = 'export const answer = 42;\n'.repeat(100);
const PLACES = 'dist/places.json';
let publicDir: string;
let catalog: CatalogSnapshot;
let operations: Operation[];

beforeAll(() => {
  const root = mkdtempSync(join(tmpdir(), 'graticule-site-'));
  publicDir = join(root, 'public');
  mkdirSync(join(publicDir, 'folder'), { recursive: true });
  writeFileSync(join(root, 'secret.js'), 'secret');
  writeFileSync(join(publicDir, 'folder', 'inner.js'), 'inner');
  writeFileSync(join(publicDir, 'map.js.gz'), gzipSync(SCRIPT));
  writeFileSync(join(publicDir, 'draw-ABCD2345.js.gz'), gzipSync(SCRIPT));
  writeFileSync(join(publicDir, 'site.css.gz'), gzipSync('body{}'));
  writeFileSync(join(publicDir, 'mark.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
  writeFileSync(join(publicDir, 'notes.secret'), 'no type, not served');
  symlinkSync(join(root, 'secret.js'), join(publicDir, 'linked.js'));
  catalog = new CatalogSnapshot(published(), [], 1);
  operations = siteOperations({
    listSources: () => [],
    sources: { find: () => undefined, findByCollection: () => undefined },
    sourceCrs: undefined as never,
    crsList: undefined as never,
    catalog: () => catalog,
    visible: () => catalog,
    surfaces: SURFACES,
    publicDir,
    manualDir: 'dist/manual',
    version: '1.2.3',
    pools: undefined as never,
    places: RegionBoxes.read(PLACES),
    basemapFile: '',
  });
});

afterAll(() => rmSync(join(publicDir, '..'), { recursive: true, force: true }));

function run(id: string, params: Record<string, string> = {}, format = HTML_FORMAT): Reply {
  const operation = operations.find((o) => o.id === id)!;
  return operation.run({
    params: { page: 1, ...params },
    format,
    baseUrl: BASE,
    path: operation.path,
    query: '',
    principal: ANONYMOUS,
  } as unknown as Exchange) as Reply;
}

function code(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof ApiError) return error.code;
    throw error;
  }
  return 'none';
}

describe('assets', () => {
  it('are sent as the build compressed them, typed, tagged, and cached for ever when their name carries a hash', () => {
    const plain = run('site.asset', { file: 'map.js' });
    const hashed = run('site.asset', { file: 'draw-ABCD2345.js' });
    expect(gunzipSync(plain.body as Uint8Array).toString()).toBe(SCRIPT);
    expect(plain).toMatchObject({
      encoding: 'gzip',
      mediaType: 'text/javascript; charset=utf-8',
      cacheControl: 'public, no-cache',
    });
    expect(hashed.cacheControl).toBe('public, max-age=31536000, immutable');
    expect(hashed.etag).toBe(plain.etag);
    expect(run('site.asset', { file: 'site.css' }).etag).not.toBe(plain.etag);
  });

  it.each([
    'nothing.js',
    '../secret.js',
    '..%2fsecret.js',
    '/etc/passwd',
    'folder',
    'folder/inner.js',
    'linked.js',
    'notes.secret',
    '',
    '.',
    '..',
    'constructor',
    '__proto__',
    'map.js\0',
  ])('named %j are not found', (file) => expect(code(() => run('site.asset', { file }))).toBe('not-found'));

  it('give the icon', () => {
    expect(run('site.favicon').mediaType).toBe('image/svg+xml');
  });
});

describe('the start page', () => {
  it('is a page under a strict policy', () => {
    const reply = run('site.home');
    expectSoundPage(reply.body as string);
    expect(reply.headers?.['content-security-policy']).toContain("script-src 'self';");
    for (const { path } of SURFACES) expect(reply.body).toContain(`href="${BASE}${path}"`);
  });

  it('lists interfaces and collections as JSON too', () => {
    const document = JSON.parse(run('site.home', {}, JSON_FORMAT).body as string) as HomeDocument;
    expect(document.version).toBe('1.2.3');
    expect(document.collections.map((c) => c.id)).toEqual(['countries', 'roads', 'dem']);
    expect(document.collections[1]!.links[0]!.href).toBe(`${BASE}/ogc/features/collections/roads`);
    expect(document.surfaces.flatMap((s) => s.links.map((link) => link.href))).toContain(`${BASE}/stac`);
  });
});

describe('the live page', () => {
  const followed = (page: string) => pageJson<LiveData>(page, 'live-data').layers.map(({ id }) => id);
  const ids = Array.from({ length: 7 }, (_, n) => `layer${n}`);
  const page = (count: number, params = {}) => {
    catalog = new CatalogSnapshot(
      ids.slice(0, count).map((id, n) => vectorCollection({ id, layerId: n + 1 })),
      [],
      1,
    );
    return String(run('site.live', params).body);
  };
  afterEach(() => {
    catalog = new CatalogSnapshot(published(), [], 1);
  });

  it('follows all of a few collections', () => {
    expect(followed(page(6))).toEqual(ids.slice(0, 6));
  });

  it('asks what to follow among many, and follows what is chosen', () => {
    const empty = page(7);
    expectSoundPage(empty);
    expect(empty).not.toContain('live-data');
    expect(empty).toContain('<h2>Choose what to follow</h2>');
    expect(empty).toContain('href="/prefix/live?collections=layer3"');
    const chosen = page(7, { collections: ['layer3', 'layer5'] } as never);
    expect(followed(chosen)).toEqual(['layer3', 'layer5']);
    expect(chosen).toContain('href="/prefix/live?collections=layer3,layer5,layer0"');
  });
});

describe('the API reference', () => {
  const api: Operation[] = [
    defineOperation({
      id: 'features.read',
      method: 'GET',
      path: '/ogc/features/{collectionId}',
      surface: 'features',
      protocol: 'OGC-Features',
      permission: 'public',
      summary: 'Read features',
      params: {
        limit: defineIntegerParam(
          'limit',
          { min: 1, max: 50, default: 10 },
          { description: 'Features to read.' },
        ),
      },
      responses: { 200: { description: 'Features' } },
      run: () => ({ status: 200 }),
    }),
    {
      id: 'admin.alerts.list',
      method: 'GET',
      path: '/api/v1/admin/alerts',
      surface: 'admin',
      protocol: 'Admin',
      tag: 'Alerts',
      permission: 'admin:alerts:read',
      summary: 'List alerts',
      params: {},
      formats: [],
      responses: {},
      built: false,
      run: () => ({ status: 501 }),
    },
    defineOperation({
      id: 'admin.document',
      method: 'GET',
      path: '/api/v1/admin/openapi.json',
      surface: 'admin',
      protocol: 'Admin',
      permission: 'admin:configuration:read',
      summary: 'OpenAPI document',
      responses: {},
      run: () => ({ status: 200 }),
    }),
  ];
  const reader = { ...ANONYMOUS, kind: 'user', name: 'ada', permissions: ['admin:read'] } as const;
  const pages = referenceOperations({ operations: api, visible: () => catalog });
  const show = (id: string, params = {}, query = '', principal: Principal = ANONYMOUS) => {
    const operation = pages.find((one) => one.id === id)!;
    const x = { params, format: HTML_FORMAT, baseUrl: BASE, path: operation.path, query, principal };
    return operation.run(x as unknown as Exchange) as Reply;
  };
  const one = (operationId: string, query = '') =>
    show('site.docsOperation', { surface: 'features', operationId }, query);

  it('lists APIs, and finds operations by words', () => {
    const list = show('site.docs').body as string;
    expectSoundPage(list);
    expect(list).toContain(`href="${BASE}/docs/admin"`);
    expect(show('site.docs', { q: 'read LIMIT' }).body).toContain('features.read');
    expect(show('site.docs', { q: 'alerts' }).body).not.toContain('admin.alerts.list');
    expect(show('site.docs', { q: 'alerts' }, '', reader).body).toContain('admin.alerts.list');
  });

  it('marks operations that are not built', () => {
    const list = show('site.docsViewer', { surface: 'admin' }, '', reader).body as string;
    expectSoundPage(list);
    expect(list).toContain('2 operations, 1 of them not available in this version');
    expect(list).toMatch(/<li class="operation unbuilt">.*List alerts/);
  });

  it('asks callers without the permission to sign in', () => {
    expect(code(() => show('site.docsViewer', { surface: 'admin' }))).toBe('unauthenticated');
    const other = { ...reader, permissions: [] };
    expect(code(() => show('site.docsViewer', { surface: 'admin' }, '', other))).toBe('forbidden');
    expect(code(() => show('site.docsViewer', { surface: '<script>' }))).toBe('not-found');
    expect(code(() => one('nothing'))).toBe('not-found');
  });

  it('describes parameters with limits and defaults, and fills in the form from the query', () => {
    const page = one('features.read', 'query.limit=7').body as string;
    expectSoundPage(page);
    expect(page).toContain('integer from 1 to 50');
    expect(page).toMatch(/Default:<\/span> <code>10<\/code>/);
    expect(page).toContain('name="path.collectionId" value="countries"');
    expect(page).toContain(`curl &#39;${BASE}/ogc/features/countries?limit=7&#39;`);
  });

  it('redirects to the request of the form', () => {
    const { status, headers } = one('features.read', 'open=1&path.collectionId=a%2Fb&query.limit=7');
    expect([status, headers?.['location']]).toEqual([303, `${BASE}/ogc/features/a%2Fb?limit=7`]);
  });
});
