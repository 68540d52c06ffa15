import { chooseKind, createMatch, steps, warnMode, warnPreceding } from './classes.js';
import { Untranslatable } from './export/untranslatable.js';
import type { SldContext } from './import/context.js';
import { elements, readTextContent, type XmlElement } from './import/xml.js';
import { shortenName } from './report.js';
import { converted, type Expr, type SldExpression, type SldValueKind, type TargetKind } from './values.js';

/** A function with a fixed result type, and its translation. */
interface FunctionSpec {
  readonly returns: SldValueKind;
  /** Types of the arguments. The last type applies to all further arguments of a variadic function. */
  readonly parameters: readonly TargetKind[];
  /** Default: the number of parameters. */
  readonly minArguments?: number;
  readonly isVariadic?: boolean;
  /** Optional arguments that the call omits are undefined. */
  build(...args: Expr[]): Expr;
}

const defineMath = (operator: string, arguments_ = 1): FunctionSpec => ({
  returns: 'number',
  parameters: Array<TargetKind>(arguments_).fill('number'),
  build: (...args) => [operator, ...args],
});
const defineTextFunction = (operator: string): FunctionSpec => ({
  returns: 'string',
  parameters: ['string'],
  build: (value) => [operator, value],
});
const defineVariadic = (operator: string, kind: TargetKind & SldValueKind): FunctionSpec => ({
  returns: kind,
  parameters: [kind],
  isVariadic: true,
  build: (...args) => [operator, ...args],
});
const defineComparison = (operator: string, kind: TargetKind): FunctionSpec => ({
  returns: 'boolean',
  parameters: [kind, kind],
  build: (a, b) => [operator, a, b],
});
const defineIdentity = (kind: TargetKind & SldValueKind): FunctionSpec => ({
  returns: kind,
  parameters: [kind],
  build: (value) => value,
});

const CONCAT = defineVariadic('concat', 'string');
const LENGTH: FunctionSpec = {
  returns: 'number',
  parameters: ['string'],
  build: (value) => ['length', value],
};
const SLICE: FunctionSpec = {
  returns: 'string',
  parameters: ['string', 'number', 'number'],
  minArguments: 2,
  build: (value, from, to) => ['slice', value, from, ...(to === undefined ? [] : [to])],
};

/** Functions of SE, GeoServer and QGIS by lower-case name. */
const FUNCTIONS: ReadonlyMap<string, FunctionSpec> = new Map(
  Object.entries({
    concatenate: CONCAT,
    strconcat: CONCAT,
    concat: CONCAT,
    strtouppercase: defineTextFunction('upcase'),
    upper: defineTextFunction('upcase'),
    strtolowercase: defineTextFunction('downcase'),
    lower: defineTextFunction('downcase'),
    strlength: LENGTH,
    stringlength: LENGTH,
    length: LENGTH,
    strsubstring: SLICE,
    // It has no end, so the slice has no third argument.
    strsubstringstart: SLICE,
    // SE counts positions from 1.
    substring: {
      returns: 'string',
      parameters: ['string', 'number', 'number'],
      minArguments: 2,
      build: (value: Expr, from: Expr, count: Expr | undefined) => {
        const start = typeof from === 'number' ? from - 1 : ['-', from, 1];
        return ['slice', value, start, ...(count === undefined ? [] : [sum(start, count)])];
      },
    },
    strindexof: {
      returns: 'number',
      parameters: ['string', 'string'],
      build: (value: Expr, part: Expr) => ['index-of', part, value],
    },
    strstartswith: {
      returns: 'boolean',
      parameters: ['string', 'string'],
      build: (value: Expr, part: Expr) => ['==', ['index-of', part, value], 0],
    },
    abs: defineMath('abs'),
    ceil: defineMath('ceil'),
    floor: defineMath('floor'),
    round: defineMath('round'),
    rint: defineMath('round'),
    sqrt: defineMath('sqrt'),
    exp: { returns: 'number', parameters: ['number'], build: (value: Expr) => ['^', ['e'], value] },
    log: defineMath('ln'),
    ln: defineMath('ln'),
    log10: defineMath('log10'),
    sin: defineMath('sin'),
    cos: defineMath('cos'),
    tan: defineMath('tan'),
    pow: defineMath('^', 2),
    modulo: defineMath('%', 2),
    min: defineVariadic('min', 'number'),
    max: defineVariadic('max', 'number'),
    parsedouble: defineIdentity('number'),
    parseint: defineMath('floor'),
    to_int: defineMath('floor'),
    to_real: defineIdentity('number'),
    to_string: defineIdentity('string'),
    parseboolean: defineIdentity('boolean'),
    numberformat: {
      returns: 'string',
      parameters: ['string', 'number'],
      build: (pattern: Expr, value: Expr) => ['number-format', value, parseDigits(pattern)],
    },
    formatnumber: {
      returns: 'string',
      parameters: ['number', 'string'],
      isVariadic: true,
      build: (value: Expr, pattern: Expr) => ['number-format', value, parseDigits(pattern)],
    },
    isnull: { returns: 'boolean', parameters: ['any'], build: (value: Expr) => ['==', value, null] },
    equalto: defineComparison('==', 'string'),
    notequal: defineComparison('!=', 'string'),
    greaterthan: defineComparison('>', 'number'),
    lessthan: defineComparison('<', 'number'),
    greaterequalthan: defineComparison('>=', 'number'),
    lessequalthan: defineComparison('<=', 'number'),
    not: { returns: 'boolean', parameters: ['boolean'], build: (value: Expr) => ['!', value] },
    and: defineVariadic('all', 'boolean'),
    or: defineVariadic('any', 'boolean'),
    between: {
      returns: 'boolean',
      parameters: ['number', 'number', 'number'],
      build: (value: Expr, low: Expr, high: Expr) => between(value, low, high),
    },
    id: { returns: 'unknown', parameters: [], build: () => ['id'] },
    $id: { returns: 'unknown', parameters: [], build: () => ['id'] },
    geometrytype: { returns: 'string', parameters: ['any'], minArguments: 0, build: () => ['geometry-type'] },
  } satisfies Record<string, FunctionSpec>),
);

/** Range test in which the value occurs once, because it can be long. */
export function between(value: Expr, low: Expr, high: Expr): Expr {
  return ['let', 'v', value, ['all', ['>=', ['var', 'v'], low], ['<=', ['var', 'v'], high]]];
}

function sum(a: Expr, b: Expr): Expr {
  return typeof a === 'number' && typeof b === 'number' ? a + b : ['+', a, b];
}

/** Options of `number-format` with the decimal places of a pattern like `#,##0.00`. */
function parseDigits(pattern: Expr): Expr {
  const [, digits = ''] = /\.([0#]*)/.exec(typeof pattern === 'string' ? pattern.slice(0, 100) : '') ?? [];
  const required = digits.replace(/#/g, '').length;
  return {
    'min-fraction-digits': Math.min(20, required),
    'max-fraction-digits': Math.min(20, digits.length),
  };
}

/** Translates a call of a function of SE, GeoServer or QGIS into a MapLibre expression. @throws Untranslatable */
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
  const { parameters, minArguments = parameters.length, isVariadic = false } = spec;
  const maxArguments = isVariadic ? Infinity : parameters.length;
  if (args.length < minArguments || args.length > maxArguments) {
    const allowed = formatCount(minArguments, maxArguments);
    throw new Untranslatable(
      functionName,
      `${functionName} has ${args.length} arguments instead of ${allowed}.`,
    );
  }
  const values = args.map((arg, i) =>
    context.expression(arg, parameters[Math.min(i, parameters.length - 1)]!),
  );
  return { kind: spec.returns, expr: spec.build(...values) };
}

function formatCount(min: number, max: number): string {
  if (max === Infinity) return `at least ${min}`;
  return min === max ? String(min) : `${min} to ${max}`;
}

type SpecialFunction = (
  args: readonly XmlElement[],
  context: SldContext,
  target: TargetKind,
) => SldExpression;

/** Functions whose result type depends on the required type or on an argument. */
const SPECIAL: ReadonlyMap<string, SpecialFunction> = new Map<string, SpecialFunction>([
  [
    'categorize',
    ([input, ...parts], context, target) => {
      if (!input) throw new Untranslatable('Categorize', 'Categorize has no value to look up.');
      // In GeoServer, an optional last literal is the attribute `thresholdsBelongTo` of the element.
      const last = readTextContent(parts.at(-1));
      const classes = last === 'succeeding' || last === 'preceding' ? parts.slice(0, -1) : parts;
      if (last === 'preceding') warnPreceding(context);
      return steps(context.expression(input, 'number'), classes, context, target);
    },
  ],
  [
    'recode',
    ([input, ...parts], context, target) => {
      if (!input || parts.length % 2 !== 0)
        throw new Untranslatable('Recode', 'Recode needs a value, then pairs of a value and its result.');
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
      if (!condition || !yes || !no)
        throw new Untranslatable('if_then_else', 'if_then_else needs a condition and two values.');
      const values = [yes, no].map((value) => context.expression(value, target));
      return {
        kind: chooseKind(target),
        expr: ['case', context.expression(condition, 'boolean'), ...values],
      };
    },
  ],
  [
    'coalesce',
    (args, context, target) => {
      if (args.length === 0) throw new Untranslatable('coalesce', 'coalesce needs at least one value.');
      const values = args.map((value) => converted(withoutType(context.typed(value, target)), target));
      return { kind: chooseKind(target), expr: ['coalesce', ...values] };
    },
  ],
  [
    'property',
    ([name], context) => {
      const text = readTextContent(name);
      if (text === undefined)
        throw new Untranslatable('property', 'property needs the name of an attribute as text.');
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

/**
 * The value with the type `unknown`, which is not converted. Conversions turn null into '' or 0, so `coalesce` would
 * never reach its next argument.
 */
function withoutType(value: SldExpression): SldExpression {
  return value.kind === 'string' || value.kind === 'number' ? { kind: 'unknown', expr: value.expr } : value;
}

function interpolateFunction(
  args: readonly XmlElement[],
  context: SldContext,
  target: TargetKind,
): SldExpression {
  const [input, ...rest] = args;
  const options = rest.flatMap((part) => (isInterpolateOption(part) ? [readTextContent(part)!] : []));
  const parts = rest.filter((part) => !isInterpolateOption(part));
  if (!input || parts.length < 2 || parts.length % 2 !== 0) {
    throw new Untranslatable(
      'Interpolate',
      'Interpolate needs a value, then pairs of a value and its result.',
    );
  }
  for (const mode of options) if (mode === 'cosine' || mode === 'cubic') warnMode(mode, context);
  const to = target === 'any' ? (options.includes('color') ? 'color' : 'number') : target;
  const stops: Expr[] = [];
  for (let i = 0; i < parts.length; i += 2) {
    const data = Number(readTextContent(parts[i]));
    const before = stops.at(-2) as number | undefined;
    if (!Number.isFinite(data) || (before !== undefined && data <= before)) {
      throw new Untranslatable('Interpolate', 'The values to interpolate between do not ascend.');
    }
    stops.push(data, context.expression(parts[i + 1]!, to));
  }
  const value = context.expression(input, 'number');
  return { kind: chooseKind(to), expr: ['interpolate', ['linear'], value, ...stops] };
}

/** Mode and method of an interpolation, which GeoServer writes as literals after the pairs. */
const INTERPOLATE_OPTIONS: ReadonlySet<string> = new Set(['linear', 'cosine', 'cubic', 'color', 'numeric']);

const isInterpolateOption = (part: XmlElement): boolean =>
  elements(part).length === 0 && INTERPOLATE_OPTIONS.has(readTextContent(part) ?? '');
