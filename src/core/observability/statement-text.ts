/** Characters of a statement that are read, and of its text that are kept. */
const MAX_READ = 20_000;
const MAX_TEXT = 4000;

/** One token: comments, strings, identifiers, words, parameters, numbers. The first alternative that matches wins. */
const TOKENS = new RegExp(
  [
    String.raw`--[^\n]*`,
    String.raw`/\*[\s\S]*?(?:\*/|$)`,
    String.raw`[eE]'(?:[^'\\]|\\[\s\S]|'')*(?:'|$)`,
    `(?:[xXbBnN]|[uU]&)?'(?:[^']|'')*(?:'|$)`,
    String.raw`(?<tag>\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$)[\s\S]*?(?:\k<tag>|$)`,
    `"(?:[^"]|"")*"`,
    String.raw`[$?:@]\p{N}+|[\p{L}_][\p{L}\p{N}_$]*`,
    String.raw`0[xX][\da-fA-F]+|(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?`,
  ].join('|'),
  'gu',
);

/** Four and more parameters in a row: lists of any length have the same text. */
const PARAMETER = String.raw`(?:\?|\$\d+(?:::[\w.]+)?)`;
const LISTS = new RegExp(String.raw`(${PARAMETER})(?:\s*,\s*${PARAMETER}){3,}`, 'g');

/**
 * Returns the text of a statement without literals and comments. Statements that differ only in values, or in the
 * length of a list of parameters, have the same text.
 */
export function parameterize(sql: string): string {
  return sql
    .slice(0, MAX_READ)
    .replace(TOKENS, (token) => replaceToken(token))
    .replace(/\s+/g, ' ')
    .trim()
    .replace(LISTS, '$1, ...')
    .slice(0, MAX_TEXT);
}

function replaceToken(token: string): string {
  if (token.startsWith('--') || token.startsWith('/*')) return ' ';
  if (token.startsWith('"') || /^(?:[$?:@]\d+|[\p{L}_][\p{L}\p{N}_$]*)$/u.test(token)) return token;
  return '?';
}
