import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EXCHANGE_LIMITS } from '../../../src/core/exchange/limits.js';
import type { SceneQuery, SceneSearch } from '../../../src/core/stac/stac-scenes.js';
import { searchScenes } from '../../../src/workers/exchange/ingest/stac/search.js';
import { AllowedHosts } from '../../../src/workers/storage/remote/allowed-hosts.js';
import { Cancellation } from '../../../src/workers/threads/cancellation.js';
import { item, landing, page, type StacApi, sendJson, startStacApi } from '../../support/stac-api.js';

let api: StacApi;
beforeAll(async () => {
  api = await startStacApi();
});
afterAll(() => api.close());
/** Landing pages are remembered: each test has one of its own. */
let count = 0;
const isLanding = (url: string | undefined) => url === `/${count}/`;
beforeEach(() => {
  count += 1;
  api.requests.length = 0;
  api.bodies.length = 0;
});

function search(query: Partial<SceneQuery> = {}, maxScenes = 500, timeoutMs = 5000): Promise<SceneSearch> {
  const task = { url: `${api.origin}/${count}/`, timeoutMs, maxScenes };
  return searchScenes(
    { ...task, query: { collections: ['scenes'], assets: ['data'], ...query } },
    { allowed: new AllowedHosts(['127.0.0.1']), cancellation: new Cancellation() },
  );
}

/** An API whose search answers documents. */
function answering(
  document: (request: IncomingMessage, body: string) => unknown,
  conformsTo: string[] = [],
  method = 'GET',
) {
  api.answer = (request, response, body) =>
    sendJson(response, isLanding(request.url) ? landing(conformsTo, method) : document(request, body));
}

const QUERY = 'https://api.stacspec.org/v1.0.0/item-search#query';
const idsOf = ({ scenes }: SceneSearch) => scenes.map(({ id }) => id);
const pageOf = ({ url }: IncomingMessage) => Number(new URL(url!, 'http://a').searchParams.get('page') ?? 0);

describe('a search', () => {
  it('takes what a mosaic needs of items', async () => {
    const properties = {
      ...{ datetime: null, start_datetime: '2024-06-01T12:00:00+02:00', 'eo:cloud_cover': 12.5 },
      'proj:code': 'EPSG:32632',
    };
    const links = [{ rel: 'self', href: '/items/deep/a' }];
    answering(() => page([item('a', { properties, links })]));
    const [scene] = (await search()).scenes;
    expect(scene).toEqual({
      ...{ id: 'a', collection: 'scenes', bbox: [10, 50, 11, 51], acquired: '2024-06-01T10:00:00.000Z' },
      ...{ cloudCover: 12.5, epsg: 32632, self: `${api.origin}/items/deep/a` },
      hrefs: [`${api.origin}/items/deep/a.tif`],
    });
  });

  it('takes the first address of an asset that may be read', async () => {
    const at = (href: string, alternate: unknown) => ({ assets: { data: { href, alternate } } });
    const inStore = { s3: { href: 's3://scenes/b.tif' }, here: { href: '/b.tif' } };
    const items = [
      item('a', at('/a.tif', inStore)),
      item('b', at('https://elsewhere.example/b.tif', inStore)),
      item('c', at('https://elsewhere.example/c.tif', { other: { href: 'https://other.example/c.tif' } })),
      item('d', at('file:///etc/passwd', { broken: 7, here: { href: '/d.tif' } })),
    ];
    answering(() => page(items));
    const answer = await search();
    expect(answer.scenes.map(({ id, hrefs }) => [id, ...hrefs])).toEqual([
      ['a', `${api.origin}/a.tif`],
      ['b', 's3://scenes/b.tif'],
      ['d', `${api.origin}/d.tif`],
    ]);
    expect(answer.problems).toEqual([expect.stringMatching(/^Asset 'data' of item c may not be read: /)]);
  });

  it('follows pages by GET', async () => {
    answering((request) =>
      page(
        [item(`${pageOf(request)}`)],
        pageOf(request) < 2 ? { href: `search?page=${pageOf(request) + 1}` } : undefined,
      ),
    );
    expect(idsOf(await search())).toEqual(['0', '1', '2']);
  });

  it('follows pages by POST, with bodies that are merged', async () => {
    answering(
      (_, body) =>
        page(
          [item(JSON.parse(body).token ?? 'first')],
          body.includes('token')
            ? undefined
            : { method: 'POST', href: '/search', body: { token: 'second' }, merge: true },
        ),
      [],
      'POST',
    );
    expect(idsOf(await search())).toEqual(['first', 'second']);
    expect(api.bodies).toEqual([
      { collections: ['scenes'], limit: 250 },
      { collections: ['scenes'], limit: 250, token: 'second' },
    ]);
  });

  it('sends filters as text by GET, and as JSON by POST', async () => {
    const filter = '"eo:cloud_cover" < 20';
    const conformance = ['https://api.stacspec.org/v1.0.0-rc.2/item-search#filter'];
    answering(() => page([item('a')]), conformance);
    await search({ filter });
    const query = new URL(api.requests[1]!.slice(4), api.origin).searchParams;
    expect([query.get('filter'), query.get('filter-lang')]).toEqual([filter, 'cql2-text']);
    count += 1;
    answering(() => page([item('a')]), conformance, 'POST');
    await search({ filter });
    expect(api.bodies[0]).toMatchObject({
      filter: { op: '<', args: [{ property: 'eo:cloud_cover' }, 20] },
      'filter-lang': 'cql2-json',
    });
  });

  it('sends filters as queries to APIs that take only those', async () => {
    const filter = "0.5 < gsd AND gsd <= 20 AND platform IN ('a', 'b') AND \"eo:cloud_cover\" < 20";
    const query = {
      ...{ gsd: { gt: 0.5, lte: 20 }, platform: { in: ['a', 'b'] } },
      'eo:cloud_cover': { lt: 20 },
    };
    answering(() => page([item('a')]), [QUERY]);
    await search({ filter });
    const sent = new URL(api.requests[1]!.slice(4), api.origin).searchParams;
    expect(JSON.parse(sent.get('query')!)).toEqual(query);
    expect(sent.has('filter')).toBe(false);
    count += 1;
    answering(() => page([item('a')]), [QUERY], 'POST');
    await search({ filter });
    expect(api.bodies[0]).toMatchObject({ query });
  });

  it.each(['a = 1 OR b = 2', 'NOT a = 1', "a LIKE 'b%'", 'a = b', 'a < 1 AND a < 2', 'TRUE'])(
    'does not send %s as a query',
    async (filter) => {
      answering(() => page([item('a')]), [QUERY]);
      await expect(search({ filter })).rejects.toMatchObject({
        message: expect.stringMatching(/joined by AND/),
      });
    },
  );

  it('asks APIs that sort for the newest', async () => {
    answering(() => page([item('a')]), ['https://api.stacspec.org/v1.0.0/item-search#sort']);
    await search({ prefers: 'newest', bbox: [1, 2, 3, 4], datetime: '2024-01-01T00:00:00Z/..' });
    const query = new URL(api.requests[1]!.slice(4), api.origin).searchParams;
    expect(Object.fromEntries(query)).toEqual({
      ...{ collections: 'scenes', limit: '250', bbox: '1,2,3,4', datetime: '2024-01-01T00:00:00Z/..' },
      sortby: '-properties.datetime',
    });
  });
});

describe('an API that', () => {
  it('answers HTML is told so', async () => {
    api.answer = (_, response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Welcome</p>');
    await expect(search()).rejects.toMatchObject({
      code: 'source-unreadable',
      message: expect.stringMatching(/returned text\/html instead of JSON/),
    });
  });

  it('says JSON and answers something else is told so', async () => {
    api.answer = (_, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"links": [');
    await expect(search()).rejects.toMatchObject({
      code: 'source-unreadable',
      message: expect.stringMatching(/is not JSON/),
    });
  });

  it('has no search is no STAC API', async () => {
    api.answer = (_, response) => sendJson(response, { links: [] });
    await expect(search()).rejects.toMatchObject({ message: expect.stringMatching(/no link to a search/) });
  });

  it('dies in the middle is one that does not answer', async () => {
    api.answer = ({ url }, response) => {
      if (isLanding(url)) return sendJson(response, landing());
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 5000 });
      response.write('{"type": "FeatureCollection", "features": [');
      setTimeout(() => response.destroy(), 20);
    };
    await expect(search()).rejects.toMatchObject({ code: 'store-unavailable' });
  });

  it('never ends its answer has its time', async () => {
    api.answer = ({ url }, response) => {
      if (isLanding(url)) return sendJson(response, landing());
      response.writeHead(200, { 'content-type': 'application/json' }).write('{');
    };
    const start = Date.now();
    await expect(search({}, 500, 300)).rejects.toMatchObject({ code: 'deadline-exceeded' });
    expect(Date.now() - start).toBeLessThan(3000);
  });

  it('leads in a circle gives what it has, and is told', async () => {
    answering((request) =>
      page([item(`${pageOf(request)}`)], { href: `search?page=${(pageOf(request) + 1) % 3}` }),
    );
    const found = await search();
    // The first page has a query of its own, so the circle is closed at the second.
    expect(idsOf(found)).toEqual(['0', '1', '2']);
    expect(found.problems).toEqual([expect.stringMatching(/circle/)]);
    expect(api.requests.length).toBeLessThan(8);
  });

  it('has ever more pages of nothing is left after some', async () => {
    answering((request) => page([], { href: `search?page=${pageOf(request) + 1}` }));
    const found = await search({}, 500, 20_000);
    expect(found.problems).toEqual([expect.stringMatching(/more than 100 pages/)]);
    expect(api.requests).toHaveLength(EXCHANGE_LIMITS.stacPages + 1);
  });

  it('gives 10,000 items where 20 are asked for has 20', async () => {
    answering(() => ({
      ...page(Array.from({ length: 10_000 }, (_, i) => item(`${i}`))),
      numberMatched: 10_000,
    }));
    const found = await search({}, 20);
    expect(found).toMatchObject({ isCut: true, matched: 10_000 });
    expect(found.scenes).toHaveLength(20);
  });

  it('sends more bytes than an answer may have is cut off', async () => {
    api.answer = ({ url }, response) => {
      if (isLanding(url)) return sendJson(response, landing());
      response.writeHead(200, { 'content-type': 'application/json' });
      const block = Buffer.alloc(1 << 20, 0x20);
      const more = () => {
        while (!response.destroyed && response.write(block));
        response.once('drain', more);
      };
      more();
    };
    await expect(search()).rejects.toMatchObject({ code: 'too-large' });
  });

  it.each([
    [{ href: 'http://10.0.0.1/search' }, 'invalid-input'],
    [{ href: 'file:///etc/passwd' }, 'invalid-input'],
    [{ href: 42 }, 'source-unreadable'],
  ])('leads its pages to %o is not followed', async (next, code) => {
    answering(() => page([item('a')], next));
    await expect(search()).rejects.toMatchObject({ code });
  });

  it.each([
    ['grow with each page', { merge: true }],
    ['are large', {}],
  ])('asks for bodies that %s is not sent them', async (_, merge) => {
    const size = 'merge' in merge ? 30_000 : 70_000;
    let pages = 0;
    answering(() => {
      pages += 1;
      const body = { [`part-${pages}`]: 'x'.repeat(size) };
      return page([item(`${pages}`)], { method: 'POST', href: '/search', body, ...merge });
    });
    await expect(search()).rejects.toMatchObject({
      code: 'source-unreadable',
      message: expect.stringMatching(/body of more than 65536 bytes/),
    });
    for (const body of api.bodies) expect(JSON.stringify(body).length).toBeLessThanOrEqual(65_536);
  });

  it.each([300, 100_000])('nests the body of its next page %i levels deep is refused', async (levels) => {
    const deep = `${'['.repeat(levels)}${']'.repeat(levels)}`;
    const link = `{"rel": "next", "method": "POST", "href": "/search", "body": {"a": ${deep}}}`;
    api.answer = ({ url }, response) => {
      if (isLanding(url)) return sendJson(response, landing());
      const text = `{"type": "FeatureCollection", "features": [], "links": [${link}]}`;
      response.writeHead(200, { 'content-type': 'application/json' }).end(text);
    };
    await expect(search()).rejects.toMatchObject({
      code: 'source-unreadable',
      message: expect.stringMatching(/too many levels of nesting/),
    });
  });

  it('has others asked by POST for its pages is refused', async () => {
    const other = await startStacApi();
    answering(() => page([item('a')], { method: 'POST', href: `${other.origin}/admin`, body: { a: 1 } }));
    await expect(search()).rejects.toMatchObject({
      code: 'source-unreadable',
      message: expect.stringMatching(/another host/),
    });
    expect(other.requests).toEqual([]);
    other.close();
  });

  it('refuses the search is heard', async () => {
    api.answer = ({ url }, response) =>
      isLanding(url)
        ? sendJson(response, landing())
        : response
            .writeHead(400, { 'content-type': 'application/json' })
            .end('{"detail": "no such collection"}');
    await expect(search()).rejects.toMatchObject({ message: expect.stringMatching(/no such collection/) });
  });

  it('does not filter is not asked to', async () => {
    answering(() => page([item('a')]));
    await expect(search({ filter: 'a = 1' })).rejects.toMatchObject({
      message: expect.stringMatching(/does not declare filters/),
    });
  });
});

describe('items', () => {
  it.each([
    [null, /not a JSON object/],
    [item(''), /no usable id/],
    [item('a\nb'), /no usable id/],
    [item('a', { bbox: [10, 60, 11, 51] }), /no usable bbox/],
    [item('a', { bbox: ['10', 50, 11, 51] }), /no usable bbox/],
    [item('a', { bbox: [10, 50, 1e6, 51] }), /no usable bbox/],
    [item('a', { assets: null }), /no asset 'data'/],
    [item('a', { assets: { data: { href: 'file:///etc/passwd' } } }), /no asset 'data'/],
    [item('a', { assets: { data: { href: 'javascript:alert(1)' } } }), /no asset 'data'/],
    [item('a', { assets: { data: { href: 'http://169.254.169.254/a.tif' } } }), /not in remote.allow/],
    [
      item('a', { assets: { data: { href: 'http://user:secret@127.0.0.1/a.tif' } } }),
      /must not contain credentials/,
    ],
  ])('such as %j are left out', async (broken, reason) => {
    answering(() => page([broken, item('sound')]));
    const found = await search();
    expect(idsOf(found)).toEqual(['sound']);
    expect(found).toMatchObject({ refused: 1, problems: [expect.stringMatching(reason)] });
  });

  it('that come twice are there once', async () => {
    answering(() => page([item('a'), item('a')]));
    expect(idsOf(await search())).toEqual(['a']);
  });

  it('without a bbox lie around their geometry', async () => {
    const geometry = {
      type: 'Polygon',
      coordinates: [
        [
          [1, 2],
          [5, 2],
          [5, 7],
          [1, 2],
        ],
      ],
    };
    answering(() => page([item('a', { bbox: undefined, geometry })]));
    expect((await search()).scenes[0]!.bbox).toEqual([1, 2, 5, 7]);
  });

  it('with coordinates that are too deep cost nothing', async () => {
    const depth = 100_000;
    const deep = `${'['.repeat(depth)}[1,2]${']'.repeat(depth)}`;
    const items = JSON.stringify(page([item('a', { bbox: undefined, geometry: { coordinates: 'DEEP' } })]));
    api.answer = ({ url }, response) => {
      if (isLanding(url)) return sendJson(response, landing());
      response.writeHead(200, { 'content-type': 'application/json' }).end(items.replace('"DEEP"', deep));
    };
    expect((await search()).scenes[0]!.bbox).toEqual([1, 2, 1, 2]);
  });
});
