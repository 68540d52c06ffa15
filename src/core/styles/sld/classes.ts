import { Untranslatable } from './export/untranslatable.js';
import type { SldContext } from './import/context.js';
import { asNumber, elements, findChild, readTextContent, type XmlElement } from './import/xml.js';
import {
  converted,
  type Expr,
  literalAs,
  type SldExpression,
  type SldValueKind,
  type TargetKind,
} from './values.js';

/** The three classifications of Symbology Encoding 1.1, §11.6. Their results have the required type. */

/** Translates `Categorize`: one result for each range between thresholds. */
export function categorize(node: XmlElement, context: SldContext, target: TargetKind): SldExpression {
  const [lookup, ...rest] = elements(node);
  if (!lookup) throw new Untranslatable('Categorize', 'Categorize has no LookupValue.');
  if (attribute(node, 'thresholdsBelongTo', 'threshholdsBelongTo') === 'preceding') {
    warnPreceding(context);
  }
  const input = expressionIn(lookup, context, 'number');
  return withFallback(steps(input, rest, context, target), input, node, target);
}

/** Reports that a threshold is drawn with the class above it, and not with the class below. */
export function warnPreceding({ report }: SldContext): void {
  report.warn('Categorize', 'Thresholds belong to the class above them.');
}

/** Result for features without a number. The value occurs twice in the expression, so it must be an attribute. */
function withFallback(
  classed: SldExpression,
  input: Expr,
  node: XmlElement,
  target: TargetKind,
): SldExpression {
  const fallback = node.attributes['fallbackValue'];
  const isAttribute = Array.isArray(input) && input[0] === 'get';
  if (!fallback || !isAttribute || classed.kind === 'literal') return classed;
  const isNumber: Expr = ['==', ['typeof', input], 'number'];
  return { kind: classed.kind, expr: ['case', isNumber, classed.expr, literalAs(fallback, target)] };
}

/** Translates a first value that alternating thresholds and values follow. */
export function steps(
  input: Expr,
  parts: readonly XmlElement[],
  context: SldContext,
  target: TargetKind,
): SldExpression {
  const [first, ...rest] = parts;
  if (!first || rest.length % 2 !== 0 || rest.length === 0) {
    throw new Untranslatable('Categorize', 'Thresholds and values do not alternate.');
  }
  const values: Expr[] = [expressionIn(first, context, target)];
  const thresholds: number[] = [];
  for (let i = 0; i < rest.length; i += 2) {
    thresholds.push(constantIn(rest[i]!));
    values.push(thresholds.at(-1)!, expressionIn(rest[i + 1]!, context, target));
  }
  ascending('Categorize', thresholds);
  return { kind: chooseKind(target), expr: ['step', input, ...values] };
}

/** Reports that an interpolation is drawn with another curve. */
export function warnMode(mode: string, { report }: SldContext): void {
  report.warn('Interpolate', `The mode ${mode.slice(0, 20)} is drawn as linear.`);
}

/** Translates `Interpolate`: values between the values of points. */
export function translateInterpolate(
  node: XmlElement,
  context: SldContext,
  target: TargetKind,
): SldExpression {
  const lookup = findChild(node, 'LookupValue') ?? elements(node)[0];
  const points = elements(node).filter(({ name }) => name === 'InterpolationPoint');
  if (!lookup || points.length === 0) {
    throw new Untranslatable('Interpolate', 'Interpolate needs a LookupValue and points.');
  }
  const mode = node.attributes['mode'] ?? 'linear';
  if (mode !== 'linear') warnMode(mode, context);
  const to = target === 'any' ? (node.attributes['method'] === 'color' ? 'color' : 'number') : target;
  const stops = points.map((point) => parsePoint(point, context, to));
  ascending(
    'Interpolate',
    stops.map(([data]) => data),
  );
  const input = expressionIn(lookup, context, 'number');
  const expr = ['interpolate', ['linear'], input, ...stops.flat()];
  return withFallback({ kind: chooseKind(to), expr }, input, node, to);
}

function parsePoint(point: XmlElement, context: SldContext, target: TargetKind): [number, Expr] {
  const [data, value] = [findChild(point, 'Data'), findChild(point, 'Value')];
  if (!data || !value) throw new Untranslatable('InterpolationPoint', 'A point lacks Data or Value.');
  return [constantIn(data), expressionIn(value, context, target)];
}

/** Translates `Recode`: one result for each listed value. */
export function recode(node: XmlElement, context: SldContext, target: TargetKind): SldExpression {
  const [lookup, ...rest] = elements(node);
  if (!lookup) throw new Untranslatable('Recode', 'Recode has no LookupValue.');
  const cases: [string, Expr][] = rest.map((item) => {
    const [data, value] = [findChild(item, 'Data'), findChild(item, 'Value')];
    if (!data || !value) throw new Untranslatable('Recode', 'An item lacks Data or Value.');
    return [textIn(data), expressionIn(value, context, target)];
  });
  const fallback = node.attributes['fallbackValue'];
  return createMatch(typedIn(lookup, context), cases, target, fallback, context);
}

/** A `match` that compares values as strings, because every value has one. The first case with a label applies. */
export function createMatch(
  input: SldExpression,
  cases: readonly (readonly [string, Expr])[],
  target: TargetKind,
  fallback: string | undefined,
  context: SldContext,
): SldExpression {
  if (cases.length === 0) throw new Untranslatable('Recode', 'There are no values to compare with.');
  const isNumber = input.kind === 'number';
  const labels = new Map<string, Expr>();
  for (const [label, value] of cases) {
    const key = isNumber ? String(asNumber(label) ?? label) : label;
    if (!labels.has(key)) labels.set(key, value);
  }
  const other =
    fallback === undefined ? NOTHING[target] : converted({ kind: 'literal', text: fallback }, target);
  if (fallback === undefined && target === 'color') {
    context.report.warn('Recode', 'Other values are transparent: there is no fallbackValue.');
  }
  const expr = ['match', converted(input, 'string'), ...[...labels].flat(), other];
  return { kind: chooseKind(target), expr };
}

const NOTHING: Readonly<Record<TargetKind, Expr>> = {
  number: 0,
  string: '',
  boolean: false,
  color: 'rgba(0,0,0,0)',
  any: '',
};

/** Type of an expression with the required type. */
export function chooseKind(target: TargetKind): SldValueKind {
  return target === 'any' ? 'unknown' : target;
}

/**
 * LookupValue, Value and similar elements contain an expression or text; in functions of GeoServer, they are
 * expressions themselves.
 */
function typedIn(holder: XmlElement, context: SldContext, target: TargetKind = 'any'): SldExpression {
  if (!HOLDERS.has(holder.name)) return context.typed(holder, target);
  const [inner] = elements(holder);
  return inner ? context.typed(inner, target) : { kind: 'literal', text: readTextContent(holder) ?? '' };
}

const HOLDERS = new Set(['LookupValue', 'Value', 'Data', 'Threshold']);

function expressionIn(holder: XmlElement, context: SldContext, target: TargetKind): Expr {
  return HOLDERS.has(holder.name)
    ? converted(typedIn(holder, context, target), target)
    : context.expression(holder, target);
}

function textIn(holder: XmlElement): string {
  const [inner] = elements(holder);
  return readTextContent(inner ?? holder) ?? '';
}

function constantIn(holder: XmlElement): number {
  const value = asNumber(textIn(holder));
  if (value === undefined) {
    throw new Untranslatable(holder.name, 'The values to classify by must be constant numbers.');
  }
  return value;
}

function ascending(construct: string, values: readonly number[]): void {
  if (values.some((value, i) => i > 0 && value <= values[i - 1]!)) {
    throw new Untranslatable(construct, 'The values to classify by do not ascend.');
  }
}

function attribute(node: XmlElement, ...names: string[]): string | undefined {
  return names.map((name) => node.attributes[name]).find((value) => value !== undefined);
}
