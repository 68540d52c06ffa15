import { afterEach, expect, it, vi } from 'vitest';
import type { TaskInput } from '../../src/core/tasks/tasks.js';
import type { ProcessPool as Pool } from '../../src/workers/pools/process/pool.js';

/** Processes of jobs, as the server has them: what was built starts them. */
const { ProcessPool } = (await import(
  new URL('../../dist/workers/pools/process/pool.js', import.meta.url).href
)) as { ProcessPool: typeof Pool };

let pool: Pool;
afterEach(() => pool.close());

/** A task that fails at once. */
const task = { path: '/nowhere', output: '/nowhere/either' } as TaskInput<'process.stage'>;
const run = (signal?: AbortSignal) => pool.run('process.stage', task, signal ? { signal } : {});

it('ends a process that has no work, and closes after that', async () => {
  pool = new ProcessPool({ size: 2, maxBytes: 2 ** 32, idleMs: 50 });
  await expect(run()).rejects.toMatchObject({ name: 'TaskFailure' });
  await vi.waitFor(() => expect(pool.status()).toMatchObject({ workers: 0, running: 0 }), 20_000);
  await pool.close();
});

it('takes the process of the task before, one task at a time in each', async () => {
  pool = new ProcessPool({ size: 1, maxBytes: 2 ** 32 });
  const ends = await Promise.allSettled([run(), run(), run()]);
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(pool.status()).toMatchObject({ workers: 1, queued: 0, running: 0 });
});

it('gives up what waits when it closes, and starts nothing after that', async () => {
  pool = new ProcessPool({ size: 1, maxBytes: 2 ** 32 });
  const all = [run(), run(), run()].map((one) => one.catch(({ code }) => code));
  await pool.close();
  expect((await Promise.all(all)).slice(1)).toEqual(['cancelled', 'cancelled']);
  await expect(run()).rejects.toMatchObject({ code: 'cancelled' });
  expect(pool.status().workers).toBe(0);
});

it('gives back the place of a task that was cancelled while it waited', async () => {
  pool = new ProcessPool({ size: 1, maxBytes: 2 ** 32 });
  const stop = new AbortController();
  const [first, second] = [run(), run(stop.signal)];
  stop.abort();
  await expect(second).rejects.toMatchObject({ code: 'cancelled' });
  await expect(first).rejects.toBeDefined();
  await expect(run()).rejects.toMatchObject({ name: 'TaskFailure' });
  expect(pool.status()).toMatchObject({ queued: 0, running: 0 });
});
