import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Collection } from '../../../src/core/catalog/collection.js';
import type { Box } from '../../../src/core/geometry/box.js';
import { findStatedCrsEntry, mergeStatedCrs } from '../../../src/core/geometry/stated-crs.js';
import type { Pools } from '../../../src/core/tasks/tasks.js';
import { listCrs } from '../../../src/native/index.js';
import { ChosenCrsStore } from '../../../src/services/catalog/crs/chosen-crs.js';
import { CrsList } from '../../../src/services/catalog/crs/crs-list.js';
import { listGridGuesses, listGuesses } from '../../../src/services/catalog/inspections/guess-crs.js';
import { openState, type State } from '../../../src/stores/state/state.js';
import { stateWorker } from '../../support/state.js';

describe('CRSs that operators choose', () => {
  const folder = mkdtempSync(join(tmpdir(), 'graticule-chosen-crs-'));
  const open = () => openState(join(folder, 'state.db'), stateWorker());
  let state: State;
  beforeAll(async () => {
    state = await open();
  });
  afterAll(async () => {
    await state.close();
    rmSync(folder, { recursive: true });
  });

  it('are kept across restarts, by file and layer, and announced with the file', async () => {
    const store = new ChosenCrsStore(state.documents);
    await store.put('/data/a#b.gpkg', 'parcels', 'EPSG:25832', 'api-key:1');
    await store.put('/data/a#b.gpkg', 'roads', 'EPSG:27700', 'api-key:1');
    await store.put('/data/c.shp', '', 'EPSG:2056', 'api-key:1');
    expect(await state.announcements.after(0)).toMatchObject([
      { topic: 'catalog', subject: { changes: [{ source: '/data/a#b.gpkg' }] } },
      { topic: 'catalog' },
      { topic: 'catalog', subject: { changes: [{ source: '/data/c.shp' }] } },
    ]);
    await state.close();
    state = await open();
    const again = new ChosenCrsStore(state.documents);
    await again.load();
    expect(again.of('/data/a#b.gpkg')).toEqual({ parcels: 'EPSG:25832', roads: 'EPSG:27700' });
    expect(await again.find('/data/c.shp', '')).toMatchObject({ crs: 'EPSG:2056', by: 'api-key:1' });
    expect(await again.remove('/data/c.shp', '')).toBe(true);
    expect(await again.remove('/data/c.shp', '')).toBe(false);
    await again.load();
    expect(again.of('/data/c.shp')).toEqual({});
  });

  it.each([
    [{}, { '': 'EPSG:2' }, { '': 'EPSG:2' }],
    [{ '': 'EPSG:1' }, { roads: 'EPSG:2' }, { '': 'EPSG:1' }],
    [{ roads: 'EPSG:1' }, { roads: 'EPSG:2', parks: 'EPSG:3' }, { roads: 'EPSG:1', parks: 'EPSG:3' }],
  ])('give way to the configuration: %j before %j', (configured, chosen, merged) => {
    expect(mergeStatedCrs(configured, chosen)).toEqual(merged);
  });

  it('find the entry of the configuration that applies', () => {
    const stated = { 'a.shp': 'EPSG:1', 'city/a.shp': 'EPSG:2', 'b.gpkg#roads': 'EPSG:2' };
    expect(findStatedCrsEntry(stated, '/data/city/a.shp', '')).toEqual({ key: 'city/a.shp', crs: 'EPSG:2' });
    expect(findStatedCrsEntry(stated, '/data/a.shp', '')).toEqual({ key: 'a.shp', crs: 'EPSG:1' });
    expect(findStatedCrsEntry(stated, '/data/b.gpkg', 'roads')?.key).toBe('b.gpkg#roads');
    expect(findStatedCrsEntry(stated, '/data/b.gpkg', 'parks')).toBeUndefined();
  });
});

describe('the list of CRSs', () => {
  let runs = 0;
  const pools = {
    async run() {
      runs += 1;
      return listCrs();
    },
  } as unknown as Pools;
  const list = new CrsList(pools);

  it.each([
    ['27700', 'OSGB36 / British National Grid'],
    ['EPSG:2056', 'CH1903+ / LV95'],
    ['british national', 'OSGB36 / British National Grid'],
    ['utm ZONE 33N wgs 84', 'WGS 84 / UTM zone 33N'],
    ['wgs 84', 'WGS 84'],
    ['pseudo-mercator', 'WGS 84 / Pseudo-Mercator'],
    ['Switzerland LV95', 'CH1903+ / LV95'],
  ])('%s finds %s first', async (text, name) => {
    expect((await list.search(text, 3)).entries[0]!.name).toBe(name);
  });

  it('lists the grids of a country before places of its name', async () => {
    const names = (await list.search('Switzerland', 10)).entries.map(({ name }) => name);
    expect(names.slice(0, 2).join()).toMatch(/CH1903/);
    expect(names.findIndex((name) => /LV95/.test(name))).toBeGreaterThanOrEqual(0);
    const county = names.findIndex((name) => /InGCS/.test(name));
    expect(county === -1 || county > names.findIndex((name) => /LV95/.test(name))).toBe(true);
  });

  it('is searched by area, without accents, and read once', async () => {
    const { entries, total } = await list.search('Réunion', 100);
    expect(entries.map(({ name }) => name)).toContain('RGR92 / UTM zone 40S');
    expect(entries).toHaveLength(total);
    expect((await list.search('nowhere at all', 5)).total).toBe(0);
    expect((await list.search('', 5)).total).toBeGreaterThan(5000);
    expect(runs).toBe(1);
  });
});

it('guesses include the grids of the region', async () => {
  const list = new CrsList({ run: async () => listCrs() } as unknown as Pools);
  const bern = [7.4, 46.8, 7.9, 47.1] as const;
  const near = [
    { title: 'Places', extent84: bern, storageCrs: { proj: 'OGC:CRS84', geographic: true } },
  ] as unknown as Collection[];
  const find = async (region: Box) =>
    (await list.listProjectedAround(region, 40)).map(({ code }) => `EPSG:${code}`);
  const reason = "the data then overlaps 'Places'";
  expect(await listGridGuesses([2_600_000, 1_199_000, 2_602_500, 1_200_700], near, find)).toEqual([
    { crs: 'EPSG:2056', reason },
  ]);
  expect(await listGridGuesses([600_000, 199_000, 602_500, 200_700], near, find)).toContainEqual({
    crs: 'EPSG:21781',
    reason,
  });
  expect(await listGridGuesses([9e6, 9e6, 9.1e6, 9.1e6], near, find)).toEqual([]);
});

it('guesses list each CRS once, with degrees last', () => {
  const neighbour = (title: string, proj: string, extent84: number[]) =>
    ({ title, extent84, storageCrs: { proj, geographic: proj === 'OGC:CRS84' } }) as unknown as Collection;
  const london = [-0.2, 51.4, 0, 51.6];
  const near = [neighbour('Wards', 'EPSG:27700', london), neighbour('Parks', 'EPSG:27700', london)];
  const guesses = listGuesses([529_000, 179_000, 531_000, 181_000], near);
  expect(guesses).toEqual([
    { crs: 'EPSG:27700', reason: "the data then overlaps 'Wards', which has this CRS" },
  ]);
  const small = listGuesses([-0.1, 51.45, -0.05, 51.5], near);
  expect(small.at(-1)).toEqual({ crs: 'OGC:CRS84', reason: 'the coordinates can be degrees' });
});
