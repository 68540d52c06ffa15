import { literalPattern } from '../cql2/pattern.js';

/** Rule for the published tables of databases. */
export interface TableRule {
  /** Patterns for `schema.table`, or for table names in any schema. `*` matches any characters, `?` one. */
  readonly include: readonly string[];
  /** Patterns of tables that are omitted although they are included. */
  readonly exclude: readonly string[];
  /** Maximum number of tables of a database; the first in the order of their names are published. */
  readonly maxTables: number;
}

export const DEFAULT_TABLES: TableRule = { include: ['*'], exclude: [], maxTables: 10_000 };

/** The operand of LIKE that matches `schema.table` as the pattern does. */
export function compilePattern(pattern: string): string {
  const full = pattern.includes('.') ? pattern : `*.${pattern}`;
  return literalPattern(full).replaceAll('*', '%').replaceAll('?', '_');
}
