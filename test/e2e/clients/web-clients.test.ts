import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from '../../support/browser.js';
import { middleColours, openSavedPage } from '../../support/saved-page.js';
import { type SharedServer, sharedServer } from '../../support/shared-server.js';
import { run } from '../support/http.js';

/** The map libraries of browsers hold the features that the file has: of pages of features, and of tiles. */

/** Far more than any of them takes. */
const READ_MS = 150_000;
const WORLD = 'demo/data/world_map.gpkg';

/** What a page of `pages` tells of its map. */
interface ClientReport {
  /** Ids of all countries, from GeoJSON. */
  features: number[];
  /** Ids of the states in the vector tiles that it loaded; absent for a library that reads none. */
  tileFeatures?: number[];
  /** Ids of the states that are drawn at 8 E 47 N. */
  middle?: number[];
  paths?: number;
}

let server: SharedServer;
let browser: Browser;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-web-clients-'));
  server = await sharedServer();
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

type Tile = readonly [z: number, x: number, y: number];

/** Opens the page of a library, and returns what it read, the tiles that it asked for, and how much it drew. */
async function readWith(library: string) {
  const page = readFileSync(`test/e2e/clients/pages/${library}.html`, 'utf8');
  const file = join(folder, `${library}.html`);
  writeFileSync(file, page.replaceAll('http://localhost:8080', server.url));
  const { page: opened, requests, problems } = await openSavedPage(browser, file);
  await opened.waitForFunction('window.read');
  const late = pause(READ_MS).then(() => Promise.reject(new Error(`the map is not complete: ${problems}`)));
  const reading = (await Promise.race([opened.evaluate('window.read()'), late])) as ClientReport;
  const tilesOf = (extension: string) =>
    requests.flatMap((url): Tile[] => {
      const [, z, x, y] = new RegExp(String.raw`/(\d+)/(\d+)/(\d+)(?:\.${extension}|$)`).exec(url) ?? [];
      return z === undefined || (extension === 'png') !== url.endsWith('.png')
        ? []
        : [[Number(z), Number(x), Number(y)]];
    });
  const colours = await middleColours(opened);
  await opened.context().close();
  return { ...reading, vectors: tilesOf('mvt'), images: tilesOf('png'), colours: colours.size, problems };
}

/** Degrees of a tile that is grown on each side by a part of itself. */
function boundsOf([z, x, y]: Tile, grown: number): string[] {
  const longitude = (column: number) => (column / 2 ** z) * 360 - 180;
  const latitude = (row: number) =>
    (Math.atan(Math.sinh(Math.PI * (1 - (2 * row) / 2 ** z))) * 180) / Math.PI;
  return [longitude(x - grown), latitude(y + 1 + grown), longitude(x + 1 + grown), latitude(y - grown)].map(
    String,
  );
}

/** Ids of a table that OGR finds; those that meet one of the boxes when there are some. */
async function idsInFile(table: string, boxes: string[][] = []): Promise<Set<number>> {
  const ids = new Set<number>();
  for (const box of boxes.length > 0 ? boxes : [[]]) {
    const window = box.length > 0 ? ['-spat', ...box] : [];
    const text = await run('ogrinfo', ['-ro', '-q', '-geom=NO', '-fields=NO', ...window, WORLD, table]);
    for (const [, id] of text.matchAll(/^OGRFeature\(\w+\):(\d+)/gm)) ids.add(Number(id));
  }
  return ids;
}

const sorted = (ids: Iterable<number>) => [...new Set(ids)].sort((a, b) => a - b);

describe.each(['maplibre', 'openlayers', 'leaflet', 'deckgl'])('%s', (library) => {
  it('holds each feature of a page of features once, and those of the tiles that it loads', async () => {
    const read = await readWith(library);
    expect(read.problems).toEqual([]);
    expect(read.features).toHaveLength(240);
    expect(sorted(read.features)).toEqual(sorted(await idsInFile('countries')));
    expect(read.images.length).toBeGreaterThan(3);
    expect(read.colours).toBeGreaterThan(1);
    if (library === 'leaflet') return expect(read.paths).toBe(240);

    expect(read.vectors.length).toBeGreaterThan(0);
    const boxes = (grown: number) => read.vectors.map((tile) => boundsOf(tile, grown));
    const [inside, around] = [
      await idsInFile('states_provinces', boxes(-1 / 4096)),
      await idsInFile('states_provinces', boxes(1 / 16)),
    ];
    const states = new Set(read.tileFeatures);
    expect(states.size).toBeGreaterThan(50);
    expect(sorted([...inside].filter((id) => !states.has(id)))).toEqual([]);
    expect(sorted([...states].filter((id) => !around.has(id)))).toEqual([]);
    expect(sorted(read.middle!)).toEqual(
      sorted(await idsInFile('states_provinces', [['8', '47', '8', '47']])),
    );
  });
});
