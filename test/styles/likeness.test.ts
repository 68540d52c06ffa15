import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import { build } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { suiteEngine } from '../engine/support.js';
import { launchBrowser } from '../support/browser.js';
import { type SharedServer, sharedServer } from '../support/shared-server.js';
import { LOOKS } from './looks.js';
import { ssim } from './ssim.js';
import { MIDDLE, PLACE } from './tiles.js';

/** Maps drawn by Mapnik and by MapLibre GL in a browser, in the same style from the same tile, look alike. */

const ARTEFACTS = 'test/artefacts/styles';
const SIDE = 512;
const BACKGROUND = '#e8eef2';
const PAGE = `<!doctype html><link rel="icon" href="data:,"><style>body{margin:0}</style><div id="map" style="width:${SIDE}px;height:${SIDE}px"></div><script type="module" src="/page.js"></script>`;

const suite = suiteEngine();
let server: SharedServer;
let site: Server;
let browser: Browser;
let page: Page;
/** The tile that the page is given. */
let tile: Uint8Array;

beforeAll(async () => {
  mkdirSync(ARTEFACTS, { recursive: true });
  // Of glyphs and icons.
  server = await sharedServer();
  site = await serveSite();
  browser = await launchBrowser();
  page = await browser.newPage({ viewport: { width: SIDE, height: SIDE } });
  await page.goto(origin());
  await page.waitForFunction('window.draw');
}, 120_000);
afterAll(async () => {
  await browser?.close();
  site?.close();
});

const origin = () => `http://127.0.0.1:${(site.address() as { port: number }).port}`;

async function serveSite(): Promise<Server> {
  const bundled = await build({
    entryPoints: ['test/styles/client/page.ts'],
    bundle: true,
    format: 'esm',
    write: false,
    logLevel: 'error',
  });
  const worker = createRequire(import.meta.url).resolve('maplibre-gl/dist/maplibre-gl-worker.mjs');
  const files: Record<string, [type: string, body: () => string | Uint8Array]> = {
    '/': ['text/html', () => PAGE],
    '/page.js': ['text/javascript', () => bundled.outputFiles[0]!.text],
    '/worker.js': ['text/javascript', () => readFileSync(worker)],
    [`/${PLACE.zoom}/${PLACE.column}/${PLACE.row}`]: ['application/vnd.mapbox-vector-tile', () => tile],
  };
  const made = createServer((request, response) => {
    const found = files[(request.url ?? '').replace(/\?.*/, '')];
    if (found) response.writeHead(200, { 'content-type': found[0] }).end(found[1]());
    // Of the tiles around.
    else response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
  return made;
}

describe('Mapnik and MapLibre', () => {
  it.each(Object.entries(LOOKS))('draw %s alike', async (name, look) => {
    tile = look.tile();
    const style = {
      version: 8,
      glyphs: `${server.url}/ogc/maps/fonts/{fontstack}/{range}.pbf`,
      sprite: `${server.url}/ogc/maps/sprites/default`,
      sources: {
        data: {
          type: 'vector',
          tiles: [`${origin()}/{z}/{x}/{y}?${encodeURIComponent(name)}`],
          minzoom: PLACE.zoom,
          maxzoom: PLACE.zoom,
        },
      },
      layers: [
        { id: 'background', type: 'background', paint: { 'background-color': BACKGROUND } },
        ...look.layers.map((layer) => ({ ...layer, source: 'data', 'source-layer': look.sourceLayer })),
      ],
    };
    await page.evaluate(`window.draw(${JSON.stringify(style)}, ${JSON.stringify(MIDDLE)}, ${PLACE.zoom})`);
    const theirs = await page.screenshot();
    const { data: ours } = await suite.pool.run('map.render', {
      width: SIDE,
      height: SIDE,
      background: BACKGROUND,
      layers: [{ kind: 'vector', tile, style: JSON.stringify(look.layers) }],
      tileExtent: 4096,
      zoom: PLACE.zoom,
      scale: 1,
      format: 'png',
      bbox: [0, 0, 1, 1],
      crs: 'EPSG:3857',
    });
    const file = name.replaceAll(' ', '-');
    writeFileSync(`${ARTEFACTS}/${file}-maplibre.png`, theirs);
    writeFileSync(`${ARTEFACTS}/${file}-mapnik.png`, ours);
    expect(await ssim(ours, theirs)).toBeGreaterThanOrEqual(0.9);
  });
});
