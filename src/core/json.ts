/** A string, or a number. What is neither needs no look: digits only occur in these two. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const LONG_INTEGER = /^-?\d{16,}$/;

/**
 * `JSON.parse` that keeps every digit: whole numbers of 16 digits and more become text, because a JavaScript number
 * could not hold all of them. Throws a SyntaxError as `JSON.parse` does.
 */
export function parseExact(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  return JSON.parse(text.replace(TOKENS, (token) => (LONG_INTEGER.test(token) ? `"${token}"` : token)));
}
