import {
  type Call,
  findBooleanConstant,
  isArray,
  isCall,
  isDate,
  isInterval,
  isNumber,
  isProperty,
  isScalar,
  isTimestamp,
  type Operand,
} from '../../core/cql2/ast.js';
import { type Exactness, findExactness } from '../../core/cql2/exactness.js';
import { type FoldName, folded } from '../../core/cql2/fold.js';
import type { OperandKind } from '../../core/cql2/functions.js';
import {
  ARITHMETIC,
  ARRAY,
  COMPARISONS,
  DISTANCE,
  isAmong,
  SPATIAL,
  TEMPORAL,
} from '../../core/cql2/operators.js';
import { computeOperandKind, type FilterSchema } from '../../core/cql2/types.js';
import type { AnyNumber } from '../../core/values/exact-number.js';
import { balanced, type Fragment, joinFragments, raw, sql } from './fragment.js';
import { type Span, temporalPredicate } from './temporal-sql.js';

type Comparison = (typeof COMPARISONS)[number];

/** Halves go away from 0. */
const ROUNDED = 'trunc(v.a + CASE WHEN v.a < 0 THEN -0.5 ELSE 0.5 END)';

/** Rounding of distances in metres: geometries that touch must be within 0 m of each other. */
const ROUNDING_METRES = 1e-6;

/**
 * Writes a checked filter as an SQL condition. This class contains the SQL that SQLite and PostgreSQL share; each
 * store's own writer contains the rest. NULL means unknown, in the standard and in SQL.
 */
export abstract class FilterWriter {
  constructor(protected readonly schema: FilterSchema) {}

  predicate(value: Operand): Fragment {
    const constant = findBooleanConstant(value);
    if (constant !== undefined) return raw(constant ? 'TRUE' : 'FALSE');
    if (typeof value === 'object' && isCall(value)) return this.#call(value);
    return this.operand(value);
  }

  /** Any operand but intervals, arrays and spatial literals, which only their own predicates take. */
  operand(value: Operand): Fragment {
    if (typeof value === 'string') return this.text(value);
    if (isNumber(value)) return this.number(value);
    if (typeof value === 'boolean') return this.predicate(value);
    if (isArray(value)) throw new TypeError('an array outside of an array predicate');
    if (isProperty(value)) return this.column(value.property, computeOperandKind(value, this.schema));
    if (isDate(value)) return this.date(value.date);
    if (isTimestamp(value)) return this.timestamp(value.timestamp);
    if (isCall(value)) return this.#call(value);
    throw new TypeError('a literal outside of its predicates');
  }

  protected abstract text(value: string): Fragment;
  protected abstract number(value: AnyNumber): Fragment;
  protected abstract date(value: string): Fragment;
  protected abstract timestamp(value: string): Fragment;
  /** A property in the form in which values of its kind are compared. */
  protected abstract column(name: string, kind: OperandKind): Fragment;
  /** Property as stored. */
  protected abstract stored(name: string): Fragment;
  /** A number as double precision. */
  protected abstract real(value: Fragment): Fragment;
  /** A number in the type in which the store adds and multiplies without rounding. */
  protected abstract exact(value: Operand): Fragment;
  /** Exact quotient without its fraction. The divisor can be 0; the result is then NULL. */
  protected abstract quotient(a: Fragment, b: Fragment): Fragment;
  /** Text ordered by its code points, independent of the column's collation. */
  protected abstract ordered(value: Fragment): Fragment;
  /** Operands that are compared for equality in a type that only the store knows, when it has one for them. */
  protected abstract ownType(operands: readonly Operand[]): Fragment[] | undefined;
  /**
   * Numbers in a form that distinguishes all their digits. Undefined if the store compares the unchanged operands
   * exactly.
   */
  protected exactNumbers(_operands: readonly Operand[]): Fragment[] | undefined {
    return undefined;
  }
  /** Midnight at the start of a date, and the last moment of the date, as timestamps. */
  protected abstract midnight(date: Fragment): Fragment;
  protected abstract lastMoment(date: Fragment): Fragment;
  protected abstract like(value: Fragment, pattern: string): Fragment;
  protected abstract translated(value: Fragment, fold: FoldName): Fragment;
  /** year, month, day, hour, minute or second of an instant, as a number. */
  protected abstract part(name: string, instant: Fragment): Fragment;
  protected abstract startsWith(value: Fragment, start: Fragment): Fragment;
  protected abstract contains(value: Fragment, part: Fragment): Fragment;
  protected abstract spatial(op: (typeof SPATIAL)[number], a: Operand, b: Operand): Fragment;
  protected abstract near(a: Operand, b: Operand, metres: number): Fragment;
  protected abstract distance(a: Operand, b: Operand): Fragment;
  protected abstract arrays(op: (typeof ARRAY)[number], a: Operand, b: Operand): Fragment;

  #call({ op, args }: Call): Fragment {
    const [a, b, c] = args as [Operand, Operand, Operand];
    if (op === 'and' || op === 'or')
      return balanced(
        args.map((arg) => this.predicate(arg)),
        op === 'and' ? 'AND' : 'OR',
      );
    if (op === 'not') return sql`(NOT ${this.predicate(a)})`;
    if (isAmong(COMPARISONS, op)) return this.#compared(op, a, b);
    if (isAmong(ARITHMETIC, op)) return this.#arithmetic(op, a, b);
    if (isAmong(SPATIAL, op)) return this.spatial(op, a, b);
    if (isAmong(DISTANCE, op)) {
      const near = this.near(a, b, (c as number) + ROUNDING_METRES);
      return op === 's_dwithin' ? near : sql`(NOT ${near})`;
    }
    if (isAmong(TEMPORAL, op)) return this.#temporal(op, a, b);
    if (isAmong(ARRAY, op)) return this.arrays(op, a, b);
    if (op === 'between') return this.#between(args);
    if (op === 'in') return this.#inList(a, b as readonly Operand[]);
    if (op === 'like') return this.like(this.operand(a), choosePattern(b));
    if (op === 'isNull') return sql`(${this.#nullable(a)} IS NULL)`;
    return this.#function(op, args);
  }

  /** Rows with text that is not a date must not count as rows without a value. */
  #nullable(value: Operand): Fragment {
    if (typeof value !== 'object') return this.operand(value);
    if (isArray(value)) return raw('TRUE');
    if (isProperty(value)) return this.stored(value.property);
    return 'crs' in value ? raw('TRUE') : this.operand(value);
  }

  #between(operands: readonly Operand[]): Fragment {
    const [value, least, most] = this.exactNumbers(operands) ?? this.#alike(operands, false);
    return sql`(${value!} BETWEEN ${least!} AND ${most!})`;
  }

  #compared(op: Comparison, a: Operand, b: Operand): Fragment {
    const equality = op === '=' || op === '<>';
    const own = (equality && this.ownType([a, b])) || this.exactNumbers([a, b]);
    const [left, right] = own ?? this.#alike([a, b], equality);
    return sql`(${left!} ${op} ${right!})`;
  }

  /**
   * Operands of one kind. Dates compared with timestamps become midnights. If strings need no order, a property
   * compared with literals keeps its own collation, because its index has that collation.
   */
  #alike(operands: readonly Operand[], equality: boolean): Fragment[] {
    const kinds = operands.map((operand) => computeOperandKind(operand, this.schema));
    const mixed = new Set(kinds).size > 1;
    const computed = operands.filter((operand) => !isScalar(operand));
    const own = equality && computed.length <= 1 && computed.every(isProperty);
    return operands.map((operand, i) => {
      if (mixed && kinds[i] === 'date') return this.midnight(this.operand(operand));
      return own ? this.operand(operand) : this.#byCodePoint(operand);
    });
  }

  #byCodePoint(operand: Operand): Fragment {
    const text = this.operand(operand);
    return computeOperandKind(operand, this.schema) === 'string' ? this.ordered(text) : text;
  }

  #inList(value: Operand, list: readonly Operand[]): Fragment {
    if (list.length === 0) return raw('FALSE');
    const operands = [value, ...list];
    const own = this.ownType(operands) ?? this.exactNumbers(operands);
    const [left, ...members] = own ?? this.#alike(operands, true);
    return sql`(${left!} IN (${joinFragments(members, ', ')}))`;
  }

  /** Form in which this store computes a number. */
  protected exactness(operand: Operand): Exactness {
    return findExactness(operand, this.schema);
  }

  #arithmetic(op: (typeof ARITHMETIC)[number], left: Operand, right: Operand): Fragment {
    if (this.exactness({ op, args: [left, right] }) !== 'double') return this.#exactly(op, left, right);
    const [a, b] = [this.real(this.operand(left)), this.real(this.operand(right))];
    if (op === '+' || op === '-' || op === '*') return sql`(${a} ${op} ${b})`;
    if (op === '/') return sql`(${a} / NULLIF(${b}, 0))`;
    if (op === 'div') return sql`trunc(${a} / NULLIF(${b}, 0))`;
    return op === '%' ? this.#remainder(a, b) : this.#power(a, b);
  }

  #exactly(op: string, left: Operand, right: Operand): Fragment {
    const [a, b] = [this.exact(left), this.exact(right)];
    if (op === 'div') return this.quotient(a, b);
    return op === '%' || op === 'mod' ? sql`(${a} % NULLIF(${b}, 0))` : sql`(${a} ${op} ${b})`;
  }

  #remainder(a: Fragment, b: Fragment): Fragment {
    return named('v.a - v.b * trunc(v.a / NULLIF(v.b, 0))', a, b);
  }

  /** PostgreSQL fails where SQLite returns infinity or NULL; this expression returns NULL in both. */
  #power(a: Fragment, b: Fragment): Fragment {
    const size = 'v.b * ln(abs(v.a))';
    return named(
      `CASE WHEN v.a = 0 AND v.b < 0 THEN NULL WHEN v.a < 0 AND v.b <> floor(v.b) THEN NULL
        WHEN v.a = 0 THEN power(v.a, v.b) WHEN ${size} > 709 THEN NULL WHEN ${size} < -700 THEN 0
        ELSE power(v.a, v.b) END`,
      a,
      b,
    );
  }

  #temporal(op: (typeof TEMPORAL)[number], a: Operand, b: Operand): Fragment {
    const [left, right] = [buildEnds(a), buildEnds(b)];
    const kinds = [...left, ...right].flatMap((end) =>
      end === undefined ? [] : [computeOperandKind(end, this.schema)],
    );
    // Dates compared with timestamps last from midnight to midnight.
    const mixed = new Set(kinds).size > 1;
    const span = ([start, end]: Ends): Span => ({
      start: this.#end(start, mixed, (date) => this.midnight(date)),
      end: this.#end(end, mixed, (date) => this.lastMoment(date)),
    });
    return temporalPredicate(op, span(left), span(right));
  }

  #end(end: Operand | undefined, mixed: boolean, ofDate: (date: Fragment) => Fragment): Span['start'] {
    if (end === undefined) return undefined;
    const isDay = mixed && computeOperandKind(end, this.schema) === 'date';
    return () => (isDay ? ofDate(this.operand(end)) : this.operand(end));
  }

  #function(op: string, args: readonly Operand[]): Fragment {
    const [first, second, third] = args as [Operand, Operand, Operand];
    switch (op) {
      case 'casei':
      case 'accenti':
      case 'upper':
      case 'lower':
        return typeof first === 'string'
          ? this.text(folded(first, op))
          : this.translated(this.#byCodePoint(first), op);
      case 'substring':
        return this.#substring(first, second as number, third as number | undefined);
      case 'geodistance':
        return this.distance(first, second);
      case 'now':
        return this.timestamp(new Date().toISOString());
    }
    const exactness = this.exactness({ op, args });
    if (exactness !== 'double') return this.#exactFunction(op, args, exactness);
    const texts = args.map((arg) => this.#byCodePoint(arg));
    const [a, b] = texts as [Fragment, Fragment];
    switch (op) {
      case 'length':
      case 'trim':
        return sql`${op}(${a})`;
      case 'concat':
        return sql`(${joinFragments(texts, ' || ')})`;
      case 'startswith':
        return this.startsWith(a, b);
      case 'contains':
        return this.contains(a, b);
      case 'endswith':
        return named('substr(v.a, length(v.a) - length(v.b) + 1) = v.b AND length(v.a) >= length(v.b)', a, b);
      case 'abs':
      case 'floor':
      case 'ceil':
        return sql`${op}(${this.real(a)})`;
      case 'round':
        return named(ROUNDED, this.real(a));
      case 'sqrt':
        return named('CASE WHEN v.a >= 0 THEN sqrt(v.a) END', this.real(a));
      case 'mod':
        return this.#remainder(this.real(a), this.real(b));
      case 'power':
        return this.#power(this.real(a), this.real(b));
      default:
        return this.part(op, a);
    }
  }

  #exactFunction(op: string, args: readonly Operand[], exactness: Exactness): Fragment {
    const [first, second] = args as [Operand, Operand];
    if (op === 'mod') return this.#exactly(op, first, second);
    const value = this.exact(first);
    // abs() of SQLite fails for the least integer.
    if (op === 'abs') return named('CASE WHEN v.a < 0 THEN -v.a ELSE v.a END', value);
    if (exactness === 'whole') return value;
    return op === 'round' ? named(ROUNDED, value) : sql`${op}(${value})`;
  }

  #substring(text: Operand, start: number, length: number | undefined): Fragment {
    const counts = [start, length].filter((count) => count !== undefined);
    // More characters than a string can contain, and within the range that both databases accept.
    const numbers = counts.map((count) => Math.min(Math.trunc(count), 1_000_000_000));
    return sql`substr(${this.#byCodePoint(text)}, ${numbers.join(', ')})`;
  }
}

/** Start and end; undefined is open. */
type Ends = readonly [start: Operand | undefined, end: Operand | undefined];

function buildEnds(value: Operand): Ends {
  if (typeof value !== 'object' || !isInterval(value)) return [value, value];
  const [start, end] = value.interval.map((side): Operand | undefined => {
    if (side === '..') return undefined;
    if (typeof side !== 'string') return side;
    return side.includes('T') ? { timestamp: side } : { date: side };
  });
  return [start, end];
}

/**
 * An expression over operands named v.a and v.b, so that each is written, and worked out, once. The OFFSET keeps both
 * databases from putting the operands in place of their names: nested expressions would grow without end.
 */
export function named(expression: string, a: Fragment, b?: Fragment): Fragment {
  const operands = b ? sql`${a} AS a, ${b} AS b` : sql`${a} AS a`;
  return sql`(SELECT ${expression} FROM (SELECT ${operands} LIMIT 1 OFFSET 0) AS v)`;
}

/** The pattern that LIKE compares with: case and accents of a literal are folded here. */
function choosePattern(pattern: Operand): string {
  if (typeof pattern === 'string') return pattern;
  const { op, args } = pattern as Call;
  return folded(choosePattern(args[0]!), op as FoldName);
}

/** Parts of a LIKE pattern: unchanged characters, and the wildcards `%` and `_`. */
export function patternParts(pattern: string): { character: string; wildcard: boolean }[] {
  return Array.from(pattern.matchAll(/\\(.)|(.)/gsu), ([, escaped, plain]) => ({
    character: (escaped ?? plain)!,
    wildcard: escaped === undefined && (plain === '%' || plain === '_'),
  }));
}
