/**
 * Reusable pixel buffers of tiles. V8 would otherwise scan its complete heap after every 64 MB of new buffers, which
 * are 200 tiles.
 */

const MAX_BYTES = 1 << 20;
/** Maximum number of free buffers: a few for each parallel task. */
const FREE_BUFFERS = 16;
const free: ArrayBuffer[] = [];

/** Returns a buffer of this many bytes with undefined contents. */
export function takeBuffer(bytes: number): ArrayBuffer {
  const index = free.findIndex(({ byteLength }) => byteLength === bytes);
  return index < 0 ? new ArrayBuffer(bytes) : free.splice(index, 1)[0]!;
}

/** Returns a buffer that is no longer read or written. The garbage collector frees buffers that are not returned. */
export function giveBack({ buffer, byteLength }: Uint8Array | Float32Array): void {
  if (!(buffer instanceof ArrayBuffer) || buffer.byteLength !== byteLength || byteLength > MAX_BYTES) return;
  free.push(buffer);
  // Sizes that are no longer requested are removed first.
  if (free.length > FREE_BUFFERS) free.shift();
}
