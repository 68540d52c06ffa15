import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, extname, join } from 'node:path';
import type { Browser } from 'playwright-core';
import { launchBrowser } from '../test/support/browser.js';
import { option, publish } from './support/report.js';
import { startGraticule } from './support/server.js';

/**
 * How long after a person opens a page of a server with 69 layers its map is complete, base map and data, in Chromium without
 * a graphics card. Beside it: MapLibre alone, from the same server, with one layer of the same tiles and no base map.
 */
const rounds = option('rounds', 5);
const LAYERS = 69;
const PORT = 18_087;

const work = mkdtempSync(join(tmpdir(), 'graticule-picture-'));
const folder = join(work, 'files');
mkdirSync(folder);
const ENDINGS = ['.geojson', '.fgb', '.gpkg'];
for (let i = 0; i < LAYERS; i++) {
  const target = join(folder, `countries_${i}${ENDINGS[i % ENDINGS.length]}`);
  const names = target.endsWith('.gpkg') ? ['-nln', `countries_${i}`] : [];
  execFileSync('ogr2ogr', [target, 'demo/data/world_map.gpkg', 'countries', ...names], { stdio: 'ignore' });
}

const VIEW = { width: 1280, height: 800 };

interface Times {
  /** Seconds until the first tile of the data is on the screen. */
  first: number;
  /** Seconds until nothing is left to load or to draw. */
  whole: number;
}

/** Opens a page in a browser that has nothing of this server yet. */
async function picture(browser: Browser, url: string): Promise<Times> {
  const context = await browser.newContext({ viewport: VIEW });
  const page = await context.newPage();
  await page.addInitScript(() => {
    new MutationObserver((_, observer) => {
      if (!document.querySelector('[data-map-state="idle"]')) return;
      observer.disconnect();
      performance.mark('whole-picture');
    }).observe(document, { subtree: true, childList: true, attributes: true });
  });

  await page.goto(url);
  await page.locator('[data-map-state="idle"]').first().waitFor();
  const [first, whole] = await page.evaluate(() =>
    ['first-picture', 'whole-picture'].map((name) => performance.getEntriesByName(name)[0]!.startTime / 1000),
  );
  await context.close();
  return { first: first!, whole: whole! };
}

const TYPES: Record<string, string> = { '.mjs': 'text/javascript', '.css': 'text/css' };

/** A page with MapLibre and one layer, as short as it can be; the library comes from its package. */
function barePage(origin: string, id: string): string {
  const tiles = `${origin}/ogc/tiles/collections/${id}/tiles/WebMercatorQuad/{z}/{y}/{x}?f=mvt`;
  return `<!doctype html><link rel="stylesheet" href="/maplibre-gl.css">
<div id="map" style="width:${VIEW.width}px;height:${VIEW.height}px"></div>
<script type="module">
import * as maplibregl from '/maplibre-gl.mjs';
const map = new maplibregl.Map({ container: 'map', center: [0, 20], zoom: 1.3, style: { version: 8,
  sources: { data: { type: 'vector', tiles: ['${tiles}'], maxzoom: 14 } },
  layers: [{ id: 'data', type: 'fill', source: 'data', 'source-layer': '${id}', paint: { 'fill-color': '#369' } }] } });
const look = ({ tile }) => {
  if (!tile) return;
  map.off('sourcedata', look);
  map.once('render', () => performance.mark('first-picture'));
};
map.on('sourcedata', look);
map.on('idle', () => { document.getElementById('map').dataset.mapState = 'idle'; });
</script>`;
}

function serveBarePage(origin: string, id: string): Promise<Server> {
  const server = createServer((request, response) => {
    const path = new URL(request.url!, origin).pathname;
    const type = TYPES[extname(path)];
    response.setHeader('content-type', type ?? 'text/html');
    response.end(
      type ? readFileSync(join('node_modules/maplibre-gl/dist', basename(path))) : barePage(origin, id),
    );
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

const ours = await startGraticule([folder], { port: PORT, cores: '0,1' });
const { collections } = (await (await fetch(`${ours.origin}/ogc/features/collections?f=json`)).json()) as {
  collections: { id: string }[];
};
const [{ id }] = collections as [{ id: string }];
const bare = await serveBarePage(ours.origin, id);
const browser = await launchBrowser();
const PAGES = {
  'start page': `${ours.origin}/`,
  'map viewer': `${ours.origin}/ogc/maps/viewer`,
  'page of a collection': `${ours.origin}/ogc/features/collections/${id}?f=html`,
  'MapLibre alone, one layer, no base map': `http://127.0.0.1:${(bare.address() as AddressInfo).port}/`,
};
const times = new Map<string, Times[]>(Object.keys(PAGES).map((name) => [name, []]));
try {
  for (let round = 0; round <= rounds; round++)
    for (const [name, url] of Object.entries(PAGES)) {
      const one = await picture(browser, url);
      // The first round makes the tiles, and warms the code.
      if (round > 0) times.get(name)!.push(one);
    }
} finally {
  await browser.close();
  bare.close();
  await ours.stop();
  rmSync(work, { recursive: true });
}

const first = (name: string) => times.get(name)!.map((one) => one.first);
publish({
  bench: 'first-picture',
  command: `./run bench first-picture --rounds ${rounds}`,
  about: `Seconds from opening a page of a server with ${LAYERS} layers to the first tile of its data on the screen, and to a map that has nothing left to load or to draw, base map and names included. Chromium without a graphics card (the processor draws), ${VIEW.width} x ${VIEW.height} pixels, nothing in its cache. Beside it MapLibre alone with one of the layers.`,
  figures: [...times].map(([name, all]) => ({
    name,
    rounds: { 'first picture': first(name), 'whole map': all.map(({ whole }) => whole) },
  })),
  ratios: Object.keys(PAGES)
    .slice(0, -1)
    .map((name) => ({
      what: `1 s / first picture of the ${name}`,
      rounds: first(name).map((seconds) => 1 / seconds),
      goal: 1,
    })),
  notes: ['In favour of both: the tiles are in the memory of the server after the first round.'],
});
