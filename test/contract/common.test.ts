import { beforeAll, describe, expect, it } from 'vitest';
import { type SharedServer, sharedServer } from '../support/shared-server.js';

/** OGC API Common, parts 1 and 2, on every surface that declares it; tests are named after its requirements. */

interface Link {
  rel: string;
  href: string;
  type?: string;
}
// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
type Json = any;

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});

describe.each(['/ogc/features/', '/ogc/tiles/', '/ogc/maps', '/ogc/coverages/'])('%s', (landing) => {
  const base = landing.replace(/\/$/, '');
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(path.startsWith('http') ? path : server.url + path, { headers });
  const typeOf = (response: Response) => response.headers.get('content-type')!.split(';')[0];
  async function json(path: string): Promise<Json> {
    const response = await get(path, { accept: 'application/json' });
    expect([path, response.status, typeOf(response)]).toEqual([path, 200, 'application/json']);
    return response.json();
  }
  const to = ({ links }: { links: Link[] }, ...rels: string[]) =>
    links.filter(({ rel }) => rels.some((one) => rel === one || rel.endsWith(`/${one}`)));

  it('/req/landing-page/{root-op,root-success}: the landing page leads to everything, by links that work', async () => {
    const page = await json(landing);
    expect(page.title).toEqual(expect.any(String));
    for (const rel of ['self', 'alternate', 'service-desc', 'service-doc', 'conformance', 'data'])
      expect(to(page, rel), rel).not.toEqual([]);
    for (const { href, rel, type } of page.links as Link[]) {
      expect([rel, type]).toEqual([expect.any(String), expect.any(String)]);
      expect((await get(href)).status, href).toBe(200);
    }
  });

  it('/req/landing-page/{api-definition-op,api-definition-success}: each link of the API definition leads to it', async () => {
    const page = await json(landing);
    for (const { href, type } of to(page, 'service-desc', 'service-doc')) {
      const response = await get(href, { accept: type! });
      expect([href, response.status, typeOf(response)]).toEqual([href, 200, type!.split(';')[0]]);
      expect((await response.text()).length).toBeGreaterThan(500);
    }
  });

  it('/req/landing-page/{conformance-op,conformance-success}: the declaration lists URIs of classes, each once', async () => {
    const [link] = to(await json(landing), 'conformance');
    const { conformsTo } = await json(link!.href.replace(server.url, ''));
    expect(await json(`${base}/conformance`)).toMatchObject({ conformsTo });
    expect(new Set(conformsTo).size).toBe(conformsTo.length);
    for (const uri of conformsTo) expect(uri).toMatch(/^(https?:\/\/|urn:)\S+$/);
  });

  it('/req/core/http: HEAD and OPTIONS are there, other methods 405, and what is not there 404', async () => {
    for (const path of [landing, `${base}/conformance`, `${base}/collections`]) {
      const send = (method: string) => fetch(server.url + path, { method });
      const [whole, head] = [await get(path), await send('HEAD')];
      expect([head.status, typeOf(head), await head.text()]).toEqual([200, typeOf(whole), '']);
      for (const method of ['POST', 'PUT', 'DELETE']) {
        const refused = await send(method);
        expect([method, refused.status]).toEqual([method, 405]);
        expect(refused.headers.get('allow')).toContain('GET');
      }
    }
    expect((await get(`${base}/no-such-thing`)).status).toBe(404);
    expect((await get(`${base}/collections/no-such-collection`)).status).toBeGreaterThanOrEqual(400);
  });

  it('/req/core/{query-param-name-unknown,query-param-value-invalid}: are refused with 400 that names the parameter', async () => {
    for (const path of [landing, `${base}/conformance`, `${base}/collections`])
      for (const [name, query] of [
        ['nobody', 'nobody=knows'],
        ['f', 'f=nothing'],
        ['F', 'F=json'],
      ]) {
        const response = await get(`${path}?${query}`);
        expect([path, query, response.status]).toEqual([path, query, 400]);
        expect(typeOf(response)).toBe('application/problem+json');
        expect(((await response.json()) as Json).errors.map((one: Json) => one.name)).toEqual([name]);
      }
  });

  it('/req/json/{definition,content}, /req/html/{definition,content}: every document in both, by Accept and by f', async () => {
    const { collections } = await json(`${base}/collections`);
    for (const path of [
      landing,
      `${base}/conformance`,
      `${base}/collections`,
      `${base}/collections/${collections[0].id}`,
    ]) {
      const document = await json(path);
      expect(document.links, path).toEqual(expect.any(Array));
      for (const response of [await get(path, { accept: 'text/html' }), await get(`${path}?f=html`)]) {
        expect([path, response.status, typeOf(response)]).toEqual([path, 200, 'text/html']);
        expect(await response.text()).toMatch(/^<!doctype html>[\s\S]*<\/html>\s*$/i);
      }
      expect(await (await get(`${path}?f=json`, { accept: 'text/html' })).json()).toMatchObject({
        ...document,
        links: expect.any(Array),
      });
    }
  });

  it('/req/collections/{collections-list-op,collections-list-success,collections-list-links,collections-list-collections}: the list holds every collection as it describes itself', async () => {
    const list = await json(`${base}/collections`);
    expect(to(list, 'self')).toHaveLength(1);
    expect(to(list, 'alternate').map(({ type }) => type)).toContain('text/html');
    expect(list.collections.length).toBeGreaterThan(0);
    for (const listed of list.collections) {
      const { id, title, crs, extent } = await json(`${base}/collections/${listed.id}`);
      expect({ id, title, crs, extent }).toEqual({
        id: listed.id,
        title: listed.title,
        crs: listed.crs,
        extent: listed.extent,
      });
    }
  });

  it('/req/collections/{description-op,description-success,description-links,description-extent}: each says where it is, and leads to itself and its data', async () => {
    const { collections } = await json(`${base}/collections`);
    for (const { id } of collections) {
      const one = await json(`${base}/collections/${id}`);
      expect(String(one.id)).toBe(String(id));
      expect(to(one, 'self')).toHaveLength(1);
      expect(one.links.length).toBeGreaterThan(2);
      for (const { href, rel, type } of one.links as Link[])
        expect([href, rel, type]).toEqual([expect.any(String), expect.any(String), expect.any(String)]);
      for (const box of one.extent?.spatial?.bbox ?? []) {
        expect([4, 6]).toContain(box.length);
        const half = box.length / 2;
        expect([box[0], box[half]].every((x: number) => x >= -180 && x <= 180)).toBe(true);
        expect(box[1]).toBeLessThanOrEqual(box[half + 1]);
      }
      for (const [start, end] of one.extent?.temporal?.interval ?? [])
        if (start && end) expect(Date.parse(start)).toBeLessThanOrEqual(Date.parse(end));
    }
  });
});

describe('values of parameters', () => {
  const items = '/ogc/features/collections/countries/items';
  const status = async (path: string) => (await fetch(server.url + path)).status;

  it.each(['1.5', '1e1', '0x10', ' 5', '５', '', '--1', '10,11'])(
    '/req/core/query-param-value-integer: limit=%s is none',
    async (value) => {
      expect(await status(`${items}?limit=${encodeURIComponent(value)}`)).toBe(400);
    },
  );

  it.each(['1,2,3,x', '1,2,3,', '1;2;3;4', '1,2,3,4,5', 'NaN,0,1,1', '0,0,Infinity,1', '0x1,0,2,2'])(
    '/req/core/{query-param-value-decimal,query-param-list-delimiter}: bbox=%s is none',
    async (value) => {
      expect(await status(`${items}?bbox=${encodeURIComponent(value)}`)).toBe(400);
    },
  );

  it('/req/core/{query-param-value-decimal,query-param-list-delimiter}: signs, places and powers of ten are understood', async () => {
    for (const value of ['-1.5,-2,+3.25,4', '1e0,2E0,30,4e1', '.5,1,2,3'])
      expect([value, await status(`${items}?bbox=${encodeURIComponent(value)}`)]).toEqual([value, 200]);
  });

  it.each(['yes', '1', 'TRUE ', 'false,true', ''])(
    '/req/core/query-param-value-boolean: transparent=%s is none',
    async (value) => {
      const path = `/ogc/maps/map?width=16&transparent=${encodeURIComponent(value)}`;
      expect(await status(path)).toBe(400);
    },
  );
});

it.each([
  [
    '/ogc/features/collections/l7_etms',
    'feature collection',
    ['Coverage', 'Maps', 'Tiles', 'STAC collection'],
  ],
  [
    '/ogc/features/collections/l7_etms/items',
    'feature collection',
    ['Coverage', 'Maps', 'Tiles', 'STAC collection'],
  ],
  ['/ogc/coverages/collections/countries', 'coverage', ['Features', 'Maps', 'Tiles', 'STAC collection']],
])('%s without data of this kind leads to what the collection has', async (path, kind, titles) => {
  const response = await fetch(server.url + path, { headers: { accept: 'application/json' } });
  expect(response.status).toBe(404);
  const { detail, links } = await response.json();
  expect(detail).toContain(kind);
  expect(detail).toContain(`It has: ${titles.join(', ').toLowerCase().replace('stac', 'STAC')}.`);
  expect(links.map(({ title }: { title: string }) => title)).toEqual(titles);
  for (const { href } of links) expect([href, (await fetch(href)).status]).toEqual([href, 200]);
  const page = await fetch(server.url + path, { headers: { accept: 'text/html' } });
  const html = await page.text();
  for (const { href, title } of links) expect(html).toContain(`<a href="${href}">${title}</a>`);
});
