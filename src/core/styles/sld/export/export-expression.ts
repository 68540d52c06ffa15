import type { Expr } from '../values.js';
import { Untranslatable } from './untranslatable.js';
import { escapeXmlText, xml, xmlText } from './xml-writer.js';

/** MapLibre expressions as elements of SE 1.1 and Filter Encoding 1.1. */

const ARITHMETIC: Readonly<Record<string, string>> = { '+': 'Add', '-': 'Sub', '*': 'Mul', '/': 'Div' };

/** Conversions that SLD performs implicitly. */
const IMPLIED = new Set(['to-string', 'to-number', 'to-color', 'to-boolean', 'number', 'string', 'boolean']);

const FUNCTIONS: ReadonlyMap<string, string> = new Map([
  ['concat', 'Concatenate'],
  ['upcase', 'strToUpperCase'],
  ['downcase', 'strToLowerCase'],
  ['length', 'strLength'],
  ['slice', 'strSubstring'],
  ['abs', 'abs'],
  ['ceil', 'ceil'],
  ['floor', 'floor'],
  ['round', 'round'],
  ['sqrt', 'sqrt'],
  ['ln', 'log'],
  ['log10', 'log10'],
  ['sin', 'sin'],
  ['cos', 'cos'],
  ['tan', 'tan'],
  ['^', 'pow'],
  ['%', 'modulo'],
  ['min', 'min'],
  ['max', 'max'],
  ['coalesce', 'coalesce'],
  ['id', 'id'],
  ['geometry-type', 'geometryType'],
  ['==', 'equalTo'],
  ['!=', 'notEqual'],
  ['>', 'greaterThan'],
  ['<', 'lessThan'],
  ['>=', 'greaterEqualThan'],
  ['<=', 'lessEqualThan'],
  ['!', 'not'],
  ['all', 'and'],
  ['any', 'or'],
]);

/** An expression as an element. @throws Untranslatable */
export function writeExpression(value: Expr): string {
  if (typeof value !== 'object') return xmlText('ogc:Literal', String(value));
  if (!Array.isArray(value)) throw new Untranslatable('expression', 'A value without counterpart.');
  const [operator, ...operands] = value as [string, ...Expr[]];
  if (IMPLIED.has(operator)) return writeExpression(operands[0] ?? '');
  if (Object.hasOwn(ARITHMETIC, operator)) return arithmetic(ARITHMETIC[operator]!, operands);
  switch (operator) {
    case 'get':
      return propertyName(operands);
    case 'literal':
      if (typeof operands[0] === 'object') break;
      return writeExpression(operands[0]!);
    case 'step':
      return categorize(operands);
    case 'interpolate':
      return interpolate(operands);
    case 'match':
      return recode(operands);
    case 'case':
      return conditional(operands);
  }
  const name = FUNCTIONS.get(operator);
  if (name === undefined)
    throw new Untranslatable(String(operator).slice(0, 40), 'The expression has no counterpart.');
  return xml('ogc:Function', operands.map(writeExpression), { name });
}

function propertyName([name, from]: readonly Expr[]): string {
  if (typeof name !== 'string' || from !== undefined) {
    throw new Untranslatable('get', 'Only attributes of the feature have names.');
  }
  return xmlText('ogc:PropertyName', name);
}

function arithmetic(name: string, operands: readonly Expr[]): string {
  const [first, second, ...rest] = operands;
  if (first === undefined) throw new Untranslatable(name, 'An operand is missing.');
  // One operand of a difference is taken from nothing.
  if (second === undefined) return xml(`ogc:${name}`, [writeExpression(0), writeExpression(first)]);
  const start = xml(`ogc:${name}`, [writeExpression(first), writeExpression(second)]);
  return rest.reduce<string>((left, right) => xml(`ogc:${name}`, [left, writeExpression(right)]), start);
}

function lookup(value: Expr): string {
  return xml('se:LookupValue', [writeExpression(value)]);
}

/** A value within SE: a constant is its text. */
function value(name: string, of: Expr): string {
  return typeof of === 'object' ? xml(name, [writeExpression(of)]) : xmlText(name, String(of));
}

/** `fallback` is the result for features without a number. */
function categorize([input, first, ...stops]: readonly Expr[], fallback = ''): string {
  const parts = stops.map((stop, i) => value(i % 2 === 0 ? 'se:Threshold' : 'se:Value', stop));
  return xml('se:Categorize', [lookup(input!), value('se:Value', first!), ...parts], {
    fallbackValue: fallback,
  });
}

function interpolate([curve, input, ...stops]: readonly Expr[], fallback = ''): string {
  if (!Array.isArray(curve) || curve[0] !== 'linear') {
    throw new Untranslatable('interpolate', 'Only linear interpolation has a counterpart.');
  }
  const points: string[] = [];
  for (let i = 0; i < stops.length; i += 2) {
    points.push(
      xml('se:InterpolationPoint', [value('se:Data', stops[i]!), value('se:Value', stops[i + 1]!)]),
    );
  }
  const method = typeof stops[1] === 'string' ? 'color' : 'numeric';
  return xml('se:Interpolate', [lookup(input!), ...points], {
    fallbackValue: fallback,
    mode: 'linear',
    method,
  });
}

function recode(operands: readonly Expr[]): string {
  const [input, ...rest] = operands;
  const fallback = rest.at(-1)!;
  const items: string[] = [];
  for (let i = 0; i + 1 < rest.length; i += 2) {
    const labels = Array.isArray(rest[i]) ? (rest[i] as readonly Expr[]) : [rest[i]!];
    for (const label of labels)
      items.push(xml('se:MapItem', [value('se:Data', label), value('se:Value', rest[i + 1]!)]));
  }
  if (typeof fallback === 'object')
    throw new Untranslatable('match', 'The value of all others must be constant.');
  return xml('se:Recode', [lookup(input!), ...items], { fallbackValue: String(fallback) });
}

function conditional(operands: readonly Expr[]): string {
  const [condition, yes, ...rest] = operands;
  const classes = findClasses(condition!, yes!, rest);
  if (classes !== undefined) return classes;
  const otherwise = rest.length === 1 ? writeExpression(rest[0]!) : conditional(rest);
  return xml('ogc:Function', [writeExpression(condition!), writeExpression(yes!), otherwise], {
    name: 'if_then_else',
  });
}

/** Classes of a numeric attribute with a constant for other values, as the import creates them. */
function findClasses(condition: Expr, classed: Expr, rest: readonly Expr[]): string | undefined {
  const [fallback, more] = rest;
  if (!Array.isArray(classed) || typeof fallback === 'object' || more !== undefined) return undefined;
  const [operator, ...operands] = classed as [string, ...Expr[]];
  const input = operator === 'step' ? operands[0] : operator === 'interpolate' ? operands[1] : undefined;
  const isNumber = JSON.stringify(['==', ['typeof', input], 'number']);
  if (input === undefined || JSON.stringify(condition) !== isNumber) return undefined;
  const write = operator === 'step' ? categorize : interpolate;
  return write(operands, String(fallback));
}

/** The content of a parameter: text, or an element. @throws Untranslatable */
export function content(of: Expr): string {
  if (Array.isArray(of) && of[0] === 'concat') return concatenation(of.slice(1) as Expr[]);
  return typeof of === 'object' ? writeExpression(of) : escapeXmlText(String(of));
}

/** Concatenated strings and values. Spaces at the ends of a string and line breaks would be lost. */
function concatenation(parts: readonly Expr[]): string {
  const fits = parts.every((part) => typeof part === 'object' || !/[\r\n]/.test(String(part)));
  const ends = [parts[0], parts.at(-1)].every(
    (part) => typeof part === 'object' || String(part).trim() === String(part),
  );
  if (!fits || !ends || parts.length < 2) return writeExpression(['concat', ...parts]);
  return parts.map((part) => (typeof part === 'object' ? writeExpression(part) : content(part))).join('');
}
