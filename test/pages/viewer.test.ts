import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser, savePicture, type WatchedPage, watchedPage } from '../support/browser.js';
import { startServer, type TestServer } from '../support/server.js';
import { smallWorld } from '../support/small-world.js';
import { expectSoundPage, pageJson } from './structure.js';

const RAINFALL = 'demo/data/years/bcsd_obs_1999.nc';

let server: TestServer;
let browser: Browser;
let folder: string;
let watched: WatchedPage | undefined;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-viewer-'));
  writeFileSync(join(folder, 'visits.geojson'), JSON.stringify(visits()));
  server = await startServer({
    sources: [smallWorld(folder), 'demo/data/years', join(folder, 'visits.geojson')],
  });
  browser = await launchBrowser();
}, 120_000);

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(folder, { recursive: true });
});

/** Nothing that a page does may fail, complain, or ask another server for anything. */
afterEach(async () => {
  const problems = watched?.problems ?? [];
  await watched?.page.context().close();
  watched = undefined;
  expect(problems).toEqual([]);
});

/** A point a month of 2020, from west to east. */
function visits() {
  const features = Array.from({ length: 12 }, (_, i) => ({
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [-80 + i, 10] },
    properties: { place: `Stop ${i + 1}`, seen: `2020-${String(i + 1).padStart(2, '0')}-15` },
  }));
  return { type: 'FeatureCollection', features };
}

interface PageOptions {
  width?: number;
  height?: number;
  colorScheme?: 'light' | 'dark';
  javaScriptEnabled?: boolean;
}

async function open(path: string, options: PageOptions = {}): Promise<Page> {
  const { width = 1280, height = 800, ...rest } = options;
  watched = await watchedPage(browser, server.url, { viewport: { width, height }, ...rest });
  const { page } = watched;
  await page.goto(`${server.url}/ogc/maps/viewer${path}`);
  if (rest.javaScriptEnabled !== false) await idle(page);
  return page;
}

async function idle(page: Page): Promise<void> {
  await page.locator('[data-map-state="idle"]').waitFor({ timeout: 150_000 });
}

const row = (page: Page, id: string) => page.locator(`[data-layer-row="${id}"]`);
const hash = (page: Page) => decodeURIComponent(new URL(page.url()).hash);

/** Clicks the map at a share of its width and height. */
async function clickMap(page: Page, x: number, y: number): Promise<void> {
  const box = (await page.locator('[data-map]').boundingBox())!;
  await page.mouse.click(box.x + box.width * x, box.y + box.height * y);
}

describe('the map viewer', () => {
  it('is a sound page that lists layers without JavaScript too', async () => {
    const answer = await fetch(`${server.url}/ogc/maps/viewer`);
    expect(answer.headers.get('content-security-policy')).toContain("script-src 'self'");
    const text = await answer.text();
    expectSoundPage(text);
    expect(pageJson<{ layers: unknown[] }>(text, 'viewer-data').layers).toHaveLength(5);
    expect(text).toContain('/ogc/features/collections/countries');
    const page = await open('', { javaScriptEnabled: false });
    expect(await page.locator('.layers').textContent()).toContain('Countries');
  });

  it('answers 404 for a collection that is not there, and shows each once', async () => {
    expect((await fetch(`${server.url}/ogc/maps/viewer?collections=nothing`)).status).toBe(404);
    const twice = await (await fetch(`${server.url}/ogc/maps/viewer?collections=countries,countries`)).text();
    expect(pageJson<{ layers: unknown[] }>(twice, 'viewer-data').layers).toHaveLength(1);
  });

  it('is where the start page and the pages of collections lead', async () => {
    watched = await watchedPage(browser, server.url, {});
    await watched.page.goto(`${server.url}/`);
    await watched.page.getByRole('link', { name: 'Open the map viewer' }).click();
    expect(new URL(watched.page.url()).pathname).toBe('/ogc/maps/viewer');
    await watched.page.goto(`${server.url}/ogc/features/collections/countries?f=html`);
    await watched.page.getByRole('link', { name: 'Map viewer', exact: true }).click();
    expect(new URL(watched.page.url()).search).toBe('?collections=countries');
    await idle(watched.page);
  });
});

describe('the list of layers', () => {
  it('switches, fades and orders them, and the address keeps it', async () => {
    const page = await open('?collections=countries,visits');
    expect(await page.locator('[data-layer-count]').textContent()).toBe('2 of 2');
    await row(page, 'visits').locator('label').first().click();
    expect(hash(page)).toContain('layers=countries');
    expect(hash(page)).not.toContain('visits');
    await row(page, 'countries').locator('[data-more]').click();
    await row(page, 'countries').locator('[data-opacity]').fill('40');
    expect(await row(page, 'countries').locator('[data-opacity-shown]').textContent()).toBe('40 %');
    await row(page, 'visits').locator('label').first().click();
    await row(page, 'countries').locator('[data-up]').click();
    expect(hash(page)).toContain('layers=countries:40,visits');
    const order = () =>
      page
        .locator('[data-layer-row]')
        .evaluateAll((rows) => rows.map((r) => r.getAttribute('data-layer-row')));
    expect(await order()).toEqual(['countries', 'visits']);
    await page.reload();
    await idle(page);
    expect(await order()).toEqual(['countries', 'visits']);
    expect(await row(page, 'countries').locator('[data-opacity]').inputValue()).toBe('40');
  });

  it('takes further layers in and leaves some out, and the address names them all', async () => {
    const page = await open('?collections=countries#map=4/47/2');
    await page.evaluate('window.isSamePage = true');
    await page.locator('[data-search-words]').fill('seen');
    await page.locator('[data-search-results]').getByRole('button', { name: 'Visits' }).click();
    await page.waitForURL(/collections=visits,countries#map=4\/47.00\/2.00&layers=visits,countries/);
    await idle(page);
    expect(await page.locator('[data-layer-row]').count()).toBe(2);
    // It has its times, its options and its features, as if the map had begun with it.
    await page.locator('[data-time]').waitFor();
    expect(await page.locator('[data-layer-count]').textContent()).toBe('2 of 2');
    expect(await page.locator(':focus').getAttribute('data-search-words')).toBe('');
    await row(page, 'countries').locator('[data-more]').click();
    await row(page, 'countries').locator('[data-remove]').click();
    await page.waitForURL(/collections=visits#/);
    await idle(page);
    expect(await row(page, 'visits').locator('[data-remove]').isDisabled()).toBe(true);
    expect(await page.evaluate('window.isSamePage')).toBe(true);
    const named = page.url();
    await page.reload();
    await idle(page);
    expect(page.url()).toBe(named);
  });

  it('zooms to a layer, and the address leads back to the place', async () => {
    const page = await open('?collections=bcsd_obs_1999,visits');
    await row(page, 'bcsd_obs_1999').locator('[data-more]').click();
    await row(page, 'bcsd_obs_1999').locator('[data-zoom]').click();
    await page.waitForFunction(() => /map=[5-9]/.test(location.hash));
    const address = page.url();
    await page.evaluate(() => {
      location.hash = '#map=2/10/20&layers=bcsd_obs_1999';
    });
    await page.waitForFunction(
      () => !document.querySelector<HTMLInputElement>('[data-layer="visits"]')!.checked,
    );
    await page.goto(address);
    await page.reload();
    await idle(page);
    const [zoom, lat, lng] = /map=([^&]+)/.exec(hash(page))![1]!.split('/');
    expect(Number(zoom)).toBeGreaterThan(4);
    expect(Math.abs(Number(lat) - 35)).toBeLessThan(1);
    // The panel takes room on the left, so the middle of the map lies west of that of the layer.
    expect(Math.abs(Number(lng) + 80)).toBeLessThan(4);
  });
});

describe('what is at a place', () => {
  it('is told with the attributes of its features', async () => {
    const page = await open('?collections=countries#map=4/47/2');
    await clickMap(page, 0.5, 0.5);
    await page.getByRole('dialog').waitFor();
    expect(await page.getByRole('dialog').textContent()).toContain('France');
    expect(await page.getByRole('link', { name: /^Feature \d+$/ }).getAttribute('href')).toContain('/items/');
    await savePicture(page, 'viewer-popup');
  });

  it('is told as the pop-up document of the layer says, and never as markup', async () => {
    const countries = pageJson<{ layers: { tiles: string }[] }>(
      await (await fetch(`${server.url}/ogc/maps/viewer?collections=countries`)).text(),
      'map-data',
    );
    const layerId = /\/tiles\/(\d+)\//.exec(countries.layers[0]!.tiles)![1];
    const put = (body: object | null) =>
      fetch(`${server.url}/api/v1/admin/metadata/layers/${layerId}/popup-info`, {
        method: 'PUT',
        headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const fieldInfos = [
      { fieldName: 'ISO_A3', label: '<b>Code</b>' },
      { fieldName: 'NAME', visible: false },
      { fieldName: 'no_such' },
    ];
    expect((await put({ title: '<i>{NAME}</i>{nothing}', fieldInfos })).status).toBe(200);
    const page = await open('?collections=countries#map=4/47/2');
    await clickMap(page, 0.5, 0.5);
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    expect(await dialog.locator('h3').textContent()).toBe('<i>France</i>');
    expect(await dialog.locator('dl').textContent()).toBe('<b>Code</b>FRA');
    expect((await put(null)).status).toBe(200);
  });

  it('is told with the values of rasters, at the time that is shown', async () => {
    const page = await open('?collections=bcsd_obs_1999#map=7/35.1/-79.4&time=1999-03-31T00:00:00Z');
    await page.locator('[data-time]').waitFor();
    await clickMap(page, 0.5, 0.5);
    const found = page.getByRole('dialog').locator('dd').first();
    await found.waitFor();
    const value = Number.parseFloat((await found.textContent())!);
    const expected = execFileSync('gdallocationinfo', [
      ...['-valonly', '-b', '3', '-geoloc', `NETCDF:${RAINFALL}:pr`, '-79.4', '35.1'],
    ]);
    expect(value).toBeCloseTo(Number(expected), 3);
  });
});

describe('the time', () => {
  /** Times that the tiles of a collection were asked for with. */
  function asked(page: Page): Set<string> {
    const times = new Set<string>();
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.pathname.includes('/tiles/')) times.add(url.searchParams.get('datetime') ?? '');
    });
    return times;
  }

  it('is chosen by a slider through the instants of a raster', async () => {
    const page = await open('?collections=bcsd_obs_1999');
    const times = asked(page);
    await page.locator('[data-time]').waitFor();
    // A raster shows one time, so there is neither a range nor "All times".
    expect(await page.locator('[data-time-shown]').textContent()).toBe('1999-12-31');
    expect(await page.getByRole('checkbox', { name: 'Range' }).isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Earlier' }).click();
    expect(await page.locator('[data-time-shown]').textContent()).toBe('1999-11-30');
    await page.getByRole('button', { name: 'Newest' }).click();
    expect(await page.locator('.time-ends').innerText()).toMatch(/^1999-01-31\s+1999-12-31$/);
    await page.getByRole('button', { name: 'Later' }).click();
    expect(await page.locator('[data-time-shown]').textContent()).toBe('1999-01-31');
    await page.locator('[data-time-to]').fill('5');
    expect(await page.locator('[data-time-shown]').textContent()).toBe('1999-06-30');
    await expect.poll(() => [...times].some((time) => time.startsWith('1999-06-30T00:00:00Z/'))).toBe(true);
    expect(hash(page)).toContain('time=1999-06-30T00:00:00Z/1999-07-30T23:59:59.999Z');
    await savePicture(page, 'viewer-time');
    await page.reload();
    await idle(page);
    await page.locator('[data-time]').waitFor();
    expect(await page.locator('[data-time-shown]').textContent()).toBe('1999-06-30');
    await clickMap(page, 0.5, 0.5);
    await page.locator('.popup dt', { hasText: 'Time' }).waitFor();
    expect(await page.locator('.popup dd').last().textContent()).toBe('1999-06-30');
    await page.getByRole('button', { name: 'Newest' }).click();
    expect(hash(page)).not.toContain('time=');
  });

  it('is kept with the bands and colours of a raster, which the address has as well', async () => {
    const page = await open('?collections=bcsd_obs_1999');
    expect(await page.locator('.legend img').getAttribute('alt')).toMatch(/^Legend: pr \(mm\/m\), ≤ .*, ≥ /);
    await page.getByRole('button', { name: 'Options of' }).click();
    await page.getByRole('button', { name: 'Later' }).click();
    const tile = page.waitForRequest(/\/tiles\/.*datetime=1999-01-31.*&bands=2&colormap=magma/);
    await page.locator('[data-colors-bands]').selectOption('2');
    await page.locator('[data-colors-ramp]').selectOption('magma');
    await tile;
    await page.locator('.legend img[alt^="Legend: tas (C), "]').waitFor();
    expect(hash(page)).toContain('colors=bcsd_obs_1999:bands=2&colormap=magma');
    await page.reload();
    await page.locator('.legend img[alt^="Legend: tas (C), "]').waitFor();
    expect(await page.locator('[data-colors-ramp]').inputValue()).toBe('magma');
    await page.getByRole('button', { name: 'Options of' }).click();
    await page.getByRole('button', { name: 'Reset' }).click();
    expect(hash(page)).not.toContain('colors=');
  });

  it('of features comes from their property, and can be a range', async () => {
    const page = await open('?collections=visits');
    const times = asked(page);
    await page.locator('[data-time]').waitFor();
    await page.locator('[data-time-to]').fill('0');
    await page.getByRole('checkbox', { name: 'Range' }).check();
    await page.getByLabel('End of the range').press('End');
    await page.getByLabel('Start of the range').press('Home');
    await page.getByLabel('End of the range').press('Home');
    for (let i = 0; i < 2; i++) await page.getByLabel('End of the range').press('ArrowRight');
    expect(await page.locator('[data-time-shown]').textContent()).toBe('2020-01 – 2020-03');
    const wanted = '2020-01-01T00:00:00Z/2020-03-31T23:59:59.999Z';
    await expect.poll(() => times.has(wanted)).toBe(true);
    await idle(page);
    await clickMap(page, 0.5, 0.5);
    expect(hash(page)).toContain(`time=${wanted}`);
  });

  it('plays by itself until it is stopped', async () => {
    const page = await open('?collections=bcsd_obs_1999');
    const times = asked(page);
    await page.getByRole('button', { name: 'Play' }).click();
    await expect.poll(() => times.size, { timeout: 60_000 }).toBeGreaterThan(2);
    await page.getByRole('button', { name: 'Play' }).click();
    expect(await page.getByRole('button', { name: 'Play' }).getAttribute('aria-pressed')).toBe('false');
    const shown = await page.locator('[data-time-shown]').textContent();
    await page.waitForTimeout(1500);
    expect(await page.locator('[data-time-shown]').textContent()).toBe(shown);
  });

  it('is not asked of layers that have none', async () => {
    const page = await open('?collections=countries');
    expect(await page.locator('[data-time]').isVisible()).toBe(false);
  });
});

describe('a keyboard alone', () => {
  const focused = (page: Page) =>
    page.evaluate(() => {
      const { activeElement } = document;
      return activeElement?.getAttribute('aria-label') ?? activeElement?.textContent ?? '';
    });

  it('reaches and works everything, in the order of the page', async () => {
    const page = await open('?collections=countries,bcsd_obs_1999#map=4/47/2');
    await page.locator('[data-time]').waitFor();
    const order: string[] = [];
    for (let i = 0; i < 24; i++) {
      await page.keyboard.press('Tab');
      order.push(await focused(page));
      const visible = await page.evaluate(() => {
        const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement!);
        return (
          document.activeElement === document.body ||
          (outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 1)
        );
      });
      expect(visible, order.at(-1)).toBe(true);
      if (order.at(-1) === 'Time') break;
    }
    const at = (name: string) => order.indexOf(name);
    expect(order[0]).toBe('Skip to content');
    expect(at('Map canvas')).toBeGreaterThan(0);
    expect(at('Layers')).toBeGreaterThan(at('Map canvas'));
    expect(at('Options of Countries')).toBeGreaterThan(at('Layers'));
    expect(at('Play')).toBeGreaterThan(at('Options of Countries'));
    await page.keyboard.press('ArrowLeft');
    expect(hash(page)).toContain('time=1999-11-30');
  });

  it('tells what is in the middle of the map on Enter, and closes it on Escape', async () => {
    const page = await open('?collections=countries#map=4/47/2');
    await page.locator('.maplibregl-canvas').focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    expect(await dialog.textContent()).toContain('France');
    expect(await dialog.evaluate((element) => element === document.activeElement)).toBe(true);
    await page.keyboard.press('Escape');
    expect(await dialog.count()).toBe(0);
    expect(await focused(page)).toBe('Map canvas');
    const before = hash(page);
    await page.keyboard.press('ArrowRight');
    await page.waitForFunction((old) => decodeURIComponent(location.hash) !== old, before);
  });

  it('opens and closes options and the list', async () => {
    const page = await open('?collections=countries');
    const more = page.getByRole('button', { name: 'Options of Countries' });
    await more.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.press('ArrowLeft');
    expect(await page.locator('[data-opacity-shown]').textContent()).toBe('95 %');
    await page.keyboard.press('Escape');
    expect(await more.getAttribute('aria-expanded')).toBe('false');
    expect(await focused(page)).toBe('Options of Countries');
    await page.keyboard.press('Escape');
    expect(await page.locator('#layers').isVisible()).toBe(false);
    expect(await focused(page)).toBe('Layers');
  });
});

describe('every screen', () => {
  it('of a desk shows all layers at once', async () => {
    const page = await open('');
    expect(await page.locator('[data-layer-count]').textContent()).toBe('5 of 5');
    await savePicture(page, 'viewer');
  });

  it('of 360 pixels has the map, the time and a sheet with the layers, and nothing beside them', async () => {
    const page = await open('?collections=countries,bcsd_obs_1999', { width: 360, height: 720 });
    await page.locator('[data-time]').waitFor();
    await savePicture(page, 'viewer-narrow');
    expect(await page.locator('#layers').isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Layers' }).click();
    await page.getByRole('button', { name: 'Options of Countries' }).click();
    await savePicture(page, 'viewer-narrow-layers');
    const size = await page.evaluate(() => ({
      page: document.documentElement.scrollWidth,
      inside: [...document.querySelectorAll('main *')]
        .filter((e) => !e.closest('.unseen, .maplibregl-map'))
        .filter((e) => e.getBoundingClientRect().right > 361).length,
      map: document.querySelector('[data-map]')!.getBoundingClientRect().height,
    }));
    expect(size.page).toBe(360);
    expect(size.inside).toBe(0);
    expect(size.map).toBeGreaterThan(140);
  });

  it('is dark for those who want it dark', async () => {
    const page = await open('?collections=states_provinces,bcsd_obs_1999', { colorScheme: 'dark' });
    await page.locator('[data-time]').waitFor();
    const background = await page.locator('[data-panel]').evaluate((e) => getComputedStyle(e).color);
    expect(background).toBe('rgb(228, 237, 239)');
    await savePicture(page, 'viewer-dark');
  });
});
