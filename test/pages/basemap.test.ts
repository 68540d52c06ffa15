import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VectorTile } from '@mapbox/vector-tile';
import { PbfReader } from 'pbf';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config/config.js';
import { basemapSetting, parseUrlOrigin } from '../../src/core/maps/basemap.js';
import { configuredBasemap } from '../../src/services/maps/basemap.js';
import { launchBrowser, watchedPage } from '../support/browser.js';
import { startServer, type TestServer } from '../support/server.js';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-basemap-'));
  const features = [
    {
      type: 'Feature',
      properties: { name: 'Bern' },
      geometry: { type: 'Point', coordinates: [7.45, 46.95] },
    },
    {
      type: 'Feature',
      properties: { name: 'Chur' },
      geometry: { type: 'Point', coordinates: [9.53, 46.85] },
    },
  ];
  writeFileSync(join(folder, 'towns.geojson'), JSON.stringify({ type: 'FeatureCollection', features }));
});

afterAll(() => rmSync(folder, { recursive: true }));

describe('the setting', () => {
  it.each([
    ['own', 'own'],
    ['none', 'none'],
    ['https://tiles.example/{z}/{x}/{y}.png?key=1', 'tiles'],
    ['https://tiles.example:8443/style.json', 'style'],
    ['maps/quiet.json', 'file'],
  ])('%s is of kind %s', (text, kind) => {
    expect(basemapSetting(text)?.kind).toBe(kind);
  });

  it.each([
    'osm',
    'ftp://tiles.example/style.json',
    'https://tiles.example/{z}/{x}.png',
    'https://tiles.example/{z}/{x}/{y}.pbf',
    "https://tiles.example;script-src 'unsafe-inline'/style.json",
    'https://user:secret@tiles.example/style.json',
    'https://{s}.tiles.example/{z}/{x}/{y}.png',
  ])('%s is refused, by its name', (text) => {
    expect(() => loadConfig({ flags: { 'pages.basemap': text } })).toThrow(/pages\.basemap/);
  });

  it('names only origins that can stand in a policy', () => {
    expect(parseUrlOrigin('https://Tiles.Example/a?b')).toBe('https://tiles.example');
    expect(parseUrlOrigin('https://tiles.example, *')).toBeUndefined();
    expect(parseUrlOrigin('data:text/plain,1')).toBeUndefined();
  });

  it('of a file is refused when the file is no style, and tells where the style loads from', () => {
    const file = join(folder, 'style.json');
    const use = (style: unknown) => {
      writeFileSync(file, JSON.stringify(style));
      return configuredBasemap({ basemap: file, attribution: '' });
    };
    expect(() => use({ version: 8 })).toThrow(
      /pages\.basemap: \S+\/style\.json is not a MapLibre style: missing required property "sources"/,
    );
    expect(() => configuredBasemap({ basemap: join(folder, 'none.json'), attribution: '' })).toThrow(
      /cannot be read/,
    );
    const sources = {
      roads: { type: 'vector', url: 'https://a.example/tiles.json' },
      shade: { type: 'raster', tiles: ['https://b.example/{z}/{x}/{y}.png'] },
    };
    const glyphs = 'https://a.example/{fontstack}/{range}.pbf';
    const { origins } = use({ version: 8, sources, glyphs, sprite: 'https://c.example/sprite', layers: [] });
    expect([...origins].sort()).toEqual(['https://a.example', 'https://b.example', 'https://c.example']);
  });
});

describe('the base map of our own', () => {
  let server: TestServer;
  let browser: Browser;

  beforeAll(async () => {
    server = await startServer({ sources: [join(folder, 'towns.geojson')] });
    browser = await launchBrowser();
  }, 60_000);

  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  const tile = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${server.url}/basemap/${path}`, { headers });

  it('has land, coasts, borders and names, the same bytes each time', async () => {
    const first = await tile('2/2/1');
    expect(first.headers.get('content-type')).toBe('application/vnd.mapbox-vector-tile');
    const layers = new VectorTile(new PbfReader(new Uint8Array(await first.arrayBuffer()))).layers;
    expect(Object.keys(layers).sort()).toEqual(['borders', 'coast', 'land', 'names']);
    const names = Array.from(
      { length: layers.names!.length },
      (_, i) => layers.names!.feature(i).properties.name,
    );
    expect(names).toContain('France');
    const again = await tile('2/2/1', { 'if-none-match': first.headers.get('etag')! });
    expect(again.status).toBe(304);
  });

  it('has an empty answer for the sea, and 404 for what is not there', async () => {
    expect((await tile('6/28/34')).status).toBe(204);
    expect((await tile('7/0/0')).status).toBe(404);
    expect((await tile('1/2/0')).status).toBe(404);
    expect((await tile('1/x/0')).status).toBe(400);
    expect((await tile('style.json')).status).toBe(404);
  });

  it('has no land beyond the antimeridian: no part of a country goes around the world', async () => {
    const answer = await tile('0/0/0');
    const { land, coast } = new VectorTile(new PbfReader(new Uint8Array(await answer.arrayBuffer()))).layers;
    for (const layer of [land!, coast!])
      for (let i = 0; i < layer.length; i++)
        for (const line of layer.feature(i).loadGeometry())
          for (const [at, point] of line.entries()) {
            const before = line[at - 1];
            // Antarctica's edge at the pole is as wide as the world.
            if (before && point.y < 3900) expect(Math.abs(point.x - before.x)).toBeLessThan(2048);
          }
  });

  it('is no collection, and lies under the map of one, which opens where its data is and stays there', async () => {
    const { collections } = (await (await fetch(`${server.url}/ogc/tiles/collections`)).json()) as {
      collections: unknown[];
    };
    expect(collections).toHaveLength(1);
    const { page, problems } = await watchedPage(browser, server.url, {
      viewport: { width: 1280, height: 800 },
    });
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.goto(`${server.url}/ogc/features/collections/towns/items?f=html`);
    await idle(page);
    const zooms = asked.flatMap((path) => /^\/basemap\/(\d+)\//.exec(path)?.[1] ?? []);
    // A map that began elsewhere would have asked for tiles of there.
    expect(new Set(zooms)).toEqual(new Set(['6']));
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it('shows one world, not two, on a wide screen', async () => {
    const { page } = await watchedPage(browser, server.url, { viewport: { width: 1600, height: 700 } });
    await page.goto(`${server.url}/ogc/maps/viewer#map=0/0/0`);
    await idle(page);
    await page.locator('.maplibregl-canvas').press('ArrowRight');
    await page.waitForFunction(() => /map=1\.6/.test(location.hash));
    await page.context().close();
  });
});

async function idle(page: Page): Promise<void> {
  await page.locator('[data-map-state="idle"]').waitFor({ timeout: 60_000 });
}

describe('a base map of others', () => {
  let other: Server;
  let origin: string;
  let browser: Browser;
  let server: TestServer | undefined;
  const asked: string[] = [];
  const pixel = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  );

  beforeAll(async () => {
    other = createServer((request, response) => {
      asked.push(request.url!);
      response.setHeader('access-control-allow-origin', '*');
      if (request.url!.endsWith('.json')) {
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify(theirStyle()));
      } else {
        response.setHeader('content-type', 'image/png');
        response.end(pixel);
      }
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    browser = await launchBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await server?.stop();
    other.close();
  });

  function theirStyle() {
    const sources = { picture: { type: 'raster', tiles: ['/pictures/{z}/{x}/{y}.png'], tileSize: 256 } };
    return { version: 8, sources, layers: [{ id: 'picture', type: 'raster', source: 'picture' }] };
  }

  /** Starts the server with these settings, or has it take them over. */
  async function settle(pages: { basemap: string; attribution?: string }): Promise<TestServer> {
    const config = join(folder, 'graticule.yaml');
    writeFileSync(config, JSON.stringify({ pages }));
    if (!server) {
      server = await startServer({ sources: [join(folder, 'towns.geojson')], args: ['--config', config] });
      return server;
    }
    const reloads = () => server!.log().split('the catalog was reloaded').length;
    const before = reloads();
    server.reload();
    await expect.poll(reloads, { timeout: 30_000 }).toBe(before + 1);
    return server;
  }

  async function shown(basemap: string, attribution?: string) {
    const { url } = await settle({ basemap, ...(attribution ? { attribution } : {}) });
    const { page } = await watchedPage(browser, url, {});
    const complaints: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    try {
      const answer = await page.goto(`${url}/ogc/features/collections/towns?f=html`);
      await idle(page);
      const attribution = page.locator('.maplibregl-ctrl-attrib-inner');
      return {
        policy: (await answer!.allHeaders())['content-security-policy']!,
        attribution: (await attribution.count()) > 0 ? await attribution.innerHTML() : '',
        complaints,
      };
    } finally {
      await page.context().close();
    }
  }

  it('of image tiles is loaded from where they are, and from nowhere else, and named', async () => {
    asked.length = 0;
    const { policy, attribution, complaints } = await shown(
      `${origin}/tiles/{z}/{x}/{y}.png`,
      '© Mappers & <b>friends</b>',
    );
    expect(policy).toContain(`connect-src 'self' ${origin};`);
    expect(policy).toContain(`img-src 'self' data: blob: ${origin};`);
    expect(policy).toContain("script-src 'self';");
    expect(asked.some((path) => /^\/tiles\/\d+\/\d+\/\d+\.png$/.test(path))).toBe(true);
    expect(attribution).toContain('© Mappers &amp; &lt;b&gt;friends&lt;/b&gt;');
    expect(complaints).toEqual([]);
  });

  it('in a style is drawn as the style says', async () => {
    asked.length = 0;
    const { complaints } = await shown(`${origin}/style.json`);
    expect(asked).toContain('/style.json');
    expect(asked.some((path) => path.startsWith('/pictures/'))).toBe(true);
    expect(complaints).toEqual([]);
  });

  it('in a file comes through this server', async () => {
    const file = join(folder, 'theirs.json');
    const { sources, ...style } = theirStyle();
    const picture = { ...sources.picture, tiles: [`${origin}/pictures/{z}/{x}/{y}.png`] };
    writeFileSync(file, JSON.stringify({ ...style, sources: { picture } }));
    asked.length = 0;
    const { policy, complaints } = await shown(file);
    expect(policy).toContain(`connect-src 'self' ${origin};`);
    expect(asked.some((path) => path.startsWith('/pictures/'))).toBe(true);
    expect(complaints).toEqual([]);
  });

  it('can be none', async () => {
    asked.length = 0;
    const { policy, complaints } = await shown('none');
    expect(policy).toContain("connect-src 'self';");
    expect(asked).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
