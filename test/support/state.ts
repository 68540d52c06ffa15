import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe } from 'vitest';
import Database from '../../src/native/sqlite.js';
import { openPostgresState, openState, type State } from '../../src/stores/state/state.js';
import { compile } from './compile.js';
import { startPostgres, type TestPostgres } from './postgres.js';

let script: URL | undefined;

/** Script of the state thread, compiled for tests. */
export function stateWorker(): URL {
  script ??= compile('src/workers/entries/state.ts');
  return script;
}

export interface TemporaryState {
  state: State;
  directory: string;
  /** Path of the file, or URL of the database. */
  place: string;
  /** Opens the same state once more, as another process would. */
  again(): Promise<State>;
  /** Runs statements behind the back of the stores. */
  run(sql: string): Promise<void>;
  close(): Promise<void>;
}

export const STATE_BOUNDS = { connections: 4, connectMs: 5000, statementMs: 10_000 };

/** Opens the state at a place as tests need it. */
export function openPlace(place: string): Promise<State> {
  return place.startsWith('postgresql:')
    ? openPostgresState(place, STATE_BOUNDS)
    : openState(place, stateWorker());
}

/** A state database of its own: in a temporary directory, or in a database of a PostgreSQL server. */
export async function temporaryState(postgres?: TestPostgres): Promise<TemporaryState> {
  const directory = await mkdtemp(join(tmpdir(), 'graticule-state-'));
  const place = postgres ? await makeDatabase(postgres.url) : join(directory, 'state.db');
  const open = await openPlace(place);
  const others: State[] = [];
  return {
    state: open,
    directory,
    place,
    async again() {
      const other = await openPlace(place);
      others.push(other);
      return other;
    },
    run: (sql) =>
      postgres ? inPostgres(place, `SET search_path TO graticule_state; ${sql}`) : inFile(place, sql),
    async close() {
      for (const state of [...others, open]) await state.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

export type StateDatabase = 'SQLite' | 'PostgreSQL';

/** The same tests over a state in SQLite and one in PostgreSQL, with one PostgreSQL server for all of them. */
export function describeStates(
  title: string,
  tests: (
    temporary: () => Promise<TemporaryState>,
    database: StateDatabase,
    /** A place at which no state is yet. */
    empty: () => Promise<string>,
  ) => void,
): void {
  describe(title, () => {
    const directories: string[] = [];
    afterAll(async () => {
      for (const directory of directories) await rm(directory, { recursive: true });
    });
    const empty = async () => {
      const directory = await mkdtemp(join(tmpdir(), 'graticule-state-'));
      directories.push(directory);
      return join(directory, 'nested', 'state.db');
    };
    tests(() => temporaryState(), 'SQLite', empty);
  });
  describe(`${title}, in PostgreSQL`, () => {
    let postgres: TestPostgres;
    beforeAll(async () => {
      postgres = await startPostgres();
    });
    afterAll(() => postgres?.stop());
    tests(
      () => temporaryState(postgres),
      'PostgreSQL',
      () => makeDatabase(postgres.url),
    );
  });
}

let databases = 0;

/** An empty database of a server; returns its URL. */
export async function makeDatabase(server: string): Promise<string> {
  databases += 1;
  const name = `state_${process.pid}_${databases}`;
  await inPostgres(server, `CREATE DATABASE ${name} TEMPLATE template0`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

async function inPostgres(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

async function inFile(path: string, sql: string): Promise<void> {
  const raw = new Database(path);
  try {
    raw.exec(sql);
  } finally {
    raw.close();
  }
}
