import type { DiagnosticsTasks } from '../../core/diagnostics/bundle.js';
import { readBundle } from '../diagnostics/read-bundle.js';
import { runTaskBody } from '../threads/failure.js';
import { lowerPriority, WORKER_NICENESS } from '../threads/niceness.js';
import type { OneThreadMessage } from '../threads/one-thread.js';
import { moved } from '../threads/thread.js';

/** Thread side of diagnostic bundles, which are several megabytes of untrusted text. */

lowerPriority(WORKER_NICENESS);

export default async function runTask({ input }: OneThreadMessage<keyof DiagnosticsTasks>) {
  const { parts } = input as DiagnosticsTasks['diagnostics.bundle']['input'];
  return moved(await runTaskBody<unknown>(() => readBundle(parts)));
}
