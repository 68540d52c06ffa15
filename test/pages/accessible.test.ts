import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from '../support/browser.js';
import { type SharedServer, sharedServer } from '../support/shared-server.js';

const AXE = readFileSync('node_modules/axe-core/axe.min.js', 'utf8');

const PAGES = [
  '/',
  '/live',
  '/docs',
  '/docs/features',
  '/ogc/features/',
  '/ogc/features/conformance',
  '/ogc/features/collections',
  '/ogc/features/collections/countries',
  '/ogc/features/collections/countries/items',
  '/ogc/features/collections/countries/items/1',
  '/ogc/features/collections/countries/queryables',
  '/ogc/features/functions',
  '/ogc/tiles/collections',
  '/ogc/tiles/collections/3',
  '/ogc/tiles/collections/3/tiles',
  '/ogc/tiles/collections/3/tiles/WebMercatorQuad',
  '/ogc/tiles/tileMatrixSets',
  '/ogc/maps',
  '/ogc/maps/viewer',
  '/ogc/maps/collections/3/styles',
  '/ogc/coverages/collections/l7_etms',
  '/stac',
  '/stac/collections',
  '/stac/collections/l7_etms',
  '/stac/search',
  '/tiles/3',
  '/nothing',
  '/ogc/features/collections/countries/items?limit=x',
];

/** Pages that are laid out in another way where there is little room; the others have their parts. */
const NARROW = [
  '/',
  '/docs/features',
  '/ogc/features/collections/countries',
  '/ogc/features/collections/countries/items',
  '/ogc/maps/viewer',
  '/ogc/coverages/collections/l7_etms',
  '/stac/search',
];

let server: SharedServer;
let browser: Browser;

beforeAll(async () => {
  server = await sharedServer();
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
});

/** What is wrong with a page as it is, for those who see it badly or not at all; by all rules, or by these. */
async function violations(page: Page, rules?: string[]): Promise<string[]> {
  return page.evaluate(async (rules) => {
    const { axe } = window as unknown as { axe: { run(context: object, options: object): Promise<unknown> } };
    // The interface viewer is another project's; what stands around it is ours.
    const { violations } = (await axe.run(
      { exclude: ['.swagger-ui'] },
      { resultTypes: ['violations'], ...(rules && { runOnly: rules }) },
    )) as {
      violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
    };
    return violations.flatMap(({ id, nodes }) =>
      nodes.map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary}`),
    );
  }, rules);
}

/** Colours are all that differs in the dark. */
const SCHEMES = [
  ['light', undefined],
  ['dark', ['color-contrast', 'link-in-text-block']],
] as const;

describe('axe finds nothing wrong', () => {
  it.each([1280, 360])(
    'with any page at %i pixels, light and dark',
    async (width) => {
      const context = await browser.newContext({
        viewport: { width, height: 900 },
        // Only so that the checker may be put into the page.
        bypassCSP: true,
        // Maps are drawn by the processor here; the checker looks at none of their pixels.
        deviceScaleFactor: 0.25,
      });
      const page = await context.newPage();
      const wrong: Record<string, string[]> = {};
      for (const path of width === 1280 ? PAGES : NARROW) {
        await page.goto(`${server.url}${path}`);
        if ((await page.locator('[data-map]').count()) > 0)
          await page.locator('[data-map-state="idle"]').first().waitFor();
        await page.addScriptTag({ content: AXE });
        await page.evaluate(() => {
          for (const details of document.querySelectorAll('details')) {
            details.removeAttribute('name');
            details.open = true;
          }
        });
        if (path === '/docs/features') await page.locator('.opblock').first().waitFor();
        for (const [colorScheme, rules] of SCHEMES) {
          await page.emulateMedia({ colorScheme });
          const found = await violations(page, rules && [...rules]);
          if (found.length > 0) wrong[`${path} ${colorScheme}`] = found;
        }
      }
      await context.close();
      expect(wrong).toEqual({});
    },
    180_000,
  );
});

describe('a printed page', () => {
  it('has the map with title, legend, scale and source, and nothing to press', async () => {
    const page = await (await browser.newContext({ colorScheme: 'dark' })).newPage();
    await page.goto(`${server.url}/ogc/features/collections/countries`);
    await page.locator('[data-map-state="idle"]').waitFor();
    await page.emulateMedia({ media: 'print' });
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
    for (const shown of [
      'h1',
      '.map-print',
      '.print-only .legend',
      '.maplibregl-ctrl-scale',
      '.print-only p',
    ])
      expect(await page.locator(shown).first().isVisible(), shown).toBe(true);
    for (const hidden of ['nav', '.site-footer', '.actions', '.snippets', '.maplibregl-ctrl-zoom-in'])
      expect(await page.locator(hidden).first().isVisible(), hidden).toBe(false);
    expect(await page.locator('.print-only p').textContent()).toContain(
      `Countries. Served by Graticule, ${server.url}`,
    );
    const picture = await page.locator('.map-print').getAttribute('src');
    const { data } = await sharp(Buffer.from(picture!.split(',')[1]!, 'base64'))
      .resize(64, 32, { fit: 'fill', kernel: 'nearest' })
      .removeAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    const colours = new Set(
      Array.from({ length: data.length / 3 }, (_, i) => data.subarray(3 * i, 3 * i + 3).join()),
    );
    // Sea, land and outlines: an empty canvas has one colour.
    expect(colours.size).toBeGreaterThan(3);
    await page.evaluate(() => dispatchEvent(new Event('afterprint')));
    expect(await page.locator('.map-print').count()).toBe(0);
    await page.context().close();
  });
});
