import { STYLE_LIMITS } from '../../limits.js';
import { scaleToZoom, zoomToScale } from '../../zoom.js';
import { parseSldFilter } from '../filter.js';
import { SldFailure } from '../report.js';
import type { Expr } from '../values.js';
import type { SldContext } from './context.js';
import { all, findChild, readNumberContent, readTextContent, type XmlElement } from './xml.js';

/** A rule with its conditions translated. */
export interface SldRule {
  readonly element: XmlElement;
  /** Name for legends. */
  readonly name: string | undefined;
  readonly filter: Expr | undefined;
  readonly minzoom: number | undefined;
  readonly maxzoom: number | undefined;
}

const LAST_ZOOM = 24;

/** The rules of a FeatureTypeStyle that can ever draw something. */
export function readRules(featureTypeStyle: XmlElement, context: SldContext): SldRule[] {
  const rules = all(featureTypeStyle, 'Rule');
  if (rules.length > STYLE_LIMITS.sldRules) {
    throw new SldFailure('Rule', `There are more than ${STYLE_LIMITS.sldRules} rules.`);
  }
  const read = rules.map((rule) => readRule(rule, context));
  const others = read.filter((rule) => !rule.isElse && !rule.failed);
  const visible: SldRule[] = [];
  for (const { isElse, failed, ...rule } of read) {
    if (failed) continue;
    const filter = isElse ? elseFilter(others.filter((other) => overlap(other, rule))) : rule.filter;
    if (filter !== false) visible.push({ ...rule, filter });
  }
  context.report.ruleName = undefined;
  return visible;
}

interface ReadRule extends SldRule {
  readonly isElse: boolean;
  /** Its conditions cannot be translated, or its scales are beyond all zooms: it is not drawn. */
  readonly failed: boolean;
}

function readRule(element: XmlElement, context: SldContext): ReadRule {
  const name = findName(element);
  context.report.ruleName = name;
  const zooms = readZooms(element);
  const filter = findChild(element, 'Filter');
  let failed = false;
  const condition =
    filter &&
    context.attempt('error', () => {
      failed = true;
      const condition = parseSldFilter(filter, context);
      failed = false;
      return condition;
    });
  if (failed) context.report.error('Filter', 'The rule was omitted: its filter cannot be translated.');
  if (zooms.never) context.report.warn('Rule', 'The rule was omitted: its scales are outside all zooms.');
  return {
    element,
    name,
    filter: condition,
    minzoom: zooms.minzoom,
    maxzoom: zooms.maxzoom,
    isElse: findChild(element, 'ElseFilter') !== undefined,
    failed: failed || zooms.never,
  };
}

function findName(rule: XmlElement): string | undefined {
  return [findChild(rule, 'Title'), findChild(rule, 'Description', 'Title'), findChild(rule, 'Name')]
    .map(readTextContent)
    .find((name) => name !== undefined)
    ?.slice(0, 200);
}

/** Zoom range of a rule: from its minimum scale denominator to below its maximum. */
function readZooms(rule: XmlElement): { minzoom?: number; maxzoom?: number; never: boolean } {
  const [least, most] = ['MinScaleDenominator', 'MaxScaleDenominator'].map((name) =>
    readNumberContent(findChild(rule, name)),
  );
  const minzoom = most === undefined || most <= 0 ? undefined : computeZoom(most);
  const maxzoom = least === undefined || least <= 0 ? undefined : computeZoom(least);
  const never =
    (minzoom ?? 0) >= LAST_ZOOM || (maxzoom ?? 1) <= 0 || (minzoom ?? 0) >= (maxzoom ?? LAST_ZOOM + 1);
  return {
    ...(minzoom !== undefined && minzoom > 0 ? { minzoom } : {}),
    ...(maxzoom !== undefined && maxzoom < LAST_ZOOM ? { maxzoom } : {}),
    never,
  };
}

/** To about a hundred-thousandth of the scale; a whole zoom's scale is often written without its decimals. */
function computeZoom(denominator: number): number {
  const zoom = scaleToZoom(denominator);
  const whole = Math.round(zoom);
  if (Math.round(zoomToScale(whole)) === Math.round(denominator)) return whole;
  return Math.round(zoom * 1e5) / 1e5;
}

/** Whether both rules apply at a common zoom level. */
function overlap(a: SldRule, b: SldRule): boolean {
  const first = Math.max(a.minzoom ?? 0, b.minzoom ?? 0);
  return first < Math.min(a.maxzoom ?? LAST_ZOOM + 1, b.maxzoom ?? LAST_ZOOM + 1);
}

/** Filter of features that match no other rule; false if a rule matches all features. */
function elseFilter(others: readonly SldRule[]): Expr | undefined | false {
  if (others.length === 0) return undefined;
  const filters = others.map(({ filter }) => filter);
  if (filters.some((filter) => filter === undefined)) return false;
  const conditions = filters.map((filter) => nullSafe(filter!));
  return ['!', conditions.length === 1 ? conditions[0]! : ['any', ...conditions]];
}

const ORDERS = new Set<unknown>(['<', '<=', '>', '>=']);

/** An order with null is an error to MapLibre, which would keep features without a value from being drawn at all. */
function nullSafe(filter: Expr): Expr {
  if (!Array.isArray(filter)) return filter;
  const [operator, first] = filter as readonly Expr[];
  if (operator === 'literal') return filter;
  if (ORDERS.has(operator) && Array.isArray(first) && first[0] === 'get') {
    return ['all', ['!=', first, null], filter];
  }
  return filter.map((part) => nullSafe(part as Expr));
}
