/**
 * Entry of a process that runs job tasks, one at a time, in a thread. A process that is busy in GEOS or an expression
 * can be killed. A process that needs too much memory ends separately, and a crash does not end any server.
 */

import { writeFileSync } from 'node:fs';
import type { WorkerReport } from '../../../core/observability/worker-report.js';
import type { FeatureProcessTasks } from '../../../core/processes/feature-processes.js';
import { ConnectionCounts } from '../../../core/sources/connection-counts.js';
import type { TaskUsage } from '../../../core/tasks/tasks.js';
import type { ProcessThreadData } from '../../entries/process.js';
import { runTaskBody, type TaskResponse } from '../../threads/failure.js';
import { OccasionalPool } from '../../threads/one-thread.js';
import { peakMemory, resetPeakMemory } from '../../threads/peak-memory.js';

export type ToHost = { name: keyof FeatureProcessTasks; input: object } | 'cancel';

export type FromHost =
  | { usage: TaskUsage; isOutgrown?: true }
  | { answer: TaskResponse; usage: TaskUsage; report: WorkerReport | undefined };

/** Milliseconds between two checks of the progress and memory of a task. */
const LOOK_MS = 100;
/** OOM score: if memory is short, the kernel kills these processes of this machine first. */
const OOM_SCORE = '500';

process.title = 'graticule: process';
const [maxBytes = 0, slowMs = 0] = process.argv.slice(2).map(Number);
// The server has ended, and the server that continues the job writes the same files.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
preferEnd();

let report: WorkerReport | undefined;
const threads = new OccasionalPool<keyof FeatureProcessTasks>({
  name: 'process',
  worker: new URL('../../entries/process.js', import.meta.url),
  workerData: { connections: 1, counts: new ConnectionCounts().shared, slowMs } satisfies ProcessThreadData,
  isKept: true,
  onReport: (one) => {
    report = one;
  },
});
let stop = new AbortController();

process.on('message', (message: ToHost) => {
  if (message === 'cancel') stop.abort();
  else void run(message);
});

async function run({ name, input }: Exclude<ToHost, 'cancel'>): Promise<void> {
  stop = new AbortController();
  const { signal } = stop;
  resetPeakMemory();
  const shared = new SharedArrayBuffer(4);
  const count = () => Atomics.load(new Int32Array(shared), 0);
  const timer = setInterval(() => {
    const memoryBytes = process.memoryUsage.rss();
    const usage = { count: count(), memoryBytes };
    if (memoryBytes <= maxBytes) send({ usage });
    else send({ usage, isOutgrown: true }, () => process.kill(process.pid, 'SIGKILL'));
  }, LOOK_MS);
  const end = await runTaskBody(() => threads.run(name, { ...input, count: shared } as never, { signal }));
  clearInterval(timer);
  send({ answer: end, usage: { count: count(), memoryBytes: peakMemory() }, report });
}

function send(message: FromHost, then?: () => void): void {
  process.send?.(message, undefined, undefined, then);
}

function preferEnd(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', OOM_SCORE);
  } catch {
    // Another system, or a system without the permission.
  }
}
