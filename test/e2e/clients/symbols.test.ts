import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Browser } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from '../../support/browser.js';
import { type SharedServer, sharedServer } from '../../support/shared-server.js';

const ARTEFACTS = 'test/artefacts';
const LIBRARY = dirname(createRequire(import.meta.url).resolve('maplibre-gl/dist/maplibre-gl.css'));

let server: SharedServer;
let browser: Browser;

beforeAll(async () => {
  mkdirSync(ARTEFACTS, { recursive: true });
  server = await sharedServer();
  browser = await launchBrowser();
}, 90_000);

afterAll(async () => {
  await browser?.close();
});

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${server.url}${path}`, { headers });

describe('glyphs', () => {
  const PATH = '/ogc/maps/fonts/Open%20Sans%20Regular,Arial%20Unicode%20MS%20Regular';

  it('are served compressed or not, may be kept long, and are known by their tag', async () => {
    const first = await get(`${PATH}/0-255.pbf`);
    expect(first.status).toBe(200);
    expect(first.headers.get('content-type')).toBe('application/x-protobuf');
    expect(first.headers.get('content-encoding')).toBe('gzip');
    expect(first.headers.get('cache-control')).toMatch(/max-age=604800/);
    const plain = await get(`${PATH}/0-255.pbf`, { 'accept-encoding': 'identity' });
    expect(plain.headers.get('content-encoding')).toBeNull();
    const bytes = Buffer.from(await plain.arrayBuffer());
    expect(bytes.equals(Buffer.from(await first.arrayBuffer()))).toBe(true);
    expect(() => gunzipSync(bytes)).toThrow();
    const again = await get(`${PATH}/0-255.pbf`, { 'if-none-match': first.headers.get('etag')! });
    expect(again.status).toBe(304);
  });

  it.each([
    ['/ogc/maps/fonts/Comic%20Sans/0-255.pbf', 404],
    ['/ogc/maps/fonts/Comic%20Sans,Noto%20Sans%20Regular/0-255.pbf', 200],
    ['/ogc/maps/fonts/Comic%20Sans,Sans%20Comic/0-255.pbf', 404],
    ['/ogc/maps/fonts/..%2F..%2Fetc/0-255.pbf', 404],
    ['/ogc/maps/fonts/Noto%20Sans%20Regular/0-256.pbf', 400],
    ['/ogc/maps/fonts/Noto%20Sans%20Regular/1-256.pbf', 400],
    ['/ogc/maps/fonts/Noto%20Sans%20Regular/256-255.pbf', 400],
    ['/ogc/maps/fonts/Noto%20Sans%20Regular/1114112-1114367.pbf', 400],
    ['/ogc/maps/fonts/Noto%20Sans%20Regular/all.pbf', 400],
    [`/ogc/maps/fonts/${Array(9).fill('Noto Sans Bold').join()}/0-255.pbf`, 400],
    ['/ogc/maps/fonts/Noto%20Sans%20Regular/1113856-1114111.pbf', 200],
  ])('%s answer %d', async (path, status) => {
    expect((await get(path)).status).toBe(status);
  });
});

describe('sprites', () => {
  it.each(['default', 'default@2x'])('%s has an index and a picture', async (name) => {
    const index = (await (await get(`/ogc/maps/sprites/${name}.json`)).json()) as Record<
      string,
      { sdf: boolean }
    >;
    expect(index['airport']?.sdf).toBe(true);
    const picture = await get(`/ogc/maps/sprites/${name}.png`);
    expect(picture.headers.get('content-type')).toBe('image/png');
    const { channels } = await sharp(Buffer.from(await picture.arrayBuffer())).metadata();
    expect(channels).toBe(4);
  });

  it.each(['other.json', 'default.svg', 'default@3x.png', 'default'])('%s is not there', async (name) => {
    expect((await get(`/ogc/maps/sprites/${name}`)).status).toBe(404);
  });
});

describe('a style with labels and icons', () => {
  /** Middle of a map of one point with this layer. */
  async function drawn(
    layer: object,
    name: string,
  ): Promise<{ data: Buffer; width: number; height: number }> {
    const style = {
      version: 8,
      glyphs: `${server.url}/ogc/maps/fonts/{fontstack}/{range}.pbf`,
      sprite: `${server.url}/ogc/maps/sprites/default`,
      sources: { one: { type: 'geojson', data: { type: 'Point', coordinates: [0, 0] } } },
      layers: [{ id: 'paper', type: 'background', paint: { 'background-color': '#ffffff' } }, layer],
    };
    const page = await browser.newPage({ viewport: { width: 400, height: 200 } });
    const problems: string[] = [];
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('response', (response) => {
      if (response.status() >= 400) problems.push(`${response.status()} ${response.url()}`);
    });
    await page.route('**/library/*', (route) => {
      const file = new URL(route.request().url()).pathname.split('/').pop()!;
      return route.fulfill({
        contentType: 'text/javascript',
        body: readFileSync(join(LIBRARY, file), 'utf8'),
      });
    });
    await page.route('**/blank', (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: `<!doctype html><meta charset="utf-8"><style>body{margin:0}#map{width:400px;height:200px}</style><div id="map"></div><script type="module">
          import { Map, setWorkerUrl } from '/library/maplibre-gl.mjs';
          setWorkerUrl('/library/maplibre-gl-worker.mjs');
          new Map({ container: 'map', style: ${JSON.stringify(style)}, center: [0, 0], zoom: 2, attributionControl: false })
            .once('idle', () => { document.title = 'idle'; });</script>`,
      }),
    );
    await page.goto(`${server.url}/blank`);
    await page.waitForFunction(() => document.title === 'idle', undefined, { timeout: 60_000 });
    const picture = await page.screenshot({ path: join(ARTEFACTS, `${name}.png`) });
    await page.close();
    expect(problems).toEqual([]);
    const { data, info } = await sharp(picture).removeAlpha().raw().toBuffer({ resolveWithObject: true });
    return { data, width: info.width, height: info.height };
  }

  /** Box of the pixels that are nearly of a colour, and their number. */
  function inked(
    { data, width }: { data: Buffer; width: number },
    [r, g, b]: readonly [number, number, number],
  ) {
    const box = { left: Infinity, top: Infinity, right: -1, bottom: -1, count: 0 };
    for (let i = 0; i < data.length; i += 3) {
      if (Math.abs(data[i]! - r) + Math.abs(data[i + 1]! - g) + Math.abs(data[i + 2]! - b) > 90) continue;
      const [x, y] = [(i / 3) % width, Math.floor(i / 3 / width)];
      box.left = Math.min(box.left, x);
      box.right = Math.max(box.right, x);
      box.top = Math.min(box.top, y);
      box.bottom = Math.max(box.bottom, y);
      box.count++;
    }
    return box;
  }

  it('is drawn by MapLibre from our glyphs, in the middle of its point', async () => {
    const layer = {
      id: 'label',
      type: 'symbol',
      source: 'one',
      layout: { 'text-field': 'HĦШΩ', 'text-size': 48, 'text-font': ['Noto Sans Bold'] },
      paint: { 'text-color': '#c81e0a' },
    };
    const ink = inked(await drawn(layer, 'label-maplibre'), [200, 30, 10]);
    expect(ink.count).toBeGreaterThan(1500);
    // Capitals of 0.714 em, in the middle of 400 x 200 pixels.
    expect(ink.bottom - ink.top + 1).toBeGreaterThanOrEqual(33);
    expect(ink.bottom - ink.top + 1).toBeLessThanOrEqual(38);
    expect(Math.abs((ink.top + ink.bottom) / 2 - 100)).toBeLessThan(3);
    expect(Math.abs((ink.left + ink.right) / 2 - 200)).toBeLessThan(4);
  });

  it('shows scripts beyond Latin', async () => {
    const layer = {
      id: 'label',
      type: 'symbol',
      source: 'one',
      layout: {
        'text-field': 'Ελλάδα Україна\nქართული\nհայ עברית አማ',
        'text-size': 30,
        'text-font': ['Noto Sans Regular'],
        'text-max-width': 40,
      },
      paint: { 'text-color': '#16262c', 'text-halo-color': '#ffd27f', 'text-halo-width': 2 },
    };
    const picture = await drawn(layer, 'label-scripts');
    expect(inked(picture, [22, 38, 44]).count).toBeGreaterThan(1500);
    expect(inked(picture, [255, 210, 127]).count).toBeGreaterThan(1500);
  });

  it('has icons in the colour and size of the style', async () => {
    const layer = {
      id: 'icon',
      type: 'symbol',
      source: 'one',
      layout: { 'icon-image': 'mark-square', 'icon-size': 3 },
      paint: { 'icon-color': '#0f6675' },
    };
    const ink = inked(await drawn(layer, 'icon-maplibre'), [15, 102, 117]);
    expect(ink.right - ink.left + 1).toBeGreaterThanOrEqual(47);
    expect(ink.right - ink.left + 1).toBeLessThanOrEqual(49);
    expect(ink.count / 48 ** 2).toBeGreaterThan(0.95);
  });
});
