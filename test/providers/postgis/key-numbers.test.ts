import pg from 'pg';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { useGeneratedIds } from '../../../src/core/catalog/generated-ids.js';
import type { PostgisSource } from '../../../src/core/sources/vector-source.js';
import { closeAll, withConnection } from '../../../src/workers/providers/postgis/connections/database.js';
import { LOCK } from '../../../src/workers/providers/postgis/edits/outbox.js';
import { discoverTables } from '../../../src/workers/providers/postgis/schema/discover.js';
import { postgisStore } from '../../../src/workers/providers/postgis/store.js';
import { Cancellation } from '../../../src/workers/threads/cancellation.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
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

async function keyed(name: string): Promise<PostgisSource> {
  const { layers } = await discoverTables({ database: postgres.url });
  return layers.find(({ source: { table } }) => table === name)!.source as PostgisSource;
}

const source = async (name = 'marks') => useGeneratedIds(await keyed(name)) as PostgisSource;

/** Another one that numbers the keys of a table, until its end. */
async function holder(table: string): Promise<pg.Client> {
  const other = new pg.Client({ connectionString: postgres.url });
  await other.connect();
  await other.query('BEGIN');
  await other.query(`SELECT pg_advisory_xact_lock(hashtextextended($1, ${LOCK}))`, [table]);
  return other;
}

/** Those who wait for it. */
const waiting = async (other: pg.Client) =>
  (await other.query("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")).rows;

const numbers = async (table: string) => {
  const sql = `SELECT count(*)::int4, count(DISTINCT number)::int4, min(number), max(number)
    FROM graticule_events."${table}"`;
  return (await withConnection(postgres.url, (connection) => connection.query(sql)))[0];
};

it('every key has one number, whatever the collation, and keeps it', async () => {
  const marks = await source();
  expect(await postgisStore.count({ filter: undefined, source: marks })).toBe(ROWS);
  expect(await numbers(marks.generatedIds!.table)).toEqual([ROWS, ROWS, 1, ROWS]);
  closeAll();
  await run(postgres.url, "DELETE FROM marks WHERE code = 'a1'; INSERT INTO marks VALUES ('zz')");
  expect(await postgisStore.count({ filter: undefined, source: marks })).toBe(ROWS);
  expect(await numbers(marks.generatedIds!.table)).toEqual([ROWS + 1, ROWS + 1, 1, ROWS + 1]);
});

it('a reading that is given up while another one numbers leaves the next one to it', async () => {
  const spots = await source('spots');
  const { table } = spots.generatedIds!;
  const other = await holder(table);
  const cancellation = new Cancellation();
  const reading = postgisStore.count({ filter: undefined, source: spots }, cancellation);
  const outcome = expect(reading).rejects.toMatchObject({ code: 'cancelled' });
  await vi.waitFor(async () => expect(await waiting(other)).toHaveLength(1));
  cancellation.request();
  await outcome;
  expect(await numbers(table)).toEqual([0, 0, null, null]);
  await other.end();
  expect(await postgisStore.count({ filter: undefined, source: spots })).toBe(9);
  expect(await numbers(table)).toEqual([9, 9, 1, 9]);
});

it('every key of a view has a number, also where rows have the same one', async () => {
  const marks = await source();
  await run(
    postgres.url,
    'CREATE VIEW pairs AS SELECT code, geom FROM marks UNION ALL SELECT code, geom FROM marks',
  );
  const numbersOfPairs = { ...marks.generatedIds!, table: 'object_ids_pairs' };
  expect(
    await postgisStore.count({
      filter: undefined,
      source: { ...marks, table: 'pairs', generatedIds: numbersOfPairs },
    }),
  ).toBe(2 * ROWS);
  expect((await numbers('object_ids_pairs'))![0]).toBe(ROWS);
}, 30_000);

it('finds new keys among any number of those that have one', async () => {
  const spots = await source('spots');
  const { table } = spots.generatedIds!;
  // Keys that are gone keep their numbers: two ranges of them, and one that is not full.
  await run(
    postgres.url,
    `INSERT INTO graticule_events."${table}" (key)
       SELECT lpad(to_hex(n), 32, '0')::uuid FROM generate_series(1, 1000100) n;
     INSERT INTO spots SELECT lpad(to_hex(n), 32, '0')::uuid FROM unnest(ARRAY[500000, 500001, 1000099]) n;
     INSERT INTO spots VALUES ('00000000-0000-0000-0000-000000000000'), ('ffffffff-ffff-4fff-bfff-ffffffffffff')`,
  );
  await vi.waitFor(
    async () => expect(await postgisStore.count({ filter: undefined, source: spots })).toBe(14),
    20_000,
  );
}, 30_000);

it('one look serves all readings of a thread, and these hold no connection meanwhile', async () => {
  await run(
    postgres.url,
    'CREATE TABLE dots (code text PRIMARY KEY, geom geometry(Point, 4326), height int DEFAULT 5); INSERT INTO dots VALUES (1)',
  );
  const dots = await source('dots');
  const other = await holder(dots.generatedIds!.table);
  const readings = Promise.all(
    Array.from({ length: 4 }, () => postgisStore.count({ filter: undefined, source: dots })),
  );
  await vi.waitFor(async () => expect(await waiting(other)).toHaveLength(1));
  // The thread has two connections.
  expect(await postgisStore.count({ filter: undefined, source: await keyed('dots') })).toBe(1);
  expect(await waiting(other)).toHaveLength(1);
  await other.end();
  expect(await readings).toEqual([1, 1, 1, 1]);
});

it('readings and calculations go on without new keys while another one looks for them', async () => {
  const dots = await source('dots');
  const other = await holder(dots.generatedIds!.table);
  await run(postgres.url, "INSERT INTO dots VALUES ('2')");
  expect(await postgisStore.count({ filter: undefined, source: dots })).toBe(1);
  const { outcomes } = await postgisStore.edit({
    filter: undefined,
    ...{ source: await keyed('dots'), operations: [], mode: 'atomic', crs: 'EPSG:4326', swapAxes: false },
    calculation: { values: {}, expressions: { height: { property: 'OBJECTID' } }, maxFeatures: 10 },
    origin: { collection: 'dots', layerId: 1, protocol: 'FeatureServer', requestId: 'r', actor: 'a' },
  });
  expect(outcomes).toEqual([{ ok: true, id: '1' }]);
  const { rows } = await other.query('SELECT height FROM dots ORDER BY code');
  expect(rows).toEqual([{ height: 1 }, { height: 5 }]);
  await other.end();
  await vi.waitFor(async () => expect(await postgisStore.count({ filter: undefined, source: dots })).toBe(2));
});

it('a database that is only read gives none, and says so where none has been given', async () => {
  const [marks, dots] = [await source(), await source('dots')];
  const fresh = { ...dots, generatedIds: { ...dots.generatedIds!, table: 'object_ids_fresh' } };
  await run(
    postgres.url,
    "INSERT INTO marks VALUES ('zzz'); ALTER DATABASE postgres SET default_transaction_read_only = on",
  );
  closeAll();
  await expect(postgisStore.count({ filter: undefined, source: fresh })).rejects.toMatchObject({
    code: 'store-unavailable',
  });
  expect(await postgisStore.count({ filter: undefined, source: marks })).toBe(ROWS);
  expect((await source()).idColumn).toBe('code');
});
