import { PbfReader } from 'pbf';
import { describe, expect, it } from 'vitest';
import { openDatabase, wkb } from '../support.js';

/** What the writer of features of FeatureCollection.proto gives, read member by member. */

const db = openDatabase();

type Value = string | number | boolean | null;

interface Feature {
  attributes: Value[];
  lengths?: number[];
  coords?: number[];
  centroid?: number[];
}

function readValue(pbf: PbfReader, end: number): Value {
  let value: Value = null;
  pbf.readFields(
    (tag) => {
      if (tag === 1) value = pbf.readString();
      if (tag === 3) value = pbf.readDouble();
      if (tag === 8) value = pbf.readSVarint();
    },
    null,
    end,
  );
  return value;
}

function geometryOf(pbf: PbfReader, end: number) {
  const geometry = { lengths: [] as number[], coords: [] as number[] };
  pbf.readFields(
    (tag) => {
      if (tag === 2) pbf.readPackedVarint(geometry.lengths);
      if (tag === 3) pbf.readPackedSVarint(geometry.coords);
    },
    null,
    end,
  );
  return geometry;
}

function featureOf(pbf: PbfReader): Feature {
  const feature: Feature = { attributes: [] };
  pbf.readFields(
    (tag) => {
      const end = pbf.readVarint() + pbf.pos;
      if (tag === 1) feature.attributes.push(readValue(pbf, end));
      if (tag === 2) Object.assign(feature, geometryOf(pbf, end));
      if (tag === 4) feature.centroid = geometryOf(pbf, end).coords;
    },
    null,
    pbf.readVarint() + pbf.pos,
  );
  return feature;
}

const STEP = { x: 0, y: 0, scale: 1, zScale: 0.5, upperLeft: false, view: false };

function feature(
  options: Record<string, unknown>,
  value: unknown,
  geometry: Uint8Array | null = null,
): Feature {
  const same = { from: 'EPSG:3857', to: 'EPSG:3857', fields: [{ name: 'a' }], quantisation: STEP };
  const bytes = db
    .prepare<unknown[], Buffer>('SELECT gr_esri_pbf(?, 7, ?, ?)')
    .pluck()
    .get(JSON.stringify({ ...same, ...options }), geometry, value)!;
  const pbf = new PbfReader(bytes);
  expect(pbf.readVarint()).toBe((15 << 3) | 2);
  const read = featureOf(pbf);
  expect(pbf.pos).toBe(bytes.length);
  return read;
}

type Drawn = Parameters<typeof wkb>[0];
const drawn = (geometry: Drawn, options: Record<string, unknown> = {}) =>
  feature({ quantisation: { ...STEP, ...options } }, null, wkb(geometry));

describe('attributes', () => {
  it.each([
    ['integer', -5n, -5],
    ['integer', 9_007_199_254_740_991n, 9_007_199_254_740_991],
    ['number', 0.1, 0.1],
    ['number', 3n, 3],
    ['number', '12.5', 12.5],
    ['boolean', 2n, 1],
    ['string', 'Zürich 🏔', 'Zürich 🏔'],
    ['string', '', ''],
    ['date', '2020-02-29', Date.UTC(2020, 1, 29)],
    ['date-time', '1969-12-31T23:59:59.25Z', -750],
    ['json', '{"b":1}', '{"b":1}'],
    ['binary', Buffer.from([255]), '/w=='],
    ['string', null, null],
  ])('of type %s: %s', (type, value, shown) =>
    expect(feature({ fields: [{ name: 'a', type }] }, value).attributes).toEqual([7, shown]),
  );
});

describe('geometries', () => {
  const square = [
    [0, 0],
    [4, 0],
    [4, 4],
    [0, 4],
    [0, 0],
  ];
  it('count each position from the one before, each part from the origin', () => {
    expect(drawn({ type: 'Point', coordinates: [1, 2] })).toMatchObject({ lengths: [], coords: [1, 2] });
    expect(
      drawn({
        type: 'MultiPoint',
        coordinates: [
          [1, 2],
          [5, 1],
        ],
      }),
    ).toMatchObject({
      ...{ lengths: [2], coords: [1, 2, 4, -1] },
    });
    const lines = [square.slice(0, 2), square.slice(1, 4)];
    expect(drawn({ type: 'MultiLineString', coordinates: lines })).toMatchObject({
      ...{ lengths: [2, 3], coords: [0, 0, 4, 0, 4, 0, 0, 4, -4, 0] },
    });
  });

  it('have clockwise exterior rings, also where y is counted to the south', () => {
    const polygon = { type: 'Polygon', coordinates: [square] } satisfies Drawn;
    expect(drawn(polygon)).toMatchObject({ lengths: [5], coords: [0, 0, 0, 4, 4, 0, 0, -4, -4, 0] });
    const south = drawn(polygon, { y: 10, upperLeft: true });
    expect(south.coords).toEqual([0, 10, 0, -4, 4, 0, 0, 4, -4, 0]);
  });

  it('of a view lose positions that fall on one another, and what shrinks to nothing', () => {
    const view = { view: true, scale: 10 };
    const line = {
      type: 'LineString',
      coordinates: [
        [0, 0],
        [1, 1],
        [22, 0],
        [23, 1],
      ],
    } satisfies Drawn;
    expect(drawn(line, view)).toMatchObject({ lengths: [2], coords: [0, 0, 2, 0] });
    expect(drawn({ type: 'Polygon', coordinates: [square] }, view).coords).toBeUndefined();
    expect(drawn({ type: 'Polygon', coordinates: [square] }, { scale: 10 }).coords).toEqual(
      Array(10).fill(0),
    );
    const big = square.map(([x, y]) => [x! * 10, y! * 10]);
    expect(drawn({ type: 'MultiPolygon', coordinates: [[square], [big, square]] }, view).lengths).toEqual([
      5,
    ]);
    const flat = [
      [0, 0],
      [40, 0],
      [80, 0],
      [0, 0],
    ];
    expect(drawn({ type: 'Polygon', coordinates: [flat] }, view).coords).toBeUndefined();
  });

  it('that no whole number tells stay away', () => {
    expect(drawn({ type: 'Point', coordinates: [1e300, 2] }).coords).toBeUndefined();
    expect(drawn({ type: 'Point', coordinates: [Number.NaN, 2] }).coords).toBeUndefined();
    expect(feature({}, 1n, Buffer.from('no geometry')).coords).toBeUndefined();
  });

  it('have a centroid where one is asked for, also without themselves', () => {
    const alone = { skipGeometry: true, centroid: true };
    const polygon = wkb({ type: 'Polygon', coordinates: [square] });
    expect(feature(alone, 1n, polygon)).toEqual({ attributes: [7, 1], centroid: [2, 2] });
  });
});
