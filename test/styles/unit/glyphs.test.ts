import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import opentype from 'opentype.js';
import { PbfReader } from 'pbf';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { listFontFaces } from '../../../src/core/styles/fonts.js';
import { distanceField, fieldValue } from '../../../src/workers/styles/symbols/distance.js';
import { fontPath } from '../../../src/workers/styles/symbols/font-files.js';
import { glyphRange } from '../../../src/workers/styles/symbols/glyphs.js';

interface Glyph {
  id: number;
  bitmap: Uint8Array | undefined;
  width: number;
  height: number;
  left: number;
  top: number;
  advance: number;
}

interface Stack {
  name: string;
  range: string;
  glyphs: Map<number, Glyph>;
}

/** Reads the format as its schema has it (glyphs.proto of the MapLibre font tools). */
function read(document: Uint8Array): Stack {
  const stack: Stack = { name: '', range: '', glyphs: new Map() };
  const readStack = (tag: number, _: unknown, pbf: PbfReader) => {
    if (tag === 1) stack.name = pbf.readString();
    else if (tag === 2) stack.range = pbf.readString();
    else if (tag === 3) {
      const glyph = pbf.readMessage(readGlyph, {} as Glyph);
      stack.glyphs.set(glyph.id, glyph);
    }
  };
  new PbfReader(document).readFields((tag, _, pbf) => {
    expect(tag).toBe(1);
    pbf.readMessage(readStack, undefined);
  }, undefined);
  return stack;
}

function readGlyph(tag: number, glyph: Glyph | undefined, pbf: PbfReader): void {
  if (!glyph) return;
  if (tag === 1) glyph.id = pbf.readVarint();
  else if (tag === 2) glyph.bitmap = pbf.readBytes();
  else if (tag === 3) glyph.width = pbf.readVarint();
  else if (tag === 4) glyph.height = pbf.readVarint();
  else if (tag === 5) glyph.left = pbf.readSVarint();
  else if (tag === 6) glyph.top = pbf.readSVarint();
  else if (tag === 7) glyph.advance = pbf.readVarint();
}

async function range(first: number, fonts = ['Noto Sans Regular']): Promise<Stack> {
  return read(gunzipSync(await glyphRange({ fonts, first })));
}

const BORDER = 3;

describe('a range of glyphs', () => {
  it('has the characters of the range and no others', async () => {
    const { name, range: covered, glyphs } = await range(0);
    expect(name).toBe('Noto Sans Regular');
    expect(covered).toBe('0-255');
    expect([...glyphs.keys()].every((code) => code >= 32 && code <= 255)).toBe(true);
    for (const character of 'AZaz09äß€'.replace('€', ''))
      expect(glyphs.has(character.charCodeAt(0))).toBe(true);
  });

  it('has bitmaps of the size of the glyph and its border', async () => {
    const { glyphs } = await range(0);
    for (const { bitmap, width, height } of glyphs.values()) {
      if (width === 0) expect(bitmap).toBeUndefined();
      else expect(bitmap!.length).toBe((width + 2 * BORDER) * (height + 2 * BORDER));
    }
    const space = glyphs.get(32)!;
    expect([space.width, space.height]).toEqual([0, 0]);
    expect(space.advance).toBe(6);
  });

  it('places capitals in the middle of the line, on one baseline with all scripts', async () => {
    const latin = (await range(0)).glyphs.get('H'.charCodeAt(0))!;
    // Capitals of Noto Sans are 0.714 em high; MapLibre draws the top of a line 17 pixels above its middle.
    expect(latin.height).toBe(18);
    expect(latin.top - latin.height).toBe(-26);
    const thai = (await range(0xe00)).glyphs.get(0xe01)!;
    expect(thai.top - thai.height).toBe(-26);
  });

  it('is filled by the faces of other scripts, and empty where no face has anything', async () => {
    expect((await range(0x600)).glyphs.size).toBeGreaterThan(200);
    expect((await range(0x900)).glyphs.size).toBeGreaterThan(100);
    expect((await range(0xe000)).glyphs.size).toBeLessThan(256);
    expect((await range(0x10ff00)).glyphs.size).toBe(0);
  });

  it('draws what the outline covers', async () => {
    const { glyphs } = await range(0);
    const font = opentype.parse(arrayBuffer(fontPath(listFontFaces(['Noto Sans Regular'])[0]!)));
    for (const character of 'AgS8&@') {
      const { bitmap, width, height, left, top } = glyphs.get(character.charCodeAt(0))!;
      const [x, y] = [BORDER - left, BORDER + top + 26];
      const path = font.glyphs.get(font.charToGlyphIndex(character)).getPath(x, y, 24);
      const size = { width: width + 2 * BORDER, height: height + 2 * BORDER };
      const coverage = await rasterised(svgPath(path.commands), size);
      // Values on either side of the outline where the rasteriser has a pixel wholly in or out.
      bitmap!.forEach((value, i) => {
        if (coverage[i] === 255) expect(value).toBeGreaterThanOrEqual(191);
        if (coverage[i] === 0) expect(value).toBeLessThanOrEqual(191);
      });
      const share = coverage.reduce((sum, value) => sum + value / 255, 0);
      // Half a pixel on either side of the outline is what a field of distances shows of an edge.
      const drawn = bitmap!.reduce((sum, v) => sum + Math.min(1, Math.max(0, 0.5 + (v - 191) / 32)), 0);
      expect(Math.abs(drawn / share - 1)).toBeLessThan(0.03);
    }
  });
});

function arrayBuffer(path: string): ArrayBuffer {
  return new Uint8Array(readFileSync(path)).buffer;
}

type Command = { type: string; x?: number; y?: number; x1?: number; y1?: number; x2?: number; y2?: number };

function svgPath(commands: readonly Command[]): string {
  return commands
    .map(
      ({ type, x1, y1, x2, y2, x, y }) =>
        `${type}${[x1, y1, x2, y2, x, y].filter((n) => n !== undefined).join(' ')}`,
    )
    .join('');
}

async function rasterised(path: string, { width, height }: { width: number; height: number }) {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><path d="${path}"/></svg>`;
  return sharp(Buffer.from(svg)).ensureAlpha().extractChannel('alpha').raw().toBuffer();
}

describe('a field of distances', () => {
  const square = [4, 4, 12, 4, 12, 4, 12, 12, 12, 12, 4, 12, 4, 12, 4, 4].slice(0);
  const ring = (x0: number, y0: number, x1: number, y1: number) => [
    ...[x0, y0, x1, y0],
    ...[x1, y0, x1, y1],
    ...[x1, y1, x0, y1],
    ...[x0, y1, x0, y0],
  ];

  it('is exact to the nearest edge and corner', () => {
    const field = distanceField(square, 16, 16);
    const at = (x: number, y: number) => field[y * 16 + x];
    expect(at(8, 8)).toBe(fieldValue(-3.5));
    expect(at(4, 8)).toBe(fieldValue(-0.5));
    expect(at(3, 8)).toBe(fieldValue(0.5));
    expect(at(1, 1)).toBe(fieldValue(Math.hypot(2.5, 2.5)));
  });

  it('counts what overlaps as inside, and what winds the other way as a hole', () => {
    const twice = distanceField([...ring(2, 2, 10, 10), ...ring(6, 6, 14, 14)], 16, 16);
    expect(twice[8 * 16 + 8]!).toBeGreaterThan(191);
    const reversed = ring(6, 6, 10, 10).reduce<number[]>((all, _, i, from) => {
      if (i % 4 === 0) all.push(from[i + 2]!, from[i + 3]!, from[i]!, from[i + 1]!);
      return all;
    }, []);
    const hole = distanceField([...ring(2, 2, 14, 14), ...reversed], 16, 16);
    expect(hole[8 * 16 + 8]!).toBeLessThan(191);
  });
});
