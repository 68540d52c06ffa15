import { LIMITS } from '../../kit/limits.js';
import { Cql2Error, excerpt } from '../error.js';

export interface Token {
  kind: 'word' | 'quoted' | 'string' | 'number' | 'symbol' | 'end';
  /** Text of the token: a name without quotes, or the value of a string. */
  text: string;
  /** Characters before it. */
  at: number;
}

/** Rules `identifierStart`, `identifierPart` and `whitespace` of the grammar. */
const START =
  ':_A-Za-z\\u00C0-\\u00D6\\u00D8-\\u00F6\\u00F8-\\u02FF\\u0370-\\u037D\\u037F-\\u1FFE\\u200C\\u200D\\u2070-\\u218F' +
  '\\u2C00-\\u2FEF\\u3001-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFFD\\u{10000}-\\u{EFFFF}';
const PART = `${START}.0-9\\u0300-\\u036F\\u203F-\\u2040`;
const IDENTIFIER = `[${START}][${PART}]*`;

const SPACE = /[\t-\r \u0085\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+/y;
const WORD = new RegExp(IDENTIFIER, 'uy');
const NUMBER = /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const SYMBOL = /<>|<=|>=|[<>]/y;
const STRING = /'(?:[^'\\]|''|\\.)*'/sy;
const QUOTED = /"(?:[^"]|"")*"/y;

const PLAIN_NAME = new RegExp(`^${IDENTIFIER}$`, 'u');

/** True for names that need no quotes for their characters. */
export const isPlainName = (name: string) => PLAIN_NAME.test(name);

/** Cuts CQL2 text into tokens; the last one is of the kind `end`. Throws `Cql2Error` with the position. */
export function tokenise(text: string): Token[] {
  if (text.length > LIMITS.filterCharacters)
    throw new Cql2Error(`the filter is longer than ${LIMITS.filterCharacters} characters`);
  const bad = /[\p{Surrogate}\0]/u.exec(text);
  if (bad) throw new Cql2Error(`invalid character at ${bad.index + 1}`, { position: bad.index + 1 });
  const tokens: Token[] = [];
  for (let at = 0; at < text.length; ) {
    at = afterSpace(text, at);
    if (at === text.length) break;
    const [token, end] = next(text, at);
    tokens.push(token);
    at = end;
  }
  tokens.push({ kind: 'end', text: '', at: text.length });
  return tokens;
}

/** Start of the next token. At most one blank precedes most tokens. */
function afterSpace(text: string, at: number): number {
  const after = text.charCodeAt(at) === 0x20 ? at + 1 : at;
  const code = text.charCodeAt(after);
  if (code > 0x20 && code < 0x80) return after;
  return after + (match(SPACE, text, after)?.length ?? 0);
}

function match(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

const isDigit = (code: number) => code >= 0x30 && code <= 0x39;

/** Single-character tokens that do not start another token. */
const LONE = '(),=+-*/%^';

function next(text: string, at: number): [token: Token, end: number] {
  if (LONE.includes(text[at]!)) return [{ kind: 'symbol', text: text[at]!, at }, at + 1];
  const plain = (kind: Token['kind'], pattern: RegExp): [Token, number] | undefined => {
    const token = match(pattern, text, at);
    return token === undefined ? undefined : [{ kind, text: token, at }, at + token.length];
  };
  const enclosed = (
    kind: Token['kind'],
    pattern: RegExp,
    what: string,
    decode: (inner: string) => string,
  ): [Token, number] => {
    const token = match(pattern, text, at);
    if (token === undefined)
      throw new Cql2Error(`the ${what} that starts at ${at + 1} has no end`, { position: at + 1 });
    return [{ kind, text: decode(token.slice(1, -1)), at }, at + token.length];
  };
  if (text[at] === "'") return enclosed('string', STRING, 'string', unescapeString);
  if (text[at] === '"') return enclosed('quoted', QUOTED, 'name', (inner) => inner.replaceAll('""', '"'));
  const token = isDigit(text.charCodeAt(at))
    ? plain('number', NUMBER)
    : (plain('word', WORD) ?? plain('number', NUMBER) ?? plain('symbol', SYMBOL));
  if (token) return token;
  const character = String.fromCodePoint(text.codePointAt(at)!);
  throw new Cql2Error(`unexpected '${excerpt(character)}' at ${at + 1}`, { position: at + 1 });
}

/** Escapes of requirement /req/cql2-text/escaping, in the order of the code points 7 to 13. */
const CONTROLS = 'abtnvfr';

/** Other characters keep their backslash, so that LIKE patterns can say `\%`. */
function unescapeString(inner: string): string {
  return inner.replace(/''|\\(.)/gs, (all, escaped: string | undefined) => {
    if (escaped === undefined || escaped === "'") return "'";
    if (escaped === '\\') return '\\';
    const control = CONTROLS.indexOf(escaped);
    return control < 0 ? all : String.fromCharCode(7 + control);
  });
}

/** A string as a CQL2 literal, with its quotes. */
export function quoteString(value: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that the standard escapes.
  const escaped = value.replace(/[\\\x07-\x0d]/g, (character) =>
    character === '\\' ? '\\\\' : `\\${CONTROLS[character.charCodeAt(0) - 7]}`,
  );
  return `'${escaped.replaceAll("'", "''")}'`;
}
