import { readFileSync } from 'node:fs';
import { LRUCache } from 'lru-cache';
import opentype, { type Font } from 'opentype.js';
import { PbfWriter } from 'pbf';
import { type FontFace, hasCodePoints, listFontFaces } from '../../../core/styles/fonts.js';
import type { GlyphTask } from '../../../core/styles/symbols.js';
import { gzip } from '../../../native/index.js';
import { distanceField } from './distance.js';
import { fontPath, isInstalled } from './font-files.js';
import { flatten, type Segments } from './outline.js';

/** Pixels of an em, and of the margin around each glyph: MapLibre counts on both. */
const EM = 24;
const BORDER = 3;
/**
 * Pixels from the top of a line to its baseline. Clients place glyphs by their distance from that top. One number for
 * all faces puts them on one baseline, and this number, the ascender of Noto Sans, centres capitals on the line.
 */
const BASELINE = 26;
/** Number of code points in one response. */
const RANGE = 256;
const FIRST_PRINTABLE = 32;
/** Sides of larger ones would not fit the textures of clients. */
const MAX_SIDE = 512;

/** Fonts kept open, some megabytes each. */
const OPEN_FONTS = 32;
const open = new LRUCache<string, Font>({ max: OPEN_FONTS });

/** Task `symbols.glyphs`: returns each glyph from the first face that contains it. */
export async function glyphRange({ fonts, first }: GlyphTask): Promise<Uint8Array> {
  const last = first + RANGE - 1;
  const faces = listFontFaces(fonts).filter((face) => hasCodePoints(face, first, last) && isInstalled(face));
  const stack = new PbfWriter();
  stack.writeStringField(1, fonts.join(', '));
  stack.writeStringField(2, `${first}-${last}`);
  for (let code = Math.max(first, FIRST_PRINTABLE); code <= last; code++) {
    const glyph = buildGlyph(faces, code);
    if (glyph) stack.writeBytesField(3, glyph);
  }
  const document = new PbfWriter();
  document.writeBytesField(1, stack.finish());
  return new Uint8Array(gzip(document.finish(), 12));
}

function buildGlyph(faces: readonly FontFace[], code: number): Uint8Array | undefined {
  const character = String.fromCodePoint(code);
  for (const face of faces) {
    if (!hasCodePoints(face, code, code)) continue;
    const font = openFont(face);
    const index = font.charToGlyphIndex(character);
    if (index > 0) return glyphMessage(font, index, code);
  }
  return undefined;
}

function openFont(face: FontFace): Font {
  let font = open.get(face.name);
  if (!font) {
    const { buffer, byteOffset, byteLength } = readFileSync(fontPath(face));
    // Glyphs that are parsed on demand need a tenth of the time and memory.
    font = opentype.parse(buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer, {
      lowMemory: true,
    });
    open.set(face.name, font);
  }
  return font;
}

/** Message `glyph` of the format: id, bitmap, width, height, left, top, advance. */
function glyphMessage(font: Font, index: number, code: number): Uint8Array {
  const glyph = font.glyphs.get(index);
  const segments = flatten(glyph.getPath(0, 0, EM).commands);
  const box = pixelBox(segments);
  const message = new PbfWriter();
  message.writeVarintField(1, code);
  const width = box.right - box.left;
  const height = box.bottom - box.top;
  if (width > 0 && height > 0 && Math.max(width, height) <= MAX_SIDE) {
    const moved = movedBy(segments, BORDER - box.left, BORDER - box.top);
    message.writeBytesField(2, distanceField(moved, width + 2 * BORDER, height + 2 * BORDER));
    writeSides(message, { width, height, left: box.left, top: -box.top - BASELINE });
  } else {
    writeSides(message, { width: 0, height: 0, left: 0, top: -BASELINE });
  }
  const advance = Math.round(((glyph.advanceWidth ?? 0) * EM) / font.unitsPerEm);
  message.writeVarintField(7, advance);
  return message.finish();
}

interface Sides {
  readonly width: number;
  readonly height: number;
  readonly left: number;
  readonly top: number;
}

function writeSides(message: PbfWriter, { width, height, left, top }: Sides): void {
  message.writeVarintField(3, width);
  message.writeVarintField(4, height);
  message.writeSVarintField(5, left);
  message.writeSVarintField(6, top);
}

/** Returns the box in integer pixels around an outline. It has no size for an empty outline, such as a space. */
function pixelBox(segments: Segments): { left: number; top: number; right: number; bottom: number } {
  if (segments.length === 0) return { left: 0, top: 0, right: 0, bottom: 0 };
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i < segments.length; i += 2) {
    left = Math.min(left, segments[i]!);
    right = Math.max(right, segments[i]!);
    top = Math.min(top, segments[i + 1]!);
    bottom = Math.max(bottom, segments[i + 1]!);
  }
  return { left: Math.floor(left), top: Math.floor(top), right: Math.ceil(right), bottom: Math.ceil(bottom) };
}

function movedBy(segments: Segments, dx: number, dy: number): Segments {
  return segments.map((value, i) => value + (i % 2 === 0 ? dx : dy));
}
