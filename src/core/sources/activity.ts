import type { VectorSource } from './vector-source.js';

/**
 * Counters of the writes to a table: rows inserted, updated and deleted since the statistics were reset, and the
 * current number of rows.
 */
export type Activity = readonly number[];

const COUNTERS = 4;

/** Names of the tables whose rows a source shows: its table, tables that a view reads, and child tables. */
export function listActivityTables({ schema, table, reads = [] }: VectorSource): string[] {
  return [...new Set([`${schema}.${table}`, ...reads])];
}

/** The counters of several tables together. */
export function sumActivity(parts: readonly (Activity | null)[]): Activity {
  return Array.from({ length: COUNTERS }, (_, i) => parts.reduce((sum, part) => sum + (part?.[i] ?? 0), 0));
}
