/** Maximum bytes of a 64-bit varint. */
export const MAX_VARINT = 10;

/** Writes an integer of 64 bits as a varint (Protocol Buffers), and returns the position after it. */
export function writeVarint(value: bigint, bytes: Uint8Array, position: number): number {
  let at = position;
  let rest = BigInt.asUintN(64, value);
  for (; rest > 0x7fn; rest >>= 7n) bytes[at++] = Number(rest & 0x7fn) | 0x80;
  bytes[at++] = Number(rest);
  return at;
}
