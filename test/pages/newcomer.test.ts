import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { range, writeNetcdf } from '../rasters/support.js';
import { launchBrowser, leaveMapsBlank } from '../support/browser.js';
import { gdalTool } from '../support/gdal-tools.js';
import { startServer, type TestServer } from '../support/server.js';

/**
 * The owner of a folder of files as they come, who knows no path of the server: everything is reached by links and buttons of
 * pages, from the start page to a picture of each file that can have one.
 */

let server: TestServer;
let browser: Browser;
let folder: string;
let page: Page;

const POINTS = [
  [7.4, 46.9],
  [7.6, 47.1],
  [7.9, 46.8],
] as const;
const geojson = (points: readonly (readonly [number, number])[]) =>
  JSON.stringify({
    type: 'FeatureCollection',
    features: points.map((coordinates, i) => ({
      type: 'Feature',
      properties: { name: `Place ${i}` },
      geometry: { type: 'Point', coordinates },
    })),
  });

/** A shapefile without its .prj. */
function writeBareShapefile(name: string, points: readonly (readonly [number, number])[]): void {
  const source = join(folder, `${name}.tmp.geojson`);
  writeFileSync(source, geojson(points));
  gdalTool('ogr2ogr', join(folder, `${name}.shp`), source);
  for (const path of [source, join(folder, `${name}.prj`)]) rmSync(path);
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-newcomer-'));
  mkdirSync(join(folder, 'old'));
  writeFileSync(join(folder, 'places.geojson'), geojson(POINTS));
  writeFileSync(join(folder, 'old', 'places.geojson'), geojson(POINTS.slice(0, 2)));
  writeBareShapefile('bern', [
    [2_600_000, 1_200_000],
    [2_601_000, 1_199_000],
    [2_602_500, 1_200_700],
  ]);
  copyFileSync('demo/data/L7_ETMs.tif', join(folder, 'scene.tif'));
  writeNetcdf(join(folder, 'heat.nc'), {
    ...{ lons: range(10, 5, 0.5), lats: range(10, 40, 0.5), times: [0, 31] },
    attributes: 't:units = "K";',
    value: (time, _, row, column) => 100 * time + 10 * row + column,
  });
  writeFileSync(join(folder, 'cut.geojson'), geojson(POINTS).slice(0, 150));
  writeBareShapefile('lonely', POINTS);
  gdalTool('ogr2ogr', join(folder, 'short.shp'), join(folder, 'places.geojson'));
  truncateSync(join(folder, 'short.shp'), 140);
  rmSync(join(folder, 'lonely.shx'));
  rmSync(join(folder, 'lonely.dbf'));
  [server, browser] = await Promise.all([startServer({ sources: [folder] }), launchBrowser()]);
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    extraHTTPHeaders: { authorization: `Bearer ${server.adminKey}` },
  });
  await leaveMapsBlank(context);
  page = await context.newPage();
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const start = () => page.goto(`${server.url}/`);

/** Opens a collection of the start page by its title. */
async function open(title: string): Promise<void> {
  await start();
  await page.locator('.cards').getByRole('link', { name: title, exact: true }).first().click();
}

/** Opens a collection. Returns the number of tiles with data that its map has received. */
async function countTiles(title: string): Promise<number> {
  const urls: string[] = [];
  page.on('response', (response) => {
    if (response.status() === 200) urls.push(new URL(response.url()).pathname);
  });
  await open(title);
  await page.locator('[data-map-state="idle"]').first().waitFor();
  page.removeAllListeners('response');
  const { layers } = JSON.parse((await page.locator('#map-data').textContent())!) as {
    layers: { tiles: string }[];
  };
  const [prefix] = new URL(layers[0]!.tiles).pathname.split(/\/(?:\{|%7B)z/i);
  return urls.filter((url) => url.startsWith(`${prefix}/`)).length;
}

it('sees each file that says where it is, with its values', async () => {
  for (const title of ['Places', 'Places (old)', 'Scene', 'Heat'])
    expect(await countTiles(title), title).toBeGreaterThan(0);
  const legend = await page.locator('.colors img').getAttribute('alt');
  expect(legend).toMatch(/^Legend: t \(K\), .*≥/);
  await open('Scene');
  expect(await page.locator('.colors img').getAttribute('alt')).toMatch(/Red: Band 3/);
});

it('reads which files are not published, by folder, with reason and remedy', async () => {
  await start();
  const banner = page.getByRole('region', { name: /2 sources are not published/ });
  await banner.locator('summary').click();
  const text = (await banner.textContent())!;
  expect(text).toMatch(/cut\.geojson.*ends at byte 150/s);
  expect(text).toMatch(/lonely\.shp.*\.shx.*\.dbf/s);
  expect(text).toMatch(/short\.shp.*truncated: it ends at byte 140 of at least 184.*have no geometry/s);
});

it('gives a place to a file that does not say where it is, and sees it there', async () => {
  await open('Bern');
  const note = page.getByRole('note');
  await note.getByRole('link', { name: /Choose the coordinate reference system/ }).click();
  await page
    .getByLabel(/EPSG:2056/)
    .first()
    .waitFor();
  // Without scripts, the search sends the selected CRS as well.
  const searched = await page.request.get(`${page.url()}?crs=EPSG%3A2056&q=Switzerland`);
  expect(await searched.text()).toMatch(/value="EPSG:2056" checked/);
  await page
    .getByLabel(/EPSG:2056/)
    .first()
    .check();
  await page.getByText(/3 features/).waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await page
    .getByText(/assigned|chosen/i)
    .first()
    .waitFor();
  expect(await countTiles('Bern')).toBeGreaterThan(0);
  expect(await page.getByRole('note').count()).toBe(0);
  expect(await page.textContent('main')).toMatch(/7\.4\d*° E|7\.4/);
});

it('takes all features of a file with one press', async () => {
  await open('Bern');
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: 'GeoJSON', exact: true }).last().click();
  const path = await (await download).path();
  const { features } = JSON.parse(readFileSync(path, 'utf8')) as {
    features: { geometry: { coordinates: number[] } }[];
  };
  expect(features).toHaveLength(3);
  expect(features[0]!.geometry.coordinates[0]).toBeCloseTo(7.4386, 3);
  expect(basename((await download).suggestedFilename())).toBe('bern.geojson');
});

it('does not send a password before the script can', async () => {
  const text = await (
    await fetch(`${server.url}/account/sign-in`, { headers: { accept: 'text/html' } })
  ).text();
  const forms = [...text.matchAll(/<form[^>]*>.*?<\/form>/gs)].map(([form]) => form);
  expect(forms.length).toBeGreaterThan(0);
  for (const form of forms) {
    expect(form).toMatch(/^<form method="post"/);
    expect(form).toMatch(/<button class="button[^"]*" disabled>/);
  }
});
