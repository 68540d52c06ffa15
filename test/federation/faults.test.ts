import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';

/** Federated sources that fail, and sources that record what the server sends to them. */

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
type Json = any;
type Reply = (response: ServerResponse, url: URL) => void;

const FEATURES = [1, 2, 3].map((n) => ({
  type: 'Feature',
  id: `key/${n} ü%`,
  geometry: { type: 'Point', coordinates: [n, n, 100 + n] },
  properties: {
    name: n === 2 ? null : `n${n}`,
    amount: n,
    big: 0,
    seen: `2020-01-0${n}T00:00:00Z`,
    more: { a: [n] },
  },
}));
const INT64 = '9007199254740993';
const CLASSES = ['features-filter', 'cql2-text', 'basic-cql2'];
const QUERYABLES = {
  properties: {
    name: { type: 'string' },
    amount: { type: 'integer' },
    seen: { type: 'string', format: 'date-time' },
  },
};

let source: Server;
let url = '';
let server: TestServer;
/** Response to requests for items; undefined: that of the features. */
let fault: Reply | undefined;
const requests: URL[] = [];

const send = (response: ServerResponse, document: unknown, type = 'application/geo+json') =>
  void response
    .setHeader('content-type', type)
    .end(
      typeof document === 'string'
        ? document
        : JSON.stringify(document).replaceAll('"big":0', `"big":${INT64}`),
    );
const failWith =
  (status: number): Reply =>
  (response) => {
    response.statusCode = status;
    send(response, 'broken', 'text/plain');
  };
/** Says that it sends more than it does. */
function sendCut(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/geo+json', 'content-length': '1000' });
  response.write('{"type":');
  setTimeout(() => response.destroy(), 20);
}
const page = (features: Json[], more: Json = {}) => ({ type: 'FeatureCollection', features, ...more });

function answer(request: IncomingMessage, response: ServerResponse): void {
  const at = new URL(request.url!, url);
  const [, kind, rest] = /^\/(\w+)(\/.*)?$/.exec(at.pathname) ?? [];
  if (rest === '/conformance')
    return send(response, {
      conformsTo:
        kind === 'plain' ? [] : CLASSES.map((name) => `http://www.opengis.net/spec/x/1.0/conf/${name}`),
    });
  if (rest === '/collections/c')
    return send(response, {
      id: 'c',
      links: [{ rel: 'items', type: 'application/geo+json', href: `/${kind}/collections/c/items` }],
    });
  if (rest === '/collections/c/queryables') return send(response, QUERYABLES, 'application/schema+json');
  if (rest === '/collections/c/items') {
    requests.push(at);
    if (fault) return fault(response, at);
    return send(response, page(FEATURES));
  }
  const [, id] = /^\/collections\/c\/items\/(.+)$/.exec(rest ?? '') ?? [];
  const feature = id && FEATURES.find((one) => one.id === decodeURIComponent(id));
  if (feature) return send(response, feature);
  response.statusCode = 404;
  send(response, {});
}

beforeAll(async () => {
  source = createServer(answer).listen(0, '127.0.0.1');
  await new Promise((resolve) => source.once('listening', resolve));
  url = `http://127.0.0.1:${(source.address() as AddressInfo).port}`;
  const sources = ['full', 'plain'].map((id) => ({
    id,
    kind: 'OgcFeatures',
    url: `${url}/${id}`,
    layer: 'c',
    timeoutSeconds: 5,
  }));
  const down = { id: 'down', kind: 'OgcFeatures', url: 'http://127.0.0.1:9', layer: 'c' };
  const forbidden = { id: 'forbidden', kind: 'OgcFeatures', url: 'http://127.0.0.2:80', layer: 'c' };
  server = await startServer({
    sources: ['demo/data/world_map.gpkg'],
    env: {
      SVC_FEDERATION__SOURCES: JSON.stringify([
        ...sources,
        down,
        forbidden,
        { ...down, id: 'off', enabled: false },
      ]),
      SVC_REMOTE__ALLOW: `${new URL(url).host},127.0.0.1:9`,
    },
  });
  // On a busy machine a source can miss its time at the start. The server then reads it again.
  for (const id of ['full', 'plain'])
    await vi.waitFor(async () => expect((await items(id)).status).toBe(200), {
      timeout: 60_000,
      interval: 200,
    });
}, 120_000);
afterAll(async () => {
  await server?.stop();
  source.closeAllConnections();
  source.close();
});

async function get(path: string): Promise<{ status: number; text: string; body: Json }> {
  const response = await fetch(server.url + path, {
    headers: { 'x-api-key': server.adminKey, accept: 'application/geo+json, application/json' },
  });
  const text = await response.text();
  return { status: response.status, text, body: text === '' ? undefined : JSON.parse(text) };
}
const items = (id: string, query = '') => get(`/ogc/features/collections/${id}/items?${query}`);

describe('values', () => {
  it('are those of the source: ids, nulls, heights, integers, times, objects', async () => {
    const { body, text } = await items('full');
    expect(
      body.features.map(({ id, geometry, properties }: Json) => ({
        type: 'Feature',
        id,
        geometry,
        properties: { ...properties, big: 0 },
      })),
    ).toEqual(FEATURES);
    expect(text).toContain(`"big":${INT64}`);
    const one = await get(`/ogc/features/collections/full/items/${encodeURIComponent(FEATURES[1]!.id)}`);
    expect([one.status, one.body.id, one.body.properties.name]).toEqual([200, FEATURES[1]!.id, null]);
    expect(
      (await items('full', 'sortby=name')).body.features.map(({ properties }: Json) => properties.name),
    ).toEqual(['n1', 'n3', null]);
    expect(
      (await items('full', 'sortby=-amount&limit=2')).body.features.map(
        ({ properties }: Json) => properties.amount,
      ),
    ).toEqual([3, 2]);
  });

  it('are filtered here if the source does not filter', async () => {
    const filters = [
      "name='n3'",
      'amount>1',
      'name IS NULL',
      "seen>TIMESTAMP('2020-01-02T00:00:00Z')",
      'S_INTERSECTS(geometry,BBOX(1.5,1.5,2.5,2.5))',
    ];
    const counts = [1, 2, 1, 1, 1];
    for (const id of ['full', 'plain'])
      for (const [i, filter] of filters.entries()) {
        const { body } = await items(id, `filter=${encodeURIComponent(filter)}`);
        expect([id, filter, body.features.length]).toEqual([id, filter, counts[i]]);
      }
    expect((await items('plain', 'bbox=1.5,1.5,9,9')).body.numberReturned).toBe(2);
    expect((await items('plain', 'datetime=2020-01-02T00:00:00Z/..')).body.numberReturned).toBe(2);
  });
});

describe('failures', () => {
  const faults: [string, Reply][] = [
    ['500', failWith(500)],
    ['429', failWith(429)],
    ['401', failWith(401)],
    ['404', failWith(404)],
    ['HTML', (response) => send(response, '<html></html>', 'text/html')],
    ['other JSON', (response) => send(response, { a: 1 })],
    ['text', (response) => send(response, '{"type":"FeatureCollection"')],
    [
      'a wrong geometry',
      (response) => send(response, page([{ ...FEATURES[0], geometry: { type: 'Point', coordinates: 'x' } }])),
    ],
    ['features without ids', (response) => send(response, page([{ ...FEATURES[0], id: undefined }]))],
    ['a wrong number', (response) => send(response, page(FEATURES, { numberReturned: 9 }))],
    ['cut bytes', sendCut],
    ['a redirect', (response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
    ['a loop', (response, at) => send(response, page(FEATURES, { links: [{ rel: 'next', href: at.href }] }))],
    [
      'a next link elsewhere',
      (response) =>
        send(response, page(FEATURES, { links: [{ rel: 'next', href: 'http://127.0.0.1:1/secret' }] })),
    ],
    ['silence', () => {}],
  ];
  it.each(faults)(
    'of the kind %s are problems that name the source, and leave other layers alone',
    async (_name, reply) => {
      fault = reply;
      try {
        const { status, body } = await items('full', 'limit=2&filter=amount%2Bamount>0');
        expect([status, body.detail]).toEqual([503, expect.stringContaining("'full'")]);
        expect((await items('countries', 'limit=1')).status).toBe(200);
        expect((await fetch(`${server.url}/healthz/ready`)).status).toBe(200);
      } finally {
        fault = undefined;
      }
      expect((await items('full')).status).toBe(200);
    },
  );

  it('of endless sources end with a problem that says how to narrow the request', async () => {
    fault = (response, at) => {
      const n = Number(at.searchParams.get('n') ?? 0);
      const features = FEATURES.map((one, i) => ({ ...one, id: `${n}-${i}` }));
      send(response, page(features, { links: [{ rel: 'next', href: `?n=${n + 1}` }] }));
    };
    try {
      for (const query of ['sortby=name', 'filter=amount%2Bamount<0']) {
        const { status, body } = await items('full', query);
        expect([status, body.detail]).toEqual([400, expect.stringContaining('Narrow the request with bbox')]);
      }
      // A page needs only its own features.
      expect((await items('full', 'limit=5')).body.numberReturned).toBe(5);
    } finally {
      fault = undefined;
    }
  });

  it('at the start leave the layer out', async () => {
    for (const id of ['down', 'forbidden', 'off']) expect((await items(id)).status).not.toBe(200);
    expect((await fetch(`${server.url}/healthz/ready`)).status).toBe(200);
  });
});

describe('plans', () => {
  const plan = (id: string, query = '') => get(`/api/v1/admin/federation/sources/${id}/plan?${query}`);

  it('have an empty 404 for unknown sources, and 400 for wrong filters', async () => {
    const { status, text } = await plan('nowhere');
    expect([status, text]).toEqual([404, '']);
    expect((await plan('full', 'where=nope%3D1')).status).toBe(400);
    expect((await plan('full', 'bbox=maybe')).status).toBe(400);
  });

  it('list all sources of the configuration', async () => {
    const { status, body } = await get('/api/v1/admin/federation/sources');
    expect(status).toBe(200);
    expect(body.map(({ id, enabled }: Json) => [id, enabled])).toEqual([
      ['full', true],
      ['plain', true],
      ['down', true],
      ['forbidden', true],
      ['off', false],
    ]);
    expect(body[0]).toEqual({
      ...{ id: 'full', displayName: 'full', kind: 'OgcFeatures', endpoint: `${url}/full` },
      ...{ remoteLayer: 'c', enabled: true, requestTimeoutSeconds: 5 },
    });
  });

  const CASES: [where: string, parameter: string, predicate: string][] = [
    ["name='n1'", 'filter', 'AttributeFilter'],
    ['amount+amount>1', 'filter', 'AttributeFilter'],
    ["name LIKE 'n%'", 'filter', 'AttributeFilter'],
    ['more IS NULL', 'filter', 'AttributeFilter'],
    ["seen>TIMESTAMP('2020-01-02T00:00:00Z')", 'filter', 'TemporalFilter'],
    ["T_INTERSECTS(seen,INTERVAL('2020-01-02T00:00:00Z','..'))", 'filter', 'TemporalFilter'],
    ['S_INTERSECTS(geometry,BBOX(0,0,2,2))', 'bbox', 'SpatialFilter'],
    ['S_WITHIN(geometry,BBOX(0,0,2,2))', 'bbox', 'SpatialFilter'],
    ['S_DISJOINT(geometry,BBOX(0,0,2,2))', 'bbox', 'SpatialFilter'],
  ];
  it.each(CASES)('of %s are what is sent', async (where, parameter, predicate) => {
    for (const id of ['full', 'plain']) {
      const { body } = await plan(id, `where=${encodeURIComponent(where)}`);
      const { pushedDown, reason } = body.decisions.find((one: Json) => one.predicate === predicate);
      requests.length = 0;
      expect((await items(id, `filter=${encodeURIComponent(where)}`)).status).toBe(200);
      const isSent = requests.some(({ searchParams }) => searchParams.has(parameter));
      expect([id, reason, pushedDown]).toEqual([id, reason, isSent]);
      expect(reason).not.toBe('');
    }
  });

  it('of paging and order are what is sent', async () => {
    const { body } = await plan('full', 'joinLocal=true');
    expect([body.requiresLocalJoin, body.requiresLocalRefinement]).toEqual([true, false]);
    const find = (name: string) =>
      body.decisions.find(({ predicate }: Json) => predicate === name).pushedDown;
    requests.length = 0;
    await items('full', 'limit=2&sortby=name');
    expect([find('OrderBy'), find('Paging')]).toEqual([
      requests[0]!.searchParams.has('sortby'),
      requests[0]!.searchParams.has('limit'),
    ]);
  });

  it('count requests and features', async () => {
    await items('full');
    const metrics = await (
      await fetch(`${server.url}/metrics`, { headers: { 'x-api-key': server.adminKey } })
    ).text();
    expect(metrics).toMatch(/svc_federation_source_requests_total\{[^}]*source="full"[^}]*\} [1-9]/);
    expect(metrics).toMatch(/svc_federation_source_rows_total\{[^}]*source="full"[^}]*\} [1-9]/);
  });
});
