import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { JobEngine } from '../../../src/services/jobs/engine.js';
import type { JobContext } from '../../../src/services/jobs/kinds.js';
import { openPostgresState, openState } from '../../../src/stores/state/state.js';

/**
 * A server that only runs jobs: `count` counts to 10, one line of its trace file per number. Arguments:
 * state database (path or URL), script of the state thread, trace file, whether the kind is resumable.
 */
const [path, worker, trace, resumable] = process.argv.slice(2) as [string, string, string, string];

const bounds = { connections: 4, connectMs: 5000, statementMs: 10_000 };
const state = await (path.startsWith('postgresql:')
  ? openPostgresState(path, bounds)
  : openState(path, new URL(worker)));
const jobs = new JobEngine(state.jobs, { leaseMs: 600_000, pollMs: 50 });

async function count(context: JobContext): Promise<{ counted: number }> {
  const from = (context.saved as { next: number } | undefined)?.next ?? 1;
  for (let n = from; n <= 10; n++) {
    await sleep(60, undefined, { signal: context.signal });
    appendFileSync(trace, `${n}\n`);
    await context.checkpoint({ next: n + 1 });
    context.progress(n / 10);
  }
  return { counted: 10 };
}

jobs.register({
  kind: 'count',
  title: 'Count',
  console: 'Geoprocessing',
  operationType: 9,
  resumable: resumable === 'true',
  run: count,
  cleanup: async () => appendFileSync(trace, 'cleaned\n'),
});
jobs.start();
process.on('SIGTERM', () => {
  void jobs
    .stop()
    .then(() => state.close())
    .then(() => process.exit(0));
});
setInterval(() => {}, 1000);
process.send?.('ready');
