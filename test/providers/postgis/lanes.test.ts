import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TaskFailure } from '../../../src/core/errors/failure.js';
import type { ItemsTask } from '../../../src/core/features/features.js';
import type { GeoPackageSource, PostgisSource } from '../../../src/core/sources/vector-source.js';
import { FILES, placeFor, ThreadLoad } from '../../../src/workers/pools/vector/placement.js';
import type { VectorPool } from '../../../src/workers/pools/vector/pool.js';
import { inspectGeoPackage } from '../../../src/workers/providers/geopackage/schema/inspect.js';
import { closeAll } from '../../../src/workers/providers/postgis/connections/database.js';
import { WORLD_MAP } from '../../native/support.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { CRS84, layerOf, run } from './support.js';

/** Threads are made from the build output. */
const built = pathToFileURL(
  fileURLToPath(new URL('../../../dist/workers/pools/vector/pool.js', import.meta.url)),
).href;

let postgres: TestPostgres;
let pool: VectorPool;
let slow: ItemsTask;
let quick: ItemsTask;
let file: ItemsTask;

beforeAll(async () => {
  postgres = await startPostgres();
  await run(
    postgres.url,
    `CREATE TABLE quick (id int PRIMARY KEY, geom geometry(Point, 4326));
     INSERT INTO quick VALUES (1, 'SRID=4326;POINT(1 1)');`,
  );
  const common = { ...CRS84, limit: 10, offset: 0 };
  // Before there is the view, which would be read to describe it.
  quick = { ...common, filter: undefined, source: (await layerOf(postgres.url, 'quick')).source };
  await run(
    postgres.url,
    `CREATE FUNCTION wait() RETURNS text LANGUAGE sql VOLATILE AS $$ SELECT pg_sleep(20)::text $$;
     CREATE VIEW slow AS SELECT id, geom, CASE WHEN current_setting('application_name') = 'graticule'
       AND current_setting('statement_timeout') = '29s' THEN wait() END AS w FROM quick;`,
  );
  const view = quick.source as PostgisSource;
  slow = {
    filter: undefined,
    ...common,
    source: {
      ...view,
      table: 'slow',
      fields: [{ name: 'w', type: 'string', nullable: true, sqlType: 'text' }],
    },
  };
  file = {
    filter: undefined,
    ...common,
    source: inspectGeoPackage(WORLD_MAP).find(({ source }) => source.table === 'countries')!
      .source as GeoPackageSource,
  };
  const { VectorPool: Pool } = (await import(built)) as { VectorPool: typeof VectorPool };
  pool = new Pool({ threads: 1, maxQueue: 4, maxWaitMs: 30_000, connections: 4 });
});
afterAll(async () => {
  closeAll();
  // Ends the statements that still sleep, for which the pool would wait.
  await postgres?.stop();
  await pool?.close();
});

async function waiting(): Promise<number> {
  const { rows } = await run(
    postgres.url,
    "SELECT count(*)::int AS n FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%\"slow\"%' AND pid <> pg_backend_pid()",
  );
  return rows[0].n;
}
async function untilWaiting(count: number): Promise<void> {
  const end = Date.now() + 15_000;
  while ((await waiting()) !== count) {
    if (Date.now() > end) throw new Error(`never were ${count} waiting, but ${await waiting()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
const codeOf = (task: Promise<unknown>) =>
  task.then(
    () => 'ok',
    (error: TaskFailure) => error.code,
  );

describe('one thread', () => {
  it('reads files while it waits for a database, and cancels what nobody waits for', async () => {
    const abort = new AbortController();
    const first = codeOf(pool.run('vector.items', slow, { signal: abort.signal }));
    const second = codeOf(pool.run('vector.items', slow, { deadlineMs: 1500 }));
    // Of the four connections one is for callers with a key, and one is for other tables.
    await untilWaiting(2);
    const third = codeOf(pool.run('vector.items', slow, { signal: abort.signal }));
    expect((await pool.run('vector.items', quick)).returned).toBe(1);
    expect((await pool.run('vector.items', file)).returned).toBe(10);
    expect(await pool.run('vector.ping', { database: postgres.url })).toBeNull();
    expect(pool.status()).toMatchObject({ queued: 1, running: 2 });
    expect(await second).toBe('deadline-exceeded');
    abort.abort();
    expect(await first).toBe('cancelled');
    expect(await third).toBe('cancelled');
    await untilWaiting(0);
    expect((await pool.run('vector.items', quick)).returned).toBe(1);
  });

  it('gives a slow table half of the connections, and callers with a key one of their own', async () => {
    const abort = new AbortController();
    const caller = { class: 'keyed', id: 'k' } as const;
    const { signal } = abort;
    const strangers = [1, 2, 3].map(() => codeOf(pool.run('vector.items', slow, { signal })));
    await untilWaiting(1);
    // Two more connections are for everyone; a heavy task of a key goes beside those of strangers.
    const key = codeOf(pool.run('vector.items', slow, { signal, caller }));
    await untilWaiting(2);
    expect((await pool.run('vector.items', quick)).returned).toBe(1);
    expect((await pool.run('vector.items', quick, { caller })).returned).toBe(1);
    expect(pool.status()).toMatchObject({ queued: 2, running: 2 });
    abort.abort();
    expect(await Promise.all([...strangers, key])).toEqual(Array(4).fill('cancelled'));
    await untilWaiting(0);
  });

  it('refuses requests that its queue cannot hold, and no background work', async () => {
    const abort = new AbortController();
    const caller = { class: 'anonymous', id: 'a' } as const;
    const { signal } = abort;
    const many = Array.from({ length: 10 }, () => codeOf(pool.run('vector.items', slow, { signal, caller })));
    const work = Array.from({ length: 10 }, () => codeOf(pool.run('vector.items', slow, { signal })));
    await untilWaiting(1);
    abort.abort();
    const codes = await Promise.all(many);
    expect(codes.filter((code) => code === 'queue-full')).toHaveLength(5);
    expect(codes.filter((code) => code === 'cancelled')).toHaveLength(5);
    expect(await Promise.all(work)).toEqual(Array(10).fill('cancelled'));
    await untilWaiting(0);
  });
});

describe('placing', () => {
  const thread = (...lanes: string[]) => {
    const load = new ThreadLoad();
    for (const lane of lanes) load.began(lane);
    return { load };
  };

  it('gives a file a thread of its own', () => {
    const threads = [thread(FILES), thread('db', 'db'), thread('db')];
    expect(placeFor(threads, FILES, 1)).toBe(threads[2]);
    expect(placeFor([thread(FILES), thread(FILES)], FILES, 1)).toBeUndefined();
  });

  it('keeps a database clear of files where it can', () => {
    const threads = [thread(FILES), thread('db', 'db')];
    expect(placeFor(threads, 'db', 3)).toBe(threads[1]);
    expect(placeFor(threads, 'db', 2)).toBe(threads[0]);
    expect(placeFor(threads, 'other', 2)).toBe(threads[1]);
  });

  it('forgets what has ended', () => {
    const one = thread('db');
    expect(placeFor([one], 'db', 1)).toBeUndefined();
    one.load.ended('db');
    expect(placeFor([one], 'db', 1)).toBe(one);
  });
});
