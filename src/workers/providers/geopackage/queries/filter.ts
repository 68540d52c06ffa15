import { type BoxLiteral, type Expression, isBox, passesAll } from '../../../../core/cql2/ast.js';
import { TaskFailure } from '../../../../core/errors/failure.js';
import type { Box } from '../../../../core/geometry/box.js';
import { LIMITS } from '../../../../core/kit/limits.js';
import type { GeoPackageSource } from '../../../../core/sources/vector-source.js';
import { conjuncts, findNearby, findSearchWindows } from '../../conjuncts.js';
import { balanced, type Fragment, joinFragments, raw, sql } from '../../fragment.js';
import { computeLiteralBoxes } from '../../spatial-literal.js';
import { writtenOnce } from '../../written-once.js';
import { quote } from '../connection.js';
import { GeoPackageFilterWriter } from './filter-sql.js';
import {
  matchingRows,
  type Query,
  quoteIndexTable,
  quoteRowColumn,
  rowAndId,
  rowsByWalk,
  walkIsShorter,
} from './window.js';

/** Below SQLite's limit of 32766 parameters, which the statement around the filter needs some of. */
const MAX_VALUES = 32_000;

/**
 * Selects `row` of every row that matches the filter, once each, in undefined order. The spatial index is used for
 * conditions at the top of the filter or between ANDs.
 */
export function passingRows(source: GeoPackageSource, filter: Expression | undefined): Query {
  const { sql, values } = passing(source, filter);
  return { sql: source.rowColumn ? `SELECT row FROM (${sql})` : sql, values };
}

/**
 * Same as `passingRows`, in the order of the id. The id is selected as `id` if it is not `row`. `count` is the number
 * of rows that will be read.
 */
export function passingInOrder(
  source: GeoPackageSource,
  filter: Expression | undefined,
  count: number,
): Query {
  const { sql, values, rowsAlone } = passing(source, filter, count);
  if (!source.rowColumn || !rowsAlone) return { sql, values };
  // CROSS JOIN fixes the order of the tables: each found row is read from the table.
  return {
    sql: `SELECT ${rowAndId(source)} FROM (${sql}) r CROSS JOIN ${quote(source.table)} t ON ${quoteRowColumn(source)} = r.row`,
    values,
  };
}

/**
 * Selects `row`, and `id` if it differs. With `rowsAlone` the id is not selected, because it would require an
 * additional read.
 */
interface FilterQuery extends Query {
  rowsAlone?: boolean;
}

function passing(source: GeoPackageSource, filter: Expression | undefined, count?: number): FilterQuery {
  if (passesAll(filter))
    return { sql: `SELECT ${rowAndId(source)} FROM ${quote(source.table)} t`, values: [] };
  const conditions = conjuncts(filter!);
  const box = conditions.length === 1 ? boxCondition(source, conditions[0]!) : undefined;
  if (box) return rowsInBoxes(source, computeLiteralBoxes(box, source), count);
  const { sql, values } = writtenOnce(source, filter!, () => writeConditions(source, conditions));
  const [, ...others] = values;
  return { sql, values: [Date.now() + LIMITS.requestDeadlineMs, ...others] };
}

/** The first value is the time at which SQLite stops. */
function writeConditions(source: GeoPackageSource, conditions: readonly Expression[]): Query {
  const writer = new GeoPackageFilterWriter(source);
  const parts = conditions.flatMap((condition) => listConditions(source, condition, writer));
  // This is the only way to stop SQLite, and a thread that computes for a disconnected client is not available to
  // other requests.
  parts.unshift({ sql: 'gr_before(?)', values: [0] });
  const query = sql`SELECT ${rowAndId(source)} FROM ${quote(source.table)} t WHERE ${balanced(parts, 'AND')}`;
  if (query.values.length > MAX_VALUES) throw new TaskFailure('invalid-input', 'The filter is too large.');
  return { sql: query.sql, values: [...query.values] };
}

function rowsInBoxes(
  source: GeoPackageSource,
  boxes: readonly Box[],
  count: number | undefined,
): FilterQuery {
  const walk = count !== undefined && walkIsShorter(source, boxes, count);
  if (walk) return rowsByWalk(source, boxes[0]!);
  return { ...matchingRows(source, boxes), rowsAlone: true };
}

function listConditions(
  source: GeoPackageSource,
  condition: Expression,
  writer: GeoPackageFilterWriter,
): Fragment[] {
  const row = raw(quoteRowColumn(source));
  const box = source.hasIndex && boxCondition(source, condition);
  if (box) return [sql`${row} IN (${matchingRows(source, computeLiteralBoxes(box, source))})`];
  const nearby = source.hasIndex ? findNearby(source, condition) : undefined;
  const windows = nearby && findSearchWindows(source, nearby);
  const exact = writer.predicate(condition);
  return windows ? [sql`${row} IN (${touching(source, windows)})`, exact] : [exact];
}

/** Returns the box of a condition that only requires rows to touch that box. */
function boxCondition(source: GeoPackageSource, condition: Expression): BoxLiteral | undefined {
  if (condition.op !== 's_intersects') return undefined;
  const literal = findNearby(source, condition)?.literal;
  return literal && isBox(literal) ? literal : undefined;
}

/** Rows whose envelope touches one of the boxes. */
function touching(source: GeoPackageSource, windows: readonly Box[]): Fragment {
  const parts = windows.map(([minx, miny, maxx, maxy]) => ({
    sql: `SELECT id FROM ${quoteIndexTable(source)} WHERE minx <= ? AND maxx >= ? AND miny <= ? AND maxy >= ?`,
    values: [maxx, minx, maxy, miny],
  }));
  return joinFragments(parts, ' UNION ');
}
