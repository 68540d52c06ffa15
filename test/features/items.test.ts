import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stores, startStores } from '../cql2/stores.js';
import { startServer, type TestServer } from '../support/server.js';
import { COLUMNS, ROWS, rows } from './rows.js';

/** Both stores hold the same rows and must answer every request alike. */

interface Feature {
  id: number;
  geometry: { type: string; coordinates: unknown } | null;
  properties: Record<string, unknown>;
}
interface Link {
  rel: string;
  href: string;
  type: string;
}
interface Page {
  features: Feature[];
  numberMatched?: number;
  numberReturned: number;
  links: Link[];
}

const data = rows();
let stores: Stores;
let server: TestServer;
const ids: Record<string, string> = {};

/** The schemas that GML builds on, beside ours. */
const schemas = mkdtempSync(join(tmpdir(), 'graticule-gml-'));

beforeAll(async () => {
  execFileSync('tar', ['xzf', 'test/fixtures/ogc-schemas.tgz', '-C', schemas]);
  stores = await startStores(COLUMNS, data);
  server = await startServer({ sources: [stores.geopackage.path, stores.postgis.database] });
  const { collections } = (await (await fetch(`${server.url}/ogc/features/collections`)).json()) as {
    collections: { id: string }[];
  };
  for (const { id } of collections) ids[id.startsWith('public') ? 'PostGIS' : 'GeoPackage'] = id;
});
afterAll(async () => {
  await server?.stop();
  await stores?.stop();
  rmSync(schemas, { recursive: true });
});

/** The fid of each row that passes. */
const expected = (passes: (row: Record<string, unknown>, fid: number) => boolean): number[] =>
  data
    .map(
      (cells, i) => [i + 1, Object.fromEntries(COLUMNS.map(({ name }, c) => [name, cells[c + 1]]))] as const,
    )
    .filter(([fid, row]) => passes(row, fid))
    .map(([fid]) => fid);

describe.each(['GeoPackage', 'PostGIS'])('items of a %s', (store) => {
  const url = (query: string) => `${server.url}/ogc/features/collections/${ids[store]}/items${query}`;
  const get = (query: string, headers = {}) =>
    fetch(url(query), { headers: { 'accept-encoding': 'identity', ...headers } });
  const page = async (query: string): Promise<Page> => {
    const response = await get(query);
    if (response.status !== 200) throw new Error(`${query}: ${await response.text()}`);
    return (await response.json()) as Page;
  };
  const found = async (query: string) => (await page(query)).features.map(({ id }) => id);
  const refused = async (query: string, name: string) => {
    const response = await get(query);
    const problem = (await response.json()) as { errors: { name: string }[] };
    expect([response.status, problem.errors?.[0]?.name]).toEqual([400, name]);
  };
  const walk = async (href: string, rel: 'next' | 'prev'): Promise<number[][]> => {
    const pages: number[][] = [];
    for (let at: string | undefined = href; at !== undefined && pages.length <= ROWS + 1; ) {
      const next = (await (await fetch(at)).json()) as Page;
      pages.push(next.features.map(({ id }) => id));
      at = next.links.find((link) => link.rel === rel)?.href;
    }
    return pages;
  };

  it('/req/core/fc-response: carry every feature with its types', async () => {
    const { features, numberMatched, numberReturned } = await page('');
    expect([numberMatched, numberReturned]).toEqual([ROWS, ROWS]);
    for (const [i, feature] of features.entries()) {
      const [geometry, name, count, height, open, day, seen, json] = data[i]!;
      expect(feature.id).toBe(i + 1);
      expect(feature.geometry === null).toBe(geometry === null);
      expect(feature.properties).toMatchObject({ name, count, height, open, day });
      expect(feature.properties['seen'] && Date.parse(feature.properties['seen'] as string)).toBe(
        seen && Date.parse(seen as string),
      );
      expect(feature.properties['data']).toEqual(json && JSON.parse(json as string));
    }
  });

  it.each([
    '?limit=5',
    '?count=3&limit=5',
    `?filter=${encodeURIComponent("count > 1 OR name LIKE 'a%'")}&limit=5`,
    '?bbox=-180,-90,180,90&limit=5',
    '?count=3&limit=5&offset=2',
  ])('are one trip to a thread with the number of those that match: %s', async (query) => {
    const response = await get(query);
    const { numberMatched, numberReturned } = (await response.json()) as Page;
    expect(numberReturned).toBe(5);
    expect(numberMatched).toBeGreaterThan(5);
    const stages = response.headers.get('server-timing')!.split(', ');
    expect(stages.map((stage) => stage.split(';')[0])).toEqual(['vector-items']);
  });

  it('/req/core/{fc-limit-definition,fc-limit-response-1}: take a limit of 1 to 2000', async () => {
    expect(await found('?limit=2')).toEqual([1, 2]);
    await refused('?limit=0', 'limit');
    await refused('?limit=2001', 'limit');
    expect(await (await get('?limit=2001')).text()).toContain('2000');
    await refused('?limit=two', 'limit');
  });

  it.each([1, 7, 299, 300, 999])(
    'pages of %i lead through all features, none twice, and back',
    async (limit) => {
      const pages = await walk(url(`?limit=${limit}`), 'next');
      expect(pages.flat()).toEqual(expected(() => true));
      if (limit === 1) return;
      const last = await page(`?limit=${limit}&offset=${ROWS - 3}`);
      expect(last.features).toHaveLength(3);
      const back = await walk(url(`?limit=${limit}&offset=${ROWS - 3}`), 'prev');
      expect(new Set(back.flat())).toEqual(new Set(expected(() => true)));
    },
  );

  it('pages by a token lead back to where they came from', async () => {
    const first = await page('?limit=40&sortby=-height');
    const href = (from: Page, rel: string) => from.links.find((link) => link.rel === rel)?.href;
    const second = (await (await fetch(href(first, 'next')!)).json()) as Page;
    const again = (await (await fetch(href(second, 'prev')!)).json()) as Page;
    expect(again.features).toEqual(first.features);
    expect(href(again, 'prev')).toBeUndefined();
    expect(href(first, 'prev')).toBeUndefined();
  });

  it('a page that goes back is one trip to a thread', async () => {
    const links = (of: Page) => new Map(of.links.map(({ rel, href }) => [rel, href]));
    let at = await page('?limit=40&sortby=name&filter=count>1');
    const steps: Page[] = [];
    for (let i = 0; i < 2; i += 1) {
      steps.push(at);
      at = (await (await fetch(links(at).get('next')!)).json()) as Page;
    }
    for (const step of steps.reverse()) {
      const response = await fetch(links(at).get('prev')!);
      expect(response.headers.get('server-timing')).toMatch(/^vector-items;[^,]*$/);
      const back = (await response.json()) as Page;
      expect(back.features).toEqual(step.features);
      expect([back.numberMatched, links(back).has('prev')]).toEqual([
        step.numberMatched,
        links(step).has('prev'),
      ]);
      at = back;
    }
  });

  it.each(['count', '-count', 'name,-seen', '-open,height', 'day desc,count asc', '-seen', 'fid', '-fid'])(
    'sorted by %s they page through all features in one order',
    async (sortby) => {
      const query = `?sortby=${encodeURIComponent(sortby)}`;
      const whole = await found(query);
      expect(new Set(whole)).toEqual(new Set(expected(() => true)));
      expect((await walk(url(`${query}&limit=17`), 'next')).flat()).toEqual(whole);
      const back = (await walk(url(`${query}&limit=50&offset=250`), 'prev')).reverse().flat();
      expect(back).toEqual(whole);
    },
  );

  it('sorts numbers as numbers, and what has none comes last', async () => {
    const heights = (await page('?sortby=height')).features.map(({ properties }) => properties['height']);
    const known = heights.filter((height) => height !== null) as number[];
    expect(known).toEqual([...known].sort((a, b) => a - b));
    expect(heights.slice(known.length).every((height) => height === null)).toBe(true);
    await refused('?sortby=data', 'sortby');
    await refused('?sortby=nothing', 'sortby');
  });

  it('/req/core/fc-bbox-response: lie in the box, also across the antimeridian and with heights', async () => {
    const inside = await page('?bbox=-60,-40,60,40');
    expect(inside.features.length).toBeGreaterThan(10);
    const flat = (coordinates: unknown): number[] => [coordinates].flat(4) as number[];
    for (const { geometry } of inside.features) {
      const numbers = flat(geometry!.coordinates);
      expect(Math.min(...numbers.filter((_, i) => i % 2 === 0))).toBeLessThanOrEqual(60);
      expect(Math.max(...numbers.filter((_, i) => i % 2 === 1))).toBeGreaterThanOrEqual(-40);
    }
    expect(await found('?bbox=-60,-40,0,60,40,100')).toEqual(inside.features.map(({ id }) => id));
    const around = await found('?bbox=150,-90,-150,90');
    const halves = [...(await found('?bbox=150,-90,180,90')), ...(await found('?bbox=-180,-90,-150,90'))];
    expect(around).toEqual([...new Set(halves)].sort((a, b) => a - b));
    await refused('?bbox=1,2,3', 'bbox');
    await refused('?bbox=0,10,0,-10', 'bbox');
    await refused('?bbox=a,b,c,d', 'bbox');
  });

  it('/req/crs/fc-bbox-crs-action: take the box in another CRS and axis order', async () => {
    const plain = await found('?bbox=-60,-40,60,40');
    const swapped = 'http://www.opengis.net/def/crs/EPSG/0/4326';
    expect(await found(`?bbox=-40,-60,40,60&bbox-crs=${swapped}`)).toEqual(plain);
    const metres = '-6679169.447596,-4865942.279503,6679169.447596,4865942.279503';
    expect(await found(`?bbox=${metres}&bbox-crs=EPSG:3857`)).toEqual(plain);
    await refused('?bbox=0,0,1,1&bbox-crs=EPSG:1', 'bbox-crs');
  });

  it('/req/crs/fc-crs-action: are written in the CRS asked for, in its axis order', async () => {
    const utm = await get('?limit=1&crs=http://www.opengis.net/def/crs/EPSG/0/3857');
    expect(utm.headers.get('content-crs')).toBe('<http://www.opengis.net/def/crs/EPSG/0/3857>');
    const [metres] = ((await utm.json()) as Page).features;
    const [plain] = (await page('?limit=1')).features;
    const [swapped] = (await page('?limit=1&crs=EPSG:4326')).features;
    const [x, y] = plain!.geometry!.coordinates as number[];
    expect(swapped!.geometry!.coordinates).toEqual([y, x]);
    const [mx, my] = metres!.geometry!.coordinates as number[];
    const [east, north] = execFileSync('cs2cs', ['-d', '4', 'OGC:CRS84', 'EPSG:3857'], {
      input: `${x} ${y}\n`,
    })
      .toString()
      .split(/\s+/)
      .map(Number);
    expect(mx).toBeCloseTo(east!, 1);
    expect(my).toBeCloseTo(north!, 1);
    await refused('?crs=http://www.opengis.net/def/crs/0/unsupported', 'crs');
  });

  it('/req/core/fc-time-response: lie in the interval', async () => {
    const between = (from: string, to: string) =>
      expected(({ day }) => day !== null && (day as string) >= from && (day as string) <= to);
    expect(await found('?datetime=2020-03-01/2020-06-30')).toEqual(between('2020-03-01', '2020-06-30'));
    expect(await found('?datetime=2020-03-01T00:00:00Z/..')).toEqual(between('2020-03-01', '9999'));
    expect(await found('?datetime=/2020-03-01')).toEqual(between('0', '2020-03-01'));
    const day = data.find((cells) => cells[5] !== null)![5] as string;
    expect(await found(`?datetime=${day}`)).toEqual(between(day, day));
    for (const wrong of ['yesterday', '2020-02-30', '2020-06-30/2020-01-01', '../..x'])
      await refused(`?datetime=${encodeURIComponent(wrong)}`, 'datetime');
  });

  it('/req/filter/{filter-param,filter-lang-param,filter-crs-param,filter-crs-wgs84,response}, /req/features-filter/{filter-param,filter-lang-param,filter-crs-param,response}: pass the filter, as text and as JSON', async () => {
    const wanted = expected(({ count, name }) => (count as number) > 2 && count !== null && name !== null);
    const text = encodeURIComponent('"count" > 2 AND name IS NOT NULL');
    expect(await found(`?filter=${text}`)).toEqual(wanted);
    const json = encodeURIComponent(
      JSON.stringify({
        op: 'and',
        args: [
          { op: '>', args: [{ property: 'count' }, 2] },
          { op: 'not', args: [{ op: 'isNull', args: [{ property: 'name' }] }] },
        ],
      }),
    );
    expect(await found(`?filter=${json}&filter-lang=cql2-json`)).toEqual(wanted);
    const box = encodeURIComponent('S_INTERSECTS(geometry, BBOX(-40, -60, 40, 60))');
    expect(await found(`?filter=${box}&filter-crs=http://www.opengis.net/def/crs/EPSG/0/4326`)).toEqual(
      await found('?bbox=-60,-40,60,40'),
    );
    for (const wrong of ['count >', 'nosuch = 1', "count = 'a'", `${'('.repeat(3000)}`, "name = 'x"])
      await refused(`?filter=${encodeURIComponent(wrong)}`, 'filter');
    await refused('?filter=%7B&filter-lang=cql2-json', 'filter');
    await refused('?filter=true&filter-lang=sql', 'filter-lang');
  });

  it('a wrong filter is told where it is wrong', async () => {
    const problem = (await (await get(`?filter=${encodeURIComponent('count > > 2')}`)).json()) as {
      detail: string;
    };
    expect(problem.detail).toMatch(/at 9/);
  });

  it('/req/core/fc-filters: equal the values of queryables given as parameters', async () => {
    expect(await found('?count=3')).toEqual(expected(({ count }) => count === 3));
    expect(await found('?open=true&count=1')).toEqual(
      expected(({ count, open }) => count === 1 && open === true),
    );
    expect(await found(`?name=${encodeURIComponent("O'Hara")}`)).toEqual(
      expected(({ name }) => name === "O'Hara"),
    );
    const day = data.find((cells) => cells[5] !== null)![5] as string;
    expect(await found(`?day=${day}`)).toEqual(expected((row) => row['day'] === day));
    await refused('?count=many', 'count');
    await refused('?data=1', 'data');
    await refused('?unknown=1', 'unknown');
  });

  it('/req/ids-parameter/ids, /req/properties-parameter/properties: have those asked for', async () => {
    expect(await found('?ids=7,3,100000,x,12')).toEqual([3, 7, 12]);
    const { features } = await page('?properties=day,name&limit=3');
    for (const { properties } of features) expect(Object.keys(properties)).toEqual(['name', 'day']);
    await refused('?properties=name,none', 'properties');
  });

  it('count what matches', async () => {
    const wanted = expected(({ count }) => count === 3);
    expect((await page('?count=3')).numberMatched).toBe(wanted.length);
    expect((await page('?count=3&limit=5')).numberMatched).toBe(wanted.length);
    expect((await page('?count=3&limit=5&offset=5')).numberMatched).toBe(wanted.length);
  });

  it.each(
    ['x', 'WzEsIjEi', 'WzEsIjEiLDFd', 'bnVsbA', 'WzIsIjEiXQ', 'WzEse31d', 'A'.repeat(5000)].map(
      (token) => [token.slice(0, 20), token] as const,
    ),
  )('a token that nobody wrote is refused: %s', (_, token) => refused(`?token=${token}`, 'token'));

  it('carry SQL in values and names as nothing but text', async () => {
    const evil = `'; DROP TABLE rows; --`;
    expect(await found(`?name=${encodeURIComponent(evil)}`)).toEqual([]);
    expect(await found(`?ids=${encodeURIComponent(evil)}`)).toEqual([]);
    await refused(`?sortby=${encodeURIComponent(evil)}`, 'sortby');
    await refused(`?properties=${encodeURIComponent('"); DROP TABLE rows')}`, 'properties');
    expect(await found('?limit=1')).toEqual([1]);
  });

  it('as CSV hold WKT and every value', async () => {
    const response = await get('?f=csv');
    expect(response.headers.get('content-type')).toMatch(/^text\/csv/);
    const records = parseCsv(await response.text());
    expect(records[0]).toEqual(['id', 'geometry', ...COLUMNS.map(({ name }) => name)]);
    expect(records).toHaveLength(ROWS + 1);
    for (const [i, record] of records.slice(1).entries()) {
      expect(record[0]).toBe(String(i + 1));
      expect(record[1] === '').toBe(data[i]![0] === null);
      expect(record[2]).toBe(data[i]![1] ?? '');
    }
    expect((await get('?f=csv&limit=3')).headers.get('link')).toMatch(/<[^>]*token=[^>]*>; rel="next"/);
  });

  it('as GML are what ogrinfo reads', async () => {
    const response = await get('?f=gml&crs=EPSG:4326');
    expect(response.headers.get('content-type')).toMatch(/^application\/gml\+xml;version=3\.2/);
    const text = await response.text();
    execFileSync('xmllint', ['--noout', '-'], { input: text });
    const described = execFileSync('ogrinfo', ['-ro', '-al', '-so', '/vsistdin/'], {
      input: text,
    }).toString();
    expect(described).toContain(`Feature Count: ${ROWS}`);
  });

  it('/req/gmlsf0/content: every XML answer is valid by the one schema that the server gives', async () => {
    const features = `${server.url}/ogc/features`;
    const collection = `${features}/collections/${ids[store]}`;
    const answers: [file: string, url: string, root: string][] = [
      ['landing.xml', `${features}/`, 'LandingPage'],
      ['conformance.xml', `${features}/conformance`, 'ConformsTo'],
      ['collections.xml', `${features}/collections`, 'Collections'],
      ['collection.xml', collection, 'Collections'],
      ['page.gml', `${collection}/items`, 'sf:FeatureCollection'],
      ['one.gml', `${collection}/items/12?crs=EPSG:4326`, 'app:'],
    ];
    for (const [file, href, root] of answers) {
      const text = await (await fetch(href, { headers: { accept: 'application/xml' } })).text();
      expect(/^<\?xml[^>]*>\n<([\w:.-]+)/.exec(text)?.[1], file).toMatch(root);
      writeFileSync(join(schemas, file), text);
    }
    const schema = await (await fetch(`${features}/schemas/svc-ogcapi-features.xsd`)).text();
    writeFileSync(join(schemas, 'app.xsd'), schema);
    const files = answers.map(([file]) => file);
    execFileSync('xmllint', ['--nonet', '--noout', '--schema', 'app.xsd', ...files], {
      cwd: schemas,
      env: { ...process.env, XML_CATALOG_FILES: join(schemas, 'catalog.xml') },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
  });

  it('/req/gmlsf0/content: a feature is the root, with the id of its path where that can be a gml:id', async () => {
    const one = await (await get('/12?f=gml')).text();
    expect(/gml:id="([^"]*)"/.exec(one)?.[1]).toBe('f.12');
    // Numbers are no xs:ID, so the gml:id leads to the feature, too.
    expect(await (await get('/f.12?f=gml')).text()).toBe(one);
    expect((await get('/f.x')).status).toBe(404);
  });

  it.each(['gml', 'csv'])(
    '/req/gmlsf0/headers: what GeoJSON says beside the features, %s says in headers',
    async (f) => {
      for (const query of [
        '?limit=3&offset=4',
        '?limit=1000',
        '?limit=1000&filter=count%20IS%20NOT%20NULL',
      ]) {
        const json = await page(query);
        const { headers } = await get(`${query}&f=${f}`);
        expect(headers.get('ogc-numberreturned')).toBe(String(json.numberReturned));
        expect(headers.get('ogc-numbermatched')).toBe(json.numberMatched?.toString() ?? null);
        expect(Date.parse(headers.get('date')!)).not.toBeNaN();
        const links = headers.get('link')!;
        for (const rel of new Set(json.links.map((link) => link.rel)))
          expect(links).toContain(`rel="${rel}"`);
      }
    },
  );

  it('single: in every format, with a strong tag, and 404 for none', async () => {
    const one = await get('/12');
    expect(((await one.json()) as Feature).id).toBe(12);
    expect(one.headers.get('etag')).toMatch(/^"[0-9a-f]{16}"$/);
    expect((await get('/12', { 'if-none-match': one.headers.get('etag')! })).status).toBe(304);
    const tags = await Promise.all(
      ['/12?f=csv', '/12?f=gml', '/12?crs=EPSG:3857'].map(async (path) =>
        (await get(path)).headers.get('etag'),
      ),
    );
    expect(new Set([...tags, one.headers.get('etag')]).size).toBe(4);
    for (const none of ['/0', '/100000', '/x', "/1'--", '/99999999999999999999999'])
      expect((await get(none)).status).toBe(404);
  });

  it('as HTML list the features and go on without scripts', async () => {
    const html = await (await get('?f=html&limit=3&sortby=-count')).text();
    expect(html).toContain('rel="next"');
    expect(html).toContain('<table');
    expect(html).toContain('<input type="hidden" name="sortby" value="-count">');
    // What the form sends when nothing is filled in.
    const empty = await get('?f=html&sortby=-count&filter=&limit=3');
    expect(empty.status).toBe(200);
    expect(await empty.text()).toContain('Features 1 to 3');
  });

  it('/req/queryables/get-queryables-response: name what filters may use', async () => {
    const response = await fetch(url('').replace(/items$/, 'queryables'));
    expect(response.headers.get('content-type')).toBe('application/schema+json');
    const { properties } = (await response.json()) as { properties: Record<string, Record<string, unknown>> };
    expect(properties['geom']).toMatchObject({ format: 'geometry-any', 'x-ogc-role': 'primary-geometry' });
    expect(properties['count']).toMatchObject({ type: 'integer' });
    expect(properties['day']).toMatchObject({ type: 'string', format: 'date' });
    for (const f of ['json', 'schemajson', 'schema%2Bjson', 'schema+json', 'html'])
      expect((await fetch(`${url('').replace(/items$/, 'queryables')}?f=${f}`)).status).toBe(200);
  });
});

/** RFC 4180. */
function parseCsv(text: string): string[][] {
  const records: string[][] = [[]];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    records.at(-1)!.push(quoted === undefined ? plain! : quoted.replace(/""/g, '"'));
    if (end === '\r\n') records.push([]);
  }
  return records.slice(0, -1);
}
