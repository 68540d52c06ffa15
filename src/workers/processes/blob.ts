import type { Box } from '../../core/geometry/box.js';

/** GeoPackage blobs as our native part writes them: little endian, x,y envelope but for points (OGC 12-128r18, 2.1.3). */

/** Bytes of the envelope by its code. */
const ENVELOPES = [0, 32, 48, 48, 64];
const HEADER = 8;
const MULTI = 3;
const COLLECTION = 7;

const buildView = (blob: Uint8Array) => new DataView(blob.buffer, blob.byteOffset, blob.byteLength);

function wkbOffset(blob: Uint8Array): number {
  return HEADER + (ENVELOPES[(blob[3]! >> 1) & 7] ?? 0);
}

/** Number of the type in ISO WKB: 3 for a polygon, 1003 for one with Z. */
export function typeNumber(blob: Uint8Array): number {
  return buildView(blob).getUint32(wkbOffset(blob) + 1, true);
}

/** The positions of the first ring of a polygon, x and y by turns. */
export function readFirstRing(blob: Uint8Array): Float64Array {
  const view = buildView(blob);
  const offset = wkbOffset(blob) + 9;
  const ring = new Float64Array(2 * view.getUint32(offset, true));
  for (let i = 0; i < ring.length; i++) ring[i] = view.getFloat64(offset + 4 + 8 * i, true);
  return ring;
}

/** Returns a single geometry as a multi geometry with one part. Other geometries are unchanged. */
export function asMulti(blob: Uint8Array): Uint8Array {
  const number = typeNumber(blob);
  const plain = number % 1000;
  if (plain > MULTI || plain === COLLECTION) return blob;
  const offset = wkbOffset(blob);
  const result = Buffer.alloc(blob.length + 9);
  result.set(blob.subarray(0, offset));
  result[offset] = 1;
  result.writeUInt32LE(number + MULTI, offset + 1);
  result.writeUInt32LE(1, offset + 5);
  result.set(blob.subarray(offset), offset + 9);
  return result;
}

/** Returns the box of a blob. Undefined for null, and for a blob without an envelope that is not a point. */
export function readBlobBox(blob: Uint8Array | null): Box | undefined {
  if (!blob) return undefined;
  const view = buildView(blob);
  const offset = wkbOffset(blob);
  if (offset > HEADER) {
    const [west, east, south, north] = [0, 8, 16, 24].map((at) => view.getFloat64(HEADER + at, true));
    return [west!, south!, east!, north!];
  }
  const [x, y] = [view.getFloat64(offset + 5, true), view.getFloat64(offset + 13, true)];
  return [x, y, x, y];
}

/** Whether all sides are finite numbers. Other boxes are not in any index. */
export const isPlace = (box: Box) => box.every(Number.isFinite);
