import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { launchBrowser, leaveMapsBlank, savePicture } from '../../support/browser.js';
import { startServer, type TestServer } from '../../support/server.js';
import { smallWorld } from '../../support/small-world.js';

let server: TestServer;
let folder: string;
let browser: Browser;
let context: BrowserContext;
let problems: string[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-browser-'));
  const rasters = ['L7_ETMs.tif', 'olinda_dem_utm25s.tif', 'years'].map((name) => `demo/data/${name}`);
  server = await startServer({ sources: [smallWorld(folder), ...rasters] });
  browser = await launchBrowser();
}, 90_000);

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(folder, { recursive: true });
});

beforeEach(() => {
  problems = [];
});

/** Nothing a page does may fail, complain, or ask another server for anything. */
afterEach(async () => {
  await context?.close();
  expect(problems).toEqual([]);
});

async function open(
  path: string,
  options: { width?: number; javaScriptEnabled?: boolean; blankMaps?: boolean } = {},
): Promise<Page> {
  const { width = 1280, javaScriptEnabled = true, blankMaps = false } = options;
  context = await browser.newContext({ viewport: { width, height: 900 }, javaScriptEnabled });
  if (blankMaps) await leaveMapsBlank(context);
  const page = await context.newPage();
  page.on('console', (message) => {
    // Rendering without a graphics card is slow, and the driver says so.
    if (message.text().includes('GPU stall due to ReadPixels')) return;
    if (message.type() === 'error' || message.type() === 'warning')
      problems.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (/^https?:$/.test(url.protocol) && url.origin !== server.url)
      problems.push(`leaves the origin: ${url.href}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) problems.push(`${response.status()} ${response.url()}`);
  });
  await page.goto(`${server.url}${path}`);
  return page;
}

/** Waits until the map has drawn everything, saves a picture of the page, and returns the one of the map. */
async function drawn(page: Page, name: string): Promise<Buffer> {
  await page.locator('[data-map-state="idle"]').first().waitFor({ state: 'attached', timeout: 60_000 });
  const map = await page.locator('[data-map]').first().screenshot();
  await savePicture(page, name, true);
  return map;
}

/** Colours of a picture, each channel in 16 steps, by their share of the pixels. */
async function colours(picture: Buffer): Promise<Map<string, number>> {
  const { data, info } = await sharp(picture).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const found = new Map<string, number>();
  for (let i = 0; i < data.length; i += 3) {
    const key = `${data[i]! >> 4},${data[i + 1]! >> 4},${data[i + 2]! >> 4}`;
    found.set(key, (found.get(key) ?? 0) + 1 / (info.width * info.height));
  }
  return found;
}

/** Share of pixels whose red, green and blue are all within `tolerance` of a colour. */
async function shareNear(
  picture: Buffer,
  [r, g, b]: [number, number, number],
  tolerance: number,
): Promise<number> {
  const { data, info } = await sharp(picture).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  let near = 0;
  for (let i = 0; i < data.length; i += 3) {
    if (
      Math.abs(data[i]! - r) < tolerance &&
      Math.abs(data[i + 1]! - g) < tolerance &&
      Math.abs(data[i + 2]! - b) < tolerance
    )
      near++;
  }
  return near / (info.width * info.height);
}

/** Share of pixels that differ visibly between two pictures of one size. */
async function shareOfChange(one: Buffer, other: Buffer): Promise<number> {
  const [a, b] = await Promise.all(
    [one, other].map((picture) => sharp(picture).removeAlpha().raw().toBuffer()),
  );
  expect(a!.length).toBe(b!.length);
  let changed = 0;
  for (let i = 0; i < a!.length; i += 3) {
    if (
      Math.abs(a![i]! - b![i]!) + Math.abs(a![i + 1]! - b![i + 1]!) + Math.abs(a![i + 2]! - b![i + 2]!) >
      24
    )
      changed++;
  }
  return changed / (a!.length / 3);
}

function rgb(hex: string): [number, number, number] {
  const value = Number.parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** Colour of a collection on the map, from the legend of the page. */
async function legendColour(page: Page, collection: string): Promise<[number, number, number]> {
  const swatch = page.locator(`label:has([data-layer="${collection}"]) .swatch`).first();
  const markup = await swatch.innerHTML();
  return rgb(/stroke="(#[0-9a-f]{6})"/i.exec(markup)![1]!);
}

describe('the start page', () => {
  it('shows the map of all layers, and lets one be switched off and on', async () => {
    const page = await open('/');
    const map = await drawn(page, 'start');
    const found = await colours(map);
    expect(found.size).toBeGreaterThan(8);
    expect(Math.max(...found.values())).toBeLessThan(0.9);
    const line = await legendColour(page, 'states_provinces');
    expect(await shareNear(map, line, 48)).toBeGreaterThan(0.005);
    await expectSwitch(page, map);
  }, 90_000);

  /** A layer can be switched off and on, on a map that shows all of them. */
  async function expectSwitch(page: Page, before: Buffer): Promise<void> {
    const box = page.locator('input[data-layer="countries"]');
    const label = page.locator('label:has([data-layer="countries"])');
    await label.click();
    expect(await box.isChecked()).toBe(false);
    await page.waitForTimeout(300);
    const without = await drawn(page, 'start-without-countries');
    // The fill of the countries lay under the states on all land.
    expect(await shareOfChange(before, without)).toBeGreaterThan(0.15);
    await label.click();
    await page.waitForTimeout(300);
    expect(await shareOfChange(before, await drawn(page, 'start-with-countries'))).toBeLessThan(0.05);
  }

  it('follows the pointer: zooming in asks for finer tiles', async () => {
    const page = await open('/', { blankMaps: true });
    await drawn(page, 'start-before-zoom');
    const zooms = new Set<number>();
    page.on('request', (request) => {
      const match = /\/tiles\/\d+\/(\d+)\//.exec(request.url());
      if (match) zooms.add(Number(match[1]));
    });
    const area = (await page.locator('[data-map]').boundingBox())!;
    await page.mouse.move(area.x + area.width * 0.52, area.y + area.height * 0.35);
    for (let i = 0; i < 6; i++) {
      await page.mouse.wheel(0, -400);
      await page.waitForTimeout(150);
    }
    await page.waitForTimeout(800);
    await drawn(page, 'start-zoomed');
    expect(Math.max(...zooms)).toBeGreaterThan(2);
  }, 90_000);

  it('lists interfaces and collections without JavaScript, with a picture of the map', async () => {
    const page = await open('/', { javaScriptEnabled: false });
    await savePicture(page, 'start-no-script', true);
    const text = await page.locator('main').textContent();
    for (const title of ['Features', 'Tiles', 'Countries', 'States provinces', 'L7 ETMs'])
      expect(text).toContain(title);
    const size = await page
      .locator('img.map-picture')
      .evaluate((image) => (image as HTMLImageElement).naturalWidth);
    expect(size).toBeGreaterThan(100);
  });
});

describe('the page of a collection', () => {
  it('shows its map in its colour', async () => {
    const page = await open('/ogc/features/collections/countries?f=html');
    const map = await drawn(page, 'collection');
    expect((await colours(map)).size).toBeGreaterThan(8);
    expect(await page.locator('h1').textContent()).toContain('Countries');
  });

  it('of a raster shows its picture', async () => {
    const page = await open('/ogc/coverages/collections/l7_etms?f=html');
    const map = await drawn(page, 'coverage');
    expect((await colours(map)).size).toBeGreaterThan(30);
  });
});

describe('the page of features', () => {
  it('shows them in a table and on a map', async () => {
    const page = await open('/ogc/features/collections/countries/items?f=html');
    const map = await drawn(page, 'items');
    expect((await colours(map)).size).toBeGreaterThan(8);
    expect(await page.locator('tbody tr').count()).toBe(50);
    expect(await page.locator('table').textContent()).toContain('Norway');
  });

  it('has its table without JavaScript, and its next page', async () => {
    const page = await open('/ogc/features/collections/countries/items?f=html', { javaScriptEnabled: false });
    await savePicture(page, 'items-no-script', true);
    expect(await page.locator('tbody tr').count()).toBe(50);
    const first = await page.locator('tbody tr').first().textContent();
    await page.locator('a[rel="next"]').first().click();
    await page.waitForURL(/token=/);
    expect(await page.locator('tbody tr').count()).toBe(50);
    expect(await page.locator('tbody tr').first().textContent()).not.toBe(first);
  });

  it('leads to a single feature with its values', async () => {
    const page = await open('/ogc/features/collections/countries/items/1?f=html', { blankMaps: true });
    await drawn(page, 'item');
    expect(await page.locator('main').textContent()).toContain('Norway');
  });
});

describe('the API reference', () => {
  it('sends the request of the form, and shows the response and its command', async () => {
    const page = await open('/docs/features/features.getItems?query.limit=1');
    await page.getByLabel('collectionId').fill('countries');
    await page.getByRole('button', { name: 'Send request' }).click();
    await page.getByRole('region', { name: 'Response', exact: true }).waitFor();
    await savePicture(page, 'docs');
    expect(await page.locator('[data-response] p').first().textContent()).toMatch(
      /^200 OK, application\/geo\+json/,
    );
    expect(await page.locator('[data-response] pre').first().textContent()).toContain('"numberReturned": 1');
    expect(await page.locator('[data-curl]').textContent()).toContain('countries/items?limit=1');
  });

  it('opens the response without JavaScript', async () => {
    const page = await open('/docs/features/features.getItem', { javaScriptEnabled: false });
    await page.getByLabel('featureId').fill('1');
    await page.getByRole('button', { name: 'Open the response' }).click();
    await page.waitForURL(/\/collections\/countries\/items\/1/);
    expect(await page.locator('main').textContent()).toContain('Norway');
  });
});

describe('the search for STAC items', () => {
  it('takes a box that is drawn on the map, and days', async () => {
    const page = await open('/stac/search?collections=bcsd_obs_1999&limit=25', { blankMaps: true });
    await drawn(page, 'stac-search');
    await page.getByRole('button', { name: 'Draw the bounding box on the map' }).click();
    const place = (await page.locator('[data-map]').boundingBox())!;
    await page.mouse.move(place.x + 5, place.y + 5);
    await page.mouse.down();
    await page.mouse.move(place.x + place.width - 5, place.y + place.height - 5, { steps: 4 });
    await page.mouse.up();
    expect(await page.getByLabel('Bounding box').inputValue()).toMatch(/^-?[\d.]+(,-?[\d.]+){3}$/);
    await page.getByLabel('From', { exact: true }).fill('1999-03-01');
    await page.getByLabel('To', { exact: true }).fill('1999-05-31');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.waitForURL(/bbox=.*&datetime=1999-03-01T00%3A00%3A00Z%2F1999-05-31/);
    expect(await page.locator('.stac-item').count()).toBe(3);
    expect(page.url()).not.toContain('filter=');
  });
});

/** Others are walked at this width (test/pages/walk.test.ts). */
describe('a narrow screen', () => {
  it.each([
    ['item', '/ogc/features/collections/countries/items/1?f=html'],
    ['collections', '/ogc/features/collections?f=html'],
    ['conformance', '/ogc/features/conformance?f=html'],
    ['tileset', '/ogc/tiles/collections/3/tiles/WebMercatorQuad?f=html'],
    ['docs', '/docs'],
  ])('of 360 pixels shows the %s page without scrolling sideways', async (name, path) => {
    const page = await open(path, { width: 360, blankMaps: true });
    if ((await page.locator('[data-map]').count()) > 0) await drawn(page, `narrow-${name}`);
    else await savePicture(page, `narrow-${name}`, true);
    const [scroll, client] = await page.evaluate(() => [
      document.documentElement.scrollWidth,
      document.documentElement.clientWidth,
    ]);
    expect(scroll).toBeLessThanOrEqual(client!);
  });
});
