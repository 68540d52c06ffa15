import { hasIntegerIds, type VectorSource } from '../sources/vector-source.js';
import type { AnyNumber } from '../values/exact-number.js';
import { idLiteral, readObjectId } from '../values/object-id.js';
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

/** Joins filters with AND. Undefined and TRUE are omitted. Undefined if no condition remains, so all features match. */
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

/** Condition that the property has this value. `null` selects features without a value. */
export function equals(property: string, value: Scalar | null): Expression {
  if (value === null) return { op: 'isNull', args: [{ property }] };
  return { op: '=', args: [{ property }, value] };
}

/** The property has one of these values; nothing passes when there are none. */
export function equalsAny(property: string, values: readonly Scalar[]): Expression {
  return values.length > 0 ? { op: 'in', args: [{ property }, values] } : NO_FEATURES;
}

/** Features with these ids. An id that is not a value of the key's type names no feature. */
export function idsFilter(source: VectorSource, ids: readonly string[]): Expression {
  if (!hasIntegerIds(source)) return equalsAny(source.idColumn, ids);
  const values = ids.flatMap((text) => {
    const id = readObjectId(text);
    return id === undefined ? [] : [idLiteral(id)];
  });
  return equalsAny(source.idColumn, values);
}

/**
 * Condition that the geometry intersects the box: minx, miny, maxx, maxy, or with minz and maxz (minx, miny, minz,
 * maxx, maxy, maxz). The box is in x,y order in `crs`, any CRS string of PROJ. minx > maxx crosses the antimeridian.
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
 * Condition that the instant in the column is in the interval, including both ends. An end is milliseconds since 1970
 * UTC plus microseconds (`startMicros`, `endMicros`); a missing end is open. A date is in the interval if any moment
 * of its UTC day is.
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

/** Condition that the number is in the range, including both ends. A missing end is open. */
export function rangeFilter(
  property: string,
  { low, high }: { low?: AnyNumber; high?: AnyNumber },
): Expression | undefined {
  return and(
    low === undefined ? undefined : { op: '>=', args: [{ property }, low] },
    high === undefined ? undefined : { op: '<=', args: [{ property }, high] },
  );
}
