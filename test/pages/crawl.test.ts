import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchBrowser, watchedPage } from '../support/browser.js';
import { type SharedServer, sharedServer } from '../support/shared-server.js';
import { isFullRun } from '../support/soak.js';
import { crawl, pageKind, readingFaults } from './crawl.js';
import { layoutFaults } from './walk.js';

/** Pages that are reached by links. A brief run visits the first ones at the width at which layouts break first. */

const IS_FULL = isFullRun(import.meta.url);
const WIDTHS = IS_FULL ? [390, 1280] : [390];

let server: SharedServer;
let browser: Browser;

beforeAll(async () => {
  server = await sharedServer();
  browser = await launchBrowser();
});
afterAll(() => browser?.close());

it('kinds of pages do not depend on ids', () => {
  const kind = (path: string) => pageKind(`https://x${path}`);
  expect(kind('/ogc/features/collections/a/items/7?f=html')).toBe('/ogc/features/collections/*/items/*');
  expect(kind('/rest/services/default/FeatureServer/3/query?where=1')).toBe(
    '/rest/services/*/FeatureServer/*/query where',
  );
});

it.each(WIDTHS)(
  'at %i pixels, nothing is cut, no link is empty, and no page logs an error',
  async (width) => {
    const { page, problems } = await watchedPage(browser, server.url, { viewport: { width, height: 900 } });
    const { visited, faults } = await crawl(
      page,
      { origin: server.url, starts: ['/'], perKind: 1, most: IS_FULL ? 200 : 14 },
      async () => [
        ...(await readingFaults(page)),
        ...(await layoutFaults(page)),
        ...problems.splice(0).filter((one) => !/requestfailed|net::ERR_ABORTED/.test(one)),
      ],
    );
    await page.context().close();
    expect(faults).toEqual({});
    expect(visited.length).toBeGreaterThan(IS_FULL ? 40 : 13);
  },
  600_000,
);
