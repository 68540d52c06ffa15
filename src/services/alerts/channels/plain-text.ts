/** Control characters, and characters that change the direction of the text around them. */
const UNSAFE = /[\p{Cc}\u061C\u200E\u200F\u2028\u2029\u202A-\u202E\u2066-\u2069]+/gu;
/** Halves of surrogate pairs, which UTF-8 cannot represent. */
const LONE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

/** Text of data on one line, without control characters, within a number of UTF-16 units. */
export function cleanText(value: unknown, maximum = 200): string {
  const text = String(value)
    .slice(0, 4 * maximum)
    .replace(LONE, '\uFFFD')
    .replace(UNSAFE, ' ')
    .trim();
  return clipText(text, maximum);
}

/** The start of a text, with an ellipsis if it is longer. Surrogate pairs are not divided. */
export function clipText(text: string, maximum: number): string {
  if (text.length <= maximum) return text;
  const end = /[\uD800-\uDBFF]$/.test(text.slice(0, maximum - 1)) ? maximum - 2 : maximum - 1;
  return `${text.slice(0, end)}…`;
}
