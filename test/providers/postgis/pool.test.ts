import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { TaskFailure } from '../../../src/core/errors/failure.js';
import type { PostgresConnection } from '../../../src/native/postgres.js';
import {
  batches,
  closeAll,
  getConnectionPool,
  limitConnections,
  withConnection,
} from '../../../src/workers/providers/postgis/connections/database.js';
import { Cancellation } from '../../../src/workers/threads/cancellation.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { run } from './support.js';

const LIMIT = 4;

let postgres: TestPostgres;

beforeAll(async () => {
  postgres = await startPostgres(['max_connections=12', 'superuser_reserved_connections=2']);
  await run(postgres.url, 'CREATE ROLE plain LOGIN');
  limitConnections(LIMIT);
});
afterEach(() => closeAll());
afterAll(async () => {
  await postgres?.stop();
});

const asked = (sql: string) => (connection: PostgresConnection) => connection.query(sql);
const use = (sql: string, cancellation?: Cancellation) =>
  withConnection(postgres.url, asked(sql), { cancellation });

async function failure(promise: Promise<unknown>): Promise<TaskFailure> {
  return promise.then(
    () => {
      throw new Error('it did not fail');
    },
    (error: TaskFailure) => error,
  );
}

async function until(reached: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 15_000;
  while (!(await reached())) {
    if (Date.now() > end) throw new Error('it never came to that');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Sessions of ours that run a statement which holds this text. */
async function running(text: string): Promise<number> {
  const { rows } = await run(
    postgres.url,
    `SELECT count(*)::int AS n FROM pg_stat_activity
     WHERE application_name = 'graticule' AND state = 'active' AND query LIKE '%${text}%'`,
  );
  return rows[0].n;
}

describe('connections', () => {
  it('are shared, and no more than allowed', async () => {
    let most = 0;
    let now = 0;
    const work = async (connection: PostgresConnection) => {
      most = Math.max(most, ++now);
      await connection.query('SELECT pg_sleep(0.02)');
      now--;
    };
    await Promise.all(Array.from({ length: 40 }, () => withConnection(postgres.url, work)));
    expect(most).toBe(LIMIT);
  });

  it('serve on after errors', async () => {
    const wrong = Array.from({ length: 20 }, () => failure(use('SELECT 1/0')));
    expect((await Promise.all(wrong)).map(({ code }) => code)).toEqual(new Array(20).fill('invalid-input'));
    expect(await use('SELECT 1')).toEqual([[1]]);
  });

  it('that are killed under a statement are replaced, and the statement is repeated', async () => {
    const sleeping = use("SELECT 'again', pg_sleep(0.5)");
    await until(async () => (await running('again')) === 1);
    await run(
      postgres.url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%again%' AND pid <> pg_backend_pid()`,
    );
    expect((await sleeping)[0]![0]).toBe('again');
  });

  it('that are killed before work to be done once has begun are replaced', async () => {
    let hasBegun = false;
    const work = async (connection: PostgresConnection) => {
      await connection.query("SELECT 'unbegun', pg_sleep(0.5)");
      hasBegun = true;
      return connection.query('SELECT 1');
    };
    const waiting = withConnection(postgres.url, work, { hasBegun: () => hasBegun });
    await until(async () => (await running('unbegun')) === 1);
    await run(
      postgres.url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%unbegun%' AND pid <> pg_backend_pid()`,
    );
    expect(await waiting).toEqual([[1]]);
  });

  it('that are killed under work to be done once fail', async () => {
    const once = failure(
      withConnection(postgres.url, asked("SELECT 'once', pg_sleep(9)"), { hasBegun: () => true }),
    );
    await until(async () => (await running('once')) === 1);
    await run(
      postgres.url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%once%' AND pid <> pg_backend_pid()`,
    );
    expect(await once).toMatchObject({ code: 'store-unavailable' });
  });

  it('that slept through a restart are replaced', async () => {
    await Promise.all(Array.from({ length: LIMIT }, () => use('SELECT pg_sleep(0.05)')));
    await postgres.halt();
    await postgres.start();
    const answers = await Promise.all(Array.from({ length: 8 }, () => use('SELECT 1')));
    expect(answers.flat(2)).toEqual(new Array(8).fill(1));
  });

  it('fail while the server is down, and work when it is back', async () => {
    await postgres.halt();
    expect(await failure(use('SELECT 1'))).toMatchObject({ code: 'store-unavailable' });
    await postgres.start();
    await until(() =>
      use('SELECT 1').then(
        () => true,
        () => false,
      ),
    );
  });

  it('see a table that has changed since', async () => {
    await run(postgres.url, 'CREATE TABLE changing (a int); INSERT INTO changing VALUES (1)');
    for (let i = 0; i < 5; i++) expect(await use('SELECT * FROM changing')).toEqual([[1]]);
    await run(postgres.url, "ALTER TABLE changing ALTER a TYPE text USING 'x' || a");
    expect(await use('SELECT * FROM changing')).toEqual([['x1']]);
    await run(postgres.url, 'DROP TABLE changing');
    expect(await failure(use('SELECT * FROM changing'))).toMatchObject({ code: 'source-missing' });
  });
});

describe('a transaction that is left open', () => {
  it('ends with its connection', async () => {
    await run(postgres.url, 'CREATE TABLE half (a int)');
    const left = async (connection: PostgresConnection) => {
      await connection.query('BEGIN');
      await connection.query('INSERT INTO half VALUES (1)');
      throw new Error('forgotten');
    };
    await expect(withConnection(postgres.url, left)).rejects.toThrow('forgotten');
    for (let i = 0; i < LIMIT; i++) expect(await use('SELECT count(*) FROM half')).toEqual([[0]]);
  });
});

describe('cancellation', () => {
  it('ends the statement in the server', async () => {
    const cancellation = new Cancellation();
    const sleeping = failure(use("SELECT 'doomed', pg_sleep(60)", cancellation));
    await until(async () => (await running('doomed')) === 1);
    cancellation.request();
    expect(await sleeping).toMatchObject({ code: 'cancelled' });
    await until(async () => (await running('doomed')) === 0);
    expect(await use('SELECT 1')).toEqual([[1]]);
  });

  it('ends the wait for a connection', async () => {
    const busy = Array.from({ length: LIMIT }, () => use('SELECT pg_sleep(0.5)'));
    const cancellation = new Cancellation();
    const waiting = failure(use('SELECT 1', cancellation));
    setTimeout(() => cancellation.request(), 50);
    expect(await waiting).toMatchObject({ code: 'cancelled' });
    await Promise.all(busy);
    expect(await use('SELECT 1')).toEqual([[1]]);
  });

  it('ends the reading of rows', async () => {
    const cancellation = new Cancellation();
    const reading = async () => {
      const all = batches(postgres.url, 'SELECT generate_series(1, 1000000000)', [], 1000, cancellation);
      for await (const _ of all) cancellation.request();
    };
    expect(await failure(reading())).toMatchObject({ code: 'cancelled' });
    expect(await use('SELECT 1')).toEqual([[1]]);
  });
});

describe('a server short of connections', () => {
  /** Takes connections as another program would, until so many are left for a plain user. */
  async function crowd(left: number): Promise<pg.Client[]> {
    // Connections that ended a moment ago still count at the server.
    const others = "SELECT count(*)::int AS n FROM pg_stat_activity WHERE usename = 'plain'";
    await until(async () => (await run(postgres.url, others)).rows[0].n === 0);
    const clients = Array.from(
      { length: 10 - left },
      () => new pg.Client({ connectionString: postgres.url.replace('graticule@', 'plain@') }),
    );
    await Promise.all(clients.map((client) => client.connect()));
    return clients;
  }
  const plain = () => postgres.url.replace('graticule@', 'plain@');

  it('is left with a margin', async () => {
    const others = await crowd(5);
    try {
      const work = Array.from({ length: 12 }, () => withConnection(plain(), asked('SELECT pg_sleep(0.05)')));
      await Promise.all(work);
      const { rows } = await run(
        postgres.url,
        "SELECT count(*)::int AS n FROM pg_stat_activity WHERE usename = 'plain' AND application_name = 'graticule'",
      );
      // Five were free; three of them stay so.
      expect(rows[0].n).toBeLessThanOrEqual(2);
    } finally {
      await Promise.all(others.map((client) => client.end()));
    }
  });

  it('is waited for', async () => {
    const others = await crowd(0);
    const waiting = withConnection(plain(), asked('SELECT 1'));
    await new Promise((resolve) => setTimeout(resolve, 300));
    await Promise.all(others.map((client) => client.end()));
    expect(await waiting).toEqual([[1]]);
  });
});

describe('a pool', () => {
  it('closes what it has', async () => {
    await use('SELECT 1');
    getConnectionPool(postgres.url).close();
    await until(async () => {
      const { rows } = await run(
        postgres.url,
        "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'graticule'",
      );
      return rows[0].n === 0;
    });
    expect(await use('SELECT 1')).toEqual([[1]]);
  });
});
