import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPostgresState, type State } from '../../../src/stores/state/state.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { makeDatabase } from '../../support/state.js';

const BOUNDS = { connections: 1, connectMs: 3000, statementMs: 500 };

describe('a state in PostgreSQL', () => {
  let postgres: TestPostgres;
  let place: string;
  let state: State;
  const stopped: number[] = [];
  beforeAll(async () => {
    postgres = await startPostgres();
    place = await makeDatabase(postgres.url);
    state = await openPostgresState(place, BOUNDS);
  });
  afterAll(async () => {
    for (const pid of stopped) resume(pid);
    await state?.close();
    await postgres?.stop();
  });

  /** Does nothing for a process that has ended. */
  function resume(pid: number): void {
    try {
      process.kill(pid, 'SIGCONT');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }

  /** The server's side of the connection says nothing any more, as when the network loses everything. */
  async function silence(): Promise<void> {
    const client = new pg.Client({ connectionString: place });
    await client.connect();
    const { rows } = await client.query(
      'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    await client.end();
    for (const { pid } of rows as { pid: number }[]) {
      process.kill(pid, 'SIGSTOP');
      stopped.push(pid);
    }
    expect(rows).toHaveLength(1 + stopped.length - rows.length);
  }

  it('does not use a connection again on which nothing was answered', async () => {
    await state.check();
    await silence();
    await expect(state.check()).rejects.toMatchObject({ code: 'STATE_UNREACHABLE' });
    await state.check();
  });

  it('tries a connection that was idle before it is used', async () => {
    await state.check();
    await pause(1500);
    await silence();
    await state.check();
  });
});
