import type { Expression, Operand } from '../cql2/ast.js';
import { literalPattern } from '../cql2/pattern.js';
import type { FieldType } from '../sources/vector-source.js';
import { type AnyNumber, readNumber, toDouble } from '../values/exact-number.js';

/** Conditions on single fields, from forms and chart bars, and their CQL2. */

export const CLAUSE_OPERATORS = [
  '=',
  '<>',
  '<',
  '<=',
  '>',
  '>=',
  'between',
  /** From the first value up to, and without, the second. */
  'range',
  'contains',
  'starts',
  'like',
  'in',
  'isNull',
  'isNotNull',
  /** Four values: west, south, east, north. */
  'box',
] as const;
export type ClauseOperator = (typeof CLAUSE_OPERATORS)[number];

/** Condition with values as text from form fields. */
export interface Clause {
  readonly field: string;
  readonly op: ClauseOperator;
  readonly values: readonly string[];
  /** Whether case is ignored; strings only. */
  readonly casei?: boolean;
}

/** Says what is wrong with a value, in words for the person who typed it. */
export class ClauseProblem extends Error {}

/** Type of a field, or `geometry`. */
export type ClauseType = FieldType | 'geometry';

const ORDERED: readonly ClauseOperator[] = ['=', '<>', '<', '<=', '>', '>=', 'between', 'range', 'in'];
const NULLS: readonly ClauseOperator[] = ['isNull', 'isNotNull'];

/** Operators that fields of a type have, the most usual first. */
export function listClauseOperators(type: ClauseType): readonly ClauseOperator[] {
  switch (type) {
    case 'string':
      return ['=', '<>', 'contains', 'starts', 'like', 'in', '<', '<=', '>', '>=', 'between', ...NULLS];
    case 'integer':
    case 'number':
    case 'date':
    case 'date-time':
      return [...ORDERED, ...NULLS];
    case 'boolean':
      return ['=', ...NULLS];
    case 'geometry':
      return ['box', ...NULLS];
    default:
      return NULLS;
  }
}

/** Number of values that an operator takes; `many` for a list of any length. */
export function valueCount(op: ClauseOperator): number | 'many' {
  if (op === 'in') return 'many';
  if (op === 'box') return 4;
  if (op === 'between' || op === 'range') return 2;
  return NULLS.includes(op) ? 0 : 1;
}

/** All clauses, or any of them, as one filter; undefined without a clause. Throws `ClauseProblem`. */
export function combineClauses(
  clauses: readonly Clause[],
  typeOf: (field: string) => ClauseType,
  combination: 'and' | 'or' = 'and',
): Expression | undefined {
  const parts = clauses.map((clause) => clauseExpression(clause, typeOf(clause.field)));
  return parts.length > 1 ? { op: combination, args: parts } : parts[0];
}

/** Throws `ClauseProblem` for values that the field cannot have. */
export function clauseExpression(clause: Clause, type: ClauseType): Expression {
  const { op, values } = clause;
  const property = { property: clause.field };
  if (op === 'isNull') return { op, args: [property] };
  if (op === 'isNotNull') return { op: 'not', args: [{ op: 'isNull', args: [property] }] };
  if (op === 'box') return { op: 's_intersects', args: [property, { bbox: parseBox(values) }] };
  const fold = (operand: Operand): Operand =>
    clause.casei && type === 'string' ? { op: 'casei', args: [operand] } : operand;
  const subject = fold(property);
  const [first, second] = values;
  const literal = (value: string | undefined) => fold(parseLiteral(value ?? '', type));
  switch (op) {
    case 'between':
      return { op, args: [subject, literal(first), literal(second)] };
    case 'range':
      return {
        op: 'and',
        args: [
          { op: '>=', args: [subject, literal(first)] },
          { op: '<', args: [subject, literal(second)] },
        ],
      };
    case 'contains':
      return { op: 'like', args: [subject, fold(`%${plainPattern(first)}%`)] };
    case 'starts':
      return { op: 'like', args: [subject, fold(`${plainPattern(first)}%`)] };
    case 'like':
      return { op, args: [subject, fold(first ?? '')] };
    case 'in':
      if (values.length === 0) throw new ClauseProblem('Give at least one value.');
      return { op, args: [subject, values.map((value) => literal(value))] };
    default:
      return { op, args: [subject, literal(first)] };
  }
}

/** Pattern that matches the text itself: wildcards are escaped. */
function plainPattern(text = ''): string {
  if (text === '') throw new ClauseProblem('Enter a text.');
  return literalPattern(text);
}

const DATE = /^\d{4}-\d\d-\d\d$/;
const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(:\d\d(?:\.\d+)?)?Z?$/;

function parseLiteral(value: string, type: ClauseType): Operand {
  switch (type) {
    case 'integer':
    case 'number':
      return parseNumber(value);
    case 'boolean':
      return value === 'true';
    case 'date':
      if (!DATE.test(value) || Number.isNaN(Date.parse(value))) throw new ClauseProblem('Give a date.');
      return { date: value };
    case 'date-time':
      return { timestamp: parseTimestamp(value) };
    default:
      return value;
  }
}

function parseNumber(text: string): AnyNumber {
  const value = readNumber(text.trim());
  if (value === undefined) throw new ClauseProblem('Give a number.');
  return value;
}

/** Adds the zone (UTC) and seconds that form fields omit. */
function parseTimestamp(text: string): string {
  const [, minutes, seconds = ':00'] = TIME.exec(text) ?? [];
  const timestamp = `${minutes}${seconds}Z`;
  if (minutes === undefined || Number.isNaN(Date.parse(timestamp)))
    throw new ClauseProblem('Give a date and a time.');
  return timestamp;
}

function parseBox(values: readonly string[]): number[] {
  const box = values.map((value) => toDouble(parseNumber(value)));
  const [west, south, east, north] = box;
  if (box.length !== 4 || south! > north!) throw new ClauseProblem('North must not be less than south.');
  if (Math.abs(south!) > 90 || Math.abs(north!) > 90 || Math.abs(west!) > 180 || Math.abs(east!) > 180)
    throw new ClauseProblem('Longitudes go from -180 to 180, latitudes from -90 to 90.');
  return box;
}
