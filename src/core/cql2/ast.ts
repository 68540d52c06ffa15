import type { Geometry } from 'geojson';
import { type AnyNumber, isExactNumber } from '../values/exact-number.js';

/**
 * The filter tree: CQL2 (OGC 21-065r2) in the form of its JSON encoding. Text is parsed to it, JSON is validated as
 * it, and parameters such as `bbox`, `datetime` and `ids` become parts of it. Each store has one writer that
 * generates SQL. `check` prepares a tree for a writer: property names exist and have suitable types, temporal
 * literals are valid, and spatial literals are in x,y order with their CRS.
 */
export type Expression = Call;

/** An operator, predicate or function, named as the JSON encoding does: `and`, `=`, `isNull`, `t_finishedBy`, `casei`. */
export interface Call {
  readonly op: string;
  readonly args: readonly Operand[];
}

/**
 * The filters TRUE and FALSE. They are objects, so that no test of truth takes "no feature passes" for "no filter". A filter
 * that crossed to another thread is a copy: compare with `passesAll` and `passesNone`.
 */
export const ALL_FEATURES: Expression = { op: 'true', args: [] };
export const NO_FEATURES: Expression = { op: 'false', args: [] };

export interface PropertyName {
  readonly property: string;
}

/** A full date: `2020-02-29`. */
export interface DateLiteral {
  readonly date: string;
}

/** A UTC timestamp (RFC 3339, `Z`). */
export interface TimestampLiteral {
  readonly timestamp: string;
}

/** Both ends are included; `..` leaves one open. */
export interface IntervalLiteral {
  readonly interval: readonly [IntervalEnd, IntervalEnd];
}

/** A string is a date, a timestamp or `..`. */
export type IntervalEnd = string | PropertyName | Call;

/** minx, miny, maxx, maxy, or with minz and maxz. minx > maxx crosses the antimeridian. */
export interface BoxLiteral {
  readonly bbox: readonly number[];
  /** Set by `check`: anything PROJ reads; coordinates are x,y ordered. */
  readonly crs?: string;
}

/** GeoJSON geometry. `crs` is set by `check`: anything PROJ reads; coordinates are x,y ordered. */
export type GeometryLiteral = Geometry & { readonly crs?: string };

/** Numbers keep all their digits: see `ExactNumber`. */
export type Scalar = string | AnyNumber | boolean;

export type Operand =
  | Scalar
  | Call
  | PropertyName
  | DateLiteral
  | TimestampLiteral
  | IntervalLiteral
  | BoxLiteral
  | GeometryLiteral
  | readonly Operand[];

/** Whether a value is a number literal, with or without an exact representation as a double. */
export const isNumber = (value: Operand): value is AnyNumber =>
  typeof value === 'number' || isExactNumber(value);

/** Whether a value is a single literal: a string, a number or a boolean. */
export const isScalar = (value: Operand): value is Scalar =>
  typeof value !== 'object' || isExactNumber(value);

export const isCall = (value: Operand): value is Call => typeof value === 'object' && 'op' in value;

/** An absent filter lets every feature pass. */
export const passesAll = (filter: Expression | undefined): boolean =>
  filter === undefined || filter.op === ALL_FEATURES.op;

export const passesNone = (filter: Expression | undefined): boolean => filter?.op === NO_FEATURES.op;

/** TRUE or FALSE as a filter or as part of one; undefined for all else. */
export function findBooleanConstant(operand: Operand): boolean | undefined {
  if (typeof operand === 'boolean') return operand;
  if (typeof operand !== 'object' || !isCall(operand)) return undefined;
  if (passesAll(operand)) return true;
  return passesNone(operand) ? false : undefined;
}

export const isProperty = (value: Operand): value is PropertyName =>
  typeof value === 'object' && 'property' in value;

export const isDate = (value: Operand): value is DateLiteral => typeof value === 'object' && 'date' in value;

export const isTimestamp = (value: Operand): value is TimestampLiteral =>
  typeof value === 'object' && 'timestamp' in value;

export const isInterval = (value: Operand): value is IntervalLiteral =>
  typeof value === 'object' && 'interval' in value;

/** A GeoJSON geometry can also have a member `bbox`. */
export const isGeometry = (value: Operand): value is GeometryLiteral =>
  typeof value === 'object' && 'type' in value;

export const isBox = (value: Operand): value is BoxLiteral =>
  typeof value === 'object' && 'bbox' in value && !('type' in value);

export const isArray = (value: Operand): value is readonly Operand[] => Array.isArray(value);
