import {
  closeSync,
  copyFileSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeMBTiles, tilesOf, writePMTiles } from '../../support/archives.js';
import { startServer, type TestServer } from '../../support/server.js';
import { isFullRun } from '../../support/soak.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-damaged-'));
const original = mkdtempSync(join(tmpdir(), 'graticule-whole-'));
let server: TestServer;
/** Ids of tiles and maps, by title. */
const numbers = new Map<string, string>();

/** Files, and what is asked of the collection that is made of each. */
const FILES: Record<string, { title: string; asked(number: string): string[] }> = {
  'world_map.gpkg': {
    title: 'Countries',
    asked: (number) => [
      '/ogc/features/collections/countries/items?limit=2000',
      '/ogc/features/collections/countries/items?filter=NAME%20LIKE%20%27S%25%27',
      '/ogc/features/collections/countries/items?bbox=0,0,20,20&f=gml',
      '/ogc/features/collections/countries/items/1',
      '/ogc/features/collections/countries/h3?resolution=1',
      `/ogc/tiles/collections/${number}/tiles/WebMercatorQuad/2/1/2`,
      `/ogc/tiles/collections/${number}/tiles/WebMercatorQuad/1/0/1?f=png`,
      `/ogc/maps/collections/${number}/map`,
    ],
  },
  'L7_ETMs.tif': {
    title: 'L7 ETMs',
    asked: (number) => [
      '/ogc/coverages/collections/l7_etms/coverage',
      '/ogc/coverages/collections/l7_etms/coverage?scale-size=50,50&f=png',
      `/ogc/maps/collections/${number}/map`,
      `/ogc/maps/collections/${number}/map?width=64&height=64&bgcolor=0x112233`,
    ],
  },
  'bcsd_obs_1999.nc': {
    title: 'Bcsd obs 1999',
    asked: (number) => [
      '/ogc/coverages/collections/bcsd_obs_1999/coverage',
      `/ogc/maps/collections/${number}/map`,
    ],
  },
  'boxes.mbtiles': {
    title: 'Boxes',
    asked: (number) =>
      [2, 3].map((row) => `/ogc/tiles/collections/${number}/tiles/WebMercatorQuad/2/1/${row}`),
  },
  'heaps.pmtiles': {
    title: 'Heaps',
    asked: (number) =>
      [2, 3].map((row) => `/ogc/tiles/collections/${number}/tiles/WebMercatorQuad/2/1/${row}`),
  },
};

/** What happens to a file behind the server's back: its inode stays, its content does not. */
const DAMAGES: Record<string, (path: string) => void> = {
  'cut to a third': (path) => truncateSync(path, Math.floor(statSync(path).size / 3)),
  'cut to nothing': (path) => truncateSync(path, 0),
  'overwritten with noise behind its head': (path) => overwrite(path, 8192),
  'overwritten with noise': (path) => overwrite(path, 0),
};

function overwrite(path: string, from: number): void {
  const bytes = Buffer.alloc(Math.max(statSync(path).size - from, 0));
  for (let i = 0; i < bytes.length; i++) bytes[i] = (i * 2654435761) >>> 24;
  const file = openSync(path, 'r+');
  writeSync(file, bytes, 0, bytes.length, from);
  closeSync(file);
}

beforeAll(async () => {
  copyFileSync('demo/data/world_map.gpkg', join(original, 'world_map.gpkg'));
  copyFileSync('demo/data/L7_ETMs.tif', join(original, 'L7_ETMs.tif'));
  copyFileSync('demo/data/years/bcsd_obs_1999.nc', join(original, 'bcsd_obs_1999.nc'));
  makeMBTiles(join(original, 'boxes.mbtiles'));
  writePMTiles(join(original, 'heaps.pmtiles'), tilesOf(join(original, 'boxes.mbtiles')));
  for (const name of Object.keys(FILES)) copyFileSync(join(original, name), join(folder, name));
  // Nothing notices the damage: what is asked meets the damaged file.
  server = await startServer({
    sources: [folder],
    env: { SVC_DATA__WATCH: 'false', SVC_CACHE__TILE_BYTES: '0' },
  });
  const { collections } = await (await fetch(`${server.url}/ogc/tiles/collections`)).json();
  for (const { id, title } of collections) numbers.set(title, String(id));
});

afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
  rmSync(original, { recursive: true, force: true });
});

const ask = async (path: string) => {
  const response = await fetch(`${server.url}${path}`);
  return {
    status: response.status,
    type: response.headers.get('content-type') ?? '',
    text: await response.text(),
  };
};

const IS_FULL = isFullRun(import.meta.url);
/** A brief run damages each file once, in turns in each way. */
const CASES = Object.keys(FILES).flatMap((name, i) =>
  Object.keys(DAMAGES).map((damage, k) => [name, damage, IS_FULL || k === i % 4] as const),
);

describe('a published file that is damaged in its place', () => {
  describe.each(CASES)('%s, %s', (name, damage, isRun) => {
    it.runIf(isRun)('answers 503 with a reason, or what can still be read; never 500', async () => {
      const path = join(folder, name);
      const { title, asked } = FILES[name]!;
      const paths = asked(numbers.get(title)!);
      for (const one of paths) expect([one, (await ask(one)).status]).toEqual([one, 200]);
      DAMAGES[damage]!(path);
      for (const one of paths) {
        const { status, type, text } = await ask(one);
        expect([200, 204, 404, 503], `${one}: ${text.slice(0, 300)}`).toContain(status);
        if (status !== 503) continue;
        expect(type).toBe('application/problem+json');
        expect(JSON.parse(text).detail).not.toContain(folder);
      }
      writeFileSync(path, readFileSync(join(original, name)));
      for (const one of paths)
        await expect
          .poll(async () => [one, (await ask(one)).status], { timeout: 20_000 })
          .toEqual([one, 200]);
    });
  });
});
