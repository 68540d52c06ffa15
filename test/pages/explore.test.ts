import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StatisticsResult } from '../../src/core/features/field-statistics.js';
import { range, writeNetcdf } from '../rasters/support.js';
import { launchBrowser, watchedPage } from '../support/browser.js';
import { startServer, type TestServer } from '../support/server.js';

/** What readers find out of a collection without a program: a filter, and statistics with charts. */

const AXE = readFileSync('node_modules/axe-core/axe.min.js', 'utf8');
const COUNT = 300;
/** Enough points to be drawn as cells. */
const CROWD = 24_000;

interface Properties {
  name: string | null;
  'a "b" c': string;
  size: number;
  height: number | null;
  built: string;
  in: boolean;
}

const KINDS = ["O'Brien", 'back\\slash', '50%', '50 per cent', 'Ünï', '<b>&amp;"'];
const PROPERTIES: Properties[] = Array.from({ length: COUNT }, (_, i) => ({
  name: i % 10 === 0 ? null : KINDS[i % KINDS.length]!,
  'a "b" c': `v${i % 3}`,
  size: i % 7,
  height: i % 5 === 0 ? null : Math.round(1000 * Math.sqrt(i)) / 100,
  built: new Date(Date.UTC(2001, 0, 1 + 17 * i)).toISOString().slice(0, 10),
  in: i % 4 === 0,
}));
const FEATURES = PROPERTIES.map((properties, i) => ({
  type: 'Feature',
  id: i + 1,
  properties,
  geometry: { type: 'Point', coordinates: [(i % 20) - 10, Math.floor(i / 20)] },
}));

let server: TestServer;
let browser: Browser;
let folder: string;
const COLLECTION = '/ogc/features/collections/places';

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-explore-'));
  writeFileSync(
    join(folder, 'places.geojson'),
    JSON.stringify({ type: 'FeatureCollection', features: FEATURES }),
  );
  writeNetcdf(join(folder, 'series.nc'), {
    lons: range(10, 5, 0.5),
    lats: range(10, 40, 0.5),
    times: [0, 31, 60],
    attributes: 't:_FillValue = -1s; t:scale_factor = 0.5; t:add_offset = 10.; t:units = "K";',
    value: (time, _, row, column) => (time === 1 ? -1 : 100 * time + 10 * row + column),
  });
  writeFileSync(join(folder, 'survey.csv'), 'x,y\n530000,180000\n531000,181000\n');
  copyFileSync('demo/data/L7_ETMs.tif', join(folder, 'l7.tif'));
  const crowd = Array.from({ length: CROWD }, (_, i) => `${(i % 200) / 20},${40 + Math.floor(i / 200) / 20}`);
  writeFileSync(join(folder, 'crowd.csv'), `lon,lat\n${crowd.join('\n')}\n`);
  writeFileSync(join(folder, 'cut.geojson'), '{"type":"FeatureCollection","features":[{"type":');
  [server, browser] = await Promise.all([startServer({ sources: [folder] }), launchBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const fetched = async (path: string) => fetch(path.startsWith('http') ? path : `${server.url}${path}`);

async function matches(filter: string): Promise<number> {
  const query = new URLSearchParams({ f: 'json', limit: '1', filter });
  const answer = await fetched(`${COLLECTION}/items?${query}`);
  expect(answer.status, filter).toBe(200);
  return ((await answer.json()) as { numberMatched: number }).numberMatched;
}

describe('the cards of collections', () => {
  it('show their data, once they are on the screen', async () => {
    const { page, problems } = await watchedPage(browser, server.url, {
      viewport: { width: 390, height: 500 },
    });
    await page.goto(`${server.url}/ogc/coverages/collections?f=html`);
    const cards = page.locator('[data-card-map]');
    await cards.first().scrollIntoViewIfNeeded();
    await page.locator('[data-card-state="drawn"]').first().waitFor();
    expect(
      await page
        .locator('.card-map')
        .first()
        .evaluate((image: HTMLImageElement) => image.naturalWidth),
    ).toBe(480);
    const count = await cards.count();
    expect(await page.locator('.card-map').count()).toBeLessThan(count);
    await cards.last().scrollIntoViewIfNeeded();
    await expect.poll(() => cards.last().getAttribute('data-card-state')).toBe('drawn');
    expect(problems).toEqual([]);
    await page.context().close();
  });
});

describe('the CRS of a source that declares none', () => {
  const crs = async () =>
    (await (await fetched('/ogc/features/collections/survey?f=json')).json()).storageCrs as string;

  it('is chosen by keyboard, with the data on a map before it is saved', async () => {
    const { page, problems } = await watchedPage(browser, server.url, {
      viewport: { width: 390, height: 800 },
      colorScheme: 'dark',
      extraHTTPHeaders: { 'x-api-key': server.adminKey },
    });
    await page.goto(`${server.url}/ogc/features/collections/survey?f=html`);
    // Text that is typed before the script of the page has come is searched too.
    let release = (): void => undefined;
    const typed = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/source-crs.js*', async (route) => {
      await typed;
      await route.continue();
    });
    await page.getByRole('link', { name: 'Choose the coordinate reference system' }).press('Enter');
    const search = page.getByLabel('Code, name or area');
    await search.fill('british national');
    release();
    const hit = page.locator('[data-hits]').getByLabel('EPSG:27700');
    await hit.press('Space');
    await page.getByText('2 features are drawn in OSGB36 / British National Grid').waitFor();
    await page.locator('[data-preview="OSGB36 / British National Grid"]').waitFor();
    expect(await crs()).not.toContain('27700');
    await page.evaluate(AXE);
    const { violations } = (await page.evaluate('axe.run()')) as { violations: { id: string }[] };
    expect(violations.map(({ id }) => id)).toEqual([]);
    await page.getByRole('button', { name: 'Save' }).press('Enter');
    const remove = page.getByRole('button', { name: 'Remove the chosen CRS' });
    await remove.waitFor();
    expect(await crs()).toMatch(/27700$/);
    await page.locator('[name="crs"][value="EPSG:27700"]:checked').waitFor();
    await remove.press('Enter');
    await remove.waitFor({ state: 'detached' });
    expect(await crs()).not.toContain('27700');
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it('is searched without a script, and only operators see the page', async () => {
    expect((await fetched('/sources/survey/crs')).status).toBe(401);
    const headers = { 'x-api-key': server.adminKey };
    const response = await fetch(`${server.url}/sources/survey/crs?q=lv95`, { headers });
    expect(await response.text()).toContain('CH1903+ / LV95');
  });
});

describe('the statistics of a collection', () => {
  it('are those of all its features', async () => {
    const answer = await fetched(`${COLLECTION}/statistics?f=json`);
    expect(answer.status).toBe(200);
    const { read, complete, fields } = (await answer.json()) as StatisticsResult;
    expect([read, complete]).toEqual([COUNT, true]);
    const of = (name: string) => fields.find((field) => field.name === name)!;
    expect(of('size')).toMatchObject({ kind: 'number', count: COUNT, nulls: 0, min: 0, max: 6 });
    expect(of('height')).toMatchObject({ kind: 'number', count: 240, nulls: 60 });
    expect(of('name')).toMatchObject({
      kind: 'text',
      nulls: 30,
      distinct: KINDS.length,
      distinctExact: true,
    });
    expect(of('built')).toMatchObject({ kind: 'time', min: '2001-01-01', max: PROPERTIES.at(-1)!.built });
    expect(of('in')).toMatchObject({ kind: 'boolean', true: 75, false: 225 });
  });

  it('are a page whose every bar leads to as many features as it says', async () => {
    const text = await (await fetched(`${COLLECTION}/statistics?f=html`)).text();
    const rows = [
      ...text.matchAll(/<a href="([^"]+)" data-clause="[^"]*">.*?<\/a><\/th><td class="num">([\d,]+)</g),
    ];
    expect(rows.length).toBeGreaterThan(30);
    for (const [, href, count] of rows) {
      const url = new URL(href!.replaceAll('&amp;', '&').replaceAll('&#39;', "'"));
      expect(await matches(url.searchParams.get('filter')!), url.search).toBe(
        Number(count!.replace(',', '')),
      );
    }
    expect(text).toContain('role="img"');
  });

  it('of a collection that is not there are not found', async () => {
    expect((await fetched('/ogc/features/collections/nothing/statistics')).status).toBe(404);
  });
});

async function opened(width: number, run: (page: Page) => Promise<void>, path = COLLECTION): Promise<void> {
  const { page, problems } = await watchedPage(browser, server.url, {
    viewport: { width, height: 900 },
    bypassCSP: true,
  });
  await page.goto(`${server.url}${path}?f=html`);
  await page.locator('[data-map-state="idle"]').waitFor();
  await run(page);
  expect(problems).toEqual([]);
  await page.context().close();
}

const filterText = (page: Page) => page.locator('[data-filter-text]').textContent();
const told = (page: Page, text: string) =>
  page.locator('.filter-count', { hasText: text }).waitFor({ timeout: 20_000 });

async function violations(page: Page): Promise<string[]> {
  await page.addScriptTag({ content: AXE });
  return page.evaluate(async () => {
    const { axe } = window as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    const { violations } = await axe.run();
    return violations.map(({ id, nodes }) => `${id}: ${nodes[0]!.html.slice(0, 200)}`);
  });
}

describe('the filter of a collection', () => {
  it('is written by keyboard alone, counts what matches, and keeps every character', async () => {
    await opened(1280, async (page) => {
      await told(page, '300 features match.');
      await page.getByRole('button', { name: 'Add a condition' }).focus();
      await page.keyboard.press('Enter');
      // The new condition has the focus: attribute, operator, value.
      await page.keyboard.type('name');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Tab');
      await page.keyboard.type("O'Brien");
      expect(await filterText(page)).toBe("name = 'O''Brien'");
      const expected = PROPERTIES.filter(({ name }) => name === "O'Brien").length;
      await told(page, `${expected} features match.`);

      await page.getByRole('button', { name: 'Add a condition' }).click();
      const second = page.locator('.clause').nth(1);
      await second.getByLabel('Attribute').selectOption('a "b" c');
      await second.getByLabel('Operator').selectOption('in');
      await second.getByLabel('Values, one per line').fill('v0\nv2');
      expect(await filterText(page)).toBe(`name = 'O''Brien' AND "a ""b"" c" IN ('v0', 'v2')`);
      const both = PROPERTIES.filter((p) => p.name === "O'Brien" && p['a "b" c'] !== 'v1').length;
      await told(page, `${both} feature`);

      await page.getByLabel('Features that meet').selectOption('or');
      const any = PROPERTIES.filter((p) => p.name === "O'Brien" || p['a "b" c'] !== 'v1').length;
      await told(page, `${any} features match.`);
      const url = (await page.locator('[data-filter-url]').textContent())!;
      expect(((await (await fetched(url)).json()) as { numberMatched: number }).numberMatched).toBe(any);
      for (const name of ['Show these features', /^GeoJSON, about \d/, /^CSV, about \d/]) {
        const href = await page.locator('.filter-result').getByRole('link', { name }).getAttribute('href');
        expect((await fetched(href!)).status, String(name)).toBe(200);
      }
      expect(await violations(page)).toEqual([]);
    });
  }, 60_000);

  it('works on the page of features, where all is in the address', async () => {
    await opened(
      1280,
      async (page) => {
        const summary = page.locator('summary', { hasText: 'Filter and columns' });
        await summary.click();
        await page.getByRole('button', { name: 'Add a condition' }).click();
        await page.getByLabel('Attribute').selectOption('name');
        await page.getByLabel('Value', { exact: true }).focus();
        // Values come from the statistics.
        await page.locator('datalist option').first().waitFor({ state: 'attached' });
        const offered = await page
          .locator('datalist option')
          .evaluateAll((all) => all.map((one) => one.getAttribute('value')));
        expect(offered.sort()).toEqual([...KINDS].sort());
        await page.getByLabel('Value', { exact: true }).fill("O'Brien");
        const count = PROPERTIES.filter(({ name }) => name === "O'Brien").length;
        await told(page, `${count} features match.`);
        await page.getByRole('link', { name: 'Show these features' }).click();
        await page.locator('.lead', { hasText: `of ${count}.` }).waitFor();
        await page.getByRole('columnheader', { name: 'size' }).getByRole('link').click();
        await page.getByRole('columnheader', { name: 'size' }).getByRole('link').click();
        await page.locator('th[aria-sort="descending"]', { hasText: 'size' }).waitFor();
        await summary.click();
        expect(await page.getByLabel('Value', { exact: true }).inputValue()).toBe("O'Brien");
        await page.getByRole('checkbox', { name: 'size', exact: true }).check();
        await page.getByRole('button', { name: 'Show', exact: true }).click();
        await page.locator('th', { hasText: 'height' }).waitFor({ state: 'detached' });
        const heads = await page.locator('thead th').allTextContents();
        expect(heads).toEqual(['Feature id', 'size']);
        const { searchParams } = new URL(page.url());
        expect([searchParams.get('sortby'), searchParams.get('filter'), searchParams.has('offset')]).toEqual([
          ...['-size', "name = 'O''Brien'", false],
        ]);
        const href = await page.locator('.downloads').getByRole('link', { name: 'CSV' }).getAttribute('href');
        const csv = (await (await fetched(href!)).text()).trimEnd().split('\r\n');
        expect([csv[0], csv.length]).toEqual(['id,geometry,size', count + 1]);
        await page.locator('.downloads').getByRole('button', { name: 'GeoPackage' }).click();
        await page.getByRole('link', { name: /^Download .*\.gpkg$/ }).waitFor({ timeout: 30_000 });
        expect(await violations(page)).toEqual([]);
      },
      `${COLLECTION}/items`,
    );
  }, 60_000);

  it('folds the map of the features in a narrow window, and has one line of crumbs', async () => {
    const context = await browser.newContext({ viewport: { width: 390, height: 844 }, bypassCSP: true });
    const page = await context.newPage();
    await page.goto(`${server.url}${COLLECTION}/items?f=html`);
    await page.locator('[data-map-state="folded"]').waitFor({ state: 'attached' });
    expect((await page.locator('.crumbs').boundingBox())!.height).toBeLessThan(30);
    expect((await page.locator('table').boundingBox())!.y).toBeLessThan(500);
    expect(await violations(page)).toEqual([]);
    await page.locator('summary', { hasText: 'Map' }).click();
    await page.locator('[data-map-state="idle"]').waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    await context.close();
  }, 60_000);

  it('takes boxes from the map, and values that are wrong are told of', async () => {
    await opened(1280, async (page) => {
      await page.getByRole('button', { name: 'Add a condition' }).click();
      const row = page.locator('.clause');
      await row.getByLabel('Attribute').selectOption('Place');
      await row.getByRole('button', { name: 'Map extent' }).click();
      await told(page, '300 features match.');
      expect(await filterText(page)).toMatch(/^S_INTERSECTS\(\w+, BBOX\(.+\)\)$/);
      for (const [side, value] of Object.entries({ West: '-10', South: '0', East: '-8.5', North: '0.5' }))
        await row.getByLabel(side).fill(value);
      await told(page, '2 features match.');

      await row.getByRole('button', { name: 'Draw on the map' }).click();
      const map = (await page.locator('.maplibregl-canvas').boundingBox())!;
      const [x, y] = [map.x + map.width / 2, map.y + map.height / 2];
      await page.mouse.move(x - 40, y - 40);
      await page.mouse.down();
      await page.mouse.move(x + 40, y + 40, { steps: 3 });
      await page.mouse.up();
      const west = Number(await row.getByLabel('West').inputValue());
      const east = Number(await row.getByLabel('East').inputValue());
      expect(east).toBeGreaterThan(west);
      expect(await filterText(page)).toContain(`BBOX(${west}, `);

      await row.getByLabel('Attribute').selectOption('size');
      await row.getByLabel('Value').fill('many');
      await told(page, 'A condition is incomplete.');
      expect(await row.getByRole('alert').textContent()).toBe('Give a number.');
    });
  }, 60_000);

  it('takes a bar of the statistics as a condition, at 360 pixels too', async () => {
    await opened(360, async (page) => {
      await page.locator('[data-statistics-link]').focus();
      await page.keyboard.press('Enter');
      const size = page.locator('.stat', { has: page.getByRole('heading', { name: 'size' }) });
      await size.locator('.bar').nth(2).click();
      expect(await filterText(page)).toBe('size = 2');
      await told(page, `${PROPERTIES.filter((p) => p.size === 2).length} features match.`);
      await size.locator('summary').click();
      await size.getByRole('link', { name: '4', exact: true }).press('Enter');
      expect(await filterText(page)).toBe('size = 2 AND size = 4');
      await told(page, '0 features match.');
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        expect(await violations(page), colorScheme).toEqual([]);
      }
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(wide).toBeLessThanOrEqual(360);
      await page.goto(`${server.url}${COLLECTION}/statistics?f=html`);
      expect(await violations(page)).toEqual([]);
    });
  }, 60_000);
});

describe('the values of a raster at a place', () => {
  const SERIES = '/ogc/coverages/collections/series';
  const LANDSAT = '/ogc/coverages/collections/l7';

  it('are a series of its times, scaled, with gaps, as CoverageJSON and CSV', async () => {
    const answer = await fetched(`${SERIES}/position?coords=POINT(6.1%2041)`);
    expect(answer.headers.get('content-type')).toBe('application/prs.coverage+json');
    const document = (await answer.json()) as Record<string, unknown>;
    expect(document).toMatchObject({
      domain: {
        domainType: 'PointSeries',
        axes: {
          t: { values: ['2000-01-01T00:00:00.000Z', '2000-02-01T00:00:00.000Z', '2000-03-01T00:00:00.000Z'] },
        },
      },
      parameters: { band_1: { unit: { symbol: 'K' } } },
      // The third column of the third row.
      ranges: { band_1: { shape: [3], values: [21, null, 121] } },
    });
    const csv = await (await fetched(`${SERIES}/position?coords=6.1,41&f=csv`)).text();
    expect(csv.split('\r\n').slice(1)).toEqual([
      '2000-01-01T00:00:00.000Z,21',
      '2000-02-01T00:00:00.000Z,',
      '2000-03-01T00:00:00.000Z,121',
      '',
    ]);
    const part = await fetched(`${SERIES}/position?coords=6.1%2041&datetime=2000-02-15/..`);
    expect(await part.json()).toMatchObject({ numberMatched: 1, ranges: { band_1: { values: [121] } } });
  });

  it('are those of all bands where there is no time, as gdallocationinfo has them', async () => {
    const [x, y] = [-34.9, -7.95];
    const answer = await fetched(`${LANDSAT}/position?coords=${x}%20${y}`);
    const { domain, ranges } = (await answer.json()) as {
      domain: { domainType: string };
      ranges: Record<string, { values: number[] }>;
    };
    expect(domain.domainType).toBe('Point');
    const text = execFileSync(
      'gdallocationinfo',
      ['-valonly', '-wgs84', 'demo/data/L7_ETMs.tif', `${x}`, `${y}`],
      {
        encoding: 'utf8',
      },
    );
    const expected = text.trim().split(/\s+/).map(Number);
    expect(expected).toHaveLength(6);
    expect(Object.values(ranges).map(({ values }) => values[0])).toEqual(expected);
  });

  it.each([
    ['coords=here', 400],
    ['coords=200,0', 400],
    ['coords=7', 400],
    ['', 400],
    ['coords=0,0', 404],
    ['coords=6.1,41&datetime=1990-01-01', 404],
  ])('are refused for %j with %i', async (query, status) => {
    expect((await fetched(`${SERIES}/position?${query}`)).status).toBe(status);
  });

  it('are had by the map, and by a form that works by keyboard, at 360 pixels', async () => {
    await opened(
      360,
      async (page) => {
        await page.locator('.maplibregl-canvas').click();
        await page.locator('[data-position] svg').waitFor();
        expect(await page.getByLabel('Longitude and latitude').inputValue()).toMatch(/^7\.\d+ 42\.\d+$/);
        await page.getByLabel('Longitude and latitude').fill('6.1 41');
        await page.keyboard.press('Enter');
        await page.locator('[data-position] p', { hasText: 'At 6.1 41' }).waitFor();
        expect(await page.locator('[data-position] svg').getAttribute('aria-label')).toContain(
          '21 to 121, without data at 1 of 3 times',
        );
        expect(await violations(page)).toEqual([]);
        await page.goto(`${server.url}${SERIES}/position?coords=6.1%2041&f=html`);
        await page.locator('[data-map-state="idle"]').waitFor();
        expect(await violations(page)).toEqual([]);
        await page.locator('.maplibregl-canvas').click();
        await page.locator('[data-position] p', { hasText: 'At 7.' }).waitFor();
        expect(new URL(page.url()).searchParams.get('coords')).toMatch(/^7\.\d+ 42\.\d+$/);
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
      },
      SERIES,
    );
  }, 60_000);
});

describe('the bands and colours of a raster', () => {
  const LANDSAT = '/ogc/coverages/collections/l7';
  const colors = (page: Page) => new URL(page.url()).search.replace('?f=html', '');

  it('are chosen on its page, which keeps them in its address, its map, legend and links', async () => {
    await opened(
      360,
      async (page) => {
        const legend = page.locator('.colors img');
        expect(await legend.getAttribute('alt')).toMatch(/^Legend: Red: Band 3, .*Blue: Band 1/);
        const tile = page.waitForRequest(/\/tiles\/.*bands=4/);
        await page.locator('[data-colors-bands]').selectOption('4');
        await page.locator('[data-colors-ramp]').selectOption('magma');
        await page.locator('[data-colors-range]').fill('10, 90');
        await page.keyboard.press('Enter');
        await tile;
        expect(colors(page)).toBe('&bands=4&rescale=10,90&colormap=magma');
        await page.locator('.colors img[alt="Legend: Band 4, ≤ 10, 20, 40, 60, 80, ≥ 90"]').waitFor();
        expect(await page.getByRole('link', { name: 'PNG map' }).getAttribute('href')).toContain(
          '&bands=4&rescale=10,90&colormap=magma',
        );
        const viewer = await page.getByRole('link', { name: 'Open in the map viewer' }).getAttribute('href');
        expect(viewer).toMatch(/#colors=l7:bands%3D4%26rescale/);
        expect(await violations(page)).toEqual([]);
        await page.locator('[data-colors-bands]').selectOption('Choose three bands');
        await page.locator('[data-colors-channel]').first().selectOption('5');
        expect(colors(page)).toMatch(/^&bands=5,2,1&rescale=(\d+,){5}\d+$/);
        await page.getByRole('button', { name: 'Reset' }).click();
        expect(colors(page)).toBe('');
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
      },
      LANDSAT,
    );
  }, 60_000);

  it.each(['coverages', 'maps', 'tiles'])(
    'are those of the address of %s, also without a script',
    async (api) => {
      const path = `/ogc/${api}/collections/l7`;
      // A form sends empty fields, and the colours that three bands do not have.
      const text = await (await fetched(`${path}?f=html&bands=5,4,3&rescale=&colormap=viridis`)).text();
      expect(text).toContain('.png?bands=5%2C4%2C3"');
      expect(text).toContain('legend?f=svg&amp;bands=5%2C4%2C3"');
      expect(text).toMatch(/<option value="5,4,3"[^>]* selected>/);
      expect((await fetched(`${path}?f=html&bands=7`)).status).toBe(400);
      expect((await fetched(`${path.replace('l7', 'places')}?f=html&bands=1`)).status).toBeGreaterThan(399);
    },
  );
});

describe('a layer of many points', () => {
  it('is drawn in cells with a legend, or as points, which its address keeps', async () => {
    await opened(
      1280,
      async (page) => {
        const legend = page.locator('[data-cell-colors]');
        await legend.locator('li').nth(3).waitFor();
        expect(await legend.locator('li').allTextContents()).toEqual([
          '1',
          expect.any(String),
          expect.any(String),
          expect.stringMatching(/^≥ \d/),
        ]);
        expect(await violations(page)).toEqual([]);
        await page.getByLabel('Points', { exact: true }).check();
        await legend.waitFor({ state: 'hidden' });
        expect(new URL(page.url()).hash).toBe('#drawn=crowd:points');
        await page.reload();
        await page.locator('[data-map-state="idle"]').waitFor();
        expect(await page.getByLabel('Points', { exact: true }).isChecked()).toBe(true);
        expect(await legend.isVisible()).toBe(false);
      },
      '/ogc/features/collections/crowd',
    );
  }, 60_000);
});

describe('a refused source', () => {
  it('is named on the start page for those who may see it, and is published once it is mended', async () => {
    const headers = { authorization: `Bearer ${server.adminKey}` };
    const stranger = await fetched('/?f=html');
    expect(await stranger.text()).not.toContain('cut.geojson');
    const context = await browser.newContext({ extraHTTPHeaders: headers });
    const page = await context.newPage();
    await page.goto(server.url);
    const banner = page.getByRole('region', { name: /^1 source is not published/ });
    await banner.locator('summary').click();
    expect(await banner.textContent()).toMatch(/cut\.geojson.*ends at byte/s);
    await banner.getByRole('link', { name: 'All sources' }).click();
    const retry = page.getByRole('button', { name: 'Read again: cut.geojson' });
    await retry.click();
    await page.waitForLoadState();
    await page.getByText('ends at byte').waitFor();
    writeFileSync(
      join(folder, 'cut.geojson'),
      JSON.stringify({ type: 'FeatureCollection', features: FEATURES.slice(0, 2) }),
    );
    // The server may have seen the change before.
    await retry.click({ timeout: 5000 }).catch(() => undefined);
    await expect
      .poll(async () => (await fetched('/ogc/features/collections/cut')).status, { timeout: 20_000 })
      .toBe(200);
    // The page of the sources may still be loading.
    const start = await context.newPage();
    await start.goto(server.url);
    expect(await start.getByText('source is not published').count()).toBe(0);
    await context.close();
  }, 60_000);
});
