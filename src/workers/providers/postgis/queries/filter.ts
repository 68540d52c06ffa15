import type { Expression, Operand } from '../../../../core/cql2/ast.js';
import { passesAll } from '../../../../core/cql2/ast.js';
import { ARITHMETIC, isAmong } from '../../../../core/cql2/operators.js';
import { TaskFailure } from '../../../../core/errors/failure.js';
import type { PostgisSource } from '../../../../core/sources/vector-source.js';
import { conjuncts, findNearby, findSearchWindows } from '../../conjuncts.js';
import { balanced, type Fragment, sql } from '../../fragment.js';
import { writtenOnce } from '../../written-once.js';
import { SqlParams } from '../connections/params.js';
import { column } from '../schema/names.js';
import { PostgisFilterWriter, writeEnvelope } from './filter-sql.js';

/** Below PostgreSQL's limit of 65535 parameters, which the statement around the filter needs some of. */
const MAX_VALUES = 64_000;

/**
 * Condition of a filter on a row `t`, as SQL. Default: `TRUE`. Its values are added to `params`. The session must be
 * in UTC. Throws `invalid-input` for filters that the database cannot evaluate.
 */
export function buildWhere(source: PostgisSource, filter: Expression | undefined, params: SqlParams): string {
  if (passesAll(filter)) return 'TRUE';
  // The numbers of the parameters are a part of the text.
  if (params.values.length > 0) return writeWhere(source, filter!, params);
  const { where, values } = writtenOnce(source, filter!, () => {
    const own = new SqlParams();
    return { where: writeWhere(source, filter!, own), values: own.values };
  });
  params.append(values);
  return where;
}

function writeWhere(source: PostgisSource, filter: Expression, params: SqlParams): string {
  const writer = new PostgisFilterWriter(source, params);
  const [computing, plain] = partition(conjuncts(filter), computes);
  const written = (conditions: readonly Expression[]) =>
    balanced(
      conditions.flatMap((condition) => [
        ...indexed(source, condition, writer, params),
        writer.predicate(condition),
      ]),
      'AND',
    ).sql;
  const where = inOrder(
    plain.length > 0 ? written(plain) : undefined,
    computing.length > 0 ? written(computing) : undefined,
  );
  if (params.values.length > MAX_VALUES) throw new TaskFailure('invalid-input', 'The filter is too large.');
  return where;
}

/**
 * SQL that evaluates computed conditions only for rows that match all other conditions. A computation can fail, and a
 * failure would reveal rows that a rule hides. Only CASE fixes the order of evaluation in PostgreSQL.
 */
function inOrder(plain: string | undefined, computing: string | undefined): string {
  if (plain === undefined || computing === undefined) return plain ?? computing ?? 'TRUE';
  return `(${plain} AND CASE WHEN ${plain} THEN ${computing} ELSE FALSE END)`;
}

function computes(operand: Operand): boolean {
  if (typeof operand !== 'object') return false;
  if (Array.isArray(operand)) return operand.some(computes);
  if (!('op' in operand)) return false;
  return isAmong(ARITHMETIC, operand.op) || COMPUTED.has(operand.op) || operand.args.some(computes);
}

function partition<T>(list: readonly T[], is: (one: T) => boolean): [T[], T[]] {
  return [list.filter(is), list.filter((one) => !is(one))];
}

const COMPUTED: ReadonlySet<string> = new Set(['power', 'mod', 'geodistance']);

/** Adds the index condition of distances. Relations use the index automatically. */
function indexed(
  source: PostgisSource,
  condition: Expression,
  writer: PostgisFilterWriter,
  params: SqlParams,
): Fragment[] {
  const nearby = findNearby(source, condition);
  if (nearby?.metres === undefined) return [];
  const geometry = column(source.geometryColumn);
  if (source.geography) {
    const literal = writer.literal(nearby.literal);
    return [sql`ST_DWithin(${geometry}, ${literal}::geography, ${params.add(nearby.metres, 'float8')})`];
  }
  const windows = findSearchWindows(source, nearby)?.map(
    (window) => sql`${geometry} && ${writeEnvelope(window, source, params)}`,
  );
  return windows ? [balanced(windows, 'OR')] : [];
}

export { writeEnvelope };
