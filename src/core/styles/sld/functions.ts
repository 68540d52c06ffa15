import { createMatch, steps } from './classes.js';
import { Untranslatable } from './export/untranslatable.js';
import type { SldContext } from './import/context.js';
import { elements, readTextContent, type XmlElement } from './import/xml.js';
import { shortenName } from './report.js';
import { converted, type Expr, type SldExpression, type SldValueKind, type TargetKind } from './values.js';

interface FunctionSpec {
  readonly gives: SldValueKind;
  /** Kinds of the arguments; the last is that of all further ones where there may be more. */
  readonly takes: readonly TargetKind[];
  readonly least?: number;
  readonly more?: boolean;
  build(...args: Expr[]): Expr;
}

const math = (operator: string, arguments_ = 1): FunctionSpec => ({
  gives: 'number',
  takes: Array<TargetKind>(arguments_).fill('number'),
  build: (...args) => [operator, ...args],
});
const text = (operator: string): FunctionSpec => ({
  gives: 'string',
  takes: ['string'],
  build: (value) => [operator, value],
});
const many = (operator: string, kind: TargetKind & SldValueKind): FunctionSpec => ({
  gives: kind,
  takes: [kind],
  more: true,
  build: (...args) => [operator, ...args],
});
const compare = (operator: string, kind: TargetKind): FunctionSpec => ({
  gives: 'boolean',
  takes: [kind, kind],
  build: (a, b) => [operator, a, b],
});
const same = (kind: TargetKind & SldValueKind): FunctionSpec => ({
  gives: kind,
  takes: [kind],
  build: (value) => value,
});

const CONCAT = many('concat', 'string');
const LENGTH: FunctionSpec = { gives: 'number', takes: ['string'], build: (value) => ['length', value] };
const SLICE: FunctionSpec = {
  gives: 'string',
  takes: ['string', 'number', 'number'],
  least: 2,
  build: (value, from, to) => ['slice', value, from, ...(to === undefined ? [] : [to])],
};

/** Functions of SE, GeoServer and QGIS by their names in small letters. */
const FUNCTIONS: ReadonlyMap<string, FunctionSpec> = new Map(
  Object.entries({
    concatenate: CONCAT,
    strconcat: CONCAT,
    concat: CONCAT,
    strtouppercase: text('upcase'),
    upper: text('upcase'),
    strtolowercase: text('downcase'),
    lower: text('downcase'),
    strlength: LENGTH,
    stringlength: LENGTH,
    length: LENGTH,
    strsubstring: SLICE,
    strsubstringstart: SLICE,
    // Positions of SE count from 1.
    substring: {
      gives: 'string',
      takes: ['string', 'number', 'number'],
      least: 2,
      build: (value: Expr, from: Expr, count: Expr | undefined) => {
        const start = typeof from === 'number' ? from - 1 : ['-', from, 1];
        return ['slice', value, start, ...(count === undefined ? [] : [sum(start, count)])];
      },
    },
    strindexof: {
      gives: 'number',
      takes: ['string', 'string'],
      build: (value: Expr, part: Expr) => ['index-of', part, value],
    },
    strstartswith: {
      gives: 'boolean',
      takes: ['string', 'string'],
      build: (value: Expr, part: Expr) => ['==', ['index-of', part, value], 0],
    },
    abs: math('abs'),
    ceil: math('ceil'),
    floor: math('floor'),
    round: math('round'),
    rint: math('round'),
    sqrt: math('sqrt'),
    exp: { gives: 'number', takes: ['number'], build: (value: Expr) => ['^', ['e'], value] },
    log: math('ln'),
    ln: math('ln'),
    log10: math('log10'),
    sin: math('sin'),
    cos: math('cos'),
    tan: math('tan'),
    pow: math('^', 2),
    modulo: math('%', 2),
    min: many('min', 'number'),
    max: many('max', 'number'),
    parsedouble: same('number'),
    parseint: { ...math('floor'), build: (value: Expr) => ['floor', value] },
    to_int: math('floor'),
    to_real: same('number'),
    to_string: same('string'),
    parseboolean: same('boolean'),
    numberformat: {
      gives: 'string',
      takes: ['string', 'number'],
      build: (pattern: Expr, value: Expr) => ['number-format', value, parseDigits(pattern)],
    },
    formatnumber: {
      gives: 'string',
      takes: ['number', 'string'],
      more: true,
      build: (value: Expr, pattern: Expr) => ['number-format', value, parseDigits(pattern)],
    },
    isnull: { gives: 'boolean', takes: ['any'], build: (value: Expr) => ['==', value, null] },
    equalto: compare('==', 'string'),
    notequal: compare('!=', 'string'),
    greaterthan: compare('>', 'number'),
    lessthan: compare('<', 'number'),
    greaterequalthan: compare('>=', 'number'),
    lessequalthan: compare('<=', 'number'),
    not: { gives: 'boolean', takes: ['boolean'], build: (value: Expr) => ['!', value] },
    and: many('all', 'boolean'),
    or: many('any', 'boolean'),
    between: {
      gives: 'boolean',
      takes: ['number', 'number', 'number'],
      build: (value: Expr, low: Expr, high: Expr) => between(value, low, high),
    },
    id: { gives: 'unknown', takes: [], build: () => ['id'] },
    $id: { gives: 'unknown', takes: [], build: () => ['id'] },
    geometrytype: { gives: 'string', takes: ['any'], least: 0, build: () => ['geometry-type'] },
  } satisfies Record<string, FunctionSpec>),
);

/** Range test in which the value occurs once, because it can be long. */
export function between(value: Expr, low: Expr, high: Expr): Expr {
  return ['let', 'v', value, ['all', ['>=', ['var', 'v'], low], ['<=', ['var', 'v'], high]]];
}

function sum(a: Expr, b: Expr): Expr {
  return typeof a === 'number' && typeof b === 'number' ? a + b : ['+', a, b];
}

/** Digits after the point of a pattern like `#,##0.00`. */
function parseDigits(pattern: Expr): Expr {
  const [, digits = ''] = /\.([0#]*)/.exec(typeof pattern === 'string' ? pattern.slice(0, 100) : '') ?? [];
  const least = digits.replace(/#/g, '').length;
  return { 'min-fraction-digits': Math.min(20, least), 'max-fraction-digits': Math.min(20, digits.length) };
}

/** A function of SE or one that a program brings along. @throws Untranslatable */
export function callFunction(
  functionName: string,
  args: readonly XmlElement[],
  context: SldContext,
  target: TargetKind,
): SldExpression {
  const name = functionName.toLowerCase();
  const special = SPECIAL.get(name);
  if (special) return special(args, context, target);
  const spec = FUNCTIONS.get(name);
  if (!spec)
    throw new Untranslatable(
      shortenName(functionName),
      `There is no counterpart of ${shortenName(functionName)}.`,
    );
  const { takes, least = takes.length, more = false } = spec;
  if (args.length < least || (args.length > takes.length && !more)) {
    throw new Untranslatable(functionName, `${functionName} takes other arguments.`);
  }
  const values = args.map((arg, i) => context.expression(arg, takes[Math.min(i, takes.length - 1)]!));
  return { kind: spec.gives, expr: spec.build(...values) };
}

type Special = (args: readonly XmlElement[], context: SldContext, target: TargetKind) => SldExpression;

const buildKind = (target: TargetKind): SldValueKind => (target === 'any' ? 'unknown' : target);

/** Functions whose values are of the kind that the place wants. */
const SPECIAL: ReadonlyMap<string, Special> = new Map<string, Special>([
  [
    'categorize',
    ([input, ...parts], context, target) => {
      if (!input) throw new Untranslatable('Categorize', 'Categorize has no value to look up.');
      // GeoServer lets a last literal say where thresholds belong.
      const last = readTextContent(parts.at(-1));
      const classes = last === 'succeeding' || last === 'preceding' ? parts.slice(0, -1) : parts;
      return steps(context.expression(input, 'number'), classes, context, target);
    },
  ],
  [
    'recode',
    ([input, ...parts], context, target) => {
      if (!input || parts.length % 2 !== 0) throw new Untranslatable('Recode', 'Recode takes pairs.');
      const cases: [string, Expr][] = [];
      for (let i = 0; i < parts.length; i += 2) {
        cases.push([readTextContent(parts[i]) ?? '', context.expression(parts[i + 1]!, target)]);
      }
      return createMatch(context.typed(input), cases, target, undefined, context);
    },
  ],
  ['interpolate', interpolateFunction],
  [
    'if_then_else',
    ([condition, yes, no], context, target) => {
      if (!condition || !yes || !no) throw new Untranslatable('if_then_else', 'It takes three arguments.');
      const values = [yes, no].map((value) => context.expression(value, target));
      return { kind: buildKind(target), expr: ['case', context.expression(condition, 'boolean'), ...values] };
    },
  ],
  [
    'coalesce',
    (args, context, target) => {
      if (args.length === 0) throw new Untranslatable('coalesce', 'It takes arguments.');
      const values = args.map((value) => converted(bare(context.typed(value, target)), target));
      return { kind: buildKind(target), expr: ['coalesce', ...values] };
    },
  ],
  [
    'property',
    ([name], context) => {
      const text = readTextContent(name);
      if (text === undefined) throw new Untranslatable('property', 'It takes the name of an attribute.');
      const { name: field, kind } = context.property(text);
      return { kind, expr: ['get', field] };
    },
  ],
  [
    'env',
    ([name, value], context, target) => {
      if (!value) throw new Untranslatable('env', `${readTextContent(name) ?? 'It'} has no default value.`);
      context.report.warn('env', 'Variables of a request are always at their default value.');
      return context.typed(value, target);
    },
  ],
]);

/** An attribute without the conversion that would turn its null into a value. */
function bare(value: SldExpression): SldExpression {
  return value.kind === 'string' || value.kind === 'number' ? { kind: 'unknown', expr: value.expr } : value;
}

function interpolateFunction(
  args: readonly XmlElement[],
  context: SldContext,
  target: TargetKind,
): SldExpression {
  const [input, ...rest] = args;
  const words = new Set(['linear', 'cosine', 'cubic', 'color', 'numeric']);
  const parts = rest.filter((part) => elements(part).length > 0 || !words.has(readTextContent(part) ?? ''));
  if (!input || parts.length < 2 || parts.length % 2 !== 0) {
    throw new Untranslatable('Interpolate', 'Interpolate takes a value and pairs.');
  }
  const to = target === 'any' ? 'number' : target;
  const stops: Expr[] = [];
  for (let i = 0; i < parts.length; i += 2) {
    const at = Number(readTextContent(parts[i]));
    const before = stops.at(-2) as number | undefined;
    if (!Number.isFinite(at) || (before !== undefined && at <= before)) {
      throw new Untranslatable('Interpolate', 'The values to interpolate between do not ascend.');
    }
    stops.push(at, context.expression(parts[i + 1]!, to));
  }
  const value = context.expression(input, 'number');
  return { kind: buildKind(to), expr: ['interpolate', ['linear'], value, ...stops] };
}
