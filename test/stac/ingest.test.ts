import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { gridItem, square, writeTree } from './catalog-files.js';
import { type Json, stacClient } from './support.js';

const ITEMS = 10_000;

let folder: string;
let server: TestServer;
const { get, json, found, refusal } = stacClient(() => server);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-stac-'));
  const data = join(folder, 'data');
  writeTree(join(data, 'tree'));
  mkdirSync(join(data, 'lists'), { recursive: true });
  const grid = Array.from({ length: ITEMS }, (_, n) => JSON.stringify(gridItem(n, { collection: 'grid' })));
  writeFileSync(join(data, 'lists', 'grid.ndjson'), grid.join('\n'));
  const features = [gridItem(1, { collection: 'listed' }), gridItem(2), { type: 'Feature', id: 'no item' }];
  writeFileSync(
    join(data, 'lists', 'some.json'),
    JSON.stringify({ type: 'FeatureCollection', stac_version: '1.0.0', features }),
  );
  const scene = (n: number, acquired: string | null) => ({
    type: 'Feature',
    geometry: square(n, n, 1),
    properties: { acquired, path: `scene-${n}.tif` },
  });
  // A footprint without a position is no item.
  const nowhere = { ...scene(4, '2020-06-01'), geometry: { type: 'Polygon', coordinates: [] } };
  const scenes = [scene(1, '2020-05-01'), scene(2, '2021-05-01'), scene(3, null), nowhere];
  writeFileSync(
    join(data, 'lists', 'footprints.geojson'),
    JSON.stringify({ type: 'FeatureCollection', features: scenes }),
  );
  writeFileSync(join(data, 'lists', 'alone.json'), JSON.stringify(gridItem(3)));
  server = await startServer({ sources: [data] });
}, 180_000);

afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('a catalog tree', () => {
  it('is read with what its collection says', async () => {
    const collection = await json('/collections/scenes-of-mars');
    expect(collection).toMatchObject({ title: 'Scenes', license: 'CC-BY-4.0', keywords: ['mars'] });
    expect(collection.extent.temporal.interval).toEqual([['2020-01-01T00:00:00Z', null]]);
    expect(await found('collections=scenes-of-mars')).toEqual(['scenes-of-mars/a', 'scenes-of-mars/b']);
  });

  it('has hrefs that lead to files of its folder, and only there', async () => {
    const { assets, links } = await json('/collections/scenes-of-mars/items/a');
    expect(Object.keys(assets)).toEqual(['data', 'remote']);
    expect(assets.remote.href).toBe('s3://bucket/a.tif');
    expect(await (await get(assets.data.href)).text()).toBe('the pixels of a');
    for (const key of ['outside', 'link', 'script', 'remote'])
      expect((await get(`/collections/scenes-of-mars/items/a/assets/${key}`)).status, key).toBe(404);
    expect(links.map((one: Json) => one.rel)).toEqual([
      'self',
      'parent',
      'collection',
      'root',
      'derived_from',
    ]);
  });

  it('has footprints on the other surfaces, without the items as attributes', async () => {
    const page: Json = await (
      await fetch(`${server.url}/ogc/features/collections/scenes-of-mars/items?limit=1`)
    ).json();
    expect(page.features[0].properties).toMatchObject({ stac_id: 'a', platform: 'even' });
    expect(Object.keys(page.features[0].properties)).not.toContain('stac_item');
    const edit = await fetch(`${server.url}/ogc/features/collections/scenes-of-mars/items/1`, {
      method: 'DELETE',
      headers: { 'x-api-key': server.adminKey },
    });
    expect(edit.status).toBeGreaterThanOrEqual(400);
  });

  it('says what was left out, and why', async () => {
    const log = server.log();
    for (const reason of [
      /broken\.json.*not JSON/,
      /undated\.json.*datetime is null/,
      /ring\.json.*omitted/,
      /scenes-of-mars\/a|Scenes of Mars\/a/,
      /169\.254\.169\.254.*not relative/,
      /outside\.json.*outside the folder/,
      /secret\.json.*outside the folder/,
      /gone\.json.*no such file/,
      /alone\.json.*A single STAC item/,
    ])
      expect(log).toMatch(reason);
    expect(await found('ids=outside')).toEqual([]);
  });
});

describe('polygons with a date', () => {
  it('are items when they have both', async () => {
    const { features } = await json('/search?collections=footprints&sortby=datetime');
    expect(features.map((one: Json) => [one.properties.datetime, one.bbox])).toEqual([
      ['2020-05-01T00:00:00Z', [1, 1, 2, 2]],
      ['2021-05-01T00:00:00Z', [2, 2, 3, 3]],
    ]);
    expect(await found("collections=footprints&filter=path='scene-2.tif'")).toHaveLength(1);
    expect((await get(features[0].assets.feature.href)).status).toBe(200);
    expect(await found('collections=footprints&datetime=2021-01-01T00:00:00Z/..')).toHaveLength(1);
  });
});

describe('graticule import', () => {
  it('makes a store of a catalog, which is published', async () => {
    const dataDir = join(folder, 'imported');
    const run = (...args: string[]) =>
      spawnSync(process.execPath, ['dist/cli/main.js', 'import', ...args, '--data-dir', dataDir], {
        encoding: 'utf8',
      });
    const tree = join(folder, 'data', 'tree', 'catalog.json');
    const { stdout, stderr, status } = run(tree, '--name', 'scenes');
    expect([status, stdout]).toEqual([0, expect.stringContaining('imported 2 STAC items')]);
    expect(stderr).toMatch(/undated\.json.*datetime is null/);
    expect(run(tree, '--name', 'scenes').status).not.toBe(0);
    const published = await startServer({ sources: [], dataDir });
    try {
      const response = await fetch(`${published.url}/stac/collections/scenes-of-mars/items/a`);
      const item: Json = await response.json();
      // Files beside the catalog are not published by its import.
      expect(Object.keys(item.assets)).toEqual(['remote']);
    } finally {
      await published.stop();
    }
  }, 120_000);
});

describe('lists of items', () => {
  it('name their collections', async () => {
    expect(await found('collections=listed,some')).toEqual(['listed/item-1', 'some/item-2']);
  });

  it('are found by every parameter', async () => {
    const all = await json('/search?collections=grid');
    expect(all.numberMatched).toBe(ITEMS);
    expect((await json('/search?collections=grid&bbox=10.2,10.2,10.4,10.4')).numberMatched).toBe(0);
    expect(await found('collections=grid&bbox=-179.8,-84.8,-179.7,-84.7')).toEqual(['grid/item-0']);
    const january = 'datetime=2000-01-01T00:00:00Z/2000-01-31T00:00:00Z';
    expect((await json(`/search?collections=grid&${january}`)).numberMatched).toBe(31);
    const filter = encodeURIComponent("eo:cloud_cover < 5 AND platform = 'even'");
    expect((await json(`/search?collections=grid&filter=${filter}`)).numberMatched).toBe((ITEMS / 100) * 3);
    expect(
      await found({ collections: ['grid'], sortby: [{ field: 'datetime', direction: 'desc' }], limit: 1 }),
    ).toEqual([`grid/item-${ITEMS - 1}`]);
    const arrays = { op: 'a_contains', args: [{ property: 'instruments' }, ['msi']] };
    expect(await found({ collections: ['grid'], filter: arrays, limit: 2 })).toHaveLength(2);
  });

  it('are walked once, whatever their order', async () => {
    for (const order of ['', '&sortby=-eo:cloud_cover', '&sortby=platform,-datetime']) {
      const seen = new Set<string>();
      let next: string | undefined = `/search?collections=grid&limit=3333&fields=id${order}`;
      while (next) {
        const page: Json = await json(next);
        for (const { id } of page.features) seen.add(id);
        next = page.links.find((one: Json) => one.rel === 'next')?.href;
      }
      expect(seen.size, order).toBe(ITEMS);
    }
  });

  it('have queryables of their own', async () => {
    const { properties } = await json('/collections/grid/queryables');
    expect(properties['eo:cloud_cover']).toMatchObject({ type: 'number' });
    expect(await refusal('/search?collections=listed&filter=nope%3D1')).toEqual([400, 'filter']);
  });
});
