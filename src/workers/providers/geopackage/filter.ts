import { type BoxLiteral, type Expression, isBox } from '../../../core/cql2/ast.js';
import { LIMITS } from '../../../core/limits.js';
import { type Box, type GeoPackageSource, TaskFailure } from '../../../core/tasks.js';
import { conjuncts, nearbyOf, windowsOf } from '../conjuncts.js';
import { passesAll } from '../filter-writer.js';
import { balanced, type Fragment, joined, sql } from '../fragment.js';
import { boxesOf } from '../spatial-literal.js';
import { quote } from './connection.js';
import { GeoPackageFilterWriter } from './filter-sql.js';
import { idsByWalk, indexOf, matchingIds, type Query, walkIsShorter } from './window.js';

/** Below SQLite's limit of 32766 parameters, which the statement around the filter needs some of. */
const MAX_VALUES = 32_000;

/**
 * Selects `id` of every row that the filter lets through. No row comes twice; the order is undefined. The spatial index
 * serves what stands alone or between ANDs. `wanted` is how many rows are read when they are asked for in the order of
 * the id.
 */
export function idsOf(source: GeoPackageSource, filter: Expression | undefined, wanted?: number): Query {
  if (passesAll(filter)) return matchingIds(source, undefined);
  const conditions = conjuncts(filter!);
  const box = conditions.length === 1 ? boxCondition(source, conditions[0]!) : undefined;
  if (box) return idsInBoxes(source, boxesOf(box, source), wanted);
  const writer = new GeoPackageFilterWriter(source);
  const written = conditions.flatMap((condition) => conditionsOf(source, condition, writer));
  const id = `t.${quote(source.idColumn)}`;
  // Nothing else can stop SQLite, and a thread that computes for nobody is missed by all.
  written.unshift({ sql: 'gr_before(?)', values: [Date.now() + LIMITS.requestDeadlineMs] });
  const query = sql`SELECT ${id} AS id FROM ${quote(source.table)} t WHERE ${balanced(written, 'AND')}`;
  if (query.values.length > MAX_VALUES) throw new TaskFailure('invalid-input', 'The filter is too large.');
  return { sql: query.sql, values: [...query.values] };
}

function idsInBoxes(source: GeoPackageSource, boxes: readonly Box[], wanted: number | undefined): Query {
  const walk = wanted !== undefined && walkIsShorter(source, boxes, wanted);
  return walk ? idsByWalk(source, boxes[0]!) : matchingIds(source, boxes);
}

function conditionsOf(
  source: GeoPackageSource,
  condition: Expression,
  writer: GeoPackageFilterWriter,
): Fragment[] {
  const id = `t.${quote(source.idColumn)}`;
  const box = source.hasIndex && boxCondition(source, condition);
  if (box) return [sql`${id} IN (${matchingIds(source, boxesOf(box, source))})`];
  const nearby = source.hasIndex ? nearbyOf(source, condition) : undefined;
  const windows = nearby && windowsOf(source, nearby);
  const exact = writer.predicate(condition);
  return windows ? [sql`${id} IN (${touching(source, windows)})`, exact] : [exact];
}

/** The box of a condition that asks for nothing but what touches it. */
function boxCondition(source: GeoPackageSource, condition: Expression): BoxLiteral | undefined {
  if (typeof condition !== 'object' || condition.op !== 's_intersects') return undefined;
  const literal = nearbyOf(source, condition)?.literal;
  return literal && isBox(literal) ? literal : undefined;
}

/** Ids of the rows whose envelope touches one of the boxes. */
function touching(source: GeoPackageSource, windows: readonly Box[]): Fragment {
  const parts = windows.map(([minx, miny, maxx, maxy]) => ({
    sql: `SELECT id FROM ${indexOf(source)} WHERE minx <= ? AND maxx >= ? AND miny <= ? AND maxy >= ?`,
    values: [maxx, minx, maxy, miny],
  }));
  return joined(parts, ' UNION ');
}
