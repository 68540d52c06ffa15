const DIGITS = 8;
const ZERO = 0x30;
const NINE = 0x39;
const A = 0x61;
const Z = 0x7a;

const processTag = Math.floor(Math.random() * 36 ** 6)
  .toString(36)
  .padStart(6, '0');

let count = 0;
const text = (n: number) => `${processTag}-${n.toString(36).padStart(DIGITS, '0')}`;

/** The id given last, as ASCII. It is counted on in place: cheaper than making a text for each request. */
const last = Uint8Array.from(Buffer.from(text(0), 'latin1'));

/** Bytes of an id: all have the same length. */
export const ID_BYTES = last.length;

/** Counts one request; what it gives names the request in this process. */
export function countRequest(): number {
  let at = ID_BYTES - 1;
  while (last[at] === Z) last[at--] = ZERO;
  last[at] = last[at] === NINE ? A : last[at]! + 1;
  return ++count;
}

/** The id of a request: the process and its number in base 36. */
export function requestId(request: number): string {
  return text(request);
}

/** Digits of the last id requested as bytes, except the newest. */
const scratch = Uint8Array.from(last);

/** The id as ASCII, to be copied before the next call. */
export function requestIdBytes(request: number): Uint8Array {
  if (request === count) return last;
  let rest = request;
  for (let at = ID_BYTES - 1; at >= ID_BYTES - DIGITS; at--) {
    const tens = Math.floor(rest / 36);
    const digit = rest - tens * 36;
    scratch[at] = digit < 10 ? ZERO + digit : A + digit - 10;
    rest = tens;
  }
  return scratch;
}
