import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VectorTile } from '@mapbox/vector-tile';
import { PbfReader } from 'pbf';
import { afterAll, beforeAll, expect, it } from 'vitest';
import Database from '../../src/native/sqlite.js';
import { randomNumbers } from '../support/random.js';
import { startServer, type TestServer } from '../support/server.js';

/** Copies store rows along a Hilbert curve; for everybody who reads them, order and ids are those of the file. */

const ROWS = 12_000;
const random = randomNumbers(16);
const points = Array.from({ length: ROWS }, (_, i) => ({
  n: i + 1,
  x: Math.round(random() * 3600 - 1800) / 10,
  y: Math.round(random() * 1600 - 800) / 10,
}));
const NUMBERED = [17, 5, 99, 40];

const folder = mkdtempSync(join(tmpdir(), 'graticule-order-'));
let server: TestServer;

beforeAll(async () => {
  const lines = points.map(({ n, x, y }) => `${n},${n % 7},${x},${y}`);
  writeFileSync(join(folder, 'places.csv'), `n,rest,lon,lat\n${lines.join('\n')}\n`);
  const features = NUMBERED.map((id, i) => ({
    type: 'Feature',
    id,
    properties: { place: i },
    geometry: { type: 'Point', coordinates: [10 - i, 50 + i] },
  }));
  writeFileSync(join(folder, 'numbered.geojson'), JSON.stringify({ type: 'FeatureCollection', features }));
  server = await startServer({ sources: [folder] });
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Page {
  features: { id: number; properties: { n: number } }[];
  links: { rel: string; href: string }[];
  numberMatched?: number;
}

const get = async (url: string) => (await (await fetch(url)).json()) as Page;
const items = (query: string, id = 'places') =>
  `${server.url}/ogc/features/collections/${id}/items${query && '?'}${query}`;

/** Ids of all features of a listing, page by page. */
async function walk(query: string): Promise<number[]> {
  const ids: number[] = [];
  for (let next: string | undefined = items(query); next; ) {
    const page: Page = await get(next);
    for (const { id, properties } of page.features) {
      expect(properties.n).toBe(id);
      ids.push(id);
    }
    next = page.links.find(({ rel }) => rel === 'next')?.href;
  }
  return ids;
}

const inside = (side: number) =>
  points.filter(({ x, y }) => Math.abs(x) <= side && Math.abs(y) <= side).map(({ n }) => n);

it('pages come in the order of the rows of the file', async () => {
  expect(await walk('limit=1999')).toEqual(points.map(({ n }) => n));
  expect(await walk('limit=700&filter=rest=3')).toEqual(
    points.filter(({ n }) => n % 7 === 3).map(({ n }) => n),
  );
});

it.each([5, 60, 170])('so do those of a box of %i degrees', async (side) => {
  expect(
    await walk(`limit=500&bbox=${[-side, -Math.min(side, 90), side, Math.min(side, 90)].join()}`),
  ).toEqual(inside(side));
});

it('backwards, by number and sorted, too', async () => {
  const third = await get(items('limit=10&offset=20'));
  expect(third.features.map(({ id }) => id)).toEqual([21, 22, 23, 24, 25, 26, 27, 28, 29, 30]);
  const back = third.links.find(({ rel }) => rel === 'prev')!;
  expect((await get(back.href)).features.map(({ id }) => id)).toEqual([
    11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
  ]);
  const sorted = await get(items('limit=3&sortby=-rest&filter=n%20<%2020'));
  expect(sorted.features.map(({ id }) => id)).toEqual([6, 13, 1 + 4]);
  expect((await get(items('ids=7,4711'))).features.map(({ id }) => id)).toEqual([7, 4711]);
});

it('an id names the row of its number', async () => {
  const feature = (await (await fetch(items('').replace('/items', '/items/4711'))).json()) as {
    properties: { n: number };
  };
  expect(feature.properties.n).toBe(4711);
  const none = await fetch(items('').replace('/items', `/items/${ROWS + 1}`));
  expect(none.status).toBe(404);
});

it('ids that a file gives stay', async () => {
  const page = await get(items('', 'numbered'));
  expect(page.features.map(({ id }) => id)).toEqual([...NUMBERED].sort((a, b) => a - b));
  const { properties } = (await (await fetch(`${items('', 'numbered')}/99`)).json()) as {
    properties: Record<string, unknown>;
  };
  expect(properties).toEqual({ place: 2 });
});

it.each([0, 6])('tiles of zoom %i have the same ids, and no column of the store', async (zoom) => {
  const cell = 2 ** zoom / 2;
  const response = await fetch(
    `${server.url}/ogc/tiles/collections/places/tiles/WebMercatorQuad/${zoom}/${Math.floor(cell)}/${Math.floor(cell)}`,
  );
  const layer = new VectorTile(new PbfReader(await response.arrayBuffer())).layers['places']!;
  expect(layer.length).toBeGreaterThan(0);
  for (let i = 0; i < layer.length; i++) {
    const { id, properties } = layer.feature(i);
    expect(properties).toEqual({ n: id, rest: id! % 7 });
  }
});

it('rows that are neighbours in the file of the copy are neighbours on Earth', () => {
  const copies = readdirSync(join(server.dataDir, 'converted')).filter((file) => file.endsWith('.gpkg'));
  const distances = copies.flatMap((file) => {
    const db = new Database(join(server.dataDir, 'converted', file), { readonly: true });
    const has = db.prepare("SELECT count(*) FROM sqlite_master WHERE name = 'places'").pluck().get();
    const ids = has
      ? (db.prepare('SELECT n FROM places ORDER BY graticule_row').pluck().all() as number[])
      : [];
    db.close();
    return ids.slice(1).map((id, i) => {
      const [a, b] = [points[id - 1]!, points[ids[i]! - 1]!];
      return Math.hypot(a.x - b.x, a.y - b.y);
    });
  });
  expect(distances).toHaveLength(ROWS - 1);
  expect(distances.reduce((sum, one) => sum + one, 0) / distances.length).toBeLessThan(10);
});

it('an export has the rows in the order of the file, and no column of the store', () => {
  const out = join(folder, 'out.csv');
  execFileSync(process.execPath, [
    'dist/cli/main.js',
    'export',
    'places',
    out,
    '--source',
    folder,
    '--data-dir',
    join(folder, 'data'),
  ]);
  const text = execFileSync('ogrinfo', ['-q', '-al', out], { encoding: 'utf8', maxBuffer: 1 << 26 });
  const numbers = [...text.matchAll(/ n \(String\) = (\d+)/g)].map(([, n]) => Number(n));
  expect(numbers).toEqual(points.map(({ n }) => n));
  expect(text).not.toMatch(/graticule_row|fid \(/);
});
