import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import decode from 'arcgis-pbf-parser';
import type { Feature, Geometry, Position } from 'geojson';
import { PbfReader } from 'pbf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.js';

/** Answers as Protocol Buffers hold what OGC API Features says, as a reader of others reads them. */

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
type Json = any;

const SQUARE = [
  [5, 45],
  [6, 45],
  [6, 46],
  [5, 46],
  [5, 45],
];
const HOLE = [
  [5.2, 45.2],
  [5.2, 45.4],
  [5.4, 45.4],
  [5.4, 45.2],
  [5.2, 45.2],
];
const FAR = SQUARE.map(([x, y]) => [x! - 170.1234567, y! - 80]);

const SHAPES: Record<string, (Geometry | null)[]> = {
  dots: [
    { type: 'Point', coordinates: [-179.9999999, 89.1234567] },
    null,
    { type: 'Point', coordinates: [0, 0] },
  ],
  peaks: [
    { type: 'Point', coordinates: [7.6586, 45.9764, 4478.25] },
    { type: 'Point', coordinates: [35.4732, 31.559, -430.5] },
  ],
  ways: [
    { type: 'LineString', coordinates: SQUARE },
    { type: 'MultiLineString', coordinates: [HOLE, FAR] },
    null,
  ],
  lots: [
    { type: 'Polygon', coordinates: [SQUARE] },
    { type: 'Polygon', coordinates: [SQUARE, HOLE] },
    { type: 'MultiPolygon', coordinates: [[SQUARE, HOLE], [FAR]] },
    null,
  ],
};

const VALUES = [
  {
    word: 'Zürich 🏔 "quoted"',
    whole: 9_007_199_254_740_991,
    half: -0.1,
    seen: '1969-12-31T23:59:59.250Z',
    built: '2020-02-29',
    isOpen: true,
  },
  { word: '', whole: -1, half: 1e300, seen: '2026-01-02T03:04:05Z', built: '1900-01-01', isOpen: false },
  { word: null, whole: null, half: null, seen: null, built: null, isOpen: null },
];

let server: TestServer;
let layers: Record<string, number>;
const home = mkdtempSync(join(tmpdir(), 'graticule-pbf-'));

beforeAll(async () => {
  for (const [name, shapes] of Object.entries(SHAPES)) addLayer(name, shapes);
  server = await startServer({ sources: [home, 'demo/data/world_map.gpkg'] });
  const { collections } = await json('/?f=json');
  layers = Object.fromEntries(collections.map(({ id, layerId }: Json) => [id, layerId]));
}, 120_000);
afterAll(async () => {
  await server?.stop();
  rmSync(home, { recursive: true, force: true });
});

function addLayer(name: string, shapes: readonly (Geometry | null)[]): void {
  const features = shapes.map((geometry, i) => ({
    type: 'Feature',
    properties: VALUES[i % VALUES.length],
    geometry,
  }));
  const file = join(home, `${name}.json`);
  writeFileSync(file, JSON.stringify({ type: 'FeatureCollection', features }));
  const multi = shapes.find((one) => one?.type.startsWith('Multi'));
  const type = multi ? ['-nlt', multi.type] : [];
  execFileSync('ogr2ogr', ['-f', 'GPKG', join(home, `${name}.gpkg`), file, '-nln', name, ...type]);
  rmSync(file);
}

async function json(path: string): Promise<Json> {
  // Comparing geometries blocks this process for longer than the server keeps idle connections.
  return (await fetch(server.url + path, { headers: { connection: 'close' } })).json();
}

const items = async (name: string): Promise<Feature[]> =>
  (await json(`/ogc/features/collections/${name}/items?f=json&limit=1000`)).features;

async function bytes(name: string, members: Record<string, string>): Promise<Uint8Array> {
  const query = new URLSearchParams({ where: '1=1', outFields: '*', f: 'pbf', ...members });
  const path = `${server.url}/rest/services/default/FeatureServer/${layers[name]}/query?${query}`;
  const response = await fetch(path, { headers: { connection: 'close' } });
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/x-protobuf']);
  return new Uint8Array(await response.arrayBuffer());
}

const read = async (name: string, members: Record<string, string> = {}): Promise<Json> =>
  decode(await bytes(name, members));
const answerOf = (name: string, members: Record<string, string>): Promise<Json> =>
  json(
    `/rest/services/default/FeatureServer/${layers[name]}/query?${new URLSearchParams({ where: '1=1', ...members })}`,
  );

const round = (number: number) => Math.round(number * 1e7) / 1e7 + 0;

/** Parts of a geometry, of rings the corners alone, which no first corner and no orientation changes. */
function partsOf(geometry: Geometry | null): string[] | null {
  if (geometry === null) return null;
  const { type, coordinates } = geometry as Exclude<Geometry, { type: 'GeometryCollection' }>;
  const depth = { Point: 0, MultiPoint: 1, LineString: 1, MultiLineString: 2, Polygon: 2, MultiPolygon: 3 }[
    type
  ];
  const parts = depth < 2 ? [coordinates] : (coordinates as Json[]).flat(depth - 2);
  const lines = parts.map((part: Json) =>
    (depth === 0 ? [part] : part).map((at: Position) => at.map(round).join()),
  );
  const isArea = type.endsWith('Polygon');
  return lines.map((line: string[]) => (isArea ? [...new Set(line)].sort() : line).join(' ')).sort();
}

function esriValues({ id, properties }: Feature): Json {
  const { seen, built, isOpen, ...others } = properties as Json;
  return {
    ...{ fid: id, ...others },
    seen: seen === null ? null : Date.parse(seen),
    built: built === null ? null : Date.parse(built),
    isOpen: isOpen === null ? null : Number(isOpen),
  };
}

describe('features', () => {
  it.each(Object.keys(SHAPES))('of %s have all their values and positions', async (name) => {
    const { featureCollection } = await read(name, { returnZ: String(name === 'peaks') });
    const all = await items(name);
    expect(featureCollection.features).toHaveLength(SHAPES[name]!.length);
    expect(all[0]!.properties!['whole']).toBe(9_007_199_254_740_991);
    for (const [i, one] of featureCollection.features.entries()) {
      expect(one.properties).toEqual(esriValues(all[i]!));
      expect(partsOf(one.geometry)).toEqual(partsOf(all[i]!.geometry));
    }
  });

  it('of many parts have clockwise exterior rings, each followed by its holes', async () => {
    const { featureCollection } = await read('lots', { objectIds: '3' });
    const [{ geometry }] = featureCollection.features;
    expect(geometry.coordinates.map((rings: Json) => rings.length)).toEqual([2, 1]);
  });

  it('come in another spatial reference, in pages, in an order, without geometries', async () => {
    const page = { outSR: '102100', resultRecordCount: '2', orderByFields: 'NAME DESC', outFields: 'NAME' };
    const { featureCollection, exceededTransferLimit } = await read('countries', page);
    const document = await answerOf('countries', { ...page, f: 'json' });
    expect(exceededTransferLimit).toBe(true);
    const first = document.features[0];
    expect(featureCollection.features.map(({ properties }: Json) => properties)).toEqual(
      document.features.map(({ attributes }: Json) => attributes),
    );
    const corners = partsOf({ type: 'Polygon', coordinates: first.geometry.rings });
    const rings = featureCollection.features[0].geometry.coordinates.flat(
      first.geometry.rings.length > 1 ? 1 : 0,
    );
    expect(partsOf({ type: 'Polygon', coordinates: rings })).toEqual(corners);
    const bare = await read('countries', { ...page, returnGeometry: 'false' });
    expect(bare.featureCollection.features[0].geometry).toBeNull();
  });
});

describe('what is counted', () => {
  /** The result of an answer: its number among the results, and its bytes. */
  async function resultOf(members: Record<string, string>): Promise<[number, PbfReader]> {
    const pbf = new PbfReader(await bytes('countries', members));
    let result: [number, PbfReader] | undefined;
    pbf.readFields((tag) => {
      if (tag !== 2) return;
      const end = pbf.readVarint() + pbf.pos;
      pbf.readFields(
        (kind) => {
          result = [kind, new PbfReader(pbf.readBytes())];
        },
        null,
        end,
      );
    }, null);
    return result!;
  }

  it('comes as Protocol Buffers, too', async () => {
    const all = await items('countries');
    const [kind, count] = await resultOf({ returnCountOnly: 'true' });
    const number = count.readFields(
      (_, answer) => {
        answer.n = count.readVarint();
      },
      { n: 0 },
    );
    expect([kind, number]).toEqual([2, { n: all.length }]);
    const [other, list] = await resultOf({ returnIdsOnly: 'true' });
    const ids: number[] = [];
    list.readFields((tag) => {
      if (tag === 3) list.readPackedVarint(ids);
    }, null);
    expect([other, ids]).toEqual([3, all.map(({ id }) => id)]);
  });

  it('has no pbf of an extent', async () => {
    const { error } = await answerOf('countries', { f: 'pbf', returnExtentOnly: 'true' });
    expect([error.code, error.details.join()]).toEqual([
      400,
      "f: cannot be pbf with returnExtentOnly; received 'pbf'. Use json.",
    ]);
  });
});

describe('quantizationParameters', () => {
  const extent = { xmin: -10, ymin: 35, xmax: 30, ymax: 60, spatialReference: { wkid: 4326 } };
  const view = (members: Json) =>
    JSON.stringify({ mode: 'view', originPosition: 'upperLeft', extent, ...members });

  /** Positions of rings that hold differences. */
  function ringsOf(rings: number[][][], { scale, translate, originPosition }: Json): Position[][] {
    const sign = originPosition === 'upperLeft' ? -1 : 1;
    return rings.map((ring) => {
      let [x, y] = [0, 0];
      return ring.map(([dx, dy]) => {
        [x, y] = [x + dx!, y + dy!];
        return [x * scale[0] + translate[0], sign * y * scale[1] + translate[1]];
      });
    });
  }

  it.each(['upperLeft', 'lowerLeft'])(
    'move corners by half a step at most, from %s',
    async (originPosition) => {
      const tolerance = 0.25;
      const members = {
        outFields: 'iso_a2',
        quantizationParameters: view({ tolerance, originPosition }),
        f: 'json',
      };
      const { features, transform } = await answerOf('countries', members);
      const translate = [-10, originPosition === 'upperLeft' ? 60 : 35];
      expect(transform).toEqual({ originPosition, scale: [tolerance, tolerance], translate });
      const all = new Map((await items('countries')).map((one) => [one.id, one]));
      expect(features).toHaveLength(all.size);
      const isNear = (at: Position) => (corner: Position) =>
        Math.max(Math.abs(at[0]! - corner[0]!), Math.abs(at[1]! - corner[1]!)) <= tolerance / 2 + 1e-9;
      expect(features.filter(({ geometry }: Json) => geometry === null).length).toBeGreaterThan(5);
      for (const { attributes, geometry } of features.slice(0, 60)) {
        if (geometry === null) continue;
        const corners = (all.get(attributes.fid)!.geometry as Json).coordinates.flat(2) as Position[];
        for (const ring of ringsOf(geometry.rings, transform)) {
          expect(ring.length).toBeGreaterThan(3);
          expect(ring.at(-1)).toEqual(ring[0]);
          const isRepeated = (at: Position, i: number) =>
            i > 0 && at.every((one, k) => one === ring[i - 1]![k]);
          expect(ring.filter(isRepeated)).toEqual([]);
          expect(ring.filter((at) => !corners.some(isNear(at)))).toEqual([]);
        }
      }
    },
  );

  it('say the same in both formats', async () => {
    const members = { outFields: 'iso_a2', quantizationParameters: view({ tolerance: 0.1 }) };
    const { features, transform } = await answerOf('countries', { ...members, f: 'json' });
    const { featureCollection } = await read('countries', members);
    for (const [i, { geometry }] of featureCollection.features.entries()) {
      const rings = features[i].geometry && ringsOf(features[i].geometry.rings, transform);
      expect(partsOf(geometry)).toEqual(rings && partsOf({ type: 'Polygon', coordinates: rings }));
    }
  });

  it('to edit by keep each position', async () => {
    const members = { quantizationParameters: view({ mode: 'edit', tolerance: 5 }), outFields: '*' };
    const [, item] = await items('lots');
    const [, one] = (await read('lots', members)).featureCollection.features;
    expect(partsOf(one.geometry)).toEqual(partsOf(item!.geometry));
  });

  it.each([
    ['a tolerance of zero', { tolerance: 0 }],
    ['a tolerance below zero', { tolerance: -1 }],
    ['a tolerance that is no number', { tolerance: 'NaN' }],
    ['a tolerance as wide as the world', { tolerance: 1e300 }],
    ['a tolerance that no number counts', { tolerance: 1e-300 }],
    ['an extent of infinity', { extent: { xmin: 0, ymin: 0, xmax: '1e999', ymax: 1 } }],
    ['an extent that is turned', { extent: { xmin: 1, ymin: 0, xmax: 0, ymax: 1 } }],
    ['no object', undefined],
  ])('with %s are refused', async (_, members) => {
    for (const f of ['json', 'pbf']) {
      const quantizationParameters = members ? view(members) : '{"mode":';
      const { error } = await answerOf('countries', { f, quantizationParameters });
      expect([error.code, error.details.join()]).toEqual([
        400,
        expect.stringContaining('quantizationParameters'),
      ]);
    }
  });
});

it('centroids come with features, or without their geometries', async () => {
  const members = { objectIds: '1', returnCentroid: 'true', f: 'json' };
  const whole = await answerOf('lots', members);
  expect(whole.features[0]).toMatchObject({
    geometry: { rings: [expect.anything()] },
    centroid: { x: 5.5, y: 45.5 },
  });
  const [bare] = (await answerOf('lots', { ...members, returnGeometry: 'false' })).features;
  expect([bare.geometry, bare.centroid]).toEqual([undefined, { x: 5.5, y: 45.5 }]);
  const quantizationParameters = JSON.stringify({
    ...{ extent: { xmin: 0, ymin: 0, xmax: 10, ymax: 50 }, tolerance: 0.5, originPosition: 'lowerLeft' },
  });
  const [step] = (await answerOf('lots', { ...members, quantizationParameters })).features;
  expect(step.centroid).toEqual({ x: 11, y: 91 });
});

it('tiles hold more features than a page, or say that there are more', async () => {
  const { features } = (await read('states_provinces', { resultType: 'tile', outFields: 'name' }))
    .featureCollection;
  const { count } = await answerOf('states_provinces', { returnCountOnly: 'true' });
  expect(count).toBeGreaterThan(1000);
  expect(features).toHaveLength(count);
  const few = { resultRecordCount: '5', returnExceededLimitFeatures: 'false' };
  const answer = await read('states_provinces', few);
  expect([answer.exceededTransferLimit, answer.featureCollection.features]).toEqual([true, []]);
});
