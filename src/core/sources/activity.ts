import type { VectorSource } from './vector-source.js';

/** Counters of the writes to tables: rows inserted, updated and deleted since statistics began, and rows there are. */
export type Activity = readonly number[];

const COUNTERS = 4;

/** Names of the tables of which a source shows rows: its own, and those that a view reads or that inherit from it. */
export function listActivityTables({ schema, table, reads = [] }: VectorSource): string[] {
  return [...new Set([`${schema}.${table}`, ...reads])];
}

/** The counters of several tables together. */
export function sumActivity(parts: readonly (Activity | null)[]): Activity {
  return Array.from({ length: COUNTERS }, (_, i) => parts.reduce((sum, part) => sum + (part?.[i] ?? 0), 0));
}
