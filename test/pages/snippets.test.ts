import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { raw, run } from '../e2e/support/http.js';
import { launchBrowser, leaveMapsBlank } from '../support/browser.js';
import { pythonOfClients } from '../support/python.js';
import { middleColours, openSavedPage } from '../support/saved-page.js';
import { type SharedServer, sharedServer } from '../support/shared-server.js';

/** Every snippet as it stands on the page, run as it is pasted. */
let server: SharedServer;
let browser: Browser;
let folder: string;

const VECTOR = '/ogc/features/collections/countries?f=html';
const RASTER = '/ogc/coverages/collections/l7_etms?f=html';

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-snippets-'));
  server = await sharedServer();
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

const pages = new Map<string, Promise<Page>>();

/** The page of a path, loaded once for all tests that only read it. */
function pageOf(path: string): Promise<Page> {
  if (!pages.has(path)) pages.set(path, opened(path));
  return pages.get(path)!;
}

async function opened(path: string): Promise<Page> {
  const context = await browser.newContext();
  await leaveMapsBlank(context);
  const page = await context.newPage();
  await page.goto(`${server.url}${path}`);
  return page;
}

/** The code of a snippet, as its button copies it. */
async function snippet(path: string, id: string): Promise<string> {
  const page = await pageOf(path);
  return (await page.locator(`[data-snippet="${id}"]`).textContent())!;
}

/** Opens a snippet as the file that somebody saved. */
function saved(code: string) {
  const file = join(folder, 'snippet.html');
  writeFileSync(file, code);
  return openSavedPage(browser, file);
}

describe('in a browser', () => {
  for (const [kind, path, tile] of [
    ['features', VECTOR, /vector-tile/],
    ['a raster', RASTER, /image\/png/],
  ] as const) {
    for (const id of ['maplibre', 'openlayers', 'leaflet']) {
      it(`the ${id} snippet of ${kind} draws its tiles, as images or vectors`, async () => {
        const { page, tiles, problems } = await saved(await snippet(path, id));
        await expect.poll(() => tiles.length, { timeout: 30_000 }).toBeGreaterThan(0);
        // Land and outlines, or the many colours of a picture, over a bare page.
        await expect
          .poll(async () => (await middleColours(page)).size, { timeout: 30_000 })
          .toBeGreaterThan(3);
        for (const type of tiles) expect(type).toMatch(id === 'leaflet' ? /image\/png/ : tile);
        expect(problems).toEqual([]);
        await page.context().close();
      }, 90_000);
    }
  }

  it('the snippets of a raster name the colours that its page shows', async () => {
    const colored = `${RASTER}${RASTER.includes('?') ? '&' : '?'}bands=1&colormap=magma`;
    for (const id of ['openlayers', 'leaflet'])
      expect(await snippet(colored, id)).toMatch(/\{y\}\.png\?bands=1&colormap=magma"/);
    const { page, tiles, problems } = await saved(await snippet(colored, 'maplibre'));
    await expect.poll(() => tiles.length, { timeout: 30_000 }).toBeGreaterThan(0);
    await page.context().close();
    expect(tiles).toEqual(tiles.map(() => 'image/png'));
    expect(problems).toEqual([]);
  });

  it('a snippet that names a style takes the chosen one, and its button says what it did', async () => {
    const page = await opened(VECTOR);
    const styles = await page.locator('[data-style-choice] select option').count();
    if (styles > 1) await page.locator('[data-style-choice] select').selectOption({ index: 1 });
    await page.locator('#use-maplibre > summary').click();
    await page.locator('#use-maplibre [data-copy]').click();
    await page.getByRole('button', { name: /Copied|Selected/ }).waitFor();
    const chosen = styles > 1 ? await page.locator('[data-style-choice] select').inputValue() : 'default';
    const code = await page.locator('[data-snippet="maplibre"]').textContent();
    await page.context().close();
    expect(code).toContain(`/styles/${encodeURIComponent(chosen)}?f=mapbox`);
    const [url] = /http:[^"]+f=mapbox/.exec(code!)!;
    expect((await raw(url)).status).toBe(200);
  });
});

describe('in a terminal', () => {
  const shell = async (code: string) => run('bash', ['-euc', `cd ${folder}\n${code}`]);

  it('the GDAL snippet of features tells and copies all of them', async () => {
    expect(await shell(await snippet(VECTOR, 'gdal'))).toContain('Feature Count: 240');
    expect(await run('ogrinfo', ['-so', '-al', join(folder, 'countries.gpkg')])).toContain(
      'Feature Count: 240',
    );
  });

  it('the GDAL snippet of a raster tells its bands', async () => {
    const text = await shell(await snippet(RASTER, 'gdal'));
    expect(text).toContain('Size is 349, 352');
    expect(text).toContain('Band 6');
  });

  it('the curl snippets fetch features and a map', async () => {
    expect(JSON.parse(await shell(await snippet(VECTOR, 'curl'))).features).toHaveLength(10);
    await shell(await snippet(RASTER, 'curl'));
    expect((await sharp(join(folder, 'l7_etms.png')).metadata()).width).toBe(1024);
  });

  it('the Python snippet of features reads all of them', async () => {
    const text = await run(pythonOfClients(), ['-c', await snippet(VECTOR, 'python')]);
    expect(text).toContain('240 features in EPSG:4326');
  });

  it('the Python snippet of a raster reads its values', async () => {
    const text = await run(pythonOfClients(), ['-c', await snippet(RASTER, 'python')]);
    expect(text).toContain('349 x 352 pixels, 6 bands in EPSG:31985');
    expect(text).toMatch(/first band: \d+ to \d+/);
  });

  it.skipIf(!existsSync('/usr/lib/R/site-library/terra'))(
    'the R snippets read features and values',
    async () => {
      const read = async (path: string) => {
        const file = join(folder, 'snippet.R');
        writeFileSync(file, await snippet(path, 'r'));
        return run('bash', ['-euc', `cd ${folder} && Rscript snippet.R`]);
      };
      expect(await read(VECTOR)).toContain('Simple feature collection with 240 features');
      expect(await read(RASTER)).toContain('352, 349, 6');
    },
  );
});

describe('in QGIS', () => {
  it.each([
    ['features', VECTOR, (url: string) => expect(url).toBe(`${server.url}/ogc/features`)],
    ['tiles', RASTER, (url: string) => expect(url).toMatch(/\/tiles\/\d+\/\{z\}\/\{x\}\/\{y\}\.png$/)],
    ['vector-tiles', VECTOR, (url: string) => expect(url).toMatch(/\.mvt$/)],
  ])('its import dialog takes the connection to %s', async (kind, path, expectUrl) => {
    const page = await pageOf(path);
    const href = await page.locator(`#use-qgis a[download][href$="qgis-${kind}.xml"]`).getAttribute('href');
    const answer = await raw(href!);
    expect(answer.headers['content-disposition']).toContain('attachment');
    const file = join(folder, `${kind}.xml`);
    writeFileSync(file, answer.body);
    const text = await run('/usr/bin/python3', ['test/e2e/clients/import_into_qgis.py', file, kind], {
      HOME: folder,
      QT_QPA_PLATFORM: 'offscreen',
    });
    const read = JSON.parse(text.trim().split('\n').at(-1)!);
    expectUrl(read.url);
    if (kind !== 'features') expect(read.valid).toBe(true);
  });
});

/** Starts an export job, and returns the URL of its file. */
async function fileOfJob(action: string): Promise<string> {
  const started = await fetch(action, { method: 'POST' });
  const location = started.headers.get('location')!;
  for (;;) {
    const { status } = await (await fetch(`${location}?f=json`)).json();
    if (status !== 'accepted' && status !== 'running') return `${location}/file`;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

describe('downloads', () => {
  it('lead to files of about the size that the page says', async () => {
    const page = await pageOf(VECTOR);
    const rows = await page.locator('[aria-label="Downloads"] tbody tr').evaluateAll((all) =>
      all.map((row) => ({
        href: row.querySelector('a')?.href ?? row.querySelector('form')!.action,
        isJob: row.querySelector('form') !== null,
        size: row.querySelector('td:last-child')!.textContent!,
      })),
    );
    expect(rows.length).toBe(10);
    const units: Record<string, number> = { bytes: 1, kB: 1e3, MB: 1e6 };
    let estimates = 0;
    for (const { href, size, isJob } of rows) {
      const answer = await raw(isJob ? await fileOfJob(href) : href);
      expect([href, answer.status]).toEqual([href, 200]);
      const [, value, unit] = /^about ([\d.]+) (\w+)$/.exec(size) ?? [];
      if (!value) continue;
      estimates++;
      const ratio = answer.body.length / (Number(value) * units[unit!]!);
      expect(ratio, `${href}: ${size}, ${answer.body.length}`).toBeGreaterThan(0.3);
      expect(ratio, `${href}: ${size}, ${answer.body.length}`).toBeLessThan(3);
    }
    expect(estimates).toBe(6);
  });
});
