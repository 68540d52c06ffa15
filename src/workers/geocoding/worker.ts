import type { TaskInput } from '../../core/tasks.js';
import { Cancellation } from '../cancellation.js';
import { answer } from '../failure.js';
import { lowerPriority, WORKER_NICENESS } from '../niceness.js';
import type { OneThreadMessage } from '../one-thread.js';
import { importReference, sweepDrafts } from './import.js';

/** Thread side of imports of reference data, which take minutes where there are millions of addresses. */

lowerPriority(WORKER_NICENESS);

export default function runTask({
  name,
  input,
  flag,
}: OneThreadMessage<'geocoding.import' | 'geocoding.sweep'>) {
  return answer<unknown>(() =>
    name === 'geocoding.sweep'
      ? sweepDrafts(input as TaskInput<'geocoding.sweep'>)
      : importReference(input as TaskInput<'geocoding.import'>, new Cancellation(flag)),
  );
}
