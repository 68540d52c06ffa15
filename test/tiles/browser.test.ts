import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { launchBrowser } from '../support/browser.js';
import { startServer, type TestServer } from '../support/server.js';

/** MapLibre GL and OpenLayers draw tiles from their descriptions alone, in a page of another origin. */

const ARTEFACTS = 'test/artefacts';
const PAGE =
  '<!doctype html><link rel="icon" href="data:,"><div id="map" style="width:600px;height:400px"></div><script type="module" src="/page.js"></script>';

let server: TestServer;
let site: Server;
let browser: Browser;
let page: Page;
let problems: string[];

beforeAll(async () => {
  mkdirSync(ARTEFACTS, { recursive: true });
  const config = join(tmpdir(), `graticule-browser-${process.pid}.yaml`);
  writeFileSync(config, 'tiles: { collections: { states_provinces: { minZoom: 3, maxZoom: 5 } } }\n');
  server = await startServer({ args: ['--config', config] });
  site = await serveSite();
  browser = await launchBrowser();
}, 120_000);
afterAll(async () => {
  await browser?.close();
  site?.close();
  await server?.stop();
});

beforeEach(async () => {
  problems = [];
  page = await browser.newPage({ viewport: { width: 600, height: 400 } });
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('response', (response) => {
    if (response.status() >= 400) problems.push(`${response.status()} ${response.url()}`);
  });
  await page.goto(origin());
  await page.waitForFunction('window.drawWithOpenLayers');
}, 60_000);
afterEach(async () => {
  await page?.close();
  expect(problems).toEqual([]);
});

async function serveSite(): Promise<Server> {
  const bundled = await build({
    entryPoints: ['test/tiles/client/page.ts'],
    bundle: true,
    format: 'esm',
    write: false,
    logLevel: 'error',
  });
  const worker = createRequire(import.meta.url).resolve('maplibre-gl/dist/maplibre-gl-worker.mjs');
  const files: Record<string, [type: string, body: string | Buffer]> = {
    '/': ['text/html', PAGE],
    '/page.js': ['text/javascript', bundled.outputFiles[0]!.text],
    '/worker.js': ['text/javascript', readFileSync(worker)],
  };
  const made = createServer((request, response) => {
    const found = files[request.url ?? ''];
    response.writeHead(found ? 200 : 404, { 'content-type': found?.[0] ?? 'text/plain' }).end(found?.[1]);
  });
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
  return made;
}

const origin = () => `http://127.0.0.1:${(site.address() as { port: number }).port}/`;

/** Draws in the page, and returns the share of red (countries), blue (states) and white pixels. */
async function draw(name: string, call: 'drawWithMapLibre' | 'drawWithOpenLayers', asked: object) {
  await page.evaluate(`window.${call}(${JSON.stringify(asked)})`);
  const picture = await page.locator('#map').screenshot({ path: join(ARTEFACTS, `tiles-${name}.png`) });
  const { data, info } = await sharp(picture).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const share = { red: 0, blue: 0, white: 0 };
  const one = 1 / (info.width * info.height);
  for (let i = 0; i < data.length; i += 3) {
    const [r, g, b] = [data[i]!, data[i + 1]!, data[i + 2]!];
    if (r > 200 && g < 60 && b < 60) share.red += one;
    if (b > 200 && g < 60 && r < 60) share.blue += one;
    if (r > 250 && g > 250 && b > 250) share.white += one;
  }
  return share;
}

const tiles = (path: string) => `${server.url}/ogc/tiles${path}`;
const maps = (path: string) => `${server.url}/ogc/maps${path}`;
const LAYERS = ['countries', 'states_provinces'];
const WEB_MERCATOR_USA: [number, number] = [-10_800_000, 4_800_000];

describe('MapLibre GL', () => {
  it('draws both layers of a dataset tileset from its TileJSON', async () => {
    const url = tiles(`/tiles/WebMercatorQuad?f=tilejson&collections=${LAYERS.join(',')}`);
    const { red, blue } = await draw('maplibre', 'drawWithMapLibre', { url, center: [-97, 40], zoom: 3 });
    expect(red).toBeGreaterThan(0.3);
    expect(blue).toBeGreaterThan(0.01);
  });

  it('shows nothing of a layer before its first zoom', async () => {
    const url = tiles(`/tiles/WebMercatorQuad?f=tilejson&collections=${LAYERS.join(',')}`);
    const early = await draw('maplibre-early', 'drawWithMapLibre', { url, center: [-97, 40], zoom: 1.5 });
    expect([early.red > 0.1, early.blue]).toEqual([true, 0]);
  });
});

describe('MapLibre Tiles', () => {
  it.each([
    ['North America', [-97, 40], 3],
    ['the Alps', [10, 46.5], 5],
  ] as const)('are drawn as vector tiles are: %s', async (_, center, zoom) => {
    const pictures: Buffer[] = [];
    for (const encoding of ['mvt', 'mlt']) {
      const url = `${server.url}/tiles/${LAYERS.join(',')}?encoding=${encoding}`;
      const responses: string[] = [];
      page.on('response', (response) => responses.push(response.headers()['content-type'] ?? ''));
      await draw(encoding, 'drawWithMapLibre', {
        ...{ url, center, zoom },
        ...(encoding === 'mlt' && { encoding }),
      });
      if (encoding === 'mlt') expect(responses).toContain('application/vnd.maplibre-tile');
      pictures.push(
        await sharp(await page.locator('#map').screenshot())
          .raw()
          .toBuffer(),
      );
    }
    expect(pictures[1]!.equals(pictures[0]!)).toBe(true);
    expect(new Set(pictures[0]).size).toBeGreaterThan(2);
  });
});

describe('OpenLayers', () => {
  it('draws both layers of a dataset tileset as vector tiles', async () => {
    const asked = { url: tiles('/tiles/WebMercatorQuad'), kind: 'vector', collections: LAYERS };
    const shown = await draw('ol-vector', 'drawWithOpenLayers', {
      ...asked,
      center: WEB_MERCATOR_USA,
      zoom: 4,
    });
    expect(shown.red).toBeGreaterThan(0.3);
    expect(shown.blue).toBeGreaterThan(0.01);
  });

  it('draws the dataset as map tiles', async () => {
    const asked = { url: maps('/map/tiles/WebMercatorQuad'), kind: 'map', collections: LAYERS };
    const shown = await draw('ol-map', 'drawWithOpenLayers', { ...asked, center: WEB_MERCATOR_USA, zoom: 4 });
    expect(shown.white).toBeGreaterThan(0.05);
    expect(shown.white).toBeLessThan(0.7);
  });

  it.each([
    ['WorldCRS84Quad', 'CRS:84', [-97, 40], 4],
    ['WGS1984Quad', 'EPSG:4326', [-97, 40], 4],
    ['UTM32WGS84Quad', 'EPSG:32632', [500_000, 5_400_000], 4],
  ] as const)('draws map tiles of a collection in %s', async (set, projection, center, zoom) => {
    const url = maps(`/collections/3/map/tiles/${set}`);
    const asked = { url, kind: 'map', projection, center, zoom };
    const shown = await draw(`ol-map-${set}`, 'drawWithOpenLayers', asked);
    expect(shown.white).toBeGreaterThan(0.01);
    expect(shown.white).toBeLessThan(0.7);
  });

  it('draws vector tiles of a collection in UTM', async () => {
    const url = tiles('/collections/3/tiles/UTM32WGS84Quad');
    const place = { projection: 'EPSG:32632', center: [500_000, 5_400_000], zoom: 4 };
    const shown = await draw('ol-utm', 'drawWithOpenLayers', { url, kind: 'vector', ...place });
    expect(shown.red).toBeGreaterThan(0.3);
    expect(shown.white).toBeGreaterThan(0.01);
  });
});
