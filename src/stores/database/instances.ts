import { type Selectable, sql } from 'kysely';
import type { StateDb } from '../schema/database.js';
import type { InstanceTable } from '../schema/schema.js';
import { getVocabulary } from '../schema/vocabulary.js';
import { hasEnded, isOnThisMachine } from './instance.js';

/** A gateway process that shares the state. */
export interface Instance {
  readonly name: string;
  /** Name of the server whose gateways communicate through their supervisor. */
  readonly server: string;
  readonly host: string;
  /** The release that it runs. */
  readonly release: string;
  /** Version of the last announcement that the process had applied at its last heartbeat. */
  readonly applied: number;
  /** CPUs that the server of the process can use. Absent if the process serves no requests, or is of an older release. */
  readonly servingUnits?: number;
  /** Absent if the process is of an older release. */
  readonly deploymentRole?: string;
}

/** Milliseconds between heartbeats. */
export const BEAT_MS = 4000;
/** Milliseconds without a heartbeat after which a process is not waited for any more. */
export const SILENCE_MS = 3 * BEAT_MS;
/** Rows of processes that ended without a word are removed. */
const REMOVED_AFTER_MS = 3_600_000;

/** Processes that share the state and are alive. */
export class InstanceStore {
  constructor(private readonly db: StateDb) {}

  /** Adds a process, or says that it is alive. */
  async beat({ servingUnits, deploymentRole, ...row }: Instance): Promise<void> {
    const { now } = getVocabulary(this.db);
    const { applied } = row;
    const capacity = { serving_units: servingUnits ?? null, deployment_role: deploymentRole ?? null };
    await this.db
      .insertInto('instances')
      .values({ ...row, ...capacity, started_at: now(), heartbeat_at: now() })
      .onConflict((c) => c.column('name').doUpdateSet({ applied, heartbeat_at: now() }))
      .execute();
  }

  /** Time of the state. Milliseconds since 1970. */
  async readTime(): Promise<number> {
    const { rows } = await sql<{ now: number }>`SELECT ${getVocabulary(this.db).now()} AS now`.execute(
      this.db,
    );
    return rows[0]!.now;
  }

  async remove(name: string): Promise<void> {
    await this.db.deleteFrom('instances').where('name', '=', name).execute();
  }

  /**
   * Processes with a recent heartbeat. Processes of this machine that share a file are checked directly, so that an
   * idle server need not write.
   */
  async alive(): Promise<Instance[]> {
    const { now, database } = getVocabulary(this.db);
    const rows = await this.db
      .selectFrom('instances')
      .selectAll()
      .select(sql<number>`${now()} - heartbeat_at`.as('silent_ms'))
      .orderBy('name')
      .execute();
    const isSeen = (name: string) => database === 'SQLite' && isOnThisMachine(name);
    return rows
      .filter(({ name, silent_ms }) => !hasEnded(name) && (isSeen(name) || silent_ms < SILENCE_MS))
      .map(instance);
  }

  async isAlive(instance: string): Promise<boolean> {
    return (await this.alive()).some(({ name }) => name === instance);
  }

  /** Whether other processes can only detect by heartbeats that a process is alive. */
  needsHeartbeats(alive: readonly Pick<Instance, 'name'>[]): boolean {
    if (getVocabulary(this.db).database === 'PostgreSQL') return true;
    return alive.some(({ name }) => !isOnThisMachine(name));
  }

  /** Removes the rows of processes that ended for certain, or are silent for long. */
  async sweep(): Promise<void> {
    const { now } = getVocabulary(this.db);
    const rows = await this.db.selectFrom('instances').select('name').execute();
    const ended = rows.map(({ name }) => name).filter(hasEnded);
    await this.db
      .deleteFrom('instances')
      .where((w) =>
        w.or([w('name', 'in', ended), w('heartbeat_at', '<', sql<number>`${now()} - ${REMOVED_AFTER_MS}`)]),
      )
      .execute();
  }
}

function instance(row: Selectable<InstanceTable>): Instance {
  const { name, server, host, release, applied, serving_units, deployment_role } = row;
  return {
    ...{ name, server, host, release, applied },
    ...(serving_units === null ? {} : { servingUnits: serving_units }),
    ...(deployment_role === null ? {} : { deploymentRole: deployment_role }),
  };
}
