import { LIMITS } from '../../kit/limits.js';
import { type AnyNumber, isExactNumber, readNumber } from '../../values/exact-number.js';
import type { Call, Expression, IntervalEnd, IntervalLiteral, Operand } from '../ast.js';
import { asExpression, bound, checkArity } from '../bound.js';
import { Cql2Error, excerpt } from '../error.js';
import { parseBboxArray, parseGeometryMembers } from '../geojson.js';
import { CQL2_LIMITS } from '../limits.js';
import { ARRAY, CONSTRUCTORS, isAmong, operatorNamed, RESERVED } from '../operators.js';
import { isPlainName } from './lexer.js';

/**
 * Validates and copies CQL2 JSON (OGC 21-065r2, clause 8.3) that is already parsed. Use `parseJsonExactly` for
 * numbers with all digits. The value can be untrusted; time and stack are bounded. Throws `Cql2Error` with a JSON
 * pointer.
 */
export function parseJson(value: unknown): Expression {
  return asExpression(parseJsonOperand(value));
}

/** Reads any operand: a predicate, or something that has another value. */
export function parseJsonOperand(value: unknown): Operand {
  const expression = operand(value, '', 1);
  bound(expression);
  return expression;
}

type Members = Readonly<Record<string, unknown>>;

function operand(value: unknown, pointer: string, depth: number): Operand {
  if (depth > CQL2_LIMITS.filterDepth)
    throw new Cql2Error(`the filter is nested more than ${CQL2_LIMITS.filterDepth} levels deep`);
  if (typeof value === 'string') return readString(value, pointer);
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number' || typeof value === 'bigint') return numberIn(String(value), pointer);
  if (isExactNumber(value)) return numberIn(String(value), pointer);
  if (Array.isArray(value)) throw new Cql2Error('an array is not allowed here', { pointer });
  if (typeof value === 'object' && value !== null) return objectOperand(value as Members, pointer, depth);
  throw new Cql2Error(`expected an operand, found ${excerpt(String(value))}`, { pointer });
}

function objectOperand(members: Members, pointer: string, depth: number): Operand {
  const has = (name: string) => Object.hasOwn(members, name);
  const text = (name: string) => {
    const value = members[name];
    if (typeof value !== 'string')
      throw new Cql2Error('expected a string', { pointer: `${pointer}/${name}` });
    return readString(value, `${pointer}/${name}`);
  };
  if (has('op')) return parseCall(text('op'), members['args'], pointer, depth);
  if (has('property')) return { property: text('property') };
  if (has('date')) return { date: text('date') };
  if (has('timestamp')) return { timestamp: text('timestamp') };
  if (has('interval')) return parseInterval(members['interval'], `${pointer}/interval`, depth);
  if (has('type')) return parseGeometryMembers(members, pointer);
  if (has('bbox')) return { bbox: parseBboxArray(members['bbox'], `${pointer}/bbox`) };
  throw new Cql2Error('expected an operator, a property or a literal', { pointer });
}

function parseCall(name: string, list: unknown, pointer: string, depth: number): Call {
  if (!Array.isArray(list))
    throw new Cql2Error('expected an array of operands', { pointer: `${pointer}/args` });
  const op = operatorNamed(name) ?? functionName(name, `${pointer}/op`);
  const args = op === 'between' ? endsApart(list) : list;
  checkArity(op, args.length, { pointer: `${pointer}/args` }, `'${excerpt(name)}'`);
  few(args, pointer);
  return { op, args: args.map((arg, i) => argument(op, arg, i, `${pointer}/args/${i}`, depth + 1)) };
}

/** STAC API 1.0.0 follows a draft that wrote the ends of BETWEEN as a list: `[value, [low, high]]`. */
function endsApart(args: readonly unknown[]): readonly unknown[] {
  const [value, ends] = args;
  return args.length === 2 && Array.isArray(ends) && ends.length === 2 ? [value, ...ends] : args;
}

/** Arrays are allowed only in array predicates and as the list of IN. */
function argument(op: string, value: unknown, index: number, pointer: string, depth: number): Operand {
  const isList = op === 'in' && index === 1;
  if (!Array.isArray(value)) {
    if (isList) throw new Cql2Error('expected an array', { pointer });
    return operand(value, pointer, depth);
  }
  if (!isList && !isAmong(ARRAY, op)) throw new Cql2Error('an array is not allowed here', { pointer });
  few(value, pointer);
  return value.map((member, i) => operand(member, `${pointer}/${i}`, depth + 1));
}

/** `bound` counts all of them; this one comes before the work. */
function few(values: readonly unknown[], pointer: string): void {
  if (values.length > CQL2_LIMITS.filterNodes)
    throw new Cql2Error(`the filter has more than ${CQL2_LIMITS.filterNodes} operators and operands`, {
      pointer,
    });
}

/** Function name that the text encoding can also represent. */
function functionName(name: string, pointer: string): string {
  const word = name.toLowerCase();
  if (isPlainName(name) && !RESERVED.has(word) && !CONSTRUCTORS.has(word)) return name;
  throw new Cql2Error(`'${excerpt(name)}' is neither an operator nor the name of a function`, { pointer });
}

function parseInterval(value: unknown, pointer: string, depth: number): IntervalLiteral {
  if (!Array.isArray(value) || value.length !== 2)
    throw new Cql2Error('expected an array of a start and an end', { pointer });
  const end = (i: 0 | 1): IntervalEnd => {
    const item = operand(value[i], `${pointer}/${i}`, depth + 1);
    if (typeof item === 'string') return item;
    if (typeof item === 'object') {
      if ('date' in item) return item.date;
      if ('timestamp' in item) return item.timestamp;
      if ('op' in item || 'property' in item) return item;
    }
    throw new Cql2Error("expected a date, a timestamp, '..' or a property", { pointer: `${pointer}/${i}` });
  };
  return { interval: [end(0), end(1)] };
}

/** Rejects characters that neither store can contain or receive. */
function readString(value: string, pointer: string): string {
  if (/[\p{Surrogate}\0]/u.test(value)) throw new Cql2Error('invalid character in a string', { pointer });
  if (value.length > LIMITS.filterCharacters)
    throw new Cql2Error(`a string is longer than ${LIMITS.filterCharacters} characters`, { pointer });
  return value;
}

/** A number that `parseJsonExactly` has read, or MessagePack; `JSON.parse` has rounded it to a double already. */
function numberIn(text: string, pointer: string): AnyNumber {
  const number = readNumber(text);
  if (number === undefined) throw new Cql2Error('a number is too large or not a number', { pointer });
  return number;
}
