import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser, watchedPage } from '../support/browser.js';
import { startServer, type TestServer } from '../support/server.js';
import { isFullRun } from '../support/soak.js';
import { axeFaults } from './axe.js';
import { catalogOf, layoutFaults, settled, walkByKeyboard } from './walk.js';

/**
 * A walk through every page by keyboard, at both widths, with a look by axe at each, light and dark. `./run screenshots` takes pictures on the way, light and dark and
 * with catalogs of several sizes, into test/pages/screenshots. A brief run walks through four pages at 360 pixels.
 */

const PICTURES = process.env.SCREENSHOTS ? 'test/pages/screenshots' : undefined;
/** With SCREENSHOT_PAGES, only these pages are walked, and the pictures of the others stay: `docs,stac-search`. */
const ONLY = process.env.SCREENSHOT_PAGES?.split(',');
const IS_FULL = PICTURES !== undefined || isFullRun(import.meta.url);

/** Pages by their names in pictures; `{n}` is the number of the countries. */
const PAGES = {
  start: '/',
  live: '/live',
  docs: '/docs',
  'docs-features': '/docs/features',
  'docs-operation': '/docs/features/features.getItems',
  features: '/ogc/features/',
  conformance: '/ogc/features/conformance',
  collections: '/ogc/features/collections',
  collection: '/ogc/features/collections/countries',
  items: '/ogc/features/collections/countries/items?limit=20',
  item: '/ogc/features/collections/countries/items/1',
  queryables: '/ogc/features/collections/countries/queryables',
  functions: '/ogc/features/functions',
  'tile-collections': '/ogc/tiles/collections',
  'tile-collection': '/ogc/tiles/collections/{n}',
  tilesets: '/ogc/tiles/collections/{n}/tiles',
  tileset: '/ogc/tiles/collections/{n}/tiles/WebMercatorQuad',
  'tile-matrix-sets': '/ogc/tiles/tileMatrixSets',
  maps: '/ogc/maps',
  viewer: '/ogc/maps/viewer',
  'viewer-time': '/ogc/maps/viewer?collections=bcsd_obs_1999,countries',
  styles: '/ogc/maps/collections/{n}/styles',
  'tile-json': '/tiles/{n}',
  coverage: '/ogc/coverages/collections/bcsd_obs_1999',
  'coverage-bands': '/ogc/coverages/collections/l7_etms',
  stac: '/stac',
  'stac-collections': '/stac/collections',
  'stac-item': '/stac/collections/l7_etms/items/l7_etms',
  'stac-collection': '/stac/collections/l7_etms',
  'stac-search': '/stac/search?limit=1',
  'rest-query': '/rest/services/default/FeatureServer/{n}/query?where=1%3D1&outFields=*&resultRecordCount=5',
  nothing: '/nothing',
  manual: '/manual/',
  'manual-page': '/manual/how-to/install/behind-nginx',
  refusal: '/ogc/features/collections/countries/items?limit=x',
};
/** Pages of errors, which the browser tells of. */
const REFUSED: ReadonlySet<string> = new Set(['nothing', 'refusal']);
/** Pages whose look depends on how much is published. */
const BY_SIZE = ['start', 'collections', 'viewer', 'live'] as const;
const WIDTHS = [1280, 360] as const;
const SCHEMES = ['light', 'dark'] as const;
const DARK: ReadonlySet<string> = new Set([
  ...BY_SIZE,
  'docs-operation',
  'collection',
  'items',
  'viewer-time',
  'coverage',
  'stac',
]);
/** Pixels of a page from its top that are in a picture, and of a picture. */
const TALLEST = 3000;
const WIDEST = 900;
/** The pages of a brief run, which has the width at which layouts break first. */
const BRIEF: ReadonlySet<string> = new Set(['start', 'collection', 'viewer', 'refusal']);
/** Pages that are laid out in another way where there is little room; in the suite the others are walked at one width. */
const NARROW: ReadonlySet<string> = new Set([
  'start',
  'live',
  'collection',
  'items',
  'viewer',
  'coverage',
  'coverage-bands',
  'docs-operation',
  'refusal',
  'stac-search',
  'rest-query',
  'manual-page',
]);

let folder: string;
let browser: Browser;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-walk-'));
  browser = await launchBrowser();
  if (PICTURES && !ONLY && existsSync(PICTURES))
    for (const file of readdirSync(PICTURES)) rmSync(join(PICTURES, file));
  if (PICTURES) mkdirSync(PICTURES, { recursive: true });
});
afterAll(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

describe.each(PICTURES && !ONLY ? [7, 1, 69, 2000] : [7])('with %i collections', (count) => {
  let server: TestServer;
  let number: string;

  beforeAll(async () => {
    server = await startServer({ sources: catalogOf(count, join(folder, String(count))) });
    const answer = await fetch(`${server.url}/ogc/tiles/collections?f=json`);
    const { collections } = (await answer.json()) as { collections: { id: string; name: string }[] };
    expect(collections).toHaveLength(count);
    number = collections.find(({ name }) => name === 'countries')?.id ?? '1';
  });
  afterAll(() => server?.stop());

  const all = count === 7 ? (Object.keys(PAGES) as (keyof typeof PAGES)[]) : BY_SIZE;
  const pages = ONLY ? all.filter((name) => ONLY.includes(name)) : all;
  const addressOf = (name: keyof typeof PAGES) => server.url + PAGES[name].replace('{n}', number);

  describe.each(WIDTHS)('pages at %i pixels', (width) => {
    const isWalked = (name: string) =>
      IS_FULL ? PICTURES || width > 1000 || NARROW.has(name) : BRIEF.has(name);
    it.runIf(IS_FULL || width < 1000)(
      'are walked by keyboard: all is reached, seen and not covered; axe finds nothing wrong, and they complain of nothing',
      async () => {
        // Only so that the checker may be put into the page.
        const viewport = { width, height: 900 };
        const { page, problems } = await watchedPage(browser, server.url, { viewport, bypassCSP: true });
        const faults: Record<string, string[]> = {};
        for (const name of pages) {
          if (!isWalked(name)) continue;
          await page.goto(addressOf(name));
          await settled(page);
          const { stops, missed } = await walkByKeyboard(page);
          expect(stops.length, name).toBeGreaterThan(2);
          const wrong = [
            ...stops.flatMap((stop) => stop.faults.map((fault) => `${stop.name} ${fault}`)),
            ...missed.map((one) => `${one} is not reached`),
            ...(await layoutFaults(page)),
            ...(await axeFaults(page)),
            ...problems.splice(0).filter((one) => !REFUSED.has(name) || !/^4\d\d |status of 4/.test(one)),
          ];
          if (wrong.length > 0) faults[name] = wrong;
        }
        await page.context().close();
        expect(faults).toEqual({});
      },
      900_000,
    );
  });

  const looks = WIDTHS.flatMap((width) => SCHEMES.map((scheme) => [width, scheme] as const));
  it.runIf(PICTURES).each(looks)(
    'pictures at %i pixels, %s',
    async (width, colorScheme) => {
      const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
      const page = await context.newPage();
      for (const name of pages) {
        // Dark pages without a map look like those with one.
        if (colorScheme === 'dark' && !DARK.has(name)) continue;
        await page.goto(addressOf(name));
        await settled(page);
        const picture = sharp(await page.screenshot({ fullPage: true }));
        const { height = 0 } = await picture.metadata();
        const size = { left: 0, top: 0, width, height: Math.min(height, TALLEST) };
        const file = `${String(count).padStart(4, '0')}-${name}-${width}-${colorScheme}.webp`;
        const cut = await picture.extract(size).png().toBuffer();
        await sharp(cut)
          .resize({ width: Math.min(width, WIDEST) })
          .webp({ quality: 50, effort: 6 })
          .toFile(join(PICTURES!, file));
      }
      await context.close();
    },
    900_000,
  );
});
