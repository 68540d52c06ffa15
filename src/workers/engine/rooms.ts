/**
 * Reusable memory for large results that are not cached: taken, filled, sent to a client and returned. With new
 * memory for each result, V8 would collect the complete heap every few megabytes, because it counts memory outside
 * its heap as growth.
 */

const MIN_BYTES = 64 << 10;
const MAX_BYTES = 8 << 20;
/** Maximum unused bytes. */
const FREE_BYTES = 32 << 20;

/** By size, all of them powers of two. */
const free = new Map<number, ArrayBuffer[]>();
let freeBytes = 0;
/** Lent memory, which can be returned once. Memory that is not returned is collected like any other. */
const lent = new WeakSet<ArrayBufferLike>();

/** Bytes with any content; the caller fills all of them. */
export function takeRoom(length: number): Uint8Array {
  if (length < MIN_BYTES || length > MAX_BYTES) return new Uint8Array(length);
  const size = 2 ** Math.ceil(Math.log2(length));
  let room = free.get(size)?.pop();
  if (room) freeBytes -= size;
  else room = new ArrayBuffer(size);
  lent.add(room);
  return new Uint8Array(room, 0, length);
}

/** Returns memory that is no longer read. Has no effect on other memory, or on memory that was already returned. */
export function giveRoomBack({ buffer }: Uint8Array): void {
  if (!lent.delete(buffer)) return;
  const size = buffer.byteLength;
  if (freeBytes + size > FREE_BYTES) return;
  freeBytes += size;
  const alike = free.get(size);
  if (alike) alike.push(buffer as ArrayBuffer);
  else free.set(size, [buffer as ArrayBuffer]);
}
