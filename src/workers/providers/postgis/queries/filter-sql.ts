import { usesGeneratedIds } from '../../../../core/catalog/generated-ids.js';
import {
  isArray,
  isDate,
  isGeometry,
  isProperty,
  isTimestamp,
  type Operand,
} from '../../../../core/cql2/ast.js';
import { type FoldName, getFoldTable } from '../../../../core/cql2/fold.js';
import type { OperandKind } from '../../../../core/cql2/functions.js';
import type { ARRAY, SPATIAL } from '../../../../core/cql2/operators.js';
import { computeOperandKind, type FilterSchema } from '../../../../core/cql2/types.js';
import { findField } from '../../../../core/features/features.js';
import type { Box } from '../../../../core/geometry/box.js';
import type { PostgisSource } from '../../../../core/sources/vector-source.js';
import { type AnyNumber, formatDecimal, toInt64 } from '../../../../core/values/exact-number.js';
import { type CrsDescription, describeCrs } from '../../../../native/index.js';
import { FilterWriter, named, patternParts } from '../../filter-writer.js';
import { balanced, type Fragment, joinFragments, raw, sql } from '../../fragment.js';
import {
  computeLiteralBoxes,
  isSpatialLiteral,
  type SpatialLiteral,
  writeLiteralWkb,
} from '../../spatial-literal.js';
import type { SqlParams, SqlValue } from '../connections/params.js';
import {
  column,
  keepFinite,
  quoteNumbersTable,
  shownArray,
  writeGeometrySql,
  writeKeySql,
  writePolygonsSql,
} from '../schema/names.js';
import { inPostgresCalendar } from './values.js';

/** Also the numbers of keys, where these are the ids: an edit by keys may be bounded by them. */
function buildSchema(source: PostgisSource): FilterSchema {
  const { generatedIds, fields } = source;
  if (!generatedIds || usesGeneratedIds(source)) return source;
  return { ...source, fields: [...fields, { name: generatedIds.column, type: 'integer', nullable: false }] };
}

/**
 * Writes filters as conditions on a row `t` in PostgreSQL's SQL, for a session in UTC. Fragments contain `$n`
 * parameters and no values.
 */
/** Spatial conditions of a filter that split geometries with NaN into their parts. */
const MAX_SPLITTING = 50;

export class PostgisFilterWriter extends FilterWriter {
  #conditions = 0;

  constructor(
    private readonly source: PostgisSource,
    private readonly params: SqlParams,
  ) {
    super(buildSchema(source));
  }

  #value(value: SqlValue, type: string): Fragment {
    return raw(this.params.add(value, type));
  }

  protected text(value: string): Fragment {
    return this.#value(value, 'text');
  }

  /**
   * Integers are written as integers, because only these use an index on an integer column. Other numbers are written
   * as `numeric`, which PostgreSQL compares digit by digit with integers and `numeric` columns, and as a double with
   * columns of doubles.
   */
  protected number(value: AnyNumber): Fragment {
    const integer = toInt64(value);
    return integer === undefined
      ? this.#value(formatDecimal(value), 'numeric')
      : this.#value(integer, 'int8');
  }

  protected date(value: string): Fragment {
    return this.#value(inCalendar(value), 'date');
  }

  protected timestamp(value: string): Fragment {
    return this.#value(inCalendar(value), 'timestamptz');
  }

  protected column(name: string, kind: OperandKind): Fragment {
    const stored = this.stored(name);
    // The double with the shortest digits of a `real`, as features show it.
    if (this.#isReal(name)) return sql`${stored}::text::float8`;
    // A key of `character(n)` without the blanks that LIKE would compare. An index on text serves it.
    if (name === this.source.idColumn && this.source.idType === 'string') return sql`${stored}::text`;
    return kind === 'string' && !this.#isText(name) ? sql`${stored}::text` : stored;
  }

  protected stored(name: string): Fragment {
    const { generatedIds, idColumn } = this.source;
    if (name !== generatedIds?.column || name === idColumn) return raw(column(name));
    return raw(
      `(SELECT n.number FROM ${quoteNumbersTable(generatedIds)} n WHERE n.key = ${writeKeySql(generatedIds.key)})`,
    );
  }

  #isReal(name: string): boolean {
    return findField(this.source, name)?.sqlType === 'real';
  }

  /** Compares an unchanged `real`, so that its index is used, with numbers that have the digits of a `real`. */
  protected override exactNumbers([first, ...others]: readonly Operand[]): Fragment[] | undefined {
    if (typeof first !== 'object' || !isProperty(first) || !this.#isReal(first.property)) return undefined;
    if (!others.every((other) => typeof other === 'number' && isShownReal(other))) return undefined;
    return [this.stored(first.property), ...others.map((other) => this.#value(other as number, 'float4'))];
  }

  #isText(name: string): boolean {
    if (name === this.source.idColumn) return this.source.idType === 'string';
    return TEXT_TYPE.test(findField(this.source, name)?.sqlType ?? 'text');
  }

  #isUuid(operand: Operand): boolean {
    if (typeof operand !== 'object' || !isProperty(operand)) return false;
    if (operand.property === this.source.idColumn) return this.source.idType === 'uuid';
    return findField(this.source, operand.property)?.sqlType === 'uuid';
  }

  protected real(value: Fragment): Fragment {
    return sql`(${value})::float8`;
  }

  protected exact(value: Operand): Fragment {
    return sql`(${this.operand(value)})::numeric`;
  }

  protected quotient(a: Fragment, b: Fragment): Fragment {
    return sql`div(${a}, NULLIF(${b}, 0))`;
  }

  protected ordered(value: Fragment): Fragment {
    return sql`(${value} COLLATE "C")`;
  }

  /** Compares unchanged UUIDs, so that their index is used. Text that is not a UUID does not equal any. */
  protected ownType([first, ...others]: readonly Operand[]): Fragment[] | undefined {
    if (!this.#isUuid(first!)) return undefined;
    const uuids = others.filter((other) => typeof other === 'string' && UUID.test(other)) as string[];
    if (uuids.length === 0 || others.some((other) => typeof other !== 'string')) return undefined;
    const own = column((first as { property: string }).property);
    return [raw(own), ...uuids.map((uuid) => this.#value(uuid, 'uuid'))];
  }

  /** PostgreSQL compares dates with timestamps as their midnights. */
  protected midnight(date: Fragment): Fragment {
    return date;
  }

  protected lastMoment(date: Fragment): Fragment {
    return sql`((${date} + 1)::timestamptz - interval '1 microsecond')`;
  }

  protected like(value: Fragment, pattern: string): Fragment {
    const escaped = patternParts(pattern).map(({ character, wildcard }) =>
      !wildcard && '%_\\'.includes(character) ? `\\${character}` : character,
    );
    return sql`(${value} LIKE ${this.text(escaped.join(''))})`;
  }

  /** Pure ASCII text, which is the most common, does not need a table. */
  protected translated(value: Fragment, fold: FoldName): Fragment {
    const { from, to, several } = getFoldTable(fold);
    const ascii = ASCII_FOLDS[fold];
    const single = sql`translate(${ascii}, ${this.text(from)}, ${this.text(to)})`;
    // Letters of the built-in tables, without quotes.
    const all = several.reduce(
      (inner, [letter, letters]) => sql`replace(${inner}, '${letter}', '${letters}')`,
      single,
    );
    const operand = sql`SELECT ${value} AS a LIMIT 1 OFFSET 0`;
    return sql`(SELECT CASE WHEN octet_length(v.a) = length(v.a) THEN ${ascii} ELSE ${all} END FROM (${operand}) AS v)`;
  }

  protected part(name: string, instant: Fragment): Fragment {
    return sql`extract(${name} FROM ${instant})::float8`;
  }

  protected startsWith(value: Fragment, start: Fragment): Fragment {
    return sql`starts_with(${value}, ${start})`;
  }

  protected contains(value: Fragment, part: Fragment): Fragment {
    return sql`(strpos(${value}, ${part}) > 0)`;
  }

  protected spatial(op: (typeof SPATIAL)[number], a: Operand, b: Operand): Fragment {
    const [literal, other] = isSpatialLiteral(a) ? [a, b] : [b, a];
    if (op === 's_intersects' && isSpatialLiteral(literal) && 'bbox' in literal && isProperty(other)) {
      const touching = computeLiteralBoxes(literal, this.source).map((box) =>
        this.#touches(writeEnvelope(box, this.source, this.params)),
      );
      return balanced(touching, 'OR');
    }
    if (op === 's_disjoint') return sql`ST_Disjoint(${this.#finite(a)}, ${this.#finite(b)})`;
    const [left, right] = [this.#candidate(a), this.#candidate(b)];
    const relation = sql`ST_${op.slice(2)}(${left}, ${right})`;
    if (this.#isPoints()) return relation;
    const exact =
      op === 's_intersects' && this.#mayMissPoints(literal)
        ? sql`NOT ST_Disjoint(${left}, ${right})`
        : relation;
    return sql`(${this.#stored(a)} && ${this.#stored(b)} AND ${exact})`;
  }

  /** The row touches a window, for which an index finds the candidates. */
  #touches(window: string): Fragment {
    if (this.#isPoints()) return sql`ST_Intersects(${writeGeometrySql(this.source)}, ${window})`;
    return sql`(${writeGeometrySql(this.source)} && ${window} AND ST_Intersects(${this.#keepFinite()}, ${window}))`;
  }

  /**
   * PostGIS relates points of NaN and infinity to no geometry, so their columns do not need a guard, and no CASE
   * hides the index.
   */
  #isPoints(): boolean {
    return this.source.geometryType === 'Point' && !this.source.mayHoldSurfaces;
  }

  /** Geometry for relations that are true only if the envelopes touch. */
  #candidate(operand: Operand): Fragment {
    if (isSpatialLiteral(operand)) return this.literal(operand);
    return raw(this.#isPoints() ? writePolygonsSql(this.source) : this.#keepFinite());
  }

  /** A geometry as the index has it. */
  #stored(operand: Operand): Fragment {
    return isSpatialLiteral(operand) ? this.literal(operand) : raw(writeGeometrySql(this.source));
  }

  /** ST_Intersects uses prepared geometries. A prepared line of GEOS ignores the points of a geometry collection. */
  #mayMissPoints(literal: Operand): boolean {
    const { geometryType } = this.source;
    const collections = geometryType === 'Geometry' || geometryType === 'GeometryCollection';
    return collections && isGeometry(literal) && literal.type.endsWith('LineString');
  }

  /** ST_DWithin cannot be used, because it treats an empty geometry as far away, although its distance is unknown. */
  protected near(a: Operand, b: Operand, metres: number): Fragment {
    return sql`(${this.distance(a, b)} <= ${this.#value(metres, 'float8')})`;
  }

  protected distance(a: Operand, b: Operand): Fragment {
    const { isGeographic, metresPerUnit } = this.#crs();
    const [left, right] = [this.#finite(a), this.#finite(b)];
    if (isGeographic) return sql`ST_Distance(${this.#geography(left)}, ${this.#geography(right)})`;
    return sql`(ST_Distance(${left}, ${right}) * ${this.#value(metresPerUnit, 'float8')})`;
  }

  /** Geography with the ellipsoid of the SRID. Geographies do not have curves. */
  #geography(geometry: Fragment): Fragment {
    const { statedSrid, curved, mayHoldSurfaces } = this.source;
    // Columns that can contain surfaces can also contain curves.
    const straight = curved || mayHoldSurfaces ? sql`ST_CurveToLine(${geometry})` : geometry;
    if (statedSrid === undefined) return sql`${straight}::geography`;
    return sql`ST_SetSRID(${straight}, ${String(statedSrid)})::geography`;
  }

  #crs(): CrsDescription {
    return describeCrs(this.source.crs);
  }

  #finite(operand: Operand): Fragment {
    return isSpatialLiteral(operand) ? this.literal(operand) : raw(this.#keepFinite());
  }

  /** PostgreSQL plans each subquery separately, so thousands of conditions would take minutes. */
  #keepFinite(): string {
    this.#conditions += 1;
    return keepFinite(this.source, this.#conditions <= MAX_SPLITTING);
  }

  /** A geometry of the filter as PostGIS `geometry` in the CRS of the data. */
  literal(literal: SpatialLiteral): Fragment {
    const text = this.#value(writeLiteralWkb(literal, this.source.crs), 'geometry');
    return sql`ST_SetSRID(${text}, ${String(this.source.srid)})`;
  }

  protected arrays(op: (typeof ARRAY)[number], a: Operand, b: Operand): Fragment {
    const comparison = `CASE WHEN v.a IS NOT NULL AND v.b IS NOT NULL THEN ${ARRAYS[op]} END`;
    return named(comparison, this.#array(a), this.#array(b));
  }

  /** Operand as jsonb. NULL if it is not an array. */
  #array(operand: Operand): Fragment {
    if (isArray(operand)) return this.#listed(operand);
    const { property } = operand as { property: string };
    if (computeOperandKind(operand, this.schema) === 'array') {
      const { sqlType } = this.source.fields.find(({ name }) => name === property) ?? {};
      return raw(`to_jsonb(${shownArray(column(property), sqlType)})`);
    }
    const json = `${column(property)}::jsonb`;
    return raw(`CASE WHEN jsonb_typeof(${json}) = 'array' THEN ${json} END`);
  }

  #listed(members: readonly Operand[]): Fragment {
    if (members.every((member) => typeof member !== 'object'))
      return this.#value(JSON.stringify(members), 'jsonb');
    const texts = members.map((member) => {
      if (typeof member === 'object' && isDate(member)) return this.text(member.date);
      if (typeof member === 'object' && isTimestamp(member)) return this.text(member.timestamp);
      return this.operand(member);
    });
    return sql`jsonb_build_array(${joinFragments(texts, ', ')})`;
  }
}

/** SQL for the effect of a fold on ASCII letters. With collation C it changes only those. */
const ASCII_FOLDS: Record<FoldName, string> = {
  casei: 'lower(v.a COLLATE "C")',
  lower: 'lower(v.a COLLATE "C")',
  upper: 'upper(v.a COLLATE "C")',
  accenti: 'v.a',
};

/** The first year that PostgreSQL can store. */
const FIRST_YEAR = -4712;

/** A date or timestamp as PostgreSQL reads it. Before all that it can store there is only infinity. */
function inCalendar(value: string): string {
  const isTooEarly = value.startsWith('-') && Number(/^-\d+/.exec(value)![0]) < FIRST_YEAR;
  return isTooEarly ? '-infinity' : inPostgresCalendar(value);
}

/** Digits that distinguish all numbers of single precision. */
const REAL_DIGITS = 9;

/** Whether a number has the shortest digits of a `real`, in which features show it. */
function isShownReal(value: number): boolean {
  const real = Math.fround(value);
  if (!Number.isFinite(real)) return false;
  for (let digits = 1; digits <= REAL_DIGITS; digits++) {
    const shown = Number(real.toPrecision(digits));
    if (Math.fround(shown) === real) return shown === value;
  }
  return false;
}

/** Types that compare like text. All other types are cast to text. */
const TEXT_TYPE = /^(text|character varying|varchar)\b/;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const all = (part: string, whole: string) =>
  `NOT EXISTS (SELECT 1 FROM jsonb_array_elements(${part}) x WHERE NOT EXISTS
    (SELECT 1 FROM jsonb_array_elements(${whole}) y WHERE x.value = y.value))`;

const ARRAYS: Record<(typeof ARRAY)[number], string> = {
  a_contains: all('v.b', 'v.a'),
  a_containedBy: all('v.a', 'v.b'),
  a_equals: `${all('v.b', 'v.a')} AND ${all('v.a', 'v.b')}`,
  a_overlaps:
    'EXISTS (SELECT 1 FROM jsonb_array_elements(v.a) x JOIN jsonb_array_elements(v.b) y ON x.value = y.value)',
};

/** A box in the source's CRS as a PostGIS polygon; one without an area as a point or a line, which a polygon would not be. */
export function writeEnvelope(box: Box, { srid }: PostgisSource, params: SqlParams): string {
  const sides = (values: readonly number[]) => values.map((side) => params.add(side, 'float8')).join(', ');
  const [minx, miny, maxx, maxy] = box;
  if (minx < maxx && miny < maxy) return `ST_MakeEnvelope(${sides(box)}, ${srid})`;
  const start = `ST_MakePoint(${sides([minx, miny])})`;
  const isPoint = minx === maxx && miny === maxy;
  const shape = isPoint ? start : `ST_MakeLine(${start}, ST_MakePoint(${sides([maxx, maxy])}))`;
  return `ST_SetSRID(${shape}, ${srid})`;
}
