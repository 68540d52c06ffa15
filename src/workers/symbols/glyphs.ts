import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import opentype, { type Font } from 'opentype.js';
import { Recent } from '../../core/recent.js';
import { covers, type FontFace, facesOf } from '../../core/style/fonts.js';
import type { GlyphTask } from '../../core/symbols.js';
import { distanceField } from './distance.js';
import { fontPath, isInstalled } from './font-files.js';
import { flatten, type Segments } from './outline.js';
import { ProtobufWriter } from './protobuf.js';

/** Pixels of an em, and of the margin around each glyph: MapLibre counts on both. */
const EM = 24;
const BORDER = 3;
/**
 * Pixels from the top of a line to its baseline. Clients place glyphs by their distance from that top; one number for all
 * faces puts them on one baseline, and this one, the ascender of Noto Sans, centres capitals on the line.
 */
const BASELINE = 26;
/** Code points of one answer. */
const RANGE = 256;
const FIRST_PRINTABLE = 32;
/** Sides of larger ones would not fit the textures of clients. */
const MAX_SIDE = 512;

/** Fonts kept open, some megabytes each. */
const OPEN_FONTS = 32;
const open = new Recent<string, Font>(OPEN_FONTS);

/** Task `symbols.glyphs`: each glyph comes from the first face that has it. */
export async function glyphRange({ fonts, first }: GlyphTask): Promise<Uint8Array> {
  const last = first + RANGE - 1;
  const faces = facesOf(fonts).filter((face) => covers(face, first, last) && isInstalled(face));
  const stack = new ProtobufWriter().text(1, fonts.join(', ')).text(2, `${first}-${last}`);
  for (let code = Math.max(first, FIRST_PRINTABLE); code <= last; code++) {
    const glyph = glyphOf(faces, code);
    if (glyph) stack.bytes(3, glyph);
  }
  const document = new ProtobufWriter().bytes(1, stack.finish()).finish();
  return new Uint8Array(await promisify(gzip)(document));
}

function glyphOf(faces: readonly FontFace[], code: number): Uint8Array | undefined {
  const character = String.fromCodePoint(code);
  for (const face of faces) {
    if (!covers(face, code, code)) continue;
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
    // Read as they are asked for, glyphs take a tenth of the time and memory.
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
  const message = new ProtobufWriter().uint(1, code);
  const width = box.right - box.left;
  const height = box.bottom - box.top;
  if (width > 0 && height > 0 && Math.max(width, height) <= MAX_SIDE) {
    const moved = movedBy(segments, BORDER - box.left, BORDER - box.top);
    message.bytes(2, distanceField(moved, width + 2 * BORDER, height + 2 * BORDER));
    message
      .uint(3, width)
      .uint(4, height)
      .sint(5, box.left)
      .sint(6, -box.top - BASELINE);
  } else {
    message.uint(3, 0).uint(4, 0).sint(5, 0).sint(6, -BASELINE);
  }
  const advance = Math.round(((glyph.advanceWidth ?? 0) * EM) / font.unitsPerEm);
  return message.uint(7, advance).finish();
}

/** Whole pixels around an outline; of no size when it is empty, as that of a space. */
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
