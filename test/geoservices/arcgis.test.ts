import { once } from 'node:events';
import { createReadStream, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import type { Feature, Position } from 'geojson';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchBrowser } from '../support/browser.js';
import { linkPackages, middleColours } from '../support/saved-page.js';
import { type SharedServer, sharedServer } from '../support/shared-server.js';

/** Esri's own library draws a layer, by tiles of Protocol Buffers. */

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
type Json = any;

const TYPES: Record<string, string> = {
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
};
const PAGE = `<!doctype html><meta charset="utf-8"><style>html, body, #map { height: 100%; margin: 0 }</style>
  <div id="map"></div><script type="module" src="/arcgis.js"></script>`;

let server: SharedServer;
let browser: Browser;
let files: Server;
let origin: string;
const home = mkdtempSync(join(tmpdir(), 'graticule-arcgis-'));

beforeAll(async () => {
  server = await sharedServer();
  linkPackages(PACKAGES, join(home, 'packages'));
  await build({
    entryPoints: ['test/geoservices/pages/arcgis.js'],
    ...{ outdir: home, bundle: true, splitting: true, format: 'esm', logLevel: 'error' },
    plugins: [absent],
    nodePaths: [join(home, 'packages')],
  });
  files = createServer(({ url }, response) => {
    const path = new URL(url!, 'http://localhost').pathname;
    if (path === '/') return response.setHeader('content-type', 'text/html').end(PAGE);
    const file = join(path.startsWith('/assets/') ? join(home, 'packages/@arcgis/core') : home, path);
    if (!existsSync(file)) return response.writeHead(404).end();
    response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream');
    return createReadStream(file).pipe(response);
  });
  await once(files.listen(0, '127.0.0.1'), 'listening');
  origin = `http://127.0.0.1:${(files.address() as AddressInfo).port}`;
  browser = await launchBrowser();
}, 60_000);
afterAll(async () => {
  await browser?.close();
  files?.close();
  rmSync(home, { recursive: true, force: true });
});

/** Packages of test/browser-clients.txt that the page is made of. */
const PACKAGES = ['@arcgis/core', '@arcgis/toolkit', '@esri/arcgis-html-sanitizer', 'luxon', 'tslib'];

/** All other packages: those of widgets and charts, which the page has none of. */
const absent: Plugin = {
  name: 'absent',
  setup(bundle) {
    bundle.onResolve({ filter: /^[@\w]/ }, ({ path, kind }) => {
      const isHere = PACKAGES.some((name) => path === name || path.startsWith(`${name}/`));
      return kind === 'entry-point' || isHere ? undefined : { path, namespace: 'absent' };
    });
    bundle.onLoad({ filter: /.*/, namespace: 'absent' }, () => ({
      contents: 'module.exports = Object.create(new Proxy({}, { get: () => function Absent() {} }));',
    }));
  },
};

it('ArcGIS Maps SDK draws all polygons of a layer, and reads them as they are', async () => {
  const { collections } = (await (await fetch(`${server.url}/?f=json`)).json()) as Json;
  const { layerId } = collections.find(({ id }: Json) => id === 'countries');
  const page = await (await browser.newContext({ viewport: { width: 800, height: 600 } })).newPage();
  const problems: string[] = [];
  const queries: URL[] = [];
  page.on('pageerror', ({ message }) => problems.push(message));
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('response', (response) => {
    if (response.status() >= 400) problems.push(`${response.status()} ${response.url()}`);
    if (response.url().startsWith(server.url)) queries.push(new URL(response.url()));
  });
  await page.context().route(/^https:/, (route) => {
    problems.push(`asked for: ${route.request().url()}`);
    return route.abort();
  });
  await page.goto(origin);
  await page.waitForFunction('window.read');
  const layer = `${server.url}/rest/services/default/FeatureServer/${layerId}`;
  const read = (await page.evaluate(`window.read('${layer}')`)) as Json;
  const { features } = (await (
    await fetch(`${server.url}/ogc/features/collections/countries/items?f=json&limit=1000`)
  ).json()) as { features: Feature[] };
  expect(problems).toEqual([]);
  expect(read).toMatchObject({
    drawn: features.length,
    count: features.length,
    extentCount: features.length,
  });
  expect(read.ids).toEqual(features.map(({ id }) => id));
  for (const [i, { attributes, rings }] of read.features.entries()) {
    expect(attributes).toEqual({ fid: features[i]!.id, ...features[i]!.properties });
    expect(ringsOf(rings)).toEqual(ringsOf((features[i]!.geometry as Json).coordinates.flat()));
  }
  const tiles = queries.filter(({ searchParams }) => searchParams.get('resultType') === 'tile');
  expect(new Set(tiles.map(({ searchParams }) => searchParams.get('f')))).toEqual(new Set(['pbf']));
  expect((await middleColours(page)).size).toBeGreaterThan(2);
  await page.context().close();
}, 60_000);

const round = (number: number) => Math.round(number * 1e7) / 1e7 + 0;
const ringsOf = (rings: Position[][]) =>
  rings
    .map((ring) => [...new Set(ring.map(([x, y]) => `${round(x!)},${round(y!)}`))].sort().join(' '))
    .sort();
