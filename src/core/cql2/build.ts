import type { AnyNumber } from '../values/exact-number.js';
import {
  ALL_FEATURES,
  type Expression,
  NO_FEATURES,
  type Operand,
  passesAll,
  passesNone,
  type Scalar,
} from './ast.js';
import { asExpression } from './bound.js';

/** Parts of filters that parameters such as `bbox`, `datetime` and `ids` become. They need no further `check`. */

/** All of them; undefined and TRUE are omitted. Undefined when no condition remains: every feature passes. */
export function and(...parts: readonly (Expression | undefined)[]): Expression | undefined {
  const conditions = parts.flatMap((part) => {
    if (part === undefined) return [];
    const conditions: readonly Operand[] = part.op === 'and' ? part.args : [part];
    return conditions.map(asExpression).filter((condition) => !passesAll(condition));
  });
  if (conditions.some(passesNone)) return NO_FEATURES;
  return conditions.length > 1 ? { op: 'and', args: conditions } : conditions[0];
}

/** Any of them. */
export function combineWithOr(conditions: readonly Expression[]): Expression {
  if (conditions.some(passesAll)) return ALL_FEATURES;
  const possible = conditions.filter((condition) => !passesNone(condition));
  return possible.length > 1 ? { op: 'or', args: possible } : (possible[0] ?? NO_FEATURES);
}

/** The property has this value; `null` asks for features without one. */
export function equals(property: string, value: Scalar | null): Expression {
  if (value === null) return { op: 'isNull', args: [{ property }] };
  return { op: '=', args: [{ property }, value] };
}

/** The property has one of these values; nothing passes when there are none. */
export function equalsAny(property: string, values: readonly Scalar[]): Expression {
  return values.length > 0 ? { op: 'in', args: [{ property }, values] } : NO_FEATURES;
}

/**
 * The geometry shares a point with the box: minx, miny, maxx, maxy, or with minz and maxz (minx, miny, minz, maxx,
 * maxy, maxz). x,y ordered in `crs`, which is anything PROJ reads; minx > maxx crosses the antimeridian.
 */
export function bboxFilter(column: string, box: readonly number[], crs: string): Expression {
  return { op: 's_intersects', args: [{ property: column }, { bbox: box, crs }] };
}

interface TemporalRange {
  readonly start?: number;
  readonly end?: number;
  readonly startMicros?: number;
  readonly endMicros?: number;
}

/**
 * The instant in the column lies in the interval, both ends included. An end is milliseconds since 1970 UTC plus microseconds
 * (`startMicros`, `endMicros`); an end that is missing is open. A date lies in the interval if any moment of its day (UTC) does.
 */
export function temporalFilter(
  column: string,
  type: 'date' | 'date-time',
  { start, end, startMicros = 0, endMicros = 0 }: TemporalRange,
): Expression {
  const instant = (time: number | undefined, micros: number) => {
    if (time === undefined) return '..';
    const text = new Date(time).toISOString();
    if (type === 'date') return text.split('T')[0]!;
    return micros === 0 ? text : text.replace('Z', `${String(micros).padStart(3, '0')}Z`);
  };
  const interval = [instant(start, startMicros), instant(end, endMicros)] as const;
  return { op: 't_intersects', args: [{ property: column }, { interval }] };
}

/** The number lies in the range, both ends included; a missing one is open. */
export function rangeFilter(
  property: string,
  { low, high }: { low?: AnyNumber; high?: AnyNumber },
): Expression | undefined {
  return and(
    low === undefined ? undefined : { op: '>=', args: [{ property }, low] },
    high === undefined ? undefined : { op: '<=', args: [{ property }, high] },
  );
}
