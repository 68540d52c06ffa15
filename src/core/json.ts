/** A string, or a number. What is neither needs no look: digits only occur in these two. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const LONG_INTEGER = /^-?\d{16,}$/;
/** Most texts hold none, but many hold long fractions: looking first is far quicker than walking over all tokens. */
const HAS_LONG_INTEGER = /(?<![\d.])\d{16,}(?![\d.eE])/;

/**
 * `JSON.parse` that keeps every digit: whole numbers of 16 digits and more become text, because a JavaScript number
 * could not hold all of them. Throws a SyntaxError as `JSON.parse` does.
 */
export function parseExact(text: string): unknown {
  return JSON.parse(exactText(text));
}

/** A JSON text with whole numbers of 16 digits and more as text. */
export function exactText(text: string): string {
  if (!HAS_LONG_INTEGER.test(text)) return text;
  return text.replace(TOKENS, (token) => (LONG_INTEGER.test(token) ? `"${token}"` : token));
}

/** Text of UTF-8 bytes. Throws an Error for what is none. */
export function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error('it is not valid UTF-8');
  }
}
