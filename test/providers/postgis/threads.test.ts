import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { run } from './support.js';

/** A thread that says when its statement is on the way, and would wait for it for a minute. */
const SLEEPER = `
  const { parentPort, workerData } = require('node:worker_threads');
  import(workerData.client).then(async ({ PostgresConnection }) => {
    const connection = new PostgresConnection();
    await connection.connect(workerData.url, 5000);
    await connection.query('SELECT 1');
    const sleeping = connection.query("SELECT 'sleeper', pg_sleep(60)");
    parentPort.postMessage('asked');
    if (workerData.exits) process.exit(0);
    await sleeping;
  });`;

let postgres: TestPostgres;

beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres?.stop());

it.each([
  ['ended from outside', false],
  ['that exits by itself', true],
])('a thread %s takes its connections along', async (_, exits) => {
  const client = new URL('../../../dist/native/postgres.js', import.meta.url).href;
  for (let round = 0; round < 5; round++) {
    const workers = Array.from(
      { length: 4 },
      () => new Worker(SLEEPER, { eval: true, workerData: { client, url: postgres.url, exits } }),
    );
    const ended = workers.map((worker) => once(worker, 'exit'));
    await Promise.all(workers.map((worker) => once(worker, 'message')));
    if (!exits) await Promise.all(workers.map((worker) => worker.terminate()));
    await Promise.all(ended);
  }
  const end = Date.now() + 10_000;
  for (;;) {
    const { rows } = await run(
      postgres.url,
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'graticule'",
    );
    if (rows[0].n === 0) return;
    expect(Date.now()).toBeLessThan(end);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
});
