import { threadId } from 'node:worker_threads';
import { heldResources, THREAD_KEY } from '../../core/observability/held.js';
import { statements } from '../../core/observability/statements.js';
import type { WorkerReport } from '../../core/observability/worker-report.js';

/** Reports the statements and open resources of this thread. */
export function reportThread(worker: string): WorkerReport {
  return {
    key: THREAD_KEY,
    worker,
    pid: process.pid,
    thread: threadId,
    statements: statements.report(),
    resources: heldResources.report(),
  };
}

/** Milliseconds that a busy thread has for its report. */
const PATIENCE_MS = 700;

/** Queries a thread for its report. While it is busy, its last report is returned. */
export class ThreadReports {
  #last: readonly WorkerReport[] = [];

  async read(ask: () => Promise<readonly WorkerReport[]>): Promise<readonly WorkerReport[]> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, PATIENCE_MS, undefined);
    });
    const asked = ask().then(
      (reports) => (this.#last = reports),
      () => undefined,
    );
    const reports = await Promise.race([asked, late]);
    clearTimeout(timer);
    return reports ?? this.#last;
  }
}
