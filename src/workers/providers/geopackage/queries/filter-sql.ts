import {
  isArray,
  isCall,
  isDate,
  isNumber,
  isProperty,
  isTimestamp,
  type Operand,
} from '../../../../core/cql2/ast.js';
import type { Exactness } from '../../../../core/cql2/exactness.js';
import { type FoldName, getFoldTable } from '../../../../core/cql2/fold.js';
import type { OperandKind } from '../../../../core/cql2/functions.js';
import type { ARRAY, SPATIAL } from '../../../../core/cql2/operators.js';
import { computeOperandKind } from '../../../../core/cql2/types.js';
import type { FieldType, GeoPackageSource } from '../../../../core/sources/vector-source.js';
import {
  type AnyNumber,
  formatDecimal,
  isExactNumber,
  toDouble,
  toInt64,
} from '../../../../core/values/exact-number.js';
import { FilterWriter, named, patternParts } from '../../filter-writer.js';
import { balanced, type Fragment, type FragmentValue, joinFragments, raw, sql } from '../../fragment.js';
import { computeLiteralBoxes, isSpatialLiteral, writeLiteralWkb } from '../../spatial-literal.js';
import { quote } from '../connection.js';

/**
 * SQL for an instant of a column as text in UTC with microseconds, for comparison with timestamps:
 * `2020-02-29T12:00:00.000000`. Producers write different forms, so all values are converted. SQLite reads the forms
 * without seconds, to milliseconds.
 */
export const instantSql = (column: string) =>
  `coalesce(gr_instant(${column}), strftime('%Y-%m-%dT%H:%M:%f000', ${column}), ${farSql(column, INSTANT)})`;

/**
 * SQL for the rest of an instant or date after its year. The rest follows a year with the same days and is moved to
 * UTC.
 */
const INSTANT = (rest: string) => `gr_instant(${rest})`;
const DAY = (rest: string) => `date(${rest})`;

const FAR_YEAR = `'[+-]${'[0-9]'.repeat(6)}-*'`;

/**
 * Same as `sortableYear` for a column: for instants and dates whose years have a sign and six digits. NULL for all
 * other values.
 */
function farSql(column: string, read: (rest: string) => string): string {
  const year = `CAST(substr(${column}, 1, 7) AS INTEGER)`;
  const isLeap = `(${year} % 4 = 0 AND (${year} % 100 <> 0 OR ${year} % 400 = 0))`;
  const near = read(`CASE WHEN ${isLeap} THEN '2000' ELSE '2001' END || substr(${column}, 8)`);
  // An offset may move the instant into the year before or after.
  const moved = `(y + CAST(substr(near, 1, 4) AS INTEGER) - CASE WHEN leap THEN 2000 ELSE 2001 END)`;
  return `CASE WHEN ${column} GLOB ${FAR_YEAR} THEN (SELECT CASE WHEN ${moved} > 9999 THEN printf('A%06d', ${moved})
    WHEN ${moved} < 0 THEN printf('-%06d', 999999 + ${moved}) ELSE printf('%04d', ${moved}) END || substr(near, 5)
    FROM (SELECT ${year} AS y, ${isLeap} AS leap, ${near} AS near LIMIT 1 OFFSET 0)) END`;
}

/**
 * SQL for a value by which listings are sorted: times and dates sort by time, for any form, zone and year. Other
 * values sort as stored.
 */
export function sortableSql(type: FieldType | undefined, value: string): string {
  if (type === 'date-time') return `coalesce(${instantSql(value)}, ${value})`;
  return type === 'date' ? `coalesce(date(${value}), ${farSql(value, DAY)}, ${value})` : value;
}

/** The same as columns keep it: with milliseconds, and with microseconds where it has some. */
export const storedInstantSql = (instant: string) =>
  `(SELECT CASE WHEN v.a LIKE '%000' THEN substr(v.a, 1, 23) ELSE v.a END || 'Z' FROM (SELECT ${instant} AS a LIMIT 1 OFFSET 0) AS v)`;

/** Filters as conditions on a row `t` in the SQL of SQLite. */
export class GeoPackageFilterWriter extends FilterWriter {
  constructor(private readonly source: GeoPackageSource) {
    super(source);
  }

  protected text(value: FragmentValue): Fragment {
    return { sql: '?', values: [value] };
  }

  /** Integers of 64 bits keep their digits; SQLite has no other numbers but doubles. */
  protected number(value: AnyNumber): Fragment {
    return this.text(typeof value === 'number' ? value : (toInt64(value) ?? toDouble(value)));
  }

  protected date(value: string): Fragment {
    return this.text(sortableYear(value));
  }

  protected timestamp(value: string): Fragment {
    const [seconds, decimals = ''] = value.slice(0, -1).split('.');
    return this.text(sortableYear(`${seconds}.${decimals.padEnd(6, '0').slice(0, 6)}`));
  }

  protected column(name: string, kind: OperandKind): Fragment {
    const column = this.stored(name).sql;
    if (kind === 'date') return raw(`coalesce(date(${column}), ${farSql(column, DAY)})`);
    if (kind === 'timestamp') return raw(instantSql(column));
    // The column can be declared with another collation.
    return raw(kind === 'string' ? `${column} COLLATE BINARY` : column);
  }

  protected stored(name: string): Fragment {
    return raw(`t.${quote(name)}`);
  }

  protected real(value: Fragment): Fragment {
    return sql`CAST(${value} AS REAL)`;
  }

  /** Integers of 64 bits. Beyond them SQLite computes with doubles. It does not have decimals. */
  protected exact(value: Operand): Fragment {
    return isNumber(value) ? this.text(toInt64(value) ?? toDouble(value)) : this.operand(value);
  }

  protected override exactness(operand: Operand): Exactness {
    const exactness = super.exactness(operand);
    return exactness === 'decimal' ? 'double' : exactness;
  }

  protected quotient(a: Fragment, b: Fragment): Fragment {
    return sql`trunc(${a} / NULLIF(${b}, 0))`;
  }

  protected ordered(value: Fragment): Fragment {
    return value;
  }

  /** A result beyond 64 bits is a double. It equals no literal that has more digits, even where both round to the same double. */
  protected ownType(operands: readonly Operand[]): Fragment[] | undefined {
    const isBeyond = (one: Operand) => isExactNumber(one) && toInt64(one) === undefined;
    if (!operands.some(isBeyond) || !operands.some(isCall)) return undefined;
    return operands.map((one) =>
      isBeyond(one) ? this.text(formatDecimal(one as AnyNumber)) : this.operand(one),
    );
  }

  protected midnight(date: Fragment): Fragment {
    return sql`(${date} || 'T00:00:00.000000')`;
  }

  protected lastMoment(date: Fragment): Fragment {
    return sql`(${date} || 'T23:59:59.999999')`;
  }

  /** GLOB, because LIKE of SQLite is case-insensitive. */
  protected like(value: Fragment, pattern: string): Fragment {
    const glob = patternParts(pattern).map(({ character, wildcard }) => {
      if (wildcard) return character === '%' ? '*' : '?';
      return '*?['.includes(character) ? `[${character}]` : character;
    });
    return sql`(${value} GLOB ${this.text(glob.join(''))})`;
  }

  protected translated(value: Fragment, fold: FoldName): Fragment {
    const { from, to, several } = getFoldTable(fold);
    const single = sql`gr_translate(${value}, ${this.text(from)}, ${this.text(to)})`;
    // Letters of the built-in tables, without quotes.
    return several.reduce(
      (inner, [letter, letters]) => sql`replace(${inner}, '${letter}', '${letters}')`,
      single,
    );
  }

  protected part(name: string, instant: Fragment): Fragment {
    const [from = 1, length] = PARTS[name as keyof typeof PARTS];
    // Years beyond four digits are `A` or `-`, and six digits; those before 0 are counted from 999999 down.
    const far = `substr(v.a, ${from + 3}, ${length})`;
    const farYear = `CASE substr(v.a, 1, 1) WHEN 'A' THEN substr(v.a, 2, 6) ELSE CAST(substr(v.a, 2, 6) AS INTEGER) - 999999 END`;
    return named(
      `CAST(CASE WHEN substr(v.a, 1, 1) IN ('A', '-') THEN ${name === 'year' ? farYear : far}
        ELSE substr(v.a, ${from}, ${length}) END AS REAL)`,
      instant,
    );
  }

  protected startsWith(value: Fragment, start: Fragment): Fragment {
    return sql`(instr(${value}, ${start}) = 1)`;
  }

  protected contains(value: Fragment, part: Fragment): Fragment {
    return sql`(instr(${value}, ${part}) > 0)`;
  }

  protected spatial(op: (typeof SPATIAL)[number], a: Operand, b: Operand): Fragment {
    const [literal, other] = isSpatialLiteral(a) ? [a, b] : [b, a];
    if (op === 's_intersects' && isSpatialLiteral(literal) && 'bbox' in literal && isProperty(other)) {
      const touching = computeLiteralBoxes(literal, this.source).map((box) => {
        const sides = joinFragments(
          box.map((value) => this.number(value)),
          ', ',
        );
        return sql`gr_intersects_box(${this.stored(other.property)}, ${sides})`;
      });
      return balanced(touching, 'OR');
    }
    return sql`gr_${op}(${this.#geometry(a)}, ${this.#geometry(b)})`;
  }

  protected near(a: Operand, b: Operand, metres: number): Fragment {
    return sql`(${this.distance(a, b)} <= ${this.number(metres)})`;
  }

  protected distance(a: Operand, b: Operand): Fragment {
    return sql`gr_distance_m(${this.#geometry(a)}, ${this.#geometry(b)}, ${this.text(this.source.crs)})`;
  }

  #geometry(operand: Operand): Fragment {
    return isSpatialLiteral(operand)
      ? this.text(writeLiteralWkb(operand, this.source.crs))
      : this.stored((operand as { property: string }).property);
  }

  protected arrays(op: (typeof ARRAY)[number], a: Operand, b: Operand): Fragment {
    const comparison = `CASE WHEN v.a IS NOT NULL AND v.b IS NOT NULL THEN ${ARRAYS[op]} END`;
    return named(comparison, this.#array(a), this.#array(b));
  }

  /** Returns the JSON text of an array. NULL for everything that is not an array. */
  #array(operand: Operand): Fragment {
    if (isArray(operand)) return this.#listed(operand);
    const column = this.stored((operand as { property: string }).property);
    return sql`CASE WHEN json_valid(${column}) THEN CASE WHEN json_type(${column}) = 'array' THEN ${column} END END`;
  }

  #listed(members: readonly Operand[]): Fragment {
    if (members.every((member) => typeof member !== 'object')) return this.text(JSON.stringify(members));
    const texts = members.map((member) => {
      if (typeof member === 'object' && isDate(member)) return this.text(member.date);
      if (typeof member === 'object' && isTimestamp(member)) return this.text(member.timestamp);
      if (computeOperandKind(member, this.schema) !== 'boolean') return this.operand(member);
      return sql`json(CASE ${this.predicate(member)} WHEN 1 THEN 'true' WHEN 0 THEN 'false' ELSE 'null' END)`;
    });
    return sql`json_array(${joinFragments(texts, ', ')})`;
  }
}

/**
 * Text of an instant whose year is outside 0 to 9999. It sorts after all years of four digits if the year follows
 * them, and before them if the year precedes them.
 */
function sortableYear(instant: string): string {
  const [, sign, year, rest] = /^([+-])(\d{6})(-.*)$/.exec(instant) ?? [];
  if (sign === undefined) return instant;
  return sign === '+' ? `A${year}${rest}` : `-${String(999_999 - Number(year)).padStart(6, '0')}${rest}`;
}

/** Positions of the parts in the text of an instant: the first character and the number of characters. */
const PARTS = {
  year: [1, 4],
  month: [6, 2],
  day: [9, 2],
  hour: [12, 2],
  minute: [15, 2],
  second: [18, 9],
} as const;

/** Members are equal as values of JSON: 1 is 1.0, but neither true nor "1". */
const SAME = `x.value IS y.value AND replace(x.type, 'real', 'integer') = replace(y.type, 'real', 'integer')`;

const all = (part: string, whole: string) =>
  `NOT EXISTS (SELECT 1 FROM json_each(${part}) x WHERE NOT EXISTS (SELECT 1 FROM json_each(${whole}) y WHERE ${SAME}))`;

const ARRAYS: Record<(typeof ARRAY)[number], string> = {
  a_contains: all('v.b', 'v.a'),
  a_containedBy: all('v.a', 'v.b'),
  a_equals: `${all('v.b', 'v.a')} AND ${all('v.a', 'v.b')}`,
  a_overlaps: `EXISTS (SELECT 1 FROM json_each(v.a) x JOIN json_each(v.b) y ON ${SAME})`,
};
