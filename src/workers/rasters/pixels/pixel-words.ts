/** Pixels of RGBA as numbers of 32 bits: one store for each, which loops over tiles take a fraction of the time with. */

export const getPixelWords = ({ buffer, byteOffset, byteLength }: Uint8Array): Uint32Array =>
  new Uint32Array(buffer, byteOffset, byteLength / 4);

/** Returns a colour as a word in the byte order of this machine. */
const computeWord = (...color: number[]): number => getPixelWords(Uint8Array.from(color))[0]!;

/** Black. */
export const OPAQUE = computeWord(0, 0, 0, 255);
/** Times a shade it is that shade of gray, without alpha. */
export const GRAY = computeWord(1, 1, 1, 0);

/** The nearest byte. */
export const roundToByte = (value: number): number =>
  value <= 0 ? 0 : value >= 255 ? 255 : (value + 0.5) | 0;
