import { exactAlternative } from '../../integer-texts.js';
import type { Expr } from '../values.js';
import { writeExpression } from './export-expression.js';
import { Untranslatable } from './untranslatable.js';
import { xml, xmlText } from './xml-writer.js';

const COMPARISONS: ReadonlyMap<string, string> = new Map([
  ['==', 'PropertyIsEqualTo'],
  ['!=', 'PropertyIsNotEqualTo'],
  ['<', 'PropertyIsLessThan'],
  ['<=', 'PropertyIsLessThanOrEqualTo'],
  ['>', 'PropertyIsGreaterThan'],
  ['>=', 'PropertyIsGreaterThanOrEqualTo'],
]);

/** A filter of MapLibre as a Filter of Filter Encoding 1.1. @throws Untranslatable */
export function filterElement(filter: Expr): string {
  return xml('ogc:Filter', [condition(filter)]);
}

function condition(filter: Expr): string {
  if (!Array.isArray(filter))
    throw new Untranslatable('filter', 'A condition without attributes has no counterpart.');
  const [operator, ...operands] = filter as [string, ...Expr[]];
  const name = COMPARISONS.get(operator);
  if (name !== undefined) return comparison(name, operator, operands);
  switch (operator) {
    case 'all':
    case 'any': {
      const exact = exactAlternative(filter);
      return exact ? condition(exact as Expr) : logic(operator, operands);
    }
    case '!':
      return writeNot(operands[0]!);
    case 'has':
      return xml('ogc:Not', [isNull(['get', operands[0]!])]);
    case '!has':
      return isNull(['get', operands[0]!]);
    case 'in':
      return writeIn(operands);
    case 'match':
      return writeMatch(operands);
    case 'within':
      return xml('ogc:Within', [xmlText('ogc:PropertyName', 'geometry'), writeArea(operands[0]!)]);
    case 'let':
      return writeLet(operands);
    default:
      return xml('ogc:PropertyIsEqualTo', [writeExpression(filter), writeExpression(true)]);
  }
}

function logic(operator: string, operands: readonly Expr[]): string {
  if (operands.length === 1) return condition(operands[0]!);
  if (operands.length === 0) throw new Untranslatable(operator, 'An empty condition has no counterpart.');
  return (
    formatBetween(operator, operands) ??
    xml(operator === 'all' ? 'ogc:And' : 'ogc:Or', operands.map(condition))
  );
}

/** Both bounds of one attribute. */
function formatBetween(operator: string, operands: readonly Expr[]): string | undefined {
  const [low, high] = operands as readonly (readonly Expr[])[];
  if (operator !== 'all' || operands.length !== 2 || low![0] !== '>=' || high![0] !== '<=') return undefined;
  if (JSON.stringify(low![1]) !== JSON.stringify(high![1])) return undefined;
  const boundaries = [low, high].map((one, i) =>
    xml(i === 0 ? 'ogc:LowerBoundary' : 'ogc:UpperBoundary', [writeExpression(one![2]!)]),
  );
  return xml('ogc:PropertyIsBetween', [writeExpression(low![1]!), ...boundaries]);
}

function writeNot(operand: Expr): string {
  return xml('ogc:Not', [condition(operand)]);
}

function isNull(value: Expr): string {
  return xml('ogc:PropertyIsNull', [writeExpression(value)]);
}

function comparison(name: string, operator: string, [a, b]: readonly Expr[]): string {
  if (b === null) return operator === '==' ? isNull(a!) : xml('ogc:Not', [isNull(a!)]);
  const pattern = operator === '==' ? formatPattern(a!, b!) : undefined;
  if (pattern) return pattern;
  return xml(`ogc:${name}`, [writeExpression(a!), writeExpression(b!)]);
}

const WILD = { wildCard: '*', singleChar: '?', escapeChar: '!' };

function like(value: Expr, pattern: string): string {
  return xml('ogc:PropertyIsLike', [writeExpression(value), xmlText('ogc:Literal', pattern)], WILD);
}

function escapePattern(text: Expr): string {
  return String(text).replace(/[*?!]/g, '!$&');
}

/** Comparison of the start or the end of a string. */
function formatPattern(a: Expr, b: Expr): string | undefined {
  if (!Array.isArray(a) || a[0] !== 'slice' || typeof b !== 'string') return undefined;
  const [, value, from, to] = a as readonly Expr[];
  if (from === 0 && to === b.length) return like(value!, `${escapePattern(b)}*`);
  return from === -b.length && to === undefined ? like(value!, `*${escapePattern(b)}`) : undefined;
}

/** Operator `in`: a value in a list, an id in a list (FeatureId), or a part of a text (PropertyIsLike). */
function writeIn([what, within]: readonly Expr[]): string {
  const list = Array.isArray(within) && within[0] === 'literal' ? (within[1] as readonly Expr[]) : undefined;
  if (!list || !Array.isArray(list)) {
    if (typeof what === 'string') return like(within!, `*${escapePattern(what)}*`);
    throw new Untranslatable('in', 'Only constant values have a counterpart.');
  }
  if (Array.isArray(what) && what[0] === 'id') {
    return list.map((id) => xml('ogc:FeatureId', [], { fid: String(id) })).join('');
  }
  return formatMembership(what!, list);
}

function formatMembership(what: Expr, values: readonly Expr[]): string {
  // A number and its text are one literal, because SLD does not distinguish them.
  const texts = [...new Set(values.map((value) => (Number(value) === value ? String(value) : value)))];
  const distinctTexts = texts.filter(
    (text) => !values.some((other) => other !== text && sameNumber(other, text)),
  );
  const equal = (
    distinctTexts.length > 0
      ? distinctTexts
      : [values.find((value) => typeof value === 'string') ?? values[0]!]
  ).map((value) => xml('ogc:PropertyIsEqualTo', [writeExpression(what), writeExpression(value)]));
  return equal.length === 1 ? equal[0]! : xml('ogc:Or', equal);
}

function sameNumber(a: Expr, b: Expr): boolean {
  return typeof a === 'string' && typeof b === 'string' && a !== b && Number(a) === Number(b);
}

/** `match` that gives true or false. */
function writeMatch(operands: readonly Expr[]): string {
  const [input, labels, yes, no, more] = operands;
  if (typeof yes !== 'boolean' || no !== !yes || more !== undefined) {
    return xml('ogc:PropertyIsEqualTo', [writeExpression(['match', ...operands]), writeExpression(true)]);
  }
  const one = formatMembership(input!, Array.isArray(labels) ? (labels as readonly Expr[]) : [labels!]);
  return yes ? one : xml('ogc:Not', [one]);
}

function writeArea(geometry: Expr): string {
  const { type, coordinates } = geometry as { type?: string; coordinates?: unknown };
  if (type === 'Polygon') return polygon(coordinates as number[][][], true);
  if (type !== 'MultiPolygon') throw new Untranslatable('within', 'Only one writeArea has a counterpart.');
  const members = (coordinates as number[][][][]).map((rings) =>
    xml('gml:surfaceMember', [polygon(rings, false)]),
  );
  return xml('gml:MultiSurface', members, SRS);
}

const SRS = { srsName: 'urn:ogc:def:crs:OGC:1.3:CRS84' };

function polygon(rings: readonly number[][][], alone: boolean): string {
  const boundaries = rings.map((ring, i) =>
    xml(i === 0 ? 'gml:exterior' : 'gml:interior', [
      xml('gml:LinearRing', [xmlText('gml:posList', ring.map(([x, y]) => `${x} ${y}`).join(' '))]),
    ]),
  );
  return xml('gml:Polygon', boundaries, alone ? SRS : {});
}

/** Expression with a variable, as the import creates for patterns and ranges. */
function writeLet(operands: readonly Expr[]): string {
  const [name, value, inner, more] = operands;
  if (typeof name !== 'string' || more !== undefined || !Array.isArray(inner)) throw noVariables();
  const pattern = name === 's' ? findOrderedPattern(inner as readonly Expr[]) : undefined;
  if (pattern !== undefined) return like(value!, pattern);
  const [operator, low, high] = inner as readonly (readonly Expr[])[];
  const of = JSON.stringify(['var', name]);
  if (
    (operator as unknown) === 'all' &&
    JSON.stringify(low?.[1]) === of &&
    JSON.stringify(high?.[1]) === of
  ) {
    const between = formatBetween('all', [
      [low![0]!, value!, low![2]!],
      [high![0]!, value!, high![2]!],
    ]);
    if (between) return between;
  }
  throw noVariables();
}

function noVariables(): Untranslatable {
  return new Untranslatable('let', 'Variables have no counterpart.');
}

/** Pattern of strings that occur in order (like.ts); undefined for other expressions. */
function findOrderedPattern(test: Expr): string | undefined {
  if (!Array.isArray(test)) return undefined;
  if (test[0] === 'all' && test.length === 3) {
    const start = findPrefix(test[1] as Expr);
    const rest = start === undefined ? undefined : findRemainingPattern(test[2] as Expr);
    return rest === undefined ? undefined : start + rest;
  }
  return findRemainingPattern(test);
}

function findPrefix(test: Expr): string | undefined {
  const [operator, slice, text] = Array.isArray(test) ? (test as readonly Expr[]) : [];
  return operator === '==' && Array.isArray(slice) && slice[0] === 'slice' && slice[2] === 0
    ? escapePattern(text!)
    : undefined;
}

function findRemainingPattern(test: Expr): string | undefined {
  if (!Array.isArray(test)) return undefined;
  const [operator, a, b, c] = test as readonly Expr[];
  if (operator === 'all' && Array.isArray(a) && a[0] === '==') {
    const [, slice, end] = a as readonly Expr[];
    return Array.isArray(slice) && slice[0] === 'slice' && Number(slice[2]) < 0
      ? `*${escapePattern(end!)}`
      : undefined;
  }
  if (operator !== 'let' || typeof a !== 'string' || !Array.isArray(b) || b[0] !== 'index-of')
    return undefined;
  const piece = `*${escapePattern(b[1] as Expr)}`;
  if (!Array.isArray(c)) return undefined;
  if (c[0] === '>=') return `${piece}*`;
  const rest = c[0] === 'all' ? findRemainingPattern(c[2] as Expr) : undefined;
  return rest === undefined ? undefined : piece + rest;
}
