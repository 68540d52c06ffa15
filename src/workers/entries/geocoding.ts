import type { TaskInput } from '../../core/tasks/tasks.js';
import { importReference, sweepDrafts } from '../geocoding/import.js';
import { Cancellation } from '../threads/cancellation.js';
import { runTaskBody } from '../threads/failure.js';
import { lowerPriority, WORKER_NICENESS } from '../threads/niceness.js';
import type { OneThreadMessage } from '../threads/one-thread.js';

/** Thread side of imports of reference data, which take minutes where there are millions of addresses. */

lowerPriority(WORKER_NICENESS);

export default function runTask({
  name,
  input,
  flag,
}: OneThreadMessage<'geocoding.import' | 'geocoding.sweep'>) {
  return runTaskBody<unknown>(() =>
    name === 'geocoding.sweep'
      ? sweepDrafts(input as TaskInput<'geocoding.sweep'>)
      : importReference(input as TaskInput<'geocoding.import'>, new Cancellation(flag)),
  );
}
