import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { startServerProcess, type TestServer } from '../../support/server.js';
import { type SharedServer, sharedServer } from '../../support/shared-server.js';
import {
  call,
  collections,
  itemsOf,
  type Json,
  leftovers,
  REMOTE_HOST,
  type Remote,
  sendJson,
  startRemote,
} from './support.js';

/** Imports of collections of OGC API Features: from another server of ours, and from servers that lie. */

let server: TestServer;
let other: SharedServer;
let remote: Remote;
/** How the remote answers /items. */
let answer: (url: URL, response: ServerResponse) => void;

const feature = (id: number) => ({
  type: 'Feature',
  id,
  geometry: { type: 'Point', coordinates: [id / 100, 50] },
  properties: { name: `f${id}` },
});

/** A page of a well-behaved server. */
function page(url: URL, total: number): Json {
  const size = Number(url.searchParams.get('limit'));
  const from = Number(url.searchParams.get('from') ?? 0);
  const features = Array.from({ length: Math.min(size, total - from) }, (_, i) => feature(from + i + 1));
  const next = new URL(url);
  next.searchParams.set('from', String(from + size));
  return {
    type: 'FeatureCollection',
    numberMatched: total,
    numberReturned: features.length,
    features,
    links: from + size < total ? [{ rel: 'next', href: `${remote.url}${next.pathname}${next.search}` }] : [],
  };
}

const start = () =>
  startServerProcess({ sources: [], env: { SVC_REMOTE__ALLOW: `["127.0.0.1", "${REMOTE_HOST}"]` } });

beforeAll(async () => {
  remote = await startRemote((url, response) => {
    if (url.pathname.endsWith('/items')) return answer(url, response);
    if (url.pathname.endsWith('/conformance')) return sendJson(response, { conformsTo: [] });
    if (url.pathname === '/collections/empty') return sendJson(response, { id: 'empty', links: [] });
    if (!url.pathname.startsWith('/collections/')) return sendJson(response, {}, 'application/json', 404);
    const href = `${remote.url}${url.pathname}/items`;
    sendJson(response, {
      id: 'x',
      title: 'Remote',
      links: [{ rel: 'items', type: 'application/geo+json', href }],
    });
  });
  other = await sharedServer();
  server = await start();
}, 180_000);

afterAll(async () => {
  await server?.stop();
  await remote?.close();
});

const importFrom = (body: object, signal?: AbortSignal) =>
  call(
    server,
    'POST',
    '/import/ogc-api-features/collection',
    { targetSchema: 'main', serviceUrl: remote.url, collectionId: 'x', ...body },
    signal,
  );

const nothingStays = async (table: string) => {
  expect(leftovers(server)).toEqual([]);
  expect(await collections(server)).not.toContain(table);
};

describe('another server of ours', () => {
  const of = (more: object) => importFrom({ serviceUrl: `${other.url}/ogc/features`, ...more });

  it('is imported whole, by pages', async () => {
    const source = await itemsOf(other, 'states_provinces', 'limit=1');
    const total = source['numberMatched'] as number;
    const { status, body } = await of({
      collectionId: 'states_provinces',
      targetTable: 'states',
      pageSize: 30,
    });
    expect({ status, body }).toMatchObject({
      status: 200,
      body: {
        success: true,
        collectionId: 'states_provinces',
        target: 'main.states',
        featuresImported: total,
        featuresSkipped: 0,
        pagesFetched: Math.ceil(total / 30),
        sourceFeatureCountReported: total,
        truncated: false,
        scopeDriftDetected: false,
        errorCode: null,
        warnings: [],
        featureCountParity: { sourceCount: total, targetCount: total, delta: 0, matches: true },
      },
    });
    const window = 'limit=2000&bbox=-130,20,-60,50';
    const copy = await itemsOf(server, 'states', window);
    const original = await itemsOf(other, 'states_provinces', window);
    const names = (answer: Json) =>
      (answer['features'] as { properties: Json }[]).map(({ properties }) => properties['name']).sort();
    expect(names(original).length).toBeGreaterThan(50);
    expect(names(copy)).toEqual(names(original));
    const features = ({ features: list }: Json) => list as { id: number; properties: Json }[];
    const sourceIds = features(original).map(({ id, properties }) => `${id} ${properties['name']}`);
    const keptIds = features(copy).map(({ properties }) => `${properties['id']} ${properties['name']}`);
    expect(keptIds.sort()).toEqual(sourceIds.sort());
    expect(leftovers(server)).toEqual([]);
  });

  it('is filtered by box and by CQL2, and cut at maxFeatures', async () => {
    const bbox = [-100, 30, -80, 45];
    const boxed = await itemsOf(other, 'states_provinces', `limit=1&bbox=${bbox.join(',')}`);
    const { body } = await of({ collectionId: 'states_provinces', targetTable: 'boxed', bbox });
    expect(body).toMatchObject({ success: true, featuresImported: boxed['numberMatched'] });
    const filter = "name LIKE 'N%'";
    const passing = await itemsOf(other, 'states_provinces', `limit=1&filter=${encodeURIComponent(filter)}`);
    const filtered = await of({
      collectionId: 'states_provinces',
      targetTable: 'filtered',
      filter,
      pageSize: 3,
    });
    expect(filtered.body).toMatchObject({ success: true, featuresImported: passing['numberMatched'] });
    const cut = await of({
      collectionId: 'states_provinces',
      targetTable: 'cut',
      maxFeatures: 7,
      pageSize: 5,
    });
    expect(cut.body).toMatchObject({ success: true, featuresImported: 7, truncated: true });
  });

  it('says that a collection is not there', async () => {
    const { status, body } = await of({ collectionId: 'nothing' });
    expect({ status, body }).toMatchObject({
      status: 422,
      body: { success: false, errorCode: 'ogc_api_features.missing_items_endpoint' },
    });
  });
});

describe('what is asked for wrongly', () => {
  it.each([
    ['invalid_service_url', { serviceUrl: 'nonsense' }],
    ['invalid_service_url', { serviceUrl: 'http://10.0.0.1/' }],
    ['invalid_filter', { filter: 'a = = b' }],
    ['invalid_bbox', { bbox: [0, 10, 1, 5] }],
    ['invalid_datetime', { datetime: 'yesterday' }],
  ])('is 400 %s', async (code, body) => {
    expect(await importFrom(body)).toMatchObject({
      status: 400,
      body: { success: false, errorCode: `ogc_api_features.${code}`, featuresImported: 0 },
    });
  });

  it('is 400 with a problem for what the wire has no code for', async () => {
    expect(await importFrom({ targetSchema: 'other' })).toMatchObject({ status: 400 });
    expect(await importFrom({ targetTable: 'a b' })).toMatchObject({ status: 400 });
    expect(await importFrom({ collectionId: undefined })).toMatchObject({ status: 400 });
  });

  it('is refused where the server does not declare that it filters', async () => {
    answer = (url, response) => sendJson(response, page(url, 3));
    expect(await importFrom({ filter: 'a = 1', targetTable: 'unfiltered' })).toMatchObject({
      status: 400,
      body: { errorCode: 'ogc_api_features.invalid_filter' },
    });
    await nothingStays('unfiltered');
  });
});

describe('a server that answers wrongly', () => {
  const second = (url: URL) => url.searchParams.has('from');

  it.each([
    [
      'counts features that it does not have',
      422,
      'invalid_items_document',
      (url, response) => sendJson(response, { ...page(url, 12), numberMatched: 13 }),
    ],
    [
      'says another number than a page has',
      422,
      'invalid_items_document',
      (url, response) => sendJson(response, { ...page(url, 12), numberReturned: 99 }),
    ],
    [
      'gives the same page again',
      422,
      'invalid_items_document',
      (url, response) => {
        const same = new URL(url);
        same.searchParams.delete('from');
        sendJson(response, { ...page(same, 12), links: page(url, 120)['links'] });
      },
    ],
    [
      'links a page to itself',
      422,
      'invalid_items_document',
      (url, response) =>
        sendJson(response, {
          ...page(url, 12),
          links: [{ rel: 'next', href: `${remote.url}${url.pathname}${url.search}` }],
        }),
    ],
    [
      'has pages without an end',
      422,
      'invalid_items_document',
      (url, response) =>
        sendJson(response, {
          ...page(url, 0),
          features: [],
          numberReturned: 0,
          links: page(url, 1e9)['links'],
        }),
    ],
    [
      'answers HTML',
      422,
      'unsupported_items_encoding',
      (_url, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
    ],
    [
      'answers what is no FeatureCollection',
      422,
      'invalid_items_document',
      (_url, response) => sendJson(response, { type: 'Feature' }),
    ],
    [
      'has features that are none',
      422,
      'invalid_items_document',
      (_url, response) => sendJson(response, { type: 'FeatureCollection', features: [feature(1), 7] }),
    ],
    [
      'cuts its second page off',
      422,
      'invalid_items_document',
      (url, response) =>
        void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify(page(url, 12)).slice(0, second(url) ? 100 : undefined)),
    ],
    ['has no features', 422, 'invalid_items_document', (url, response) => sendJson(response, page(url, 0))],
    [
      'fails at its second page',
      502,
      'source_unreachable',
      (url, response) =>
        second(url) ? sendJson(response, {}, 'application/json', 500) : sendJson(response, page(url, 12)),
    ],
    [
      'hangs up at its second page',
      502,
      'source_unreachable',
      (url, response) => (second(url) ? void response.destroy() : sendJson(response, page(url, 12))),
    ],
    [
      'is redirected',
      422,
      'invalid_items_document',
      (_url, response) => void response.writeHead(302, { location: '/elsewhere' }).end(),
    ],
    ['never answers', 504, 'timeout', () => {}],
    [
      'sends its body without an end',
      504,
      'timeout',
      (_url, response) => {
        response.writeHead(200, { 'content-type': 'application/json' }).write('{');
      },
    ],
  ] as [string, number, string, typeof answer][])(
    'is told when it %s',
    async (name, status, code, behaviour) => {
      answer = behaviour;
      const timeoutSeconds = code === 'timeout' ? 1 : 60;
      const called = await importFrom({ targetTable: 'liar', pageSize: 5, timeoutSeconds });
      expect({ name, ...called }).toMatchObject({
        name,
        status,
        body: {
          success: false,
          errorCode: `ogc_api_features.${code}`,
          errorMessage: expect.stringMatching(/\w/),
        },
      });
      await nothingStays('liar');
    },
  );

  it('is told when a link leads away from the collection', async () => {
    answer = (url, response) =>
      sendJson(response, {
        ...page(url, 12),
        links: [{ rel: 'next', href: `${remote.url}/collections/y/items` }],
      });
    expect(await importFrom({ targetTable: 'drift', pageSize: 5 })).toMatchObject({
      status: 422,
      body: {
        scopeDriftDetected: true,
        pagesFetched: 1,
        manualReviewReason: expect.stringContaining('another path'),
      },
    });
    await nothingStays('drift');
  });

  it('stops at maxPages, and says so', async () => {
    answer = (url, response) => sendJson(response, page(url, 1000));
    const { body } = await importFrom({ targetTable: 'paged', pageSize: 5, maxPages: 3 });
    expect(body).toMatchObject({ success: true, featuresImported: 15, pagesFetched: 3, truncated: true });
  });
});

describe('an import that ends early', () => {
  /** Pages are held back from the third on. */
  let held: (() => void)[] = [];
  const slow = (url: URL, response: ServerResponse) => {
    const send = () => sendJson(response, page(url, 20));
    if (Number(url.searchParams.get('from') ?? 0) < 10) send();
    else held.push(send);
  };
  const jobsOf = async () =>
    (await call(server, 'GET', '/jobs')).body['items'] as { jobId: string; status: string }[];
  const untilHeld = () => vi.waitFor(() => expect(held.length).toBeGreaterThan(0), { timeout: 60_000 });
  afterEach(() => {
    held = [];
  });

  it('leaves nothing when it is cancelled', async () => {
    answer = slow;
    const called = importFrom({ targetTable: 'cancelled', pageSize: 5 });
    await untilHeld();
    const [job] = await jobsOf();
    await call(server, 'POST', `/jobs/${job!.jobId}/cancel`);
    expect(await called).toMatchObject({ status: 409 });
    await nothingStays('cancelled');
  });

  it('leaves nothing when its client goes away', async () => {
    answer = slow;
    const stop = new AbortController();
    const called = importFrom({ targetTable: 'gone', pageSize: 5 }, stop.signal).catch(() => 'aborted');
    await untilHeld();
    stop.abort();
    expect(await called).toBe('aborted');
    await vi.waitFor(async () => expect((await jobsOf())[0]!.status).toBe('Cancelled'), { timeout: 60_000 });
    await nothingStays('gone');
  });

  it('goes on after kill -9, and is published whole', async () => {
    answer = slow;
    const { dataDir } = server;
    const called = importFrom({ targetTable: 'killed', pageSize: 5 }).catch(() => 'broken');
    await untilHeld();
    const { pid } = server.process;
    // The gateways, and the supervisor that would start them again.
    process.kill(pid!, 'SIGKILL');
    expect(await called).toBe('broken');
    answer = (url, response) => sendJson(response, page(url, 20));
    server = await startServerProcess({
      sources: [],
      dataDir,
      env: { SVC_REMOTE__ALLOW: `["127.0.0.1", "${REMOTE_HOST}"]` },
    });
    await vi.waitFor(async () => expect(await collections(server)).toContain('killed'), { timeout: 60_000 });
    expect((await itemsOf(server, 'killed'))['numberMatched']).toBe(20);
    await vi.waitFor(() => expect(leftovers(server)).toEqual([]), { timeout: 60_000 });
  });
});
