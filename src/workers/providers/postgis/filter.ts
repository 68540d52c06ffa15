import type { Expression } from '../../../core/cql2/ast.js';
import { TaskFailure } from '../../../core/failure.js';
import type { PostgisSource } from '../../../core/vector-source.js';
import { conjuncts, nearbyOf, windowsOf } from '../conjuncts.js';
import { passesAll } from '../filter-writer.js';
import { balanced, type Fragment, sql } from '../fragment.js';
import { envelope, PostgisFilterWriter } from './filter-sql.js';
import { column } from './names.js';
import type { SqlParams } from './params.js';

/** Below PostgreSQL's limit of 65535 parameters, which the statement around the filter needs some of. */
const MAX_VALUES = 64_000;

/**
 * The condition on a row `t` that a filter states, as SQL; `TRUE` without one. Its values are added to `params`.
 * The session must be in UTC. Throws `invalid-input` for what the database cannot evaluate.
 */
export function whereOf(source: PostgisSource, filter: Expression | undefined, params: SqlParams): string {
  if (passesAll(filter)) return 'TRUE';
  const writer = new PostgisFilterWriter(source, params);
  const parts = conjuncts(filter!).flatMap((condition) => [
    ...indexed(source, condition, writer, params),
    writer.predicate(condition),
  ]);
  if (params.values.length > MAX_VALUES) throw new TaskFailure('invalid-input', 'The filter is too large.');
  return balanced(parts, 'AND').sql;
}

/** Relations find the index by themselves; distances do not. */
function indexed(
  source: PostgisSource,
  condition: Expression,
  writer: PostgisFilterWriter,
  params: SqlParams,
): Fragment[] {
  const nearby = nearbyOf(source, condition);
  if (nearby?.metres === undefined) return [];
  const geometry = column(source.geometryColumn);
  if (source.geography) {
    const literal = writer.literal(nearby.literal);
    return [sql`ST_DWithin(${geometry}, ${literal}::geography, ${params.add(nearby.metres, 'float8')})`];
  }
  const windows = windowsOf(source, nearby)?.map(
    (window) => sql`${geometry} && ${envelope(window, source, params)}`,
  );
  return windows ? [balanced(windows, 'OR')] : [];
}

export { envelope };
