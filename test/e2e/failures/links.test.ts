import { beforeAll, describe, expect, it } from 'vitest';
import { type SharedServer, sharedServer } from '../../support/shared-server.js';
import { json, raw } from '../support/http.js';

let server: SharedServer;

beforeAll(async () => {
  server = await sharedServer();
});

const ENTRIES = ['/', '/ogc/features/', '/ogc/tiles/', '/ogc/maps', '/ogc/coverages/', '/stac', '/docs'];
/** Far more than the demo data has: a crawl that reaches it runs in circles. */
const MAX_PAGES = 3000;

/** Coordinate systems, conformance classes, licences and schemas are named by the address of their definition. */
const DEFINITIONS = new Set([
  'http://www.opengis.net',
  'https://www.opengis.net',
  'https://api.stacspec.org',
  'https://stac-extensions.github.io',
  'https://json-schema.org',
  'https://geojson.org',
  'https://proj.org',
  'https://www.apache.org',
]);

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

interface Found {
  url: string;
  from: string;
  type?: string;
}

/** Every `href` of a JSON document, with the media type that stands beside it. */
function hrefsOfJson(
  value: unknown,
  found: { href: string; type?: string }[] = [],
): { href: string; type?: string }[] {
  if (Array.isArray(value)) for (const entry of value) hrefsOfJson(entry, found);
  else if (value && typeof value === 'object') {
    const { href, type } = value as { href?: unknown; type?: unknown };
    if (typeof href === 'string') found.push({ href, ...(typeof type === 'string' ? { type } : {}) });
    for (const entry of Object.values(value)) hrefsOfJson(entry, found);
  }
  return found;
}

const ENTITIES: Record<string, string> = {
  '&amp;': '&',
  '&quot;': '"',
  '&#39;': "'",
  '&lt;': '<',
  '&gt;': '>',
};

function hrefsOfHtml(html: string): { href: string }[] {
  return [...html.matchAll(/\s(?:href|src)="([^"]*)"/g)]
    .map((match) => ({ href: match[1]!.replace(/&(amp|quot|#39|lt|gt);/g, (entity) => ENTITIES[entity]!) }))
    .filter(({ href }) => !href.startsWith('#') && !href.startsWith('data:'));
}

/** Entries of the lists of links of a page that say nothing, or the same as another that leads elsewhere. */
function unclear(html: string): string[] {
  const wrong: string[] = [];
  for (const [, list] of html.matchAll(/<ul class="links">(.*?)<\/ul>/gs)) {
    const read = new Map<string, string>();
    for (const [, entry] of list!.matchAll(/<li>(.*?)<\/li>/gs)) {
      const href = /href="([^"]*)"/.exec(entry!)?.[1] ?? /class="template">([^<]*)/.exec(entry!)![1]!;
      const text = entry!.replace(/<[^>]*>/g, '').trim();
      const words = entry!
        .replace(/<(span class="type"|code)[^>]*>.*?<\/\w+>/gs, '')
        .replace(/<[^>]*>/g, '')
        .trim();
      if (!/^[^/:]*\p{L}{3}/u.test(words)) wrong.push(`'${words}' says nothing of ${href}`);
      if ((read.get(text) ?? href) !== href) wrong.push(`'${text}' is ${href} and ${read.get(text)}`);
      read.set(text, href);
    }
  }
  return wrong;
}

/** Templates are followed at the tile that every matrix has; the matrices of UTM are counted from 1. */
function filled(href: string): string {
  return href
    .replace(/\{tileMatrixSetId\}/g, 'WebMercatorQuad')
    .replace(/(\/UTM\d\dWGS84Quad\/)\{tileMatrix\}/g, (_, set) => `${set}1`)
    .replace(/\{(tileMatrix|tileRow|tileCol|z|x|y|lon|lat)\}/g, '0');
}

/** The first tile of a matrix need not be within the limits of a tileset, nor 0, 0 within a coverage. */
function isOutside({ url }: Found, { status, body }: { status: number; body: Buffer }): boolean {
  if (status !== 404) return false;
  return (
    (url.includes('/0/0/0?') && body.includes('within the limits of the tileset')) ||
    (url.endsWith('/position?coords=POINT(0%200)') && body.includes('no values at this position'))
  );
}

/** Where a process is executed is for programs that send something: pages do not link it. */
function isForPosting({ url, from }: Found, { status }: { status: number }, accept: string): boolean {
  const isOfDocument = accept !== BROWSER || from.endsWith('f=json');
  return status === 405 && url.endsWith('/execution') && isOfDocument;
}

/** What a process gave is what it is: other tests of the server may have executed some. */
const isResult = (url: string) => /\/ogc\/processes\/jobs\/[^/]+\/results/.test(url);

/** Documents are opened and searched for links, but for the manual (test/docs/unit/manual.test.ts); pictures, tiles and data are only asked for. */
function isDocument(type: string): boolean {
  return /^(text\/html|application\/(json|schema\+json|vnd\.oai))/.test(type);
}

/** Pages of operations, which are alike: those of one API and of one layer are opened. */
const OTHER_OPERATIONS = /^\/docs\/(?!stac\/)[^/]+\/.|Server\/(?!3\/)\d+\/[a-z]/;

/** Jobs, proposals and findings of other tests, and records of requests: any number, and they can end before the visit. */
const SHORT_LIVED = /^\/api\/v1\/admin\/(jobs|proposals|observability\/(findings|requests))\/./;

/** Addresses asked at the same time. */
const AT_ONCE = 6;

/** Walks links from `entries`; returns what was wrong, and every address that was asked for. */
async function crawl(entries: Found[], accept: string): Promise<{ wrong: string[]; asked: Set<string> }> {
  const queue = [...entries];
  const asked = new Set(queue.map((entry) => entry.url));
  const wrong: string[] = [];
  while (queue.length > 0 && asked.size < MAX_PAGES) {
    const pages = await Promise.all(queue.splice(0, AT_ONCE).map((at) => visit(at, accept)));
    for (const page of pages) {
      wrong.push(...page.wrong);
      for (const link of page.links) {
        if (asked.has(link.url)) continue;
        asked.add(link.url);
        queue.push(link);
      }
    }
  }
  return { wrong, asked };
}

/** Asks for one address: what is wrong with the answer, and the links of this server that it holds. */
async function visit(at: Found, accept: string): Promise<{ wrong: string[]; links: Found[] }> {
  const wrong: string[] = [];
  const sent = at.type ?? accept;
  const answer = await raw(at.url, { headers: { accept: sent, 'x-api-key': server.adminKey } });
  const type = answer.headers['content-type'] ?? '';
  if (isOutside(at, answer) || isForPosting(at, answer, accept)) return { wrong, links: [] };
  if (answer.status >= 400) wrong.push(`${answer.status} ${at.url} (linked from ${at.from})`);
  if (sent === BROWSER && !isResult(at.url) && /[/+]json/.test(type) && !/[?&]f=/.test(at.url))
    wrong.push(`${at.url} is raw JSON for a browser (linked from ${at.from})`);
  if (at.type && answer.status === 200 && type.split(';')[0] !== at.type.split(';')[0]) {
    wrong.push(`${at.url} is ${type}, its link says ${at.type} (linked from ${at.from})`);
  }
  if (answer.status !== 200 || !isDocument(type) || /\/items|\/manual\//.test(at.url))
    return { wrong, links: [] };
  const text = answer.body.toString('utf8');
  if (type.startsWith('text/html')) wrong.push(...unclear(text).map((what) => `${what} (on ${at.url})`));
  const hrefs: { href: string; type?: string }[] = type.startsWith('text/html')
    ? hrefsOfHtml(text)
    : hrefsOfJson(JSON.parse(text));
  const links: Found[] = [];
  for (const { href, type } of hrefs) {
    const url = new URL(filled(href), at.url);
    url.hash = '';
    if (DEFINITIONS.has(url.origin)) continue;
    if (OTHER_OPERATIONS.test(url.pathname) || SHORT_LIVED.test(url.pathname)) continue;
    if (url.origin === server.url) links.push({ url: url.href, from: at.url, ...(type ? { type } : {}) });
    else wrong.push(`${url.href} leaves the server (linked from ${at.url})`);
  }
  return { wrong, links };
}

describe('every link that the server hands out', () => {
  it('can be followed from the JSON documents, and is the media type it says', async () => {
    const entries = ENTRIES.filter((path) => path !== '/' && path !== '/docs').map((path) => ({
      url: `${server.url}${path}`,
      from: 'start',
    }));
    const { wrong, asked } = await crawl(entries, '*/*');
    expect(wrong).toEqual([]);
    for (const path of [
      '/ogc/features/collections/countries',
      '/ogc/coverages/collections/l7_etms/schema',
      '/stac/collections/countries',
    ]) {
      expect([...asked].some((url) => url.startsWith(`${server.url}${path}`))).toBe(true);
    }
    expect(asked.size).toBeLessThan(MAX_PAGES);
  }, 120_000);

  it('can be followed from the HTML pages, and meets no raw JSON on the way', async () => {
    const { wrong, asked } = await crawl(
      ENTRIES.map((path) => ({ url: `${server.url}${path}`, from: 'start' })),
      BROWSER,
    );
    expect(wrong).toEqual([]);
    expect([...asked].some((url) => url.includes('/ogc/features/collections/countries/items'))).toBe(true);
    expect(asked.size).toBeLessThan(MAX_PAGES);
  }, 120_000);

  it('is absolute in JSON and starts with the address that the client used', async () => {
    const host = `localhost:${new URL(server.url).port}`;
    const document = await json(`${server.url}/ogc/features/`, { headers: { host } });
    for (const link of document.links) expect(link.href.startsWith(`http://${host}/`)).toBe(true);
  });
});

describe('the OpenAPI document of each surface', () => {
  const APIS = {
    features: '/ogc/features/api',
    tiles: '/ogc/tiles/openapi.json',
    maps: '/ogc/maps/openapi.json',
    coverages: '/ogc/coverages/openapi.json',
    stac: '/stac/openapi.json',
    admin: '/api/v1/admin/openapi.json',
  };

  it.each(Object.entries(APIS))('of %s names its version, its paths and no path twice', async (_, path) => {
    const document = await json(`${server.url}${path}`, { headers: { 'x-api-key': server.adminKey } });
    expect(document.openapi).toMatch(/^3\./);
    expect(document.info.version).toMatch(/^\d/);
    const ids = Object.values<Record<string, { operationId: string }>>(document.paths).flatMap((methods) =>
      Object.entries(methods)
        .filter(([method]) => /^(get|put|post|delete|patch)$/.test(method))
        .map(([, operation]) => operation.operationId),
    );
    expect(ids.length).toBeGreaterThan(4);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('lists only GET paths that are routed', async () => {
    const document = await json(`${server.url}/ogc/features/api`);
    const values: Record<string, string> = { collectionId: 'countries', featureId: '1' };
    const wrong: string[] = [];
    for (const [path, methods] of Object.entries<Record<string, unknown>>(document.paths)) {
      // The test has no export job.
      if (!('get' in methods) || path.includes('{exportId}')) continue;
      const url = `${document.servers[0].url}${path.replace(/\{(\w+)\}/g, (_, name) => values[name]!)}`;
      const { status } = await raw(url);
      if (status === 404 || status === 500) wrong.push(`${status} ${url}`);
    }
    expect(wrong).toEqual([]);
  });
});
