import type { Geometry, Position } from 'geojson';
import { formatDecimal, isExactNumber } from '../values/exact-number.js';
import {
  type Call,
  type Expression,
  findBooleanConstant,
  type GeometryLiteral,
  isArray,
  isBox,
  isCall,
  isDate,
  isInterval,
  isNumber,
  isProperty,
  isTimestamp,
  type Operand,
} from './ast.js';
import {
  ARITHMETIC,
  COMPARISONS,
  CONSTRUCTORS,
  findArity,
  isAmong,
  operatorNamed,
  RESERVED,
} from './operators.js';
import { isPlainName, quoteString } from './parse/lexer.js';

/** A tree as canonical CQL2 text: keywords in upper case, parentheses only where needed. `parseText` reads it back. */
export function print(expression: Expression): string {
  return operand(expression);
}

/**
 * Converts a tree to CQL2 JSON for `stringifyExactly`; numbers can be `ExactNumber`s. The CRS that `check` adds to
 * spatial literals is omitted, because the encoding does not support it.
 */
export function toJson(expression: Expression): unknown {
  return plain(expression);
}

function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || isExactNumber(value)) return value;
  if (Array.isArray(value)) return value.map(plain);
  const constant = findBooleanConstant(value as Operand);
  if (constant !== undefined) return constant;
  const members = Object.entries(value).filter(([name, member]) => name !== 'crs' && member !== undefined);
  return Object.fromEntries(members.map(([name, member]) => [name, plain(member)]));
}

function operand(value: Operand): string {
  if (typeof value === 'string') return quoteString(value);
  if (isNumber(value)) return typeof value === 'number' ? String(value) : formatDecimal(value);
  const constant = findBooleanConstant(value);
  if (typeof value === 'boolean' || constant !== undefined) return constant ? 'TRUE' : 'FALSE';
  if (isArray(value)) return `(${value.map(operand).join(', ')})`;
  if (isCall(value)) return call(value);
  if (isProperty(value)) return name(value.property);
  if (isDate(value)) return `DATE(${quoteString(value.date)})`;
  if (isTimestamp(value)) return `TIMESTAMP(${quoteString(value.timestamp)})`;
  if (isInterval(value)) return `INTERVAL(${value.interval.map(operand).join(', ')})`;
  if (isBox(value)) return `BBOX(${value.bbox.join(', ')})`;
  return wellKnownText(value satisfies GeometryLiteral);
}

function name(property: string): string {
  const word = property.toLowerCase();
  const special = RESERVED.has(word) || CONSTRUCTORS.has(word) || operatorNamed(word) !== undefined;
  return isPlainName(property) && !special ? property : `"${property.replaceAll('"', '""')}"`;
}

/** Precedence of operators. Operands with a lower precedence are parenthesised. */
const OR = 1;
const AND = 2;
const NOT = 3;
const PREDICATE = 4;
const SUM = 5;
const PRODUCT = 6;
const POWER = 7;
const OPERAND = 8;

function strength(value: Operand): number {
  if (typeof value !== 'object' || !isCall(value)) return OPERAND;
  const { op } = value;
  if (op === 'or') return OR;
  if (op === 'and') return AND;
  if (op === 'not') return negatable(value.args[0]!) ? PREDICATE : NOT;
  if (op === '+' || op === '-') return SUM;
  if (op === '^') return POWER;
  if (isAmong(ARITHMETIC, op)) return PRODUCT;
  return isAmong(COMPARISONS, op) || ['like', 'between', 'in', 'isNull'].includes(op) ? PREDICATE : OPERAND;
}

/** Whether a predicate has a negated form: NOT LIKE, NOT BETWEEN, NOT IN, IS NOT NULL. */
const negatable = (value: Operand) =>
  typeof value === 'object' && isCall(value) && ['like', 'between', 'in', 'isNull'].includes(value.op);

function enclosed(value: Operand, least: number): string {
  return strength(value) < least ? `(${operand(value)})` : operand(value);
}

function call({ op, args }: Call): string {
  const [first, second] = args as [Operand, Operand];
  if (op === 'and') return args.map((arg) => enclosed(arg, NOT)).join(' AND ');
  if (op === 'or') return args.map((arg) => enclosed(arg, AND)).join(' OR ');
  if (op === 'not') return negatable(first) ? range(first as Call, 'NOT ') : `NOT ${enclosed(first, NOT)}`;
  if (isAmong(COMPARISONS, op)) return `${enclosed(first, SUM)} ${op} ${enclosed(second, SUM)}`;
  if (isAmong(ARITHMETIC, op)) return arithmetic(op, first, second);
  if (negatable({ op, args })) return range({ op, args }, '');
  return `${findArity(op) ? op.toUpperCase() : op}(${args.map(operand).join(', ')})`;
}

function range({ op, args }: Call, not: string): string {
  const [left, second, third] = args as [Operand, Operand, Operand];
  const subject = enclosed(left, SUM);
  switch (op) {
    case 'isNull':
      return `${subject} IS ${not}NULL`;
    case 'like':
      return `${subject} ${not}LIKE ${enclosed(second, SUM)}`;
    case 'between':
      return `${subject} ${not}BETWEEN ${enclosed(second, SUM)} AND ${enclosed(third, SUM)}`;
    default: {
      const members = isArray(second) ? second.map((member) => enclosed(member, SUM)) : [operand(second)];
      return `${subject} ${not}IN (${members.join(', ')})`;
    }
  }
}

/** Chains read from the left; powers have no chains. */
function arithmetic(op: string, left: Operand, right: Operand): string {
  const own = strength({ op, args: [] });
  const least = op === '^' ? OPERAND : own;
  return `${enclosed(left, least)} ${op === 'div' ? 'DIV' : op} ${enclosed(right, own + 1)}`;
}

function wellKnownText(geometry: Geometry): string {
  if (geometry.type === 'GeometryCollection')
    return `GEOMETRYCOLLECTION(${geometry.geometries.map(wellKnownText).join(', ')})`;
  const { type, coordinates } = geometry;
  const z = firstPosition(coordinates).length > 2 ? ' Z ' : '';
  return `${type.toUpperCase()}${z}${type === 'Point' ? `(${position(coordinates)})` : nested(coordinates, type === 'MultiPoint')}`;
}

type NestedPositions = Position | NestedPositions[];

function firstPosition(value: NestedPositions): Position {
  return typeof value[0] === 'number' ? (value as Position) : firstPosition(value[0] as NestedPositions);
}

function nested(value: NestedPositions, pointsEnclosed: boolean): string {
  if (typeof value[0] === 'number') {
    const text = position(value as Position);
    return pointsEnclosed ? `(${text})` : text;
  }
  return `(${(value as NestedPositions[]).map((member) => nested(member, pointsEnclosed)).join(', ')})`;
}

const position = (numbers: Position) => numbers.join(' ');
