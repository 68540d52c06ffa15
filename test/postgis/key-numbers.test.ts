import pg from 'pg';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { numberedSource } from '../../src/core/numbered.js';
import type { PostgisSource } from '../../src/core/vector-source.js';
import { Cancellation } from '../../src/workers/cancellation.js';
import { closeAll, withConnection } from '../../src/workers/providers/postgis/database.js';
import { discover } from '../../src/workers/providers/postgis/discover.js';
import { LOCK } from '../../src/workers/providers/postgis/outbox.js';
import { postgisStore } from '../../src/workers/providers/postgis/store.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { run } from './support.js';

/** Numbers of keys that are texts, of a table larger than what one transaction numbers. */

const ROWS = 100_500;

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startPostgres();
  await run(
    postgres.url,
    `CREATE TABLE marks (code text COLLATE "en-x-icu" PRIMARY KEY, geom geometry(Point, 4326));
     INSERT INTO marks SELECT CASE n % 2 WHEN 0 THEN 'A-' ELSE 'a' END || n FROM generate_series(1, ${ROWS}) n;
     CREATE TABLE spots (id uuid PRIMARY KEY, geom geometry(Point, 4326));
     INSERT INTO spots SELECT gen_random_uuid() FROM generate_series(1, 9);
     ANALYZE`,
  );
});
afterAll(async () => {
  closeAll();
  await postgres?.stop();
});

async function source(name = 'marks'): Promise<PostgisSource> {
  const { layers } = await discover({ database: postgres.url });
  return numberedSource(layers.find(({ source: { table } }) => table === name)!.source) as PostgisSource;
}

const numbers = async (table: string) => {
  const sql = `SELECT count(*)::int4, count(DISTINCT number)::int4, min(number), max(number)
    FROM graticule_events."${table}"`;
  return (await withConnection(postgres.url, (connection) => connection.query(sql)))[0];
};

it('every key has one number, whatever the collation, and keeps it', async () => {
  const marks = await source();
  expect(await postgisStore.count({ source: marks })).toBe(ROWS);
  expect(await numbers(marks.numbers!.table)).toEqual([ROWS, ROWS, 1, ROWS]);
  closeAll();
  await run(postgres.url, "DELETE FROM marks WHERE code = 'a1'; INSERT INTO marks VALUES ('zz')");
  expect(await postgisStore.count({ source: marks })).toBe(ROWS);
  expect(await numbers(marks.numbers!.table)).toEqual([ROWS + 1, ROWS + 1, 1, ROWS + 1]);
});

it('a reading that is given up while another one numbers leaves the next one to it', async () => {
  const spots = await source('spots');
  const { table } = spots.numbers!;
  const other = new pg.Client({ connectionString: postgres.url });
  await other.connect();
  await other.query('BEGIN');
  await other.query(`SELECT pg_advisory_xact_lock(hashtextextended($1, ${LOCK}))`, [table]);
  const cancellation = new Cancellation();
  const reading = postgisStore.count({ source: spots }, cancellation);
  const outcome = expect(reading).rejects.toMatchObject({ code: 'cancelled' });
  await vi.waitFor(async () => {
    const { rows } = await other.query("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
    expect(rows).toHaveLength(1);
  });
  cancellation.request();
  await outcome;
  expect(await numbers(table)).toEqual([0, 0, null, null]);
  await other.end();
  expect(await postgisStore.count({ source: spots })).toBe(9);
  expect(await numbers(table)).toEqual([9, 9, 1, 9]);
});

it('a database that is only read gives none, and says so', async () => {
  const marks = await source();
  await run(
    postgres.url,
    "INSERT INTO marks VALUES ('zzz'); ALTER DATABASE postgres SET default_transaction_read_only = on",
  );
  closeAll();
  // It looks again after twenty times the time that it took.
  await vi.waitFor(
    () => expect(postgisStore.count({ source: marks })).rejects.toMatchObject({ code: 'store-unavailable' }),
    { timeout: 20_000, interval: 200 },
  );
  expect((await source()).idColumn).toBe('code');
}, 30_000);
