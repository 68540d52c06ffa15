import type { Expression } from '../../../core/cql2/ast.js';
import { type PostgisSource, TaskFailure } from '../../../core/tasks.js';
import { passesAll } from '../filter-writer.js';
import { envelope, PostgisFilterWriter } from './filter-sql.js';
import type { SqlParams } from './params.js';

/** Below PostgreSQL's limit of 65535 parameters, which the statement around the filter needs some of. */
const MAX_VALUES = 64_000;

/**
 * The condition on a row `t` that a filter states, as SQL; `TRUE` without one. Its values are added to `params`.
 * The session must be in UTC. Throws `invalid-input` for what the database cannot evaluate.
 */
export function whereOf(source: PostgisSource, filter: Expression | undefined, params: SqlParams): string {
  if (passesAll(filter)) return 'TRUE';
  const condition = new PostgisFilterWriter(source, params).predicate(filter!).sql;
  if (params.values.length > MAX_VALUES) throw new TaskFailure('invalid-input', 'The filter is too large.');
  return condition;
}

export { envelope };
