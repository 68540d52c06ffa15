import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from './database.js';

/** A lease that one process holds for all. */
export type Duty = 'relay' | 'webhook' | 'job';

const OWNERS: Record<Duty, string> = {
  relay: `SELECT owner FROM graticule_state.outboxes WHERE source LIKE 'postgresql:%'`,
  webhook: 'SELECT owner FROM graticule_state.sinks',
  // Clocks of servers differ: only those that have not ended tell which is the newest.
  job: `SELECT lease_owner AS owner FROM graticule_state.jobs WHERE state IN ('Queued', 'Running')
    ORDER BY created_at DESC LIMIT 1`,
};

/** Under which name a process has a duty; undefined when nobody has it. */
export async function ownerOf(database: Database, duty: Duty): Promise<string | undefined> {
  const [row] = await database.query(OWNERS[duty], 'state');
  return (row?.['owner'] as string | null | undefined) ?? undefined;
}

/**
 * The process of a name, as host and number. A process runs jobs under another name than the one that it does the rest
 * under; one that is started again may have the number of the one before it.
 */
export function processOf(owner: string | undefined): string | undefined {
  return owner?.split(':', 2).join(':');
}

/** The time of PostgreSQL's clock, by which leases end. */
export async function clockOf(database: Database): Promise<number> {
  const [row] = await database.query('SELECT extract(epoch FROM clock_timestamp())::float8 AS now', 'state');
  return row!['now'] as number;
}

/** Seconds, by PostgreSQL's clock, from `since` until a duty was seen under another name than `last`. */
export async function secondsUntilPassed(
  database: Database,
  duty: Duty,
  last: string,
  since: number,
): Promise<number> {
  for (;;) {
    const owner = await ownerOf(database, duty);
    const now = await clockOf(database);
    if (owner !== undefined && owner !== last) return now - since;
    // Another process may take what is left of a job and end it between two looks.
    if (duty === 'job' && owner === undefined) return now - since;
    if (now - since > 120) throw new Error(`nobody took the ${duty} over from ${last} in 120 s`);
    await pause(100);
  }
}
