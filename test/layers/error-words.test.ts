import { expect, it } from 'vitest';
import { sources } from './imports.mjs';

/** Texts of errors use the field's words: those that the style sheet replaces do not occur in them. */

/** Calls that make an error, and constants that are the text of one. */
const THROWERS = new RegExp(
  [
    String.raw`(?<![\w.$])(?:new (?!Error\b|TypeError\b|RangeError\b)[A-Z]\w*(?:Error|Failure|Fault|Refusal|Problem)|`,
    'badParameter|badMember|fieldFailure|notFound|refuse|refused|conflict|unprocessable|problem|wrong|fault|owsError|',
    String.raw`createMemberError|absent|malformed|unreadable|EditRefusal\.members?)\(`,
    String.raw`|\bconst (?:detail|reason|advice) =\s`,
  ].join(''),
  'g',
);

/** Words of the style sheet's list that no error text needs, and what to write instead. */
const FORBIDDEN: readonly (readonly [RegExp, string])[] = [
  [/\b(?<!there )(?:is|are) no (?!longer\b)/i, 'is not a'],
  [/\b(?:asked?|asks|told|tells?)\b/i, 'request, report, list, say'],
  [/\b(?:texts|must be text|must be a text)\b(?! file| field|\/)/i, 'string'],
  [/\bwhole numbers?\b/i, 'integer'],
  [/\b(?:lies?|stands?) (?:in|on|outside|nowhere|here|where|there|twice|at)\b/i, 'is in, is outside'],
  [
    /\b(?:alone|anew|meanwhile|perhaps|nobody|anybody|somebody|as usual)\b/i,
    'only, again, while, optionally, a client',
  ],
  [/\bpictures?\b/i, 'image'],
  [/\banswer(?:s|ed)?\b/i, 'response, returns'],
  [/(?<!\bIP )(?<!e-mail )(?<!\bno )(?<!fewer )\baddress(?:es)?\b/i, 'URL'],
  [/\bendings?\b/i, 'extension'],
  [/\bbeg[iu]ns?\b|\bbegan\b/i, 'start'],
  [/\bany more\b|\b(?:is|are) gone\b/i, 'no longer'],
  [/\bholds?\b|\bheld\b/i, 'contains, has, applies'],
  [
    /\b(?:left out|leave it out|taken over|given up|cut off|put together|in the way|try again)\b/i,
    'omitted, imported, failed, truncated, retry',
  ],
  [/\bgo(?:es)? with\b/i, 'is only for, can be combined with'],
  [/\boutside of\b|, too\b/i, 'outside, also'],
  [/\bis to be\b|\bare to be\b/i, 'must be'],
];

/** The literal that starts at an index, and where it ends; undefined for a quote that starts none. */
function readLiteral(source: string, start: number): { text: string; end: number } | undefined {
  const quote = source[start];
  let text = '';
  for (let at = start + 1; at < source.length; at++) {
    const character = source[at]!;
    if (character === '\\') at++;
    else if (character === quote) return { text, end: at + 1 };
    else if (character === '\n' && quote !== '`') return undefined;
    else if (quote === '`' && source.startsWith('${', at)) {
      at = skipExpression(source, at + 2) - 1;
      text += '…';
    } else text += character;
  }
  return undefined;
}

/** The end of the expression of a template, after its closing brace. */
function skipExpression(source: string, start: number): number {
  let depth = 1;
  let at = start;
  while (depth > 0 && at < source.length) {
    const character = source[at]!;
    const literal = '\'"`'.includes(character) ? readLiteral(source, at) : undefined;
    if (literal) {
      at = literal.end;
      continue;
    }
    if (character === '{') depth++;
    if (character === '}') depth--;
    at++;
  }
  return at;
}

/** Texts in the arguments of a call, or in the value of a constant. */
function* readTexts(source: string, start: number, isCall: boolean): Generator<string> {
  let depth = isCall ? 1 : 0;
  for (let at = start; at < source.length; at++) {
    const character = source[at]!;
    const literal = '\'"`'.includes(character) ? readLiteral(source, at) : undefined;
    if (literal) {
      if (literal.text.includes(' ')) yield literal.text;
      at = literal.end - 1;
    } else if ('([{'.includes(character)) depth++;
    else if (')]}'.includes(character)) {
      depth--;
      if (depth <= 0 && isCall) return;
      if (depth < 0) return;
    } else if (character === ';' && depth === 0) return;
  }
}

it('texts of errors have none of the words that the style sheet replaces', () => {
  const found: string[] = [];
  let texts = 0;
  for (const [path, source] of sources()) {
    if (path.startsWith('src/console/') || path.startsWith('src/client/')) continue;
    for (const match of source.matchAll(THROWERS))
      for (const text of readTexts(source, match.index + match[0].length, match[0].endsWith('('))) {
        texts++;
        for (const [word, instead] of FORBIDDEN)
          if (word.test(text)) found.push(`${path}: "${text.slice(0, 120)}": use ${instead}`);
      }
  }
  expect(texts).toBeGreaterThan(1500);
  expect([...new Set(found)]).toEqual([]);
});
