import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { numberedSource } from '../../src/core/numbered.js';
import type { PostgisSource } from '../../src/core/vector-source.js';
import { closeAll, withConnection } from '../../src/workers/providers/postgis/database.js';
import { discover } from '../../src/workers/providers/postgis/discover.js';
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
     ANALYZE`,
  );
});
afterAll(async () => {
  closeAll();
  await postgres?.stop();
});

async function source(): Promise<PostgisSource> {
  const { layers } = await discover({ database: postgres.url });
  return numberedSource(layers.find(({ source: { table } }) => table === 'marks')!.source) as PostgisSource;
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
