import { Untranslatable } from './export/untranslatable.js';
import type { SldContext } from './import/context.js';
import { elements, type XmlElement } from './import/xml.js';
import type { Expr } from './values.js';

/**
 * Translates PropertyIsLike. MapLibre has no patterns, so the pieces of a pattern are searched in order, which is
 * equivalent to wildcards for any characters. Single-character wildcards are counted if no other wildcard occurs.
 * @throws Untranslatable
 */
export function like(node: XmlElement, context: SldContext): Expr {
  const [property, pattern] = elements(node);
  if (!property || !pattern) throw new Untranslatable(node.name, 'It takes an attribute and a pattern.');
  const { attributes } = node;
  const pieces = listPieces(
    pattern.content.filter((part) => typeof part === 'string').join(''),
    attributes['wildCard'] ?? '*',
    attributes['singleChar'] ?? '.',
    attributes['escapeChar'] ?? attributes['escape'] ?? '\\',
  );
  const text = context.expression(property, 'string');
  const folds = /^false$/i.test(attributes['matchCase'] ?? '');
  const value: Expr = folds ? ['downcase', text] : text;
  return matching(value, folds ? pieces.map(lower) : pieces);
}

/** Text between wildcards; null is one character of any kind. */
type Piece = (string | null)[];

const lower = (piece: Piece): Piece => piece.map((part) => part?.toLowerCase() ?? null);

function listPieces(pattern: string, wild: string, single: string, escaping: string): Piece[] {
  const pieces: Piece[] = [[]];
  for (let i = 0; i < pattern.length; i++) {
    const character = pattern[i]!;
    const piece = pieces.at(-1)!;
    if (escaping !== '' && character === escaping && i + 1 < pattern.length) append(piece, pattern[++i]!);
    else if (wild !== '' && character === wild) pieces.push([]);
    else if (single !== '' && character === single) piece.push(null);
    else append(piece, character);
  }
  return pieces;
}

function append(piece: Piece, character: string): void {
  const last = piece.at(-1);
  if (typeof last === 'string') piece[piece.length - 1] = last + character;
  else piece.push(character);
}

function matching(value: Expr, pieces: readonly Piece[]): Expr {
  const [first, ...rest] = pieces;
  if (rest.length === 0) return fixed(value, first!);
  if (pieces.some((piece) => piece.includes(null))) {
    throw new Untranslatable('PropertyIsLike', 'Single characters and wildcards are in one pattern.');
  }
  const texts = pieces.map((piece) => piece[0] ?? '');
  if (texts.length > MAX_PIECES)
    throw new Untranslatable('PropertyIsLike', 'The pattern has too many wildcards.');
  const [start, end] = [texts[0]!, texts.at(-1)!];
  const middle = texts.slice(1, -1).filter((text) => text !== '');
  if (middle.length === 0 && start !== '' && end === '') return startsWith(value, start);
  if (middle.length === 0 && start === '' && end !== '') return endsWith(value, end);
  if (middle.length === 1 && start === '' && end === '') return ['in', middle[0]!, value];
  return ['let', 's', value, inOrder(['var', 's'], start, middle, end)];
}

/** Each wildcard is a level of nesting. */
const MAX_PIECES = 16;

function startsWith(value: Expr, text: string): Expr {
  return ['==', ['slice', value, 0, text.length], text];
}

function endsWith(value: Expr, text: string): Expr {
  return ['==', ['slice', value, -text.length], text];
}

/** Searches each piece after the previous one; the last piece must be at the end. */
function inOrder(value: Expr, start: string, middle: readonly string[], end: string): Expr {
  const search = (i: number, from: Expr): Expr => {
    const text = middle[i];
    if (text === undefined) {
      if (end === '') return true;
      return ['all', endsWith(value, end), ['>=', ['length', value], ['+', from, end.length]]];
    }
    const name = `p${i}`;
    const isFound: Expr = ['>=', ['var', name], 0];
    const next = search(i + 1, ['+', ['var', name], text.length]);
    return ['let', name, ['index-of', text, value, from], next === true ? isFound : ['all', isFound, next]];
  };
  const rest = search(0, start.length);
  if (start === '') return rest;
  return rest === true ? startsWith(value, start) : ['all', startsWith(value, start), rest];
}

/** A pattern without wildcards. */
function fixed(value: Expr, piece: Piece): Expr {
  if (!piece.includes(null)) return ['==', value, piece[0] ?? ''];
  const tests: Expr[] = [];
  let at = 0;
  for (const part of piece) {
    const length = part?.length ?? 1;
    if (part !== null) tests.push(['==', ['slice', ['var', 's'], at, at + length], part]);
    at += length;
  }
  return ['let', 's', value, ['all', ['==', ['length', ['var', 's']], at], ...tests]];
}
