import { appendFileSync, mkdtempSync, readdirSync, statSync, truncateSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { scratchDirectory } from '../../engine/support.js';
import { startServerProcess, type TestServer } from '../../support/server.js';
import { isFullRun } from '../../support/soak.js';
import { startMapServer } from './mapserver.js';
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

/**
 * Imports by pages whose server is killed between two of them, each into a table of its own: what starts again serves the
 * next. A brief run kills one.
 */

const IS_FULL = isFullRun(import.meta.url);
const full = it.runIf(IS_FULL);

const scratch = scratchDirectory();
const dataDir = mkdtempSync(join(scratch.path, 'data-'));
const SIZE = 5;
let server: TestServer;
let tables = 0;
let mapServer: Remote | undefined;
let remote: Remote;
/** Features of the remote, where its pages begin one feature earlier, and from which place on they are held back. */
let total = 20;
let shift = 0;
let holdFrom = Number.POSITIVE_INFINITY;
let held: (() => void)[] = [];

const start = () =>
  startServerProcess({ sources: [], env: { SVC_REMOTE__ALLOW: `["${REMOTE_HOST}"]` }, dataDir });

/** A remote of OGC API Features, of a WFS with GeoJSON, and of the WFS of MapServer. */
beforeAll(async () => {
  if (IS_FULL) mapServer = await startMapServer(scratch.path);
  remote = await startRemote((url, response) => {
    const { searchParams: query, pathname } = url;
    const from = Number(query.get('from') ?? query.get('STARTINDEX') ?? 0);
    const isPage = pathname.endsWith('/items') || (query.has('STARTINDEX') && query.has('COUNT'));
    // The pages of a reading that begins anew follow each other.
    if (isPage && from === 0) shift = 0;
    if (isPage && from >= holdFrom) return void held.push(() => answer(url, from, response));
    answer(url, from, response);
  });
  server = await start();
}, 480_000);

afterAll(async () => {
  await server?.stop();
  await mapServer?.close();
  await remote?.close();
  scratch.remove();
});

afterEach(() => {
  total = 20;
  shift = 0;
  holdFrom = Number.POSITIVE_INFINITY;
  held = [];
});

function answer(url: URL, from: number, response: ServerResponse): void {
  const { pathname, searchParams: query } = url;
  const [, name] = /^\/mapserver\/(\w+)$/.exec(pathname) ?? [];
  if (name) return void pass(name, query, response);
  if (pathname.startsWith('/wfs/')) return wfs(pathname.slice(5), query, from, response);
  if (pathname.endsWith('/items')) return sendJson(response, itemsPage(url, from));
  const href = `${remote.url}${pathname}/items`;
  sendJson(response, {
    id: 'x',
    title: 'Remote',
    links: [{ rel: 'items', type: 'application/geo+json', href }],
  });
}

/** MapServer's countries by another name. */
async function pass(name: string, query: URLSearchParams, response: ServerResponse): Promise<void> {
  const own = [...query].map(([key, value]): [string, string] => [key, value.replaceAll(name, 'countries')]);
  const page = await fetch(`${mapServer!.url}/?${new URLSearchParams(own)}`);
  response.writeHead(page.status, { 'content-type': page.headers.get('content-type')! });
  response.end((await page.text()).replaceAll(/(ms:|")countries(?!\.)/g, `$1${name}`));
}

function features(from: number): Json[] {
  const begin = Math.max(0, from - (from > 0 ? shift : 0));
  return Array.from({ length: Math.max(0, Math.min(SIZE, total - begin)) }, (_, i) => ({
    type: 'Feature',
    id: begin + i + 1,
    geometry: { type: 'Point', coordinates: [(begin + i) / 10, 50] },
    properties: { name: `f${begin + i + 1}` },
  }));
}

function itemsPage(url: URL, from: number): Json {
  const next = new URL(url.pathname + url.search, remote.url);
  next.searchParams.set('from', String(from + SIZE));
  const links = from + SIZE < total ? [{ rel: 'next', href: next.href }] : [];
  return { type: 'FeatureCollection', numberMatched: total, features: features(from), links };
}

function wfs(name: string, query: URLSearchParams, from: number, response: ServerResponse): void {
  const xml = (text: string) => void response.writeHead(200, { 'content-type': 'text/xml' }).end(text);
  if (query.get('REQUEST') === 'GetCapabilities')
    return xml(`<wfs:WFS_Capabilities xmlns:wfs="w" xmlns:ows="o" version="2.0.0"><ows:OperationsMetadata>
      <ows:Operation name="GetFeature"><ows:Parameter name="outputFormat"><ows:AllowedValues>
      <ows:Value>application/json</ows:Value></ows:AllowedValues></ows:Parameter></ows:Operation></ows:OperationsMetadata>
      <FeatureTypeList><FeatureType><Name>${name}</Name><DefaultCRS>urn:ogc:def:crs:EPSG::4326</DefaultCRS></FeatureType>
      </FeatureTypeList></wfs:WFS_Capabilities>`);
  if (query.get('RESULTTYPE') === 'hits')
    return xml(`<wfs:FeatureCollection xmlns:wfs="w" numberMatched="${total}" numberReturned="0"/>`);
  sendJson(response, { type: 'FeatureCollection', numberMatched: total, features: features(from) });
}

interface Import {
  /** Pages before the one that is under way when the server is killed. */
  pages: number;
  size: number;
  run(table: string): Promise<unknown>;
}

const ITEMS: Import = {
  pages: 2,
  size: SIZE,
  run: (targetTable) =>
    call(server, 'POST', '/import/ogc-api-features/collection', {
      ...{ targetSchema: 'main', targetTable, serviceUrl: remote.url, collectionId: 'x' },
      pageSize: SIZE,
    }),
};
const wfsImport = (path: string, type: string, pageSize: number) =>
  call(server, 'POST', '/import/ogc-wfs/start', {
    ...{ serviceUrl: remote.url + path, featureTypeNames: [type], pageSize, applyMode: true },
  });
const GEOJSON: Import = {
  pages: 2,
  size: SIZE,
  run: (table) => wfsImport(`/wfs/${table}`, table, SIZE),
};
const GML: Import = {
  pages: 2,
  size: 50,
  run: (table) => wfsImport(`/mapserver/${table}`, `ms:${table}`, 50),
};

/** Places at which the pages began that were asked for since. */
function pagesSince(count: number): number[] {
  return remote.asked.slice(count).flatMap((path) => {
    const { pathname, searchParams: query } = new URL(path, 'http://remote');
    if (query.get('RESULTTYPE') === 'hits') return [];
    if (pathname.endsWith('/items')) return [Number(query.get('from') ?? 0)];
    return query.has('COUNT') ? [Number(query.get('STARTINDEX'))] : [];
  });
}

interface Outcome {
  /** Places at which the pages began that were asked for. */
  pages: number[];
  content: unknown[];
}

/** Runs an import, kills the server while a page is under way, and starts it again. */
async function outcomeOfKill(one: Import, meanwhile: (file: string) => void = () => {}): Promise<Outcome> {
  const table = `table${++tables}`;
  const asked = remote.asked.length;
  holdFrom = one.pages * one.size;
  const called = one.run(table).catch(() => 'broken');
  await vi.waitFor(() => expect(held).toHaveLength(1), { timeout: 120_000 });
  await server.kill();
  expect(await called).toBe('broken');
  holdFrom = Number.POSITIVE_INFINITY;
  meanwhile(pagesFile());
  server = await start();
  await vi.waitFor(async () => expect(await collections(server)).toContain(table), { timeout: 120_000 });
  await vi.waitFor(() => expect(leftovers(server)).toEqual([]), { timeout: 120_000 });
  return { pages: pagesSince(asked), content: await content(table) };
}

function pagesFile(): string {
  const staging = join(server.dataDir, 'staging');
  const name = readdirSync(staging, { recursive: true })
    .map(String)
    .find((path) => /(items|features)\.geojsonl$/.test(path));
  return join(staging, name!);
}

async function content(table: string): Promise<unknown[]> {
  const { features } = (await itemsOf(server, table, 'limit=2000')) as { features: Json[] };
  return features.map(({ id, geometry, properties }) => ({ id, geometry, properties }));
}

/** What an import comes to that nothing disturbs. */
async function undisturbed(one: Import): Promise<Outcome> {
  const table = `table${++tables}`;
  const asked = remote.asked.length;
  await one.run(table);
  return { pages: pagesSince(asked), content: await content(table) };
}

describe.each([
  ['OGC API Features', ITEMS],
  ['a WFS with GeoJSON', GEOJSON],
  ['a WFS with GML', GML],
])('an import from %s whose server is killed', { timeout: 480_000 }, (_name, one) => {
  let whole: Outcome;
  const brief = it.runIf(IS_FULL || one === ITEMS);

  beforeAll(async () => {
    whole = await undisturbed(one);
  }, 480_000);

  brief('goes on behind the pages that it has, and comes to the same', async () => {
    expect(whole.pages.length).toBeGreaterThan(one.pages + 1);
    // A page that was being written stays behind its bytes.
    const { pages, content } = await outcomeOfKill(one, (file) =>
      appendFileSync(file, '{"type":"Feature","geom'),
    );
    const underWay = one.pages * one.size;
    expect(pages).toEqual([...whole.pages.slice(0, one.pages), underWay, ...whole.pages.slice(one.pages)]);
    expect(content).toEqual(whole.content);
  });

  full('begins anew when its pages are not whole', async () => {
    const { pages, content } = await outcomeOfKill(one, (file) =>
      truncateSync(file, statSync(file).size - 1),
    );
    expect(pages).toEqual([...whole.pages.slice(0, one.pages + 1), ...whole.pages]);
    expect(content).toEqual(whole.content);
  });
});

describe.each([
  ['OGC API Features', ITEMS],
  ['a WFS', GEOJSON],
])('an import from %s begins anew', { timeout: 480_000 }, (_name, one) => {
  full('when the source has another number of features', async () => {
    const { pages, content } = await outcomeOfKill(one, () => {
      total = 23;
    });
    expect(pages.slice(0, 3)).toEqual([0, 5, 10]);
    expect(pages.slice(-5)).toEqual([0, 5, 10, 15, 20]);
    const names = (content as { properties: Json }[]).map(({ properties }) => properties['name']);
    expect(names.sort()).toEqual(Array.from({ length: 23 }, (_, i) => `f${i + 1}`).sort());
  });

  full('when features of the last page come again', async () => {
    const { pages, content } = await outcomeOfKill(one, () => {
      shift = 2;
    });
    expect(pages).toEqual([0, 5, 10, 10, 0, 5, 10, 15]);
    expect(content.length).toBe(20);
  });
});
