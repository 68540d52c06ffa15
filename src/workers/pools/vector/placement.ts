/** On which thread a task of the vector pool runs, and when. */

import { isRemote } from '../../../core/sources/sources.js';
import type { VectorSource } from '../../../core/sources/vector-source.js';
import type { TaskName } from '../../../core/tasks/tasks.js';
import type { VectorTileTask } from '../../../core/tasks/vector-tasks.js';

/**
 * Name of a lane, whose tasks share a limit per thread: tasks that read files, and the tasks of each database,
 * each remote archive and each federated source.
 */
export type LaneName = string;

/** Reading files keeps a thread busy: one task at a time. */
export const FILES: LaneName = 'files';

/** Returns the lane of a task: the lane of its database if all its data is there. */
export function chooseLane(name: TaskName, input: unknown): LaneName {
  const { source, layers, database, path } = input as {
    source?: VectorSource;
    layers?: VectorTileTask['layers'];
    database?: string;
    path?: string;
  };
  // A check whether a database responds must not wait behind tasks that wait for its responses.
  if (database) return name === 'vector.ping' ? `ping ${database}` : database;
  if (path !== undefined && isRemote(path)) return path;
  const sources = layers ? layers.map((layer) => layer.source) : [source];
  const [first] = sources;
  const server = (one: VectorSource | undefined) => one?.database ?? one?.remote;
  const waits = sources.every((one) => server(one) !== undefined);
  return waits ? (server(first) ?? FILES) : FILES;
}

/** Load of one thread. */
export class ThreadLoad {
  readonly #lanes = new Map<LaneName, number>();
  #total = 0;

  of(lane: LaneName): number {
    return this.#lanes.get(lane) ?? 0;
  }

  get total(): number {
    return this.#total;
  }

  began(lane: LaneName): void {
    this.#total++;
    this.#lanes.set(lane, this.of(lane) + 1);
  }

  ended(lane: LaneName): void {
    this.#total--;
    const left = this.of(lane) - 1;
    if (left > 0) this.#lanes.set(lane, left);
    else this.#lanes.delete(lane);
  }
}

/**
 * The thread for one more task of a lane; undefined when every thread has all that it may of this lane. A database's
 * task keeps clear of threads that read files, where it would have to wait for the file.
 */
export function placeFor<T extends { load: ThreadLoad }>(
  threads: readonly T[],
  lane: LaneName,
  perThread: number,
): T | undefined {
  const cost = ({ load }: T) => (lane === FILES ? 0 : load.of(FILES) * 1_000_000) + load.total;
  let best: T | undefined;
  for (const thread of threads) {
    if (thread.load.of(lane) < perThread && (!best || cost(thread) < cost(best))) best = thread;
  }
  return best;
}
