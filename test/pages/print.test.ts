import type { Browser } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from '../support/browser.js';
import { type SharedServer, sharedServer } from '../support/shared-server.js';

let server: SharedServer;
let browser: Browser;

beforeAll(async () => {
  server = await sharedServer();
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
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
