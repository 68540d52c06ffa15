import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import type { MapTask } from '../../src/core/maps/maps.js';
import type { StyleLayer } from '../../src/core/styles/model.js';
import { TileLayerWriter } from '../../src/core/tiles/tile-layers.js';
import { suiteEngine } from '../engine/support.js';

const suite = suiteEngine();
const SIDE = 256;

/** Texts at pixels of a canvas of 256 x 256. */
function labels(texts: [text: string, x: number, y: number][], layout: object = {}): MapTask['layers'] {
  const writer = new TileLayerWriter('labels', SIDE * 16, ['text']);
  for (const [text, x, y] of texts) writer.addPositions(1, [[x * 16, y * 16]], writer.tags([text]));
  const layer: StyleLayer = {
    id: 'label',
    type: 'symbol',
    layout: { 'text-field': ['get', 'text'], 'text-font': ['Noto Sans Regular'], 'text-size': 20, ...layout },
    paint: { 'text-color': '#000000' },
  };
  return [{ kind: 'vector', tile: writer.finish(), style: JSON.stringify([layer]) }];
}

const task = (layers: MapTask['layers'], more: Partial<MapTask> = {}): MapTask => ({
  width: SIDE,
  height: SIDE,
  background: 'transparent',
  layers,
  tileExtent: SIDE * 16,
  zoom: 5,
  scale: 1,
  format: 'png',
  bbox: [0, 0, 1, 1],
  crs: 'EPSG:3857',
  ...more,
});

/** Opaque pixels of a box. */
async function ink(image: Uint8Array, [left, top, width, height]: number[]): Promise<number> {
  const box = { left: left!, top: top!, width: width!, height: height! };
  const data = await sharp(image).ensureAlpha().extract(box).extractChannel(3).raw().toBuffer();
  return data.filter((alpha) => alpha > 64).length;
}

describe('labels', () => {
  it('that the edge of a metatile would cut are left out; those over the edges of its tiles are not', async () => {
    const layers = labels([
      ['Outside', 254, 60],
      ['Across the middle', 128, 200],
    ]);
    const { tiles } = await suite.pool.run('map.render', task(layers, { cut: { width: 128, height: 128 } }));
    const [, topRight, bottomLeft, bottomRight] = tiles!;
    expect(topRight!.empty).toBe(true);
    expect(await ink(bottomLeft!.data, [118, 0, 10, 128])).toBeGreaterThan(0);
    expect(await ink(bottomRight!.data, [0, 0, 10, 128])).toBeGreaterThan(0);
    // A map that is no tile shows what it can.
    const { data } = await suite.pool.run('map.render', task(layers));
    expect(await ink(data, [200, 40, 56, 40])).toBeGreaterThan(0);
  });

  it('never cover each other, in one layer or in two', async () => {
    const one = labels([['First', 100, 100]]);
    const { data: alone } = await suite.pool.run('map.render', task(one));
    const { data: both } = await suite.pool.run(
      'map.render',
      task(
        labels([
          ['First', 100, 100],
          ['Second', 104, 104],
        ]),
      ),
    );
    expect(Buffer.from(both).equals(Buffer.from(alone))).toBe(true);
    const { data: overlapping } = await suite.pool.run(
      'map.render',
      task(
        labels(
          [
            ['First', 100, 100],
            ['Second', 104, 104],
          ],
          { 'text-allow-overlap': true },
        ),
      ),
    );
    expect(await ink(overlapping, [0, 0, SIDE, SIDE])).toBeGreaterThan(await ink(alone, [0, 0, SIDE, SIDE]));
  });

  it('along lines come again after their distance', async () => {
    const writer = new TileLayerWriter('lines', SIDE * 16, ['text']);
    const line: [number, number][] = [
      [0, 128 * 16],
      [SIDE * 16, 128 * 16],
    ];
    writer.addPositions(2, line, writer.tags(['Road']));
    const tile = writer.finish();
    const drawn = async (spacing: number) => {
      const layer = {
        id: 'name',
        type: 'symbol',
        layout: {
          'symbol-placement': 'line',
          'symbol-spacing': spacing,
          'text-field': ['get', 'text'],
          'text-font': ['Noto Sans Regular'],
          'text-size': 14,
        },
      };
      const layers: MapTask['layers'] = [{ kind: 'vector', tile, style: JSON.stringify([layer]) }];
      return ink((await suite.pool.run('map.render', task(layers))).data, [0, 0, SIDE, SIDE]);
    };
    const [once, often] = [await drawn(1000), await drawn(80)];
    expect(once).toBeGreaterThan(0);
    expect(often).toBeGreaterThan(1.8 * once);
  });

  it.each([
    ['Greek', 'Αθήνα', 'Αααααα'],
    ['Cyrillic', 'Москва', 'Мммммм'],
    ['Arabic', 'القاهرة', 'اااااا'],
    ['Hebrew', 'ירושלים', 'יייייי'],
    ['Devanagari', 'दिल्ली', 'दददददद'],
    ['Thai', 'กรุงเทพ', 'กกกกกกก'],
    ['Georgian', 'თბილისი', 'თთთთთთ'],
    ['Ethiopic', 'አዲስ አበባ', 'አአአ አአአ'],
  ])('are written in %s', async (_, text, same) => {
    const picture = async (label: string) =>
      (await suite.pool.run('map.render', task(labels([[label, 128, 128]])))).data;
    const [written, repeated, missing] = await Promise.all([
      picture(text),
      picture(same),
      // A character of no script: what stands for glyphs that no font has.
      picture('\u{10ffff}'.repeat([...text].length)),
    ]);
    expect(await ink(written, [0, 0, SIDE, SIDE])).toBeGreaterThan(50);
    expect(Buffer.from(written).equals(Buffer.from(repeated))).toBe(false);
    expect(Buffer.from(written).equals(Buffer.from(missing))).toBe(false);
  });
});
