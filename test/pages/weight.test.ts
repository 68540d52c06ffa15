import type { Browser, Response } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchBrowser } from '../support/browser.js';
import { type SharedServer, sharedServer } from '../support/shared-server.js';

/** What a page sends before its map: everything but the map library and the data of the map. */
const BUDGET = 300_000;

const PAGES = [
  '/',
  '/live',
  '/docs',
  '/docs/features',
  '/docs/features/features.getItems',
  '/ogc/features/collections',
  '/ogc/features/collections/states_provinces',
  '/ogc/features/collections/states_provinces/items',
  '/ogc/features/collections/countries/items/1',
  '/ogc/tiles/collections/3/tiles/WebMercatorQuad',
  '/ogc/tiles/tileMatrixSets',
  '/ogc/maps',
  '/ogc/maps/viewer',
  '/ogc/coverages/collections/bcsd_obs_1999',
  '/stac/search',
  '/manual/reference/server/settings',
];

/** Tiles, glyphs, icons, pictures of maps and the features that a map draws. */
const MAP_DATA =
  /\/basemap\/|\/tiles\/|\/fonts\/|\/sprites\/|\/map\?|\/legend\?|\/coverage\?|\/items[^?]*\?.*f=json/;

let server: SharedServer;
let browser: Browser;

beforeAll(async () => {
  server = await sharedServer();
  browser = await launchBrowser();
});
afterAll(() => browser?.close());

/** Bytes of a page as they came over the wire, by file; without the map library and the data. */
async function weightOf(path: string): Promise<Record<string, number>> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const responses: Response[] = [];
  await page.route(
    (url) => MAP_DATA.test(url.href) && url.href !== `${server.url}${path}`,
    (route) => route.abort(),
  );
  page.on('response', (response) => responses.push(response));
  await page.goto(`${server.url}${path}`);
  // The rest of the library may come late; a map without its data has it all.
  if ((await page.locator('[data-map]').count()) > 0)
    await page
      .locator('[data-map-state="ready"], [data-map-state="idle"]')
      .first()
      .waitFor({ timeout: 60_000 });
  const files: Record<string, number> = {};
  for (const response of responses) {
    const url = response.url();
    if (!url.startsWith('http') || (url !== `${server.url}${path}` && MAP_DATA.test(url))) continue;
    if (/\.css|worker/.test(url) ? /maplibre-gl|map-worker/.test(url) : await isLibrary(response)) continue;
    const { responseBodySize, responseHeadersSize } = await response.request().sizes();
    files[url.slice(server.url.length)] = responseBodySize + responseHeadersSize;
  }
  await context.close();
  return files;
}

async function isLibrary(response: Response): Promise<boolean> {
  return (
    /javascript/.test(response.headers()['content-type'] ?? '') &&
    (await response.text()).includes('maplibregl-canvas')
  );
}

it.each(PAGES)('%s sends at most 300 kB before the map library', async (path) => {
  const files = await weightOf(path);
  const total = Object.values(files).reduce((sum, bytes) => sum + bytes, 0);
  expect(total, JSON.stringify(files, null, 1)).toBeGreaterThan(5_000);
  expect(total, JSON.stringify(files, null, 1)).toBeLessThan(BUDGET);
});
