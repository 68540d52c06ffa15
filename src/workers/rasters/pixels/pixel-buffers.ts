/**
 * Buffers of pixels of tiles, used again and again: V8 looks through its whole heap after every 64 MB of new ones, which
 * are 200 tiles.
 */

const MAX_BYTES = 1 << 20;
/** Some for each of the tasks that run at once. */
const FREE_BUFFERS = 16;
const free: ArrayBuffer[] = [];

/** A buffer of this many bytes, which hold anything. */
export function takeBuffer(bytes: number): ArrayBuffer {
  const index = free.findIndex(({ byteLength }) => byteLength === bytes);
  return index < 0 ? new ArrayBuffer(bytes) : free.splice(index, 1)[0]!;
}

/** For what nothing reads or writes any more. Of what is not given back the collector takes care. */
export function giveBack({ buffer, byteLength }: Uint8Array | Float32Array): void {
  if (!(buffer instanceof ArrayBuffer) || buffer.byteLength !== byteLength || byteLength > MAX_BYTES) return;
  free.push(buffer);
  // Sizes that are not asked for any more leave first.
  if (free.length > FREE_BUFFERS) free.shift();
}
