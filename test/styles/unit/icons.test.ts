import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import mapnik from '@mapnik/mapnik';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fieldValue } from '../../../src/workers/styles/symbols/distance.js';
import { iconSvg, icons } from '../../../src/workers/styles/symbols/icons.js';
import { spriteSheet } from '../../../src/workers/styles/symbols/sprite.js';

interface Entry {
  x: number;
  y: number;
  width: number;
  height: number;
  pixelRatio: number;
  sdf: boolean;
}

describe('the sprite', () => {
  it.each([1, 2] as const)('at scale %d has every icon in a place of its own', async (scale) => {
    const { index, image } = await spriteSheet({ scale });
    const entries = JSON.parse(index) as Record<string, Entry>;
    expect(Object.keys(entries)).toEqual([...icons().keys()]);
    const { data, info } = await sharp(image)
      .extractChannel('alpha')
      .raw()
      .toBuffer({ resolveWithObject: true });
    const taken = new Uint8Array(data.length);
    for (const [name, { x, y, width, height, pixelRatio, sdf }] of Object.entries(entries)) {
      expect([pixelRatio, sdf]).toEqual([scale, true]);
      let [inside, edge, shared] = [0, 0, 0];
      for (let row = y; row < y + height; row++) {
        for (let column = x; column < x + width; column++) {
          const i = row * info.width + column;
          if (taken[i]!++ > 0) shared++;
          if (data[i]! > 191) inside++;
          if ((row === y || column === x) && data[i]! > 191) edge++;
        }
      }
      expect(inside, name).toBeGreaterThan(8 * scale);
      expect([edge, shared], name).toEqual([0, 0]);
    }
  });

  it('holds distances of 32 to a pixel of the map', async () => {
    for (const scale of [1, 2] as const) {
      const { index, image } = await spriteSheet({ scale });
      const { x, y } = (JSON.parse(index) as Record<string, Entry>)['mark-square']!;
      const data = await sharp(image).extractChannel('alpha').raw().toBuffer({ resolveWithObject: true });
      const middle = (y + 11 * scale) * data.info.width + x;
      const row = [...data.data.subarray(middle, middle + 22 * scale)];
      // The square begins three units in. Its straight edges are off by half a pixel of the picture that is measured.
      for (let i = 0; i < 6 * scale; i++)
        expect(Math.abs(row[i]! - fieldValue(3 - (i + 0.5) / scale))).toBeLessThanOrEqual(2);
    }
  });
});

describe('an icon as SVG', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'graticule-icons-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  async function drawn(name: string): Promise<{ share: number; colour: number[] }> {
    const file = join(folder, `${name}.svg`);
    writeFileSync(file, iconSvg(name)!);
    const csv = 'x,y\n0,0\n';
    const map = new mapnik.Map(32, 32);
    map.fromStringSync(
      `<Map srs="epsg:3857"><Style name="s"><Rule><MarkersSymbolizer file="${file}" fill="rgb(200,30,10)" allow-overlap="true"/></Rule></Style>
       <Layer name="l" srs="epsg:3857"><StyleName>s</StyleName><Datasource><Parameter name="type">csv</Parameter><Parameter name="inline">${csv}</Parameter></Datasource></Layer></Map>`,
    );
    const view = map as unknown as {
      zoomToBox(box: number[]): void;
      render(image: unknown, done: (error: Error | null, image: { data(): Buffer }) => void): void;
    };
    view.zoomToBox([-16, -16, 16, 16]);
    const image = await promisify(view.render.bind(view))(new mapnik.Image(32, 32));
    const pixels = image.data();
    let share = 0;
    let colour: number[] = [];
    for (let i = 0; i < pixels.length; i += 4) {
      share += pixels[i + 3]! / 255;
      if (pixels[i + 3] === 255) colour = [...pixels.subarray(i, i + 3)];
    }
    return { share, colour };
  }

  it('is drawn by Mapnik in the colour of the style', async () => {
    mapnik.register_default_input_plugins();
    const square = await drawn('mark-square');
    expect(square.colour).toEqual([200, 30, 10]);
    expect(square.share).toBeCloseTo(256, 0);
    const airport = await drawn('airport');
    expect(airport.colour).toEqual([200, 30, 10]);
    expect(airport.share).toBeGreaterThan(30);
    expect(airport.share).toBeLessThan(120);
  });

  it('is there for known names only', () => {
    expect(iconSvg('no-such-icon')).toBeUndefined();
    expect(iconSvg('../package')).toBeUndefined();
    for (const name of icons().keys())
      expect(iconSvg(name)).toMatch(/^<svg [^<>]*><path d="[^"<>&]+"\/><\/svg>$/);
  });
});
