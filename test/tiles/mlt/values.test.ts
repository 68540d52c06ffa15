import { beforeAll, describe, expect, it } from 'vitest';
import {
  geojsonToWkb,
  LayerEncoder,
  type LayerRow,
  type LayerValue,
  mltToMvt,
  mvtToMlt,
} from '../../../src/native/index.js';
import { mltReader, type ReadTile, readMvt } from './support.js';

/** Columns of all kinds, and of none. */

let readMlt: (tile: Uint8Array) => ReadTile;
beforeAll(async () => {
  readMlt = await mltReader();
});

const OPTIONS = {
  from: 'EPSG:3857',
  to: 'EPSG:3857',
  bbox: [0, 0, 4096, 4096] as [number, number, number, number],
};
const GEOMETRIES = [
  '{"type":"Point","coordinates":[10,20]}',
  '{"type":"MultiPoint","coordinates":[[1,1],[30,40],[2000,1]]}',
  '{"type":"LineString","coordinates":[[0,0],[100,10],[50,900]]}',
  '{"type":"MultiLineString","coordinates":[[[0,0],[9,9]],[[100,100],[200,100],[300,7]]]}',
  '{"type":"Polygon","coordinates":[[[0,0],[400,0],[400,400],[0,400],[0,0]],[[10,10],[10,20],[20,20],[10,10]]]}',
  '{"type":"MultiPolygon","coordinates":[[[[0,0],[9,0],[9,9],[0,0]]],[[[50,50],[90,50],[90,90],[50,50]]]]}',
].map((text) => geojsonToWkb(text, { from: 'EPSG:3857', to: 'EPSG:3857' }));

function tileOf(fields: string[], rows: LayerRow[], layer = 'l'): Buffer {
  const encoder = new LayerEncoder({ ...OPTIONS, layer, fields });
  encoder.add(rows);
  return encoder.finish();
}

/** Both readers find the same, and so they do after the way there and back. */
function expectSame(tile: Uint8Array): ReadTile {
  const expected = readMvt(tile);
  const mlt = mvtToMlt(tile);
  expect(readMlt(mlt)).toEqual(expected);
  expect(readMvt(mltToMvt(mlt))).toEqual(expected);
  return expected;
}

const points = (...values: LayerValue[][]) =>
  values.map((row, i): LayerRow => [i + 1, GEOMETRIES[0]!, ...row]);

describe('a column', () => {
  it.each<[string, LayerValue[]]>([
    ['of texts, some twice', ['a', 'b', 'a', 'a', '', 'ü漢😀']],
    ['of one long text', ['x'.repeat(3000)]],
    ['of one value everywhere', [7, 7, 7, 7]],
    ['that counts', [1, 2, 3, 4, 5, 6]],
    ['of numbers that come and go', [null, 1, null, null, 400_000_000, 2, null]],
    ['of negative numbers', [-1, 5, -2_147_483_648, 2_147_483_647]],
    ['of numbers beyond 32 bits', [4_294_967_296, -4_000_000_000_000_000, 1]],
    ['of numbers beyond doubles', [2n ** 62n, 1n, 2n ** 62n]],
    ['of fractions', [0.5, 1.25, null, -3]],
    ['of fractions that no float holds', [0.1, 1e300, -0, 5]],
    ['of truths', [true, null, false, true, true, true, true, true, true, false]],
    ['with nothing in it', [null, null]],
    ['with one value', [null, 'only', null]],
  ])('%s', (_title, column) => {
    const { l } = expectSame(tileOf(['v'], points(...column.map((value) => [value]))));
    expect(l!.features.map(({ properties }) => properties['v'] ?? null)).toEqual(
      column.map((value) => (typeof value === 'bigint' ? Number(value) : value)),
    );
  });

  it('of several kinds becomes text', () => {
    const tile = tileOf(['v'], points(['a'], [1], [true], [0.5], [null]));
    const { l } = readMlt(mvtToMlt(tile));
    expect(l!.features.map(({ properties }) => properties['v'])).toEqual([
      'a',
      '1',
      'true',
      '0.5',
      undefined,
    ]);
  });
});

it('columns of the same texts have them once', () => {
  const names = Array.from({ length: 300 }, (_, i) => `a name of some length, number ${i}`);
  const alike = names.map((name, i) => [
    name,
    i % 3 === 0 ? null : name,
    i % 50 === 0 ? 'another' : name,
    i,
    '',
  ]);
  const tile = tileOf(['name', 'name_de', 'name_en', 'number', 'empty'], points(...alike));
  expectSame(tile);
  const one = tileOf(
    ['name', 'number', 'empty'],
    points(...alike.map(([name, , , i, empty]) => [name!, i!, empty!])),
  );
  expect(mvtToMlt(tile).length).toBeLessThan(1.2 * mvtToMlt(one).length);
  expectSame(tileOf(['a', 'b'], points(['', ''], ['', ''])));
});

it('takes geometries of all types, alone and together', () => {
  for (const geometry of GEOMETRIES)
    expectSame(
      tileOf(
        [],
        [
          [1, geometry],
          [2, geometry],
        ],
      ),
    );
  const rows = [...GEOMETRIES, ...GEOMETRIES.toReversed()].map((geometry, i): LayerRow => [i, geometry, i]);
  expectSame(tileOf(['n'], rows));
  for (const one of GEOMETRIES)
    for (const other of GEOMETRIES)
      expectSame(
        tileOf(
          [],
          [
            [1, one],
            [2, other],
            [3, one],
          ],
        ),
      );
});

it('takes ids that are missing, and large ones', () => {
  const rows = [1, null, 3, 2 ** 40].map((id): LayerRow => [id, GEOMETRIES[0]!]);
  expectSame(tileOf([], rows));
  expectSame(tileOf([], [[null, GEOMETRIES[0]!]]));
  expectSame(tileOf([], rows.slice(0, 1)));
});

it('tells positions of shared borders once', () => {
  const cells = Array.from({ length: 100 }, (_, i) => {
    const [x, y] = [(i % 10) * 40, Math.floor(i / 10) * 40];
    const side = (n: number) => Array.from({ length: 20 }, (_, k) => 2 * k * (n === 0 ? 1 : -1));
    const ring = [
      ...side(0).map((d) => [x + d, y]),
      ...side(0).map((d) => [x + 40, y + d]),
      ...side(0).map((d) => [x + 40 - d, y + 40]),
      ...side(0).map((d) => [x, y + 40 - d]),
    ];
    const text = JSON.stringify({ type: 'Polygon', coordinates: [[...ring, ring[0]]] });
    return geojsonToWkb(text, { from: 'EPSG:3857', to: 'EPSG:3857' });
  });
  const tile = tileOf(
    [],
    cells.map((geometry, i): LayerRow => [i, geometry]),
  );
  expectSame(tile);
  expect(mvtToMlt(tile).length).toBeLessThan(0.7 * tile.length);
});

it('takes rows of any values', () => {
  let seed = 1;
  const random = (n: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed % n;
  };
  const kinds: (() => LayerValue)[] = [
    () => random(2) === 1,
    () => random(10),
    () => random(2 ** 31) - 2 ** 30,
    () => random(1000) / 8,
    () => random(2 ** 31) / 7,
    () => 'abc'.slice(random(3)),
    () => `text ${random(1000)}`,
  ];
  for (let round = 0; round < 150; round++) {
    const fields = Array.from({ length: 1 + random(6) }, (_, i) => `f${i}`);
    const columns = fields.map(() => kinds[random(kinds.length)]!);
    const rows = Array.from({ length: 1 + random(200) }, (): LayerRow => {
      const values = columns.map((value) => (random(4) === 0 ? null : value()));
      return [random(3) === 0 ? null : random(2 ** 31), GEOMETRIES[random(GEOMETRIES.length)]!, ...values];
    });
    expectSame(tileOf(fields, rows));
  }
});

it('refuses what is no vector tile, and survives what is nearly one', () => {
  expect(() => mvtToMlt(Buffer.from('no tile'))).toThrow('no vector tile');
  const tile = tileOf(['v'], points(['a'], ['b'], [null]));
  for (let at = 0; at < tile.length; at++)
    for (const byte of [0, 0x7f, 0x80, 0xff]) {
      const mutant = Uint8Array.from(tile);
      mutant[at] = byte;
      try {
        mvtToMlt(mutant);
      } catch (error) {
        expect((error as Error).message).toContain('vector tile');
      }
    }
});
