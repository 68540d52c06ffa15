import { Agent } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { json, type RawRequest, raw } from './support/http.js';

const TILE = '/ogc/tiles/collections/3/tiles/WebMercatorQuad/0/0/0';
const ITEM = '/ogc/features/collections/countries/items/3';
const ITEMS = '/ogc/features/collections/countries/items';
const LANDING = '/ogc/features/';
const MAP = '/ogc/maps/collections/3/map';
const EPSG_4326 = 'http://www.opengis.net/def/crs/EPSG/0/4326';

let server: TestServer;

beforeAll(async () => {
  server = await startServer({ env: { SVC_SERVER__TRUST_PROXY: '127.0.0.1' } });
});

afterAll(() => server?.stop());

const get = (path: string, headers: Record<string, string> = {}, asked: RawRequest = {}) =>
  raw(`${server.url}${path}`, { ...asked, headers });

describe('content negotiation', () => {
  it('takes f before Accept', async () => {
    const page = await get(`${LANDING}?f=html`, { accept: 'application/json' });
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    const document = await get(`${LANDING}?f=json`, { accept: 'text/html' });
    expect(document.headers['content-type']).toBe('application/json');
  });

  it('takes Accept when there is no f, by weight', async () => {
    const page = await get(LANDING, { accept: 'application/json;q=0.4, text/html;q=0.9' });
    expect(page.headers['content-type']).toMatch(/^text\/html/);
    const picture = await get(TILE, { accept: 'image/png' });
    expect(picture.headers['content-type']).toBe('image/png');
    const features = await get(ITEM, { accept: 'application/geo+json' });
    expect(features.headers['content-type']).toBe('application/geo+json');
  });

  it('gives a browser a page and a program without wishes JSON', async () => {
    const page = await get('/', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' });
    expect(page.headers['content-type']).toMatch(/^text\/html/);
    for (const path of [LANDING, ITEMS, '/stac', '/ogc/coverages/', '/ogc/tiles/']) {
      expect((await get(`${path}`)).headers['content-type']).toMatch(/json/);
    }
  });

  it('answers 406 when nothing on offer is accepted', async () => {
    for (const path of [LANDING, TILE, MAP, ITEMS, '/ogc/coverages/collections/l7_etms/coverage']) {
      const answer = await get(path, { accept: 'application/x-nothing' });
      expect([path, answer.status]).toEqual([path, 406]);
      expect(answer.headers['content-type']).toBe('application/problem+json');
    }
  });

  it('answers 400 for an f that does not exist', async () => {
    const answer = await get(`${ITEMS}?f=shapefile`);
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body.toString()).errors[0].name).toBe('f');
  });
});

describe('methods', () => {
  it('that a path does not have are answered 405 with Allow', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'TRACE']) {
      const answer = await get(LANDING, {}, { method });
      expect([method, answer.status]).toEqual([method, 405]);
      expect(answer.headers['allow']).toBe('GET, HEAD, OPTIONS');
    }
  });

  it('HEAD has the headers of GET and no body', async () => {
    for (const path of [
      LANDING,
      TILE,
      `${TILE}?f=png`,
      ITEM,
      `${ITEMS}?limit=2`,
      '/',
      '/stac',
      '/nothing',
      `${ITEMS}?limit=0`,
    ]) {
      const whole = await get(path);
      const head = await get(path, {}, { method: 'HEAD' });
      expect([path, head.status]).toEqual([path, whole.status]);
      expect(head.body.length).toBe(0);
      const stable = ({
        'x-request-id': _,
        date: __,
        'server-timing': ___,
        'transfer-encoding': ____,
        ...rest
      }: typeof head.headers) => rest;
      const length = Number(head.headers['content-length']);
      expect(Object.keys(stable(head.headers)).sort()).toEqual(Object.keys(stable(whole.headers)).sort());
      for (const name of ['content-type', 'etag', 'cache-control', 'vary', 'link'])
        expect(head.headers[name]).toEqual(whole.headers[name]);
      // Problems and pages of features carry the time; their length may differ by a digit at most.
      expect(Math.abs(length - whole.body.length)).toBeLessThan(4);
    }
  });

  it('HEAD leaves the connection fit for the next request', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    try {
      for (const path of [TILE, `${ITEMS}?limit=50`, LANDING, MAP]) {
        const head = await get(path, {}, { method: 'HEAD', agent });
        const whole = await get(path, {}, { agent });
        expect([head.status, whole.status, head.body.length]).toEqual([200, 200, 0]);
        expect(whole.body.length).toBeGreaterThan(0);
      }
    } finally {
      agent.destroy();
    }
  });

  it('OPTIONS tells the methods and lets browsers of other origins in', async () => {
    const answer = await get(
      ITEMS,
      { origin: 'https://elsewhere.example', 'access-control-request-method': 'GET' },
      { method: 'OPTIONS' },
    );
    expect(answer.status).toBe(204);
    expect(answer.headers['allow']).toContain('GET');
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    expect(answer.headers['access-control-allow-methods']).toContain('GET');
    expect(answer.headers['access-control-allow-headers']).toContain('content-type');
    expect(Number(answer.headers['access-control-max-age'])).toBeGreaterThan(0);
  });

  it('answers of every kind may be read by pages of other origins', async () => {
    for (const path of [LANDING, TILE, MAP, '/nothing', `${ITEMS}?limit=0`]) {
      const { headers } = await get(path, { origin: 'https://elsewhere.example' });
      expect(headers['access-control-allow-origin']).toBe('*');
      expect(headers['access-control-expose-headers']).toContain('etag');
    }
  });
});

describe('conditional requests', () => {
  const cases = [TILE, `${TILE}?f=png`, ITEM, LANDING, '/', '/stac/collections/countries'];

  it.each(cases)('for %s are answered 304 without a body, whatever the encoding was', async (path) => {
    for (const encoding of ['identity', 'gzip', 'br']) {
      const first = await get(path, { 'accept-encoding': encoding });
      const tag = first.headers.etag!;
      expect(tag).toMatch(/^(W\/)?"[^"]+"$/);
      const again = await get(path, { 'accept-encoding': encoding, 'if-none-match': tag });
      expect([again.status, again.body.length]).toEqual([304, 0]);
      const other = await get(path, { 'accept-encoding': encoding, 'if-none-match': '"something-else"' });
      expect(other.status).toBe(200);
      const listed = await get(path, {
        'accept-encoding': encoding,
        'if-none-match': `"one", W/${tag.replace('W/', '')}, "two"`,
      });
      expect(listed.status).toBe(304);
    }
  });

  it('get strong tags for tiles and features', async () => {
    for (const path of [TILE, ITEM]) expect((await get(path)).headers.etag).toMatch(/^"/);
  });

  it('get a tag of its own for each encoding, as the bytes differ', async () => {
    const tags = await Promise.all(
      ['identity', 'gzip', 'br'].map(
        async (encoding) => (await get(ITEM, { 'accept-encoding': encoding })).headers.etag,
      ),
    );
    expect(new Set(tags).size).toBe(3);
  });

  it('are answered 304 for * too', async () => {
    expect((await get(TILE, { 'if-none-match': '*' })).status).toBe(304);
  });
});

describe('compression', () => {
  const decoders = { gzip: gunzipSync, br: brotliDecompressSync };

  it.each([
    [ITEM, 'gzip'],
    [ITEM, 'br'],
    [`${LANDING}?f=html`, 'gzip'],
    [`${LANDING}?f=html`, 'br'],
    ['/ogc/tiles/tileMatrixSets/WebMercatorQuad', 'br'],
    [TILE, 'gzip'],
  ] as const)('of %s with %s decodes to the plain bytes', async (path, encoding) => {
    const plain = await get(path, { 'accept-encoding': 'identity' });
    const packed = await get(path, { 'accept-encoding': encoding });
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(packed.headers['content-encoding']).toBe(encoding);
    expect(packed.headers['vary']).toMatch(/accept-encoding/i);
    expect(packed.body.length).toBeLessThan(plain.body.length);
    expect(decoders[encoding](packed.body).equals(plain.body)).toBe(true);
  });

  it('is not used where the client refuses it or a picture is packed already', async () => {
    expect(
      (await get(ITEM, { 'accept-encoding': 'gzip;q=0, br;q=0' })).headers['content-encoding'],
    ).toBeUndefined();
    expect(
      (await get(`${TILE}?f=png`, { 'accept-encoding': 'gzip, br' })).headers['content-encoding'],
    ).toBeUndefined();
  });
});

describe('links', () => {
  it('start with what a proxy says the client asked for', async () => {
    const headers = {
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'maps.example.org',
      'x-forwarded-prefix': '/geo',
    };
    for (const path of [
      LANDING,
      '/stac',
      `${ITEMS}?limit=1`,
      '/ogc/tiles/collections/3/tiles/WebMercatorQuad',
    ]) {
      const document = await json(`${server.url}${path}`, { headers });
      for (const { href } of document.links) expect(href).toMatch(/^https:\/\/maps\.example\.org\/geo\//);
    }
  });

  it('ignore a forwarded host or prefix that is not one', async () => {
    const headers = {
      'x-forwarded-host': 'evil"><script>',
      'x-forwarded-prefix': '/a b"',
      'x-forwarded-proto': 'javascript',
    };
    for (const f of ['json', 'html']) {
      const { body } = await get(`${LANDING}?f=${f}`, headers);
      expect(body.toString()).not.toMatch(/evil|javascript:|a b"/);
    }
  });

  it('start with --public-url when it is given, whatever the request says', async () => {
    const proxied = await startServer({ args: ['--public-url', 'https://public.example/base/'] });
    try {
      const document = await json(`${proxied.url}${LANDING}`, {
        headers: { 'x-forwarded-host': 'other.example' },
      });
      for (const { href } of document.links) expect(href).toMatch(/^https:\/\/public\.example\/base\/[^/]/);
      const page = (await raw(`${proxied.url}/ogc/features/collections/countries?f=html`)).body.toString();
      expect(page).toContain('https://public.example/base/ogc/features/collections/countries/items');
      expect(page).not.toContain(new URL(proxied.url).host);
    } finally {
      await proxied.stop();
    }
  }, 60_000);
});

describe('a tile from the cache', () => {
  const tile = TILE.replace('/0/0/0', '/1/0/0');

  it('has the head that it had when it was made, and an id of its own', async () => {
    const made = await get(tile, { 'accept-encoding': 'gzip' });
    const kept = await get(tile, { 'accept-encoding': 'gzip' });
    const stable = ({ 'x-request-id': _, date: __, 'server-timing': ___, ...rest }: typeof made.headers) =>
      rest;
    expect(made.headers['server-timing']).toBeDefined();
    expect(stable(kept.headers)).toEqual(stable(made.headers));
    expect(kept.headers['etag']).toMatch(/^"[0-9a-f]{16}-gzip"$/);
    expect(kept.body.equals(made.body)).toBe(true);
    expect(kept.headers['x-request-id']).not.toBe(made.headers['x-request-id']);
    const plain = await get(tile, { 'accept-encoding': 'identity' });
    expect(plain.headers['etag']).toBe(made.headers['etag']!.replace('-gzip', ''));
  });

  it('keeps the id that the client gives', async () => {
    await get(tile);
    expect((await get(tile, { 'x-request-id': 'mine-1' })).headers['x-request-id']).toBe('mine-1');
  });

  it('is logged with the trace that the client sent', async () => {
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
    for (const path of [tile, '/ogc/features/collections?f=json']) {
      const { headers } = await get(path, { traceparent: `00-${trace}-00f067aa0ba902b7-01` });
      const id = `"${headers['x-request-id']}"`;
      await vi.waitFor(() => expect(server.log()).toContain(id));
      const line = server
        .log()
        .split('\n')
        .find((text) => text.includes(id))!;
      expect(JSON.parse(line)).toMatchObject({ '@tr': trace, '@sp': '00f067aa0ba902b7' });
    }
    const { headers } = await get(tile, { traceparent: '00-xyz-1-01' });
    const id = `"${headers['x-request-id']}"`;
    await vi.waitFor(() => expect(server.log()).toContain(id));
    expect(
      server
        .log()
        .split('\n')
        .find((text) => text.includes(id)),
    ).not.toContain('@tr');
  });

  it('is logged like all others', async () => {
    await get(tile);
    const { headers } = await get(tile, { 'accept-encoding': 'gzip' });
    const id = headers['x-request-id'];
    await vi.waitFor(() => expect(server.log()).toContain(`"${id}"`), 5000);
    const line = server
      .log()
      .split('\n')
      .find((text) => text.includes(`"${id}"`))!;
    expect(JSON.parse(line)).toEqual({
      '@t': expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      '@i': 1000,
      '@mt': '{Method} {Path} {StatusCode} {DurationMs} ms',
      Method: 'GET',
      StatusCode: 200,
      Protocol: 'OGC-Tiles',
      Operation: 'tiles.collection.vector.getTile',
      Process: 'gateway',
      DurationMs: expect.any(Number),
      Bytes: Number(headers['content-length']),
      Path: tile,
      CorrelationId: id,
      Principal: 'anonymous',
    });
  });
});

describe('problems', () => {
  it('are problem+json with every member of RFC 9457 and the correlation id of the header', async () => {
    const answer = await get(`${ITEMS}?limit=0`);
    expect(answer.status).toBe(400);
    expect(answer.headers['content-type']).toBe('application/problem+json');
    const problem = JSON.parse(answer.body.toString());
    expect(problem).toMatchObject({
      type: expect.stringMatching(/^https?:\/\/.*\/validation$/),
      title: 'Invalid parameter',
      status: 400,
      detail: expect.stringContaining('limit'),
      instance: ITEMS,
      correlationId: answer.headers['x-request-id'],
      errors: [{ name: 'limit', detail: expect.stringContaining('from 1 to 2000') }],
    });
    expect(Number.isNaN(Date.parse(problem.timestamp))).toBe(false);
  });

  it('carry the request id of the client, unless it is not one', async () => {
    expect((await get('/nothing', { 'x-request-id': 'abc-123' })).headers['x-request-id']).toBe('abc-123');
    expect((await get('/nothing', { 'x-request-id': 'a b <script>' })).headers['x-request-id']).not.toContain(
      'script',
    );
  });

  it('name a query parameter that the operation does not have', async () => {
    for (const path of [
      ITEMS,
      ITEM,
      LANDING,
      MAP,
      TILE,
      '/ogc/coverages/collections/l7_etms/coverage',
      '/stac',
    ]) {
      const answer = await get(`${path}?foo=1`);
      expect([path, answer.status]).toEqual([path, 400]);
      expect(JSON.parse(answer.body.toString()).errors).toEqual([
        {
          ...{
            name: 'foo',
            path: 'foo',
            fieldId: 'foo',
            itemIndex: null,
            code: 'invalid',
            severity: 'error',
          },
          ...{ detail: expect.any(String), message: expect.any(String) },
        },
      ]);
    }
  });

  it('are not cached', async () => {
    expect((await get('/nothing')).headers['cache-control']).toBe('no-store');
  });
});

describe('timing', () => {
  it('of the stages stands on a tile that was made now, not on one from the cache', async () => {
    const path = '/ogc/tiles/collections/5/tiles/WebMercatorQuad/5/10/17';
    const made = await get(path);
    expect(made.status).toBe(200);
    expect(made.headers['server-timing']).toMatch(/^vector-tile;dur=\d+(\.\d+)?/);
    expect((await get(path)).headers['server-timing']).toBeUndefined();
  });
});

describe('pages of features', () => {
  it('reach every feature exactly once by their next links', async () => {
    const ids: number[] = [];
    let at: string | undefined = `${server.url}${ITEMS}?limit=37`;
    let pages = 0;
    while (at) {
      const page: {
        numberReturned: number;
        numberMatched: number;
        features: { id: number }[];
        links: { rel: string; href: string }[];
      } = await json(at);
      expect(page.numberReturned).toBe(page.features.length);
      expect(page.numberMatched).toBe(240);
      ids.push(...page.features.map((feature) => feature.id));
      at = page.links.find((link) => link.rel === 'next')?.href;
      pages += 1;
    }
    expect(pages).toBe(7);
    expect([ids.length, new Set(ids).size]).toEqual([240, 240]);
  });

  it('keep the other parameters in their next links', async () => {
    const page = await json(
      `${server.url}${ITEMS}?limit=5&bbox=-10,35,30,60&crs=${encodeURIComponent(EPSG_4326)}`,
    );
    const next = new URL(page.links.find((link: { rel: string }) => link.rel === 'next').href);
    expect(Object.fromEntries(next.searchParams)).toMatchObject({
      limit: '5',
      bbox: '-10,35,30,60',
      crs: EPSG_4326,
    });
    const same = await json(next.href);
    const byOffset = await json(
      `${server.url}${ITEMS}?limit=5&offset=5&bbox=-10,35,30,60&crs=${encodeURIComponent(EPSG_4326)}`,
    );
    expect(same.features).toEqual(byOffset.features);
  });

  it('lead back by their prev links', async () => {
    const page = await json(`${server.url}${ITEMS}?limit=10&offset=25`);
    const prev = await json(page.links.find((link: { rel: string }) => link.rel === 'prev').href);
    const next = await json(prev.links.find((link: { rel: string }) => link.rel === 'next').href);
    expect(next.features.map((f: { id: number }) => f.id)).toEqual(
      page.features.map((f: { id: number }) => f.id),
    );
  });

  it('hold at most 1,000 features unless asked for more, and never over 2,000', async () => {
    const states = '/ogc/features/collections/states_provinces/items';
    expect((await json(`${server.url}${states}`)).features).toHaveLength(1000);
    expect((await json(`${server.url}${states}?limit=2000`)).features).toHaveLength(2000);
  });

  it('beyond the end are empty', async () => {
    const page = await json(`${server.url}${ITEMS}?offset=100000`);
    expect(page.features).toEqual([]);
    expect(page.links.some((link: { rel: string }) => link.rel === 'next')).toBe(false);
  });
});

describe('coordinate reference systems', () => {
  const firstPosition = (geometry: { coordinates: unknown }): number[] => {
    let at = geometry.coordinates as unknown[];
    while (Array.isArray(at[0])) at = at[0] as unknown[];
    return at as number[];
  };

  it('are named in Content-Crs, CRS84 when none is asked for', async () => {
    expect((await get(`${ITEMS}?limit=1`)).headers['content-crs']).toBe(
      '<http://www.opengis.net/def/crs/OGC/1.3/CRS84>',
    );
    expect((await get(`${ITEMS}?limit=1&crs=${EPSG_4326}`)).headers['content-crs']).toBe(`<${EPSG_4326}>`);
    expect((await get(`${ITEM}?crs=${EPSG_4326}`)).headers['content-crs']).toBe(`<${EPSG_4326}>`);
  });

  it('put latitude first where the authority does', async () => {
    for (const read of [
      async (query: string) => (await json(`${server.url}${ITEM}${query}`)).geometry,
      async (query: string) =>
        (await json(`${server.url}${ITEMS}${query ? `${query}&` : '?'}limit=1`)).features[0].geometry,
    ]) {
      const [lon, lat] = firstPosition(await read(''));
      expect(firstPosition(await read(`?crs=${EPSG_4326}`))).toEqual([lat, lon]);
    }
  });

  it('reproject', async () => {
    const [lon, lat] = firstPosition((await json(`${server.url}${ITEM}`)).geometry) as [number, number];
    const [x, y] = firstPosition(
      (await json(`${server.url}${ITEM}?crs=http://www.opengis.net/def/crs/EPSG/0/3857`)).geometry,
    ) as [number, number];
    const radius = 6378137;
    expect(x).toBeCloseTo((lon * Math.PI * radius) / 180, 0);
    expect(y).toBeCloseTo(radius * Math.log(Math.tan(Math.PI / 4 + (lat * Math.PI) / 360)), 0);
  });

  it('set the order of bbox: latitude first for EPSG:4326', async () => {
    const ids = async (query: string) =>
      (await json(`${server.url}${ITEMS}?${query}`)).features.map((f: { id: number }) => f.id);
    const lonLat = await ids('bbox=9,50,10,51');
    expect(lonLat.length).toBeGreaterThan(0);
    expect(await ids(`bbox=50,9,51,10&bbox-crs=${EPSG_4326}`)).toEqual(lonLat);
    expect(await ids(`bbox=9,50,10,51&bbox-crs=${EPSG_4326}`)).not.toEqual(lonLat);
  });

  it('may be any that is known, whether the collection lists it or not', async () => {
    const utm = await get(`${ITEMS}?limit=1&crs=http://www.opengis.net/def/crs/EPSG/0/25832`);
    expect(utm.status).toBe(200);
    expect(utm.headers['content-crs']).toBe('<http://www.opengis.net/def/crs/EPSG/0/25832>');
    const answer = await get(`${ITEMS}?crs=http://www.opengis.net/def/crs/EPSG/0/999999`);
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body.toString()).errors[0].name).toBe('crs');
  });
});
