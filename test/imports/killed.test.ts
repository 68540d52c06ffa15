import { appendFileSync, readdirSync, statSync, truncateSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { scratchDirectory } from '../engine/support.js';
import { startServer, type TestServer } from '../support/server.js';
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

/** Imports by pages whose server is killed between two of them. */

const scratch = scratchDirectory();
const SIZE = 5;
let server: TestServer;
let mapServer: Remote;
let remote: Remote;
/** Features of the remote, where its pages begin one feature earlier, and from which place on they are held back. */
let total = 20;
let shift = 0;
let holdFrom = Number.POSITIVE_INFINITY;
let held: (() => void)[] = [];

const start = (dataDir?: string) =>
  startServer({
    sources: [],
    env: { SVC_REMOTE__ALLOW: `["${REMOTE_HOST}"]` },
    ...(dataDir ? { dataDir } : {}),
  });

/** A remote of OGC API Features, of a WFS with GeoJSON, and of the WFS of MapServer. */
beforeAll(async () => {
  mapServer = await startMapServer(scratch.path);
  remote = await startRemote((url, response) => {
    const { searchParams: query, pathname } = url;
    const from = Number(query.get('from') ?? query.get('STARTINDEX') ?? 0);
    const isPage = pathname.endsWith('/items') || (query.has('STARTINDEX') && query.has('COUNT'));
    // The pages of a reading that begins anew follow each other.
    if (isPage && from === 0) shift = 0;
    if (isPage && from >= holdFrom) return void held.push(() => answer(url, from, response));
    answer(url, from, response);
  });
}, 480_000);

afterAll(async () => {
  await mapServer?.close();
  await remote?.close();
  scratch.remove();
});

afterEach(async () => {
  await server?.stop();
  total = 20;
  shift = 0;
  holdFrom = Number.POSITIVE_INFINITY;
  held = [];
});

function answer(url: URL, from: number, response: ServerResponse): void {
  const { pathname, searchParams: query } = url;
  if (pathname === '/mapserver') return void pass(url, response);
  if (pathname === '/wfs') return wfs(query, from, response);
  if (pathname.endsWith('/items')) return sendJson(response, itemsPage(url, from));
  const href = `${remote.url}${pathname}/items`;
  sendJson(response, {
    id: 'x',
    title: 'Remote',
    links: [{ rel: 'items', type: 'application/geo+json', href }],
  });
}

async function pass(url: URL, response: ServerResponse): Promise<void> {
  const page = await fetch(`${mapServer.url}/${url.search}`);
  response.writeHead(page.status, { 'content-type': page.headers.get('content-type')! });
  response.end(Buffer.from(await page.arrayBuffer()));
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

function wfs(query: URLSearchParams, from: number, response: ServerResponse): void {
  const xml = (text: string) => void response.writeHead(200, { 'content-type': 'text/xml' }).end(text);
  if (query.get('REQUEST') === 'GetCapabilities')
    return xml(`<wfs:WFS_Capabilities xmlns:wfs="w" xmlns:ows="o" version="2.0.0"><ows:OperationsMetadata>
      <ows:Operation name="GetFeature"><ows:Parameter name="outputFormat"><ows:AllowedValues>
      <ows:Value>application/json</ows:Value></ows:AllowedValues></ows:Parameter></ows:Operation></ows:OperationsMetadata>
      <FeatureTypeList><FeatureType><Name>towns</Name><DefaultCRS>urn:ogc:def:crs:EPSG::4326</DefaultCRS></FeatureType>
      </FeatureTypeList></wfs:WFS_Capabilities>`);
  if (query.get('RESULTTYPE') === 'hits')
    return xml(`<wfs:FeatureCollection xmlns:wfs="w" numberMatched="${total}" numberReturned="0"/>`);
  sendJson(response, { type: 'FeatureCollection', numberMatched: total, features: features(from) });
}

interface Import {
  table: string;
  /** Pages before the one that is under way when the server is killed. */
  pages: number;
  size: number;
  run(): Promise<unknown>;
}

const ITEMS: Import = {
  table: 'items',
  pages: 2,
  size: SIZE,
  run: () =>
    call(server, 'POST', '/import/ogc-api-features/collection', {
      ...{ targetSchema: 'main', targetTable: 'items', serviceUrl: remote.url, collectionId: 'x' },
      pageSize: SIZE,
    }),
};
const wfsImport = (path: string, type: string, size: number) => () =>
  call(server, 'POST', '/import/ogc-wfs/start', {
    ...{ serviceUrl: `${remote.url}${path}`, featureTypeNames: [type], pageSize: size, applyMode: true },
  });
const GEOJSON: Import = { table: 'towns', pages: 2, size: SIZE, run: wfsImport('/wfs', 'towns', SIZE) };
const GML: Import = {
  table: 'countries',
  pages: 2,
  size: 50,
  run: wfsImport('/mapserver', 'ms:countries', 50),
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

/** Runs an import, kills the server while a page is under way, and starts it again. Tells which pages were asked for. */
async function runKilled(one: Import, meanwhile: (file: string) => void = () => {}): Promise<number[]> {
  server = await start();
  const asked = remote.asked.length;
  holdFrom = one.pages * one.size;
  const called = one.run().catch(() => 'broken');
  await vi.waitFor(() => expect(held).toHaveLength(1), { timeout: 120_000 });
  // The gateways, and the supervisor that would start them again.
  process.kill(server.process.pid!, 'SIGKILL');
  expect(await called).toBe('broken');
  holdFrom = Number.POSITIVE_INFINITY;
  meanwhile(pagesFile());
  server = await start(server.dataDir);
  await vi.waitFor(async () => expect(await collections(server)).toContain(one.table), { timeout: 120_000 });
  await vi.waitFor(() => expect(leftovers(server)).toEqual([]), { timeout: 120_000 });
  return pagesSince(asked);
}

function pagesFile(): string {
  const staging = join(server.dataDir, 'staging');
  const name = readdirSync(staging, { recursive: true })
    .map(String)
    .find((path) => /(items|features)\.geojsonl$/.test(path));
  return join(staging, name!);
}

async function content(table: string): Promise<unknown> {
  const { features } = (await itemsOf(server, table, 'limit=2000')) as { features: Json[] };
  return features.map(({ id, geometry, properties }) => ({ id, geometry, properties }));
}

/** What an import comes to that nothing disturbs. */
async function undisturbed(one: Import): Promise<{ pages: number[]; content: unknown }> {
  server = await start();
  const asked = remote.asked.length;
  await one.run();
  const result = { pages: pagesSince(asked), content: await content(one.table) };
  await server.stop();
  return result;
}

describe.each([
  ['OGC API Features', ITEMS],
  ['a WFS with GeoJSON', GEOJSON],
  ['a WFS with GML', GML],
])('an import from %s whose server is killed', (_name, one) => {
  let whole: Awaited<ReturnType<typeof undisturbed>>;

  beforeAll(async () => {
    whole = await undisturbed(one);
  }, 480_000);

  it('goes on behind the pages that it has, and comes to the same', async () => {
    expect(whole.pages.length).toBeGreaterThan(one.pages + 1);
    // A page that was being written stays behind its bytes.
    const pages = await runKilled(one, (file) => appendFileSync(file, '{"type":"Feature","geom'));
    const underWay = one.pages * one.size;
    expect(pages).toEqual([...whole.pages.slice(0, one.pages), underWay, ...whole.pages.slice(one.pages)]);
    expect(await content(one.table)).toEqual(whole.content);
  }, 480_000);

  it('begins anew when its pages are not whole', async () => {
    const pages = await runKilled(one, (file) => truncateSync(file, statSync(file).size - 1));
    expect(pages).toEqual([...whole.pages.slice(0, one.pages + 1), ...whole.pages]);
    expect(await content(one.table)).toEqual(whole.content);
  }, 480_000);
});

describe.each([
  ['OGC API Features', ITEMS],
  ['a WFS', GEOJSON],
])('an import from %s begins anew', (_name, one) => {
  it('when the source has another number of features', async () => {
    const pages = await runKilled(one, () => {
      total = 23;
    });
    expect(pages.slice(0, 3)).toEqual([0, 5, 10]);
    expect(pages.slice(-5)).toEqual([0, 5, 10, 15, 20]);
    const names = ((await content(one.table)) as { properties: Json }[]).map(
      ({ properties }) => properties['name'],
    );
    expect(names.sort()).toEqual(Array.from({ length: 23 }, (_, i) => `f${i + 1}`).sort());
  }, 120_000);

  it('when features of the last page come again', async () => {
    const pages = await runKilled(one, () => {
      shift = 2;
    });
    expect(pages).toEqual([0, 5, 10, 10, 0, 5, 10, 15]);
    expect(((await content(one.table)) as unknown[]).length).toBe(20);
  }, 120_000);
});
