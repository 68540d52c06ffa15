import {
  type BoxLiteral,
  type Expression,
  isBox,
  isCall,
  isProperty,
  type Operand,
} from '../../../core/cql2/ast.js';
import { SPATIAL } from '../../../core/cql2/operators.js';
import { type GeoPackageSource, TaskFailure } from '../../../core/tasks.js';
import { passesAll } from '../filter-writer.js';
import { balanced, type Fragment, joined, raw, sql } from '../fragment.js';
import { boxesOf, isSpatialLiteral, type SpatialLiteral } from '../spatial-literal.js';
import { quote } from './connection.js';
import { GeoPackageFilterWriter } from './filter-sql.js';
import { indexOf, matchingIds, type Query } from './window.js';

/** Below SQLite's limit of 32766 parameters, which the statement around the filter needs some of. */
const MAX_VALUES = 32_000;

/**
 * Selects `id` of every row that the filter lets through. No row comes twice; the order is undefined. The spatial index
 * serves what stands alone or between ANDs.
 */
export function idsOf(source: GeoPackageSource, filter: Expression | undefined): Query {
  if (passesAll(filter)) return matchingIds(source, undefined);
  const conditions = conjuncts(filter!);
  const box = conditions.length === 1 ? boxCondition(source, conditions[0]!) : undefined;
  if (box) return matchingIds(source, boxesOf(box, source));
  const writer = new GeoPackageFilterWriter(source);
  const written = conditions.flatMap((condition) => conditionsOf(source, condition, writer));
  const id = `t.${quote(source.idColumn)}`;
  const query = sql`SELECT ${id} AS id FROM ${quote(source.table)} t WHERE ${balanced(written, 'AND')}`;
  if (query.values.length > MAX_VALUES) throw new TaskFailure('invalid-input', 'The filter is too large.');
  return { sql: query.sql, values: [...query.values] };
}

function conjuncts(filter: Expression): readonly Expression[] {
  const nested = typeof filter === 'object' && filter.op === 'and';
  return nested ? (filter.args as Expression[]).flatMap(conjuncts) : [filter];
}

function conditionsOf(
  source: GeoPackageSource,
  condition: Expression,
  writer: GeoPackageFilterWriter,
): Fragment[] {
  const box = source.hasIndex && boxCondition(source, condition);
  const id = `t.${quote(source.idColumn)}`;
  if (box) return [sql`${id} IN (${matchingIds(source, boxesOf(box, source))})`];
  const literal = source.hasIndex && indexable(source, condition);
  const exact = writer.predicate(condition);
  return literal ? [sql`${id} IN (${candidates(source, literal)})`, exact] : [exact];
}

/** The box of a condition that asks for nothing but what touches it. */
function boxCondition(source: GeoPackageSource, condition: Expression): BoxLiteral | undefined {
  if (typeof condition !== 'object' || condition.op !== 's_intersects') return undefined;
  const literal = indexable(source, condition);
  return literal && isBox(literal) ? literal : undefined;
}

/** Relations that hold only where the envelopes touch. */
const TOUCHING: ReadonlySet<string> = new Set(SPATIAL.filter((op) => op !== 's_disjoint'));

/** The literal that a condition compares the geometry of the row with, when the index can find the candidates. */
function indexable(source: GeoPackageSource, condition: Expression): SpatialLiteral | undefined {
  if (!isCall(condition) || !TOUCHING.has(condition.op)) return undefined;
  const [a, b] = condition.args as [Operand, Operand];
  const column = [a, b].find(isProperty)?.property === source.geometryColumn;
  return column ? [a, b].find(isSpatialLiteral) : undefined;
}

/** Ids of the rows whose envelope touches that of the literal. */
function candidates(source: GeoPackageSource, literal: SpatialLiteral): Fragment {
  const parts = boxesOf(literal, source).map(([minx, miny, maxx, maxy]) => ({
    sql: `SELECT id FROM ${indexOf(source)} WHERE minx <= ? AND maxx >= ? AND miny <= ? AND maxy >= ?`,
    values: [maxx, minx, maxy, miny],
  }));
  return parts.length > 0 ? joined(parts, ' UNION ') : raw('SELECT NULL WHERE FALSE');
}
