import { constants, crc32, deflateRawSync } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { type Format, PNG_FORMAT, WEBP_FORMAT } from '../../core/http/media.js';

/** Empty images, for tiles without content. */

const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Maximum number of sizes whose images are kept. Clients can request any size, but tile matrices have only a few. */
const MAX_KEPT = 64;
const images = new LRUCache<string, Uint8Array>({ max: MAX_KEPT });

/** A transparent image; undefined in formats that have no transparency. */
export function blankImage(format: Format, width: number, height: number): Uint8Array | undefined {
  const write = format === PNG_FORMAT ? blankPng : format === WEBP_FORMAT ? blankWebp : undefined;
  if (!write) return undefined;
  const key = `${format.name}/${width}/${height}`;
  let image = images.get(key);
  if (!image) {
    image = write(width, height);
    images.set(key, image);
  }
  return image;
}

/** One bit per pixel, and one colour, which is transparent. */
function blankPng(width: number, height: number): Uint8Array {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  // Bits of a pixel, and colour type 3: by palette.
  head[8] = 1;
  head[9] = 3;
  return Buffer.concat([
    PNG_SIGNATURE,
    pngChunk('IHDR', head),
    pngChunk('PLTE', Buffer.alloc(3)),
    pngChunk('tRNS', Buffer.alloc(1)),
    pngChunk('IDAT', deflatedZeros(height * (1 + Math.ceil(width / 8)))),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Bytes that are deflated once and repeated: a large image would take milliseconds of the event loop. */
const ZEROS = 65_536;
const DEFLATED = deflateRawSync(Buffer.alloc(ZEROS), { finishFlush: constants.Z_FULL_FLUSH });

/** This number of zero bytes as a zlib stream (RFC 1950). */
function deflatedZeros(length: number): Uint8Array {
  const checksum = Buffer.alloc(4);
  checksum.writeUInt16BE(length % 65_521, 0);
  checksum.writeUInt16BE(1, 2);
  return Buffer.concat([
    Buffer.from([0x78, 0x9c]),
    ...Array.from({ length: Math.floor(length / ZEROS) }, () => DEFLATED),
    deflateRawSync(Buffer.alloc(length % ZEROS)),
    checksum,
  ]);
}

function pngChunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const frame = Buffer.alloc(8 + body.byteLength);
  frame.writeUInt32BE(data.byteLength, 0);
  frame.set(body, 4);
  frame.writeUInt32BE(crc32(body), 4 + body.byteLength);
  return frame;
}

const WEBP_SIGNATURE_BITS = 8;
const WEBP_SIDE_BITS = 14;
/** A prefix code of the one symbol 0, which then takes no bits: simple, one symbol, of one bit, 0. */
const ZERO_CODE: readonly Bits[] = [
  [1, 1],
  [0, 1],
  [0, 1],
  [0, 1],
];
/** Green, red, blue, alpha and distance. */
const PREFIX_CODES = 5;

type Bits = readonly [value: number, count: number];

/** Lossless WebP (RFC 9649, 3) of which every pixel is the only symbol that there is. */
function blankWebp(width: number, height: number): Uint8Array {
  const bits: Bits[] = [
    [0x2f, WEBP_SIGNATURE_BITS],
    [width - 1, WEBP_SIDE_BITS],
    [height - 1, WEBP_SIDE_BITS],
    // Alpha is used; version 0; no transform, no colour cache, no meta prefix codes.
    [1, 1],
    [0, 3],
    [0, 3],
    ...Array.from({ length: PREFIX_CODES }, () => ZERO_CODE).flat(),
  ];
  const data = packed(bits);
  const padded = data.byteLength + (data.byteLength % 2);
  const file = Buffer.alloc(20 + padded);
  file.write('RIFF', 0, 'latin1');
  file.writeUInt32LE(12 + padded, 4);
  file.write('WEBPVP8L', 8, 'latin1');
  file.writeUInt32LE(data.byteLength, 16);
  file.set(data, 20);
  return file;
}

/** Values one behind the other, the lowest bit first. */
function packed(bits: readonly Bits[]): Uint8Array {
  const length = bits.reduce((sum, [, count]) => sum + count, 0);
  const bytes = new Uint8Array(Math.ceil(length / 8));
  let at = 0;
  for (const [value, count] of bits)
    for (let bit = 0; bit < count; bit++, at++) bytes[at >> 3]! |= ((value >> bit) & 1) << (at & 7);
  return bytes;
}
