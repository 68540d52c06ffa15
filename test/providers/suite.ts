import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { around, type Box, boxesTouch, computeEnvelope } from '../../src/core/geometry/box.js';
import type { VectorLayerInfo } from '../../src/core/tasks/vector-tasks.js';
import { tileBox, WEB_MERCATOR_QUAD } from '../../src/core/tiles/tile-matrix.js';
import { getFeatureStore } from '../../src/workers/providers/store.js';
import { decode } from '../native/support.js';
import { COLUMNS, THINGS, type Thing } from './data.js';
import { described, served } from './layer-server.js';

/** What every store does, over the surfaces that serve it. Expected is what plain JavaScript finds in the data. */
export function storeSuite(name: string, layer: () => Promise<Pick<VectorLayerInfo, 'source'>>): void {
  describe(`the store ${name}`, () => {
    let info: VectorLayerInfo;
    let url: string;
    let close: () => Promise<void>;

    beforeAll(async () => {
      info = await described(await layer());
      ({ url, close } = await served(info));
    }, 120_000);
    afterAll(() => close?.());

    const get = async (path: string) => {
      const response = await fetch(`${url}/ogc/features/collections/rows${path}`);
      return { status: response.status, headers: response.headers, body: await response.json() };
    };
    const pageOf = async (query: Record<string, string>) =>
      (await get(`/items?${new URLSearchParams({ limit: '1000', f: 'json', ...query })}`)).body;
    const idsOf = async (query: Record<string, string>) =>
      ((await pageOf(query)).features as Thing[]).map(({ id }) => id);
    const those = (is: (thing: Thing) => boolean) => THINGS.filter(is).map(({ id }) => id);

    it('has all features as they were stored, in the order of their ids', async () => {
      const { features, numberMatched, numberReturned } = await pageOf({});
      expect([numberMatched, numberReturned]).toEqual([THINGS.length, THINGS.length]);
      expect(features).toMatchObject(THINGS as object[]);
    });

    it.each([['fid'], ['height'], ['-floors'], ['name,-height']])(
      'is read in pages, forth and back, by %s',
      async (sortby) => {
        const whole = await idsOf({ sortby });
        expect(whole.toSorted((a, b) => a - b)).toEqual(those(() => true));
        const pages: number[][] = [];
        let last: { links: { rel: string; href: string }[] } | undefined;
        let next: string | undefined =
          `${url}/ogc/features/collections/rows/items?limit=7&f=json&sortby=${sortby}`;
        while (next !== undefined) {
          const page = await (await fetch(next)).json();
          pages.push(page.features.map(({ id }: Thing) => id));
          last = page;
          next = page.links.find(({ rel }: { rel: string }) => rel === 'next')?.href;
        }
        expect(pages.map(({ length }) => length)).toEqual([7, 7, 7, 7, 7, 7, 7, 7, 4]);
        expect(pages.flat()).toEqual(whole);
        const back = last!.links.find(({ rel }) => rel === 'prev')!.href;
        const before = await (await fetch(back)).json();
        expect(before.features.map(({ id }: Thing) => id)).toEqual(pages.at(-2));
      },
    );

    it('sorts missing values last', async () => {
      const missing = those(({ properties }) => properties.floors === null);
      expect((await idsOf({ sortby: 'floors' })).slice(-missing.length)).toEqual(missing);
      expect((await idsOf({ sortby: '-floors' })).slice(0, missing.length)).toEqual(missing);
    });

    it.each<[Box]>([[[-10, -10, 60, 60]], [[170, -80, -150, 80]], [[0, 0, 0.001, 0.001]]])(
      'finds what lies in %j',
      async (box) => {
        // Polygons and lines are small and lie along the axes: only of lines is the envelope more than the line.
        const near = THINGS.filter(({ geometry }) => boxesTouch(computeEnvelope(geometry)!, box));
        const ids = await idsOf({ bbox: box.join(',') });
        const sure = near.filter(({ geometry }) => geometry.type !== 'LineString').map(({ id }) => id);
        expect(ids).toEqual(expect.arrayContaining(sure));
        expect(near.map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
      },
    );

    it.each<[string, (properties: Thing['properties'], id: number) => boolean]>([
      ['floors = 3', ({ floors }) => floors === 3],
      ['floors <> 3', ({ floors }) => floors !== null && floors !== 3],
      ['floors IS NULL', ({ floors }) => floors === null],
      ['height BETWEEN 10 AND 40.5', ({ height }) => height >= 10 && height <= 40.5],
      ["name LIKE 'Østre%'", ({ name }) => name.startsWith('Østre')],
      ["name IN ('tower 1', 'Miller''s 3')", ({ name }) => ['tower 1', "Miller's 3"].includes(name)],
      ["CASEI(name) = CASEI('HALL 0')", ({ name }) => name === 'Hall 0'],
      ["built > DATE('1950-01-01')", ({ built }) => built > '1950-01-01'],
      ['active = TRUE AND NOT (floors > 5)', (p) => p.active && p.floors !== null && p.floors <= 5],
      ['height * 2 > 100 OR floors < 1', (p) => p.height * 2 > 100 || (p.floors !== null && p.floors < 1)],
      ['fid > 50', (_, id) => id > 50],
    ])('filters by %s, and counts the same', async (filter, passes) => {
      const expected = those(({ properties, id }) => passes(properties, id));
      const { features, numberMatched } = await pageOf({ filter });
      expect(features.map(({ id }: Thing) => id)).toEqual(expected);
      expect(numberMatched).toBe(expected.length);
      expect(expected.length).toBeGreaterThan(0);
    });

    it('filters by place', async () => {
      const points = THINGS.filter(({ geometry }) => geometry.type === 'Point');
      const { coordinates } = points[3]!.geometry as { coordinates: number[] };
      const filter = `S_DWITHIN(geom, POINT(${coordinates.join(' ')}), 1)`;
      expect(await idsOf({ filter })).toContain(points[3]!.id);
      expect(await idsOf({ filter: `S_DISJOINT(geom, BBOX(-180, -90, 180, 90))` })).toEqual([]);
    });

    it('takes queryables as parameters, and answers 400 for what is none', async () => {
      expect(await idsOf({ name: 'tower 1' })).toEqual(
        those(({ properties }) => properties.name === 'tower 1'),
      );
      expect((await get('/items?nothing=1')).status).toBe(400);
      expect((await get('/items?floors=many')).status).toBe(400);
      expect((await get('/items?filter=missing%20%3D%201')).status).toBe(400);
    });

    it('writes some attributes, and other coordinates, on demand', async () => {
      const [one] = (await pageOf({ properties: 'name', ids: '1' })).features;
      expect(one.properties).toEqual({ name: THINGS[0]!.properties.name });
      const crs = 'http://www.opengis.net/def/crs/EPSG/0/3857';
      const [projected] = (await pageOf({ crs, ids: '1' })).features;
      const { coordinates } = THINGS[0]!.geometry as { coordinates: number[] };
      expect(projected.geometry.coordinates[0]).toBeCloseTo((coordinates[0]! * 20037508.342789244) / 180, 1);
    });

    it('names its queryables and its schema', async () => {
      const { body } = await get('/queryables?f=json');
      const types = COLUMNS.map(({ name, type }) => [
        name,
        expect.objectContaining(type === 'date' ? { type: 'string', format: 'date' } : { type }),
      ]);
      expect(body.properties).toEqual({
        fid: expect.objectContaining({ type: 'integer', 'x-ogc-role': 'id' }),
        geom: expect.objectContaining({ 'x-ogc-role': 'primary-geometry' }),
        ...Object.fromEntries(types),
      });
      const schema = (await get('/schema?f=json')).body;
      expect(schema.properties.fid.readOnly).toBe(info.source.idGenerated);
    });

    it('describes its extent', async () => {
      const expected = THINGS.map(({ geometry }) => computeEnvelope(geometry)!).reduce(around);
      const { body } = await get('?f=json');
      body.extent.spatial.bbox[0].forEach((side: number, i: number) => {
        expect(side).toBeCloseTo(expected[i]!, 5);
      });
    });

    it('has single features, with entity tags', async () => {
      const { status, headers, body } = await get('/items/5?f=json');
      expect(status).toBe(200);
      expect(body).toMatchObject(THINGS[4]!);
      const again = await fetch(`${url}/ogc/features/collections/rows/items/5?f=json`, {
        headers: { 'if-none-match': headers.get('etag')! },
      });
      expect(again.status).toBe(304);
      for (const id of ['0', '61', 'x', '5.5']) expect((await get(`/items/${id}?f=json`)).status).toBe(404);
    });

    it('computes over its rows', async () => {
      const { status, body } = await get('/statistics?f=json');
      expect(status).toBe(200);
      const heights = THINGS.map(({ properties }) => properties.height);
      const text = JSON.stringify(body);
      expect(text).toContain(String(Math.min(...heights)));
      expect(text).toContain(String(Math.max(...heights)));
    });

    it.each([
      [0, 0, 0],
      [1, 0, 1],
      [2, 1, 2],
    ])('has the features of tile %i/%i/%i', async (zoom, row, column) => {
      const path = `/ogc/tiles/collections/1/tiles/WebMercatorQuad/${zoom}/${row}/${column}?f=mvt`;
      const tile = new Uint8Array(await (await fetch(url + path)).arrayBuffer());
      const decoded = decode(tile)['rows']!;
      const features = Array.from({ length: decoded.length }, (_, i) => decoded.feature(i));
      const [west, south, east, north] = tileBox(WEB_MERCATOR_QUAD, zoom, row, column).map(
        (metres) => (metres / 20037508.342789244) * 180,
      ) as [number, number, number, number];
      const points = THINGS.filter(({ geometry }) => {
        if (geometry.type !== 'Point') return false;
        const [x, y] = geometry.coordinates as [number, number];
        const latitude = (Math.log(Math.tan(((90 + y) * Math.PI) / 360)) / Math.PI) * 180;
        return x >= west && x <= east && latitude >= south && latitude <= north;
      });
      expect(points.length).toBeGreaterThan(0);
      for (const { id, properties } of points) {
        const feature = features.find((one) => one.id === id);
        expect(feature?.properties['name']).toBe(properties.name);
        expect(feature?.properties['active']).toBe(properties.active);
      }
    });

    it('filters tiles', async () => {
      const path = `/ogc/tiles/collections/1/tiles/WebMercatorQuad/0/0/0?f=mvt&filter=${encodeURIComponent('floors = 3')}`;
      const decoded = decode(new Uint8Array(await (await fetch(url + path)).arrayBuffer()))['rows']!;
      const ids = Array.from({ length: decoded.length }, (_, i) => decoded.feature(i).id!);
      expect(ids.sort((a, b) => a - b)).toEqual(those(({ properties }) => properties.floors === 3));
    });

    it('says which boxes hold features', async () => {
      const { source } = info;
      const [x, y] = (THINGS[0]!.geometry as { coordinates: number[] }).coordinates as [number, number];
      const boxes: Box[] = [
        [x - 1, y - 1, x + 1, y + 1],
        [-180, 85, -170, 90],
      ];
      expect(await getFeatureStore(source).occupied(source, boxes)).toEqual([true, false]);
    });

    it('is edited, or says that it is not', async () => {
      const { source } = info;
      const headers = { 'x-api-key': 'any' };
      const path = `${url}/ogc/features/collections/rows/items/1`;
      const response = await fetch(path, { method: 'DELETE', headers });
      if (!source.writable) {
        const { detail } = await response.json();
        return expect([response.status, detail]).toEqual([403, expect.stringContaining('read-only')]);
      }
      expect(response.status).toBe(204);
      expect((await get('/items/1?f=json')).status).toBe(404);
      const events = await getFeatureStore(source).events({ source, from: 0, limit: 10 });
      expect(events.events).toMatchObject([{ featureId: '1', operation: 'delete' }]);
    });
  });
}
