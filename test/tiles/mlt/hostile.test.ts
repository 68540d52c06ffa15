import { PbfWriter } from 'pbf';
import { beforeAll, expect, it } from 'vitest';
import { geojsonToWkb, LayerEncoder, type LayerRow, mltToMvt, mvtToMlt } from '../../../src/native/index.js';
import { asMvt } from '../../../src/workers/features/encodings.js';
import { mltReader, type ReadTile, readMvt } from './support.js';

/** Tiles of others: odd ones that are right, and those that would take too much. */

let readMlt: (tile: Uint8Array) => ReadTile;
beforeAll(async () => {
  readMlt = await mltReader();
});

interface Layer {
  keys?: string[];
  values?: (string | number)[];
  /** Packed tags, and command integers. */
  features: { tags?: number[]; type: number; geometry: number[] | Uint8Array }[];
}

function tileOf({ keys = [], values = [], features }: Layer): Uint8Array {
  const writer = new PbfWriter();
  writer.writeMessage(
    3,
    (_layer, pbf) => {
      pbf.writeVarintField(15, 2);
      pbf.writeStringField(1, 'l');
      for (const { tags = [], type, geometry } of features)
        pbf.writeMessage(
          2,
          (_feature, message) => {
            message.writePackedVarint(2, tags);
            message.writeVarintField(3, type);
            if (geometry instanceof Uint8Array) message.writeBytesField(4, geometry);
            else message.writePackedVarint(4, geometry);
          },
          null,
        );
      for (const key of keys) pbf.writeStringField(3, key);
      for (const value of values)
        pbf.writeMessage(
          4,
          (_value, message) => {
            if (typeof value === 'string') message.writeStringField(1, value);
            else message.writeVarintField(4, value);
          },
          null,
        );
    },
    null,
  );
  return writer.finish();
}

const zigzag = (n: number) => (n < 0 ? -2 * n - 1 : 2 * n);
const POINT = { type: 1, geometry: [9, 2, 4] };

function goodTile(): Buffer {
  const encoder = new LayerEncoder({
    ...{ layer: 'l', fields: ['a', 'b'], from: 'EPSG:3857', to: 'EPSG:3857' },
    bbox: [0, 0, 4096, 4096],
  });
  const polygon = geojsonToWkb('{"type":"Polygon","coordinates":[[[0,0],[400,0],[400,400],[0,400],[0,0]]]}', {
    ...{ from: 'EPSG:3857', to: 'EPSG:3857' },
  });
  encoder.add(Array.from({ length: 50 }, (_, i): LayerRow => [i, polygon, `text ${i % 7}`, i / 3]));
  return encoder.finish();
}

it('numbers may be padded', () => {
  const padded = Uint8Array.of(9, 0x82, 0x80, 0x00, 4, 18, 0x84, 0x80, 0x80, 0x80, 0x80, 0x00, 2, 2, 2);
  const tile = tileOf({
    features: [
      { type: 2, geometry: padded },
      { type: 2, geometry: [9, 2, 2, 10, 4, 4] },
    ],
  });
  const expected = readMvt(tile);
  expect(expected['l']!.features[0]!.geometry[0]).toHaveLength(3);
  expect(readMlt(mvtToMlt(tile))).toEqual(expected);
});

it('a key that comes twice is one column, whose last value counts', () => {
  const layer = {
    keys: ['k', 'k'],
    values: ['one', 'two'],
    features: [{ ...POINT, tags: [0, 0, 1, 1] }, POINT],
  };
  const { l } = readMlt(mvtToMlt(tileOf(layer)));
  expect(l!.features.map(({ properties }) => properties)).toEqual([{ k: 'two' }, {}]);
});

it('rings that are wound the other way, as in version 1, have holes', () => {
  const outer = [9, 0, 0, 26, 0, zigzag(100), zigzag(100), 0, 0, zigzag(-100), 15];
  const inner = [9, zigzag(-90), zigzag(10), 26, zigzag(50), 0, 0, zigzag(50), zigzag(-50), 0, 15];
  const tile = tileOf({ features: [{ type: 3, geometry: [...outer, ...inner] }] });
  const back = readMvt(mltToMvt(mvtToMlt(tile)))['l']!.features[0]!;
  expect(back.geometry).toHaveLength(2);
  const area = (points: [number, number][]) =>
    points.slice(1).reduce((sum, [x, y], i) => sum + points[i]![0] * y - x * points[i]![1], 0);
  expect(back.geometry.map(area).map(Math.sign)).toEqual([1, -1]);
});

it('a tile that would take too much is refused, and the next one is as it should be', () => {
  const good = goodTile();
  const expected = mvtToMlt(good);
  const keys = Array.from({ length: 100 }, (_, i) => `k${i}`);
  // Columns of texts and numbers share no dictionary.
  const features = [0, 1].map((value) => ({ ...POINT, tags: keys.flatMap((_, i) => [i, value]) }));
  const huge = tileOf({ keys, values: ['x'.repeat(1_000_000), 7], features });
  expect(() => mvtToMlt(huge)).toThrow('holds too much');
  expect(mvtToMlt(good)).toEqual(expected);
  const many = tileOf({ features: Array.from({ length: (1 << 20) + 1 }, () => POINT) });
  expect(() => mvtToMlt(many)).toThrow('holds too much');
  expect(readMlt(mvtToMlt(good))).toEqual(readMvt(good));
});

it('positions that all fall into one place of a table are told plainly', () => {
  const inverse = 0xf1de83e19937733dn;
  let [x, y] = [0, 0];
  const geometry = [9, 0, 0, (60_000 << 3) | 2];
  for (let i = 1n; i <= 60_000n; i++) {
    const key = BigInt.asUintN(64, i * inverse);
    const [nextX, nextY] = [Number(BigInt.asIntN(32, key >> 32n)), Number(BigInt.asIntN(32, key))];
    for (const delta of [(nextX - x) | 0, (nextY - y) | 0])
      geometry.push(((delta << 1) ^ (delta >> 31)) >>> 0);
    [x, y] = [nextX, nextY];
  }
  const tile = tileOf({ features: [{ type: 3, geometry: [...geometry, 15] }] });
  expect(mvtToMlt(tile).length).toBeGreaterThan(300_000);
});

it('what is no MapLibre Tile is refused, and what is nearly one harms nobody', () => {
  expect(() => mltToMvt(Buffer.from('no tile'))).toThrow('no MapLibre Tile');
  const tile = mvtToMlt(goodTile());
  for (let at = 0; at < tile.length; at++)
    for (const byte of [0, 0x7f, 0x80, 0xff]) {
      const mutant = Uint8Array.from(tile);
      mutant[at] = byte;
      try {
        mltToMvt(mutant);
      } catch (error) {
        expect((error as Error).message).toMatch(/MapLibre Tile|too much/);
      }
    }
  // A layer of one point and 2,000 columns of four million equal numbers, in some bytes each.
  const run = [0x10, 0x62, 2, 5, 1, 0x80, 0x80, 0x80, 0x02, 0x80, 0x80, 0x80, 0x02, 0];
  const columns = Array.from({ length: 2000 }, () => [18, 1, 0x6e]).flat();
  const body = [
    1,
    1,
    0x6c,
    0x80,
    0x20,
    0xd1,
    0x0f,
    4,
    ...columns,
    2,
    0x10,
    2,
    1,
    1,
    0,
    0x13,
    0x42,
    2,
    2,
    2,
    2,
  ];
  const block = [...body, ...Array.from({ length: 2000 }, () => run).flat()];
  const size = [(block.length & 0x7f) | 0x80, ((block.length >> 7) & 0x7f) | 0x80, block.length >> 14];
  expect(() => mltToMvt(Uint8Array.from([...size, ...block]))).toThrow(/too much/);
});

it('layers share what a tile may hold', () => {
  // Ids of two million features that are equal, of a layer without geometries.
  const ids = [0x10, 0x62, 2, 5, 1, 0x80, 0x80, 0x80, 0x01, 0x80, 0x80, 0x80, 0x01, 0];
  const layer = [1, 1, 0x6c, 0x80, 0x20, 1, 0, ...ids];
  const layers = (count: number) =>
    Uint8Array.from(
      Array(count)
        .fill([layer.length, ...layer])
        .flat(),
    );
  expect(mltToMvt(layers(2))).toHaveLength(0);
  expect(() => mltToMvt(layers(1000))).toThrow(/too much/);
  expect(() => asMvt(layers(1000))).toThrow(expect.objectContaining({ code: 'too-large' }));
  // Two thousand points, and keys that one of them has each.
  const points = (count: number) =>
    tileOf({
      keys: Array.from({ length: count }, (_, i) => `k${i}`),
      values: [1],
      features: Array.from({ length: count }, (_, i) => ({ ...POINT, tags: [i, 0] })),
    });
  const some = points(2000);
  expect(mltToMvt(mvtToMlt(some)).length).toBeGreaterThan(some.length / 2);
  const many = Buffer.concat(Array<Uint8Array>(100).fill(some));
  expect(() => mvtToMlt(many)).toThrow(/too much/);
});
