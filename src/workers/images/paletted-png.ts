/** PNG images of at most 256 colours (W3C PNG, colour type 3): a quarter of the bytes to compress, and no loss. */

import { promisify } from 'node:util';
import { crc32, deflate } from 'node:zlib';
import type { PixelWindow } from '../../native/index.js';

const deflateAsync = promisify(deflate);

const MAX_COLORS = 256;
/** Twice as many places as colours, twice: look-ups meet the right one at once. */
const PLACES = 1024;
const LEVEL = 4;
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

export interface Indexed {
  /** RGBA of each colour, in the order of the bytes in memory. */
  readonly colors: Uint32Array;
  /** Rows of a PNG image: a filter byte of 0, then an index per pixel. */
  readonly rows: Uint8Array;
}

/** The window of an RGBA image `stride` pixels wide by its colours; undefined when there are more than 256. */
export function indexed(
  pixels: Uint32Array,
  stride: number,
  { x, y, width, height }: PixelWindow,
): Indexed | undefined {
  const colors = new Uint32Array(MAX_COLORS);
  const places = new Int16Array(PLACES).fill(-1);
  const rows = new Uint8Array(height * (width + 1));
  let count = 0;
  let last = 0;
  let lastIndex = -1;
  for (let row = 0, to = 0; row < height; row++) {
    const from = (y + row) * stride + x;
    to++;
    for (let at = from; at < from + width; at++) {
      // What is fully transparent has no colour.
      const color = pixels[at]! >>> 24 === 0 ? 0 : pixels[at]!;
      if (color !== last || lastIndex < 0) {
        let place = Math.imul(color, 0x9e3779b1) >>> 22;
        while (places[place]! >= 0 && colors[places[place]!] !== color) place = (place + 1) % PLACES;
        if (places[place]! < 0) {
          if (count === MAX_COLORS) return undefined;
          colors[count] = color;
          places[place] = count++;
        }
        last = color;
        lastIndex = places[place]!;
      }
      rows[to++] = lastIndex;
    }
  }
  return { colors: colors.subarray(0, count), rows };
}

export async function encodePaletted(
  { colors, rows }: Indexed,
  width: number,
  height: number,
): Promise<Uint8Array> {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const palette = new Uint8Array(colors.length * 3);
  const alpha = new Uint8Array(colors.length);
  for (const [i, color] of colors.entries()) {
    palette.set([color & 255, (color >>> 8) & 255, (color >>> 16) & 255], i * 3);
    alpha[i] = color >>> 24;
  }
  const opaque = alpha.every((value) => value === 255);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', head),
    chunk('PLTE', palette),
    ...(opaque ? [] : [chunk('tRNS', alpha)]),
    chunk('IDAT', await deflateAsync(rows, { level: LEVEL })),
    chunk('IEND', new Uint8Array()),
  ]);
}

function chunk(type: string, data: Uint8Array): Buffer {
  const whole = Buffer.allocUnsafe(12 + data.byteLength);
  whole.writeUInt32BE(data.byteLength, 0);
  whole.write(type, 4, 'latin1');
  whole.set(data, 8);
  whole.writeUInt32BE(crc32(whole.subarray(4, 8 + data.byteLength)), 8 + data.byteLength);
  return whole;
}
