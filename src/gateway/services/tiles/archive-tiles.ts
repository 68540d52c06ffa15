import type { ArchiveCollection } from '../../../core/collection.js';
import { isRemote } from '../../../core/sources.js';
import type { ArchiveTile, ArchiveTileAddress, ArchiveTileOutcome, Pools } from '../../../core/tasks.js';
import { failureFrom } from '../../../workers/failure.js';
import { runTask, type TaskContext } from '../run-task.js';

interface Wanted {
  readonly at: ArchiveTileAddress;
  readonly x: TaskContext;
  resolve(tile: ArchiveTile): void;
  reject(error: unknown): void;
}

/** Tiles in one task, at most. */
const MAX_TOGETHER = 64;

/** By the file of their archive: what was asked for in this turn of the event loop. */
const waiting = new WeakMap<Pools, Map<string, Wanted[]>>();

/**
 * A tile as its archive holds it. Reading one takes less than handing a task to another thread and back, so those that
 * are asked for in one turn of the event loop are read together. Rejects with an `ApiError`.
 */
export function archiveTile(
  x: TaskContext,
  pools: Pools,
  collection: ArchiveCollection,
  { zoom, row, column }: ArchiveTileAddress,
): Promise<ArchiveTile> {
  return new Promise((resolve, reject) => {
    const wanted: Wanted = { at: { zoom, row, column }, x, resolve, reject };
    // Each takes as long as its host does: none waits for the others.
    if (isRemote(collection.file)) void read(pools, collection, [wanted]);
    else gather(pools, collection, wanted);
  });
}

function gather(pools: Pools, collection: ArchiveCollection, wanted: Wanted): void {
  const { file } = collection;
  const byFile = waiting.get(pools) ?? new Map<string, Wanted[]>();
  waiting.set(pools, byFile);
  let together = byFile.get(file);
  if (!together) {
    const begun: Wanted[] = [];
    together = begun;
    byFile.set(file, begun);
    setImmediate(() => {
      if (byFile.get(file) === begun) byFile.delete(file);
      void read(pools, collection, begun);
    });
  }
  together.push(wanted);
  // The next one begins anew.
  if (together.length === MAX_TOGETHER) byFile.delete(file);
}

async function read(
  pools: Pools,
  { file, container }: ArchiveCollection,
  wanted: readonly Wanted[],
): Promise<void> {
  const [{ x }] = wanted as [Wanted];
  const context: TaskContext = {
    span: x.span,
    timing: (stage, ms) => {
      for (const one of wanted) one.x.timing(stage, ms);
    },
  };
  try {
    const tiles = wanted.map(({ at }) => at);
    const outcomes = await runTask(context, pools, 'vector.archiveTiles', { path: file, container, tiles });
    wanted.forEach((one, i) => {
      settle(one, outcomes[i]!);
    });
  } catch (error) {
    for (const { reject } of wanted) reject(error);
  }
}

function settle({ resolve, reject }: Wanted, outcome: ArchiveTileOutcome): void {
  if ('tile' in outcome) return resolve(outcome.tile);
  reject(failureFrom(outcome.failure));
}
