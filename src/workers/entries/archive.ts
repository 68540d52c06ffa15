import type { TaskInput, TaskName, TaskOutput } from '../../core/tasks/tasks.js';
import { Cancellation } from '../threads/cancellation.js';
import { runTaskBody } from '../threads/failure.js';
import { lowerPriority, WORKER_NICENESS } from '../threads/niceness.js';
import type { OneThreadMessage } from '../threads/one-thread.js';
import { copyPart, readPackage } from '../tiles/archive/package/copy.js';
import { appendTiles, discardArchive, finishArchive, openArchive } from '../tiles/archive/write.js';

/** Thread side of the archive writer: Piscina calls the default export with one task after the other. */

export type ArchiveTaskName = Extract<TaskName, `archive.${string}`>;

lowerPriority(WORKER_NICENESS);

const TASKS: {
  [N in ArchiveTaskName]: (
    input: TaskInput<N>,
    cancellation: Cancellation,
  ) => TaskOutput<N> | Promise<TaskOutput<N>>;
} = {
  'archive.open': openArchive,
  'archive.append': appendTiles,
  'archive.finish': finishArchive,
  'archive.discard': discardArchive,
  'archive.package': readPackage,
  'archive.copy': copyPart,
};

export default function runTask({ name, input, flag }: OneThreadMessage<ArchiveTaskName>) {
  return runTaskBody(async () => TASKS[name](input as never, new Cancellation(flag)));
}
