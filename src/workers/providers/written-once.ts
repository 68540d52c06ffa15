import type { Expression } from '../../core/cql2/ast.js';
import type { VectorSource } from '../../core/sources/vector-source.js';

/** SQL written for filters, by their syntax trees. Each task has its own tree, so entries do not outlive the task. */
const written = new WeakMap<object, { readonly source: VectorSource; readonly result: unknown }>();

/** Returns the result of `write` for a filter on a source, and the same result if the task needs it again. */
export function writtenOnce<T>(source: VectorSource, filter: Expression, write: () => T): T {
  const before = written.get(filter);
  if (before?.source === source) return before.result as T;
  const result = write();
  written.set(filter, { source, result });
  return result;
}
