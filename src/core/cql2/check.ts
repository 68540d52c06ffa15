import { plainFields } from '../access/field-masks.js';
import { suggestName } from '../errors/near-names.js';
import type { Crs } from '../geometry/crs.js';
import { toDouble } from '../values/exact-number.js';
import {
  type Call,
  type Expression,
  findBooleanConstant,
  type GeometryLiteral,
  type IntervalEnd,
  isArray,
  isBox,
  isCall,
  isDate,
  isInterval,
  isNumber,
  isProperty,
  isScalar,
  isTimestamp,
  type Operand,
} from './ast.js';
import { Cql2Error, excerpt, NO_PREDICATE } from './error.js';
import { refuseRoundedComparison } from './exactness.js';
import { type FunctionDefinition, functionNamed, type OperandKind } from './functions.js';
import { CQL2_LIMITS } from './limits.js';
import { mergeComparisons } from './merge.js';
import {
  ARITHMETIC,
  ARRAY,
  COMPARISONS,
  DISTANCE,
  findArity,
  isAmong,
  SPATIAL,
  TEMPORAL,
  TEMPORAL_INSTANT,
} from './operators.js';
import { SpatialLiterals } from './spatial.js';
import { readDate, readTimestamp } from './temporal.js';
import { computeOperandKind, type FilterSchema, findPropertyKind } from './types.js';
import { compareWhole } from './whole.js';

export interface CheckOptions extends FilterSchema {
  /** Another name of the geometry column; `geometry` unless a field has that name. */
  readonly geometryAlias?: string;
  /** CRS of the spatial literals, in the axis order of its authority. */
  readonly filterCrs: Crs;
}

/**
 * Prepares a tree for SQL writers. Throws `Cql2Error`.
 *
 * Names exist, operands have suitable types, and instants are valid and in UTC. Strings compared with instants become
 * instants. Spatial literals are in x,y order with `crs`. Aliases of functions are resolved.
 */
export function check(expression: Expression, options: CheckOptions): Expression {
  const checked = new Checker(options).operand(expression);
  if (computeOperandKind(checked, options) !== 'boolean') throw new Cql2Error(NO_PREDICATE);
  return checked as Expression;
}

/** The same of any operand, and what it is. */
export function checkOperand(
  operand: Operand,
  options: CheckOptions,
): { operand: Operand; kind: OperandKind } {
  const checked = new Checker(options).operand(operand);
  return { operand: checked, kind: computeOperandKind(checked, options) };
}

const COMPARABLE: readonly OperandKind[] = ['string', 'number', 'boolean', 'date', 'timestamp'];
const INSTANTS: readonly OperandKind[] = ['date', 'timestamp'];
const TIMES: readonly OperandKind[] = ['date', 'timestamp', 'interval'];

class Checker {
  readonly #literals: SpatialLiterals;

  constructor(readonly options: CheckOptions) {
    this.#literals = new SpatialLiterals(options.filterCrs);
  }

  operand(value: Operand): Operand {
    if (isScalar(value)) return value;
    if (isArray(value)) return value.map((member) => this.operand(member));
    if (isCall(value)) return this.#call(value);
    if (isProperty(value)) return { property: this.#property(value.property) };
    if (isDate(value)) return instant(value.date, 'date');
    if (isTimestamp(value)) return instant(value.timestamp, 'timestamp');
    if (isInterval(value)) return this.#interval(value.interval);
    if (isBox(value)) return this.#literals.box(value);
    return this.#literals.geometry(value satisfies GeometryLiteral);
  }

  #property(name: string): string {
    if (findPropertyKind(name, this.options)) return name;
    const { fields, idColumn, geometryColumn, geometryAlias = 'geometry' } = this.options;
    if (name === geometryAlias) return geometryColumn;
    const names = [...plainFields(fields).map((field) => field.name), idColumn, geometryAlias];
    const advice = suggestName(name, names);
    throw new Cql2Error(`there is no property '${excerpt(name)}'${advice === '' ? '' : `.${advice}`}`);
  }

  #interval([start, end]: readonly [IntervalEnd, IntervalEnd]): Operand {
    const ends = [this.#intervalEnd(start), this.#intervalEnd(end)] as const;
    const [from, to] = ends;
    if (typeof from === 'string' && typeof to === 'string' && parseStart(from) > parseEnd(to))
      throw new Cql2Error(`the interval from ${from} to ${to} ends before it starts`);
    return { interval: ends };
  }

  #intervalEnd(end: IntervalEnd): IntervalEnd {
    if (typeof end === 'string') {
      const read = end === '..' ? end : (readDate(end) ?? readTimestamp(end));
      if (!read) throw new Cql2Error(`'${excerpt(end)}' is neither a date, a timestamp nor '..'`);
      return read;
    }
    const checked = this.operand(end) as IntervalEnd;
    this.#expect(checked, INSTANTS, 'the end of an interval');
    return checked;
  }

  #call(call: Call): Call {
    if (findBooleanConstant(call) !== undefined) return call;
    const { op } = call;
    const definition = findArity(op) ? undefined : functionNamed(op);
    if (!findArity(op) && !definition) throw new Cql2Error(`there is no function '${excerpt(op)}'`);
    const checked: Call = { op: definition?.name ?? op, args: call.args.map((arg) => this.operand(arg)) };
    if (definition) this.#function(definition, checked.args);
    return definition ? checked : mergeComparisons(this.#operator(checked), this.options);
  }

  #operator(call: Call): Call {
    const { op, args } = call;
    if (isAmong(COMPARISONS, op)) return compareWhole({ op, args: this.#comparable(op, args) }, this.options);
    if (op === 'between') return compareWhole({ op, args: this.#comparable('BETWEEN', args) }, this.options);
    if (op === 'in') return compareWhole(this.#inList(call), this.options);
    if (isAmong(TEMPORAL, op)) return { op, args: this.#times(op, args) };
    const name = `'${op}'`;
    if (isAmong(ARITHMETIC, op)) this.#expectAll(args, ['number'], name);
    else if (op === 'and' || op === 'or' || op === 'not')
      this.#expectAll(args, ['boolean'], op.toUpperCase());
    else if (op === 'casei' || op === 'accenti') this.#expectAll(args, ['string'], op.toUpperCase());
    else if (op === 'like') this.#like(args);
    else if (isAmong(SPATIAL, op)) this.#expectAll(args, ['geometry'], name);
    else if (isAmong(DISTANCE, op)) return { op, args: this.#distance(op, args) };
    else if (isAmong(ARRAY, op)) this.#arrays(op, args);
    else if (isInterval(args[0]!) || isArray(args[0]!))
      throw new Cql2Error('IS NULL takes no interval and no array');
    return call;
  }

  /** Operands of one type. Strings compared with instants become instants. */
  #comparable(op: string, args: readonly Operand[]): Operand[] {
    const temporal = args.some((arg) => INSTANTS.includes(computeOperandKind(arg, this.options)));
    const read = temporal ? args.map(asInstant) : [...args];
    const [first, ...others] = read as [Operand, ...Operand[]];
    this.#expectAll(read, COMPARABLE, `'${op}'`);
    for (const other of others) {
      const kinds = [
        computeOperandKind(first, this.options),
        computeOperandKind(other, this.options),
      ] as const;
      const same = kinds[0] === kinds[1] || kinds.every((kind) => INSTANTS.includes(kind));
      if (!same)
        throw new Cql2Error(
          `'${op}' cannot compare ${this.#described(first)} with ${this.#described(other)}`,
        );
    }
    refuseRoundedComparison(read, this.options);
    return read;
  }

  #inList({ args: [value, list] }: Call): Call {
    if (!isArray(list!)) throw new Cql2Error('IN takes a list');
    const [checked, ...members] = this.#comparable('IN', [value!, ...list]);
    return { op: 'in', args: [checked!, members] };
  }

  #like([value, pattern]: readonly Operand[]): void {
    this.#expect(value!, ['string'], 'LIKE');
    let inner = pattern!;
    while (typeof inner === 'object' && isCall(inner) && (inner.op === 'casei' || inner.op === 'accenti'))
      inner = inner.args[0]!;
    if (typeof inner !== 'string')
      throw new Cql2Error('the pattern of LIKE must be a string in quotes, or CASEI or ACCENTI of one');
    if (inner.length > CQL2_LIMITS.filterPattern)
      throw new Cql2Error(`the pattern of LIKE is longer than ${CQL2_LIMITS.filterPattern} characters`);
  }

  /** The distance becomes a double, as stores measure distances. */
  #distance(op: string, [a, b, distance]: readonly Operand[]): Operand[] {
    this.#expectAll([a!, b!], ['geometry'], `'${op}'`);
    if (!isNumber(distance!) || toDouble(distance) < 0)
      throw new Cql2Error(`'${op}' takes a distance in metres: a number that is not negative`);
    return [a!, b!, toDouble(distance)];
  }

  #times(op: string, args: readonly Operand[]): Operand[] {
    const read = args.map(asInstant);
    this.#expectAll(read, isAmong(TEMPORAL_INSTANT, op) ? TIMES : ['interval'], `'${op}'`);
    return read;
  }

  #arrays(op: string, args: readonly Operand[]): void {
    this.#expectAll(args, ['array', 'json'], `'${op}'`);
    for (const member of args.filter(isArray).flat()) this.#expect(member, COMPARABLE, `an array of '${op}'`);
  }

  #function(
    { name, args: types, least: min = types.length, repeats }: FunctionDefinition,
    args: readonly Operand[],
  ) {
    if (args.length < min || (args.length > types.length && !repeats))
      throw new Cql2Error(`the function '${name}' takes ${signature(types.length, min, repeats)}`);
    for (const [i, arg] of args.entries()) {
      const { kinds, count, name: argument } = types[Math.min(i, types.length - 1)]!;
      this.#expect(arg, kinds, `the function '${name}'`);
      if (count && !(typeof arg === 'number' && Number.isSafeInteger(arg) && arg >= 0))
        throw new Cql2Error(`the ${argument} of the function '${name}' must be an integer of at least 0`);
    }
  }

  #expectAll(args: readonly Operand[], kinds: readonly OperandKind[], who: string): void {
    for (const arg of args) this.#expect(arg, kinds, who);
  }

  #expect(arg: Operand, kinds: readonly OperandKind[], who: string): void {
    if (kinds.includes(computeOperandKind(arg, this.options))) return;
    throw new Cql2Error(`${who} takes ${withArticle(kinds.join(' or '))}, found ${this.#described(arg)}`);
  }

  #described(arg: Operand): string {
    const kind = computeOperandKind(arg, this.options);
    if (typeof arg === 'object' && isProperty(arg)) return `'${excerpt(arg.property)}' (${kind})`;
    return typeof arg === 'string' ? `the string '${excerpt(arg)}'` : withArticle(kind);
  }
}

const withArticle = (noun: string) => `${/^[aei]/.test(noun) ? 'an' : 'a'} ${noun}`;

function instant(text: string, kind: 'date' | 'timestamp'): Operand {
  const read = kind === 'date' ? readDate(text) : readTimestamp(text);
  if (read === undefined) throw new Cql2Error(`'${excerpt(text)}' is not a ${kind}`);
  return kind === 'date' ? { date: read } : { timestamp: read };
}

/** Milliseconds since 1970. NaN, which is neither before nor after anything, for an open end. */
const parseStart = (end: string) => Date.parse(end);

/** Same as `parseStart`; a date ends at its midnight. */
const parseEnd = (end: string) =>
  Date.parse(end.includes('T') || end === '..' ? end : `${end}T23:59:59.999Z`);

/** A string that says a date or timestamp as such. */
function asInstant(arg: Operand): Operand {
  if (typeof arg !== 'string') return arg;
  const date = readDate(arg);
  if (date) return { date };
  const timestamp = readTimestamp(arg);
  return timestamp ? { timestamp } : arg;
}

function signature(max: number, min: number, repeats: true | undefined): string {
  const counted = repeats ? `at least ${min}` : min === max ? `${min}` : `${min} to ${max}`;
  return `${counted} argument${counted === '1' ? '' : 's'}`;
}
