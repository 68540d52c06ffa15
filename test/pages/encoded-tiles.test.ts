import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeMBTiles, PACK, tilesOf, writePMTiles } from '../support/archives.js';
import { launchBrowser } from '../support/browser.js';
import { startServer, type TestServer } from '../support/server.js';

/** MapLibre in a browser draws tiles of each coding that an archive may have. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-encoded-'));
const CODINGS = [
  ['gzip', 2],
  ['br', 3],
  ['zstd', 4],
] as const;
let server: TestServer;
let browser: Browser;

beforeAll(async () => {
  const world = join(folder, 'world.mbtiles');
  makeMBTiles(world);
  const metadata = { vector_layers: [{ id: 'countries', fields: { NAME: 'String' } }] };
  for (const [coding, tileCompression] of CODINGS) {
    const tiles = tilesOf(world).map((tile) => ({
      ...tile,
      data: PACK[tileCompression]!(gunzipSync(tile.data)),
    }));
    writePMTiles(join(folder, `${coding}.pmtiles`), tiles, { tileCompression, metadata });
  }
  rmSync(world);
  server = await startServer({ sources: [folder] });
  browser = await launchBrowser();
}, 120_000);

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(folder, { recursive: true });
});

/** The map of a collection's page, and the codings that its tiles came in; without tiles where they are kept from it. */
async function mapOf(id: string, hasTiles: boolean) {
  const page = await browser.newPage({ viewport: { width: 900, height: 700 } });
  const codings = new Set<string>();
  const tile = /\/tiles\/.*\/\d+\/\d+\/\d+/;
  if (!hasTiles) await page.route(tile, (route) => route.abort());
  page.on('response', async (response) => {
    if (tile.test(response.url()) && response.status() === 200)
      codings.add((await response.headerValue('content-encoding')) ?? 'identity');
  });
  await page.goto(`${server.url}/ogc/tiles/collections/${id}?f=html`);
  const map = page.locator('[data-map]').first();
  await page.locator('[data-map-state]').first().waitFor({ timeout: 60_000 });
  if (hasTiles) await page.locator('[data-map-state="idle"]').waitFor({ timeout: 60_000 });
  const picture = await map.screenshot();
  await page.close();
  return { picture, codings: [...codings] };
}

it('as they are stored', async () => {
  const { collections } = (await (await fetch(`${server.url}/ogc/tiles/collections`)).json()) as {
    collections: { id: string; name: string }[];
  };
  const idOf = (name: string) => collections.find((one) => one.name === name)!.id;
  for (const [coding] of CODINGS) {
    const drawn = await mapOf(idOf(coding), true);
    expect(drawn.codings).toEqual([coding]);
    const blank = await mapOf(idOf(coding), false);
    expect(drawn.picture.length).toBeGreaterThan(1.2 * blank.picture.length);
  }
}, 120_000);
