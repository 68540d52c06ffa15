import type { VectorCollection } from '../../core/catalog/collection.js';
import type { EditNote, RestedNote } from '../../core/cluster/notes.js';
import type { EditResult, EditTask } from '../../core/edits/edits.js';
import { EDIT_LIMITS } from '../../core/edits/limits.js';
import type { MergeResult, MergeTask } from '../../core/edits/merges.js';
import { TaskFailure } from '../../core/errors/failure.js';
import { LIMITS } from '../../core/kit/limits.js';
import { hasIntegerIds } from '../../core/sources/vector-source.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { Hold, PresenceMark } from '../../core/values/presence.js';
import { runTask, type TaskContext } from '../kit/run-task.js';

/** Maximum attempts of an edit whose process was absent in between. */
const MAX_ATTEMPTS = 5;

/** Milliseconds after the last edit of a file at which its log is emptied; that the next attempt waits when readers are in the way. */
const REST_MS = 1000;
const RETRY_MS = 5000;

interface Lane {
  last: Promise<unknown>;
  waiting: number;
}

/**
 * Runs edits. Edits of one file run one after another: a file has one writer, and waiting here costs no worker
 * thread. A database orders its writers itself.
 */
export class Edits {
  readonly #lanes = new Map<string, Lane>();
  /** Files whose logs are not empty yet. */
  readonly #resting = new Map<string, NodeJS.Timeout>();

  constructor(
    private readonly pools: Pools,
    /** Called for every committed edit, before its response is sent. */
    private readonly committed: (note: EditNote) => void,
    /**
     * Called with the numbers of deleted features. Called without numbers if the layer's features are not identified
     * by number. Never rejects.
     */
    private readonly deleted: (collection: string, ids?: readonly string[]) => Promise<void> = async () => {},
    /** Called when edits of a file have come to rest and were moved into the file itself. */
    private readonly rested: (note: RestedNote) => void = () => {},
  ) {}

  /** Moves the edits of all files from their logs into the files. */
  async close(): Promise<void> {
    const files = [...this.#resting.keys()];
    await Promise.all(files.map((file) => this.#emptyLog(file)));
    for (const timer of this.#resting.values()) clearTimeout(timer);
    this.#resting.clear();
  }

  #rest(file: string, afterMs: number): void {
    clearTimeout(this.#resting.get(file));
    this.#resting.set(file, setTimeout(() => void this.#emptyLog(file), afterMs).unref());
  }

  /** Moves the log into the file. A program that replaces a file leaves its log, and an empty log is harmless. */
  async #emptyLog(file: string): Promise<void> {
    // The end of a lane sets the next time.
    if (this.#lanes.has(file)) return;
    clearTimeout(this.#resting.get(file));
    try {
      const { isEmpty, writes } = await this.pools.run('vector.emptyLog', { path: file });
      if (writes) this.rested({ rested: file, writes });
      if (!isEmpty) return this.#rest(file, RETRY_MS);
      if (!this.#lanes.has(file)) this.#resting.delete(file);
    } catch {
      // The file was deleted, or cannot be written. Its next edit reports the problem.
      this.#resting.delete(file);
    }
  }

  async run(
    x: TaskContext,
    collection: VectorCollection,
    edit: Omit<EditTask, 'source'>,
  ): Promise<EditResult> {
    const { source } = collection;
    const run = (presence: PresenceMark | undefined) =>
      runTask(x, this.pools, 'vector.edit', { ...edit, source, presence }, { toTheEnd: true });
    const work = async () => {
      const result = await whilePresent(x.hold, run);
      if (result.change) this.committed({ collection: collection.id, change: result.change });
      const ids = edit.operations.flatMap(({ type }, i) => {
        const outcome = result.outcomes[i];
        return type === 'delete' && outcome?.ok ? [outcome.id] : [];
      });
      // If features have numbers in addition to keys, other components identify them by number.
      if (ids.length > 0) await this.deleted(collection.id, hasIntegerIds(source) ? ids : undefined);
      return result;
    };
    return source.path !== undefined ? this.#inTurn(source.path, x.signal, work) : work();
  }

  /** Writes the rows of a file like an edit. `signal` ends it before the commit. */
  async merge(
    collection: VectorCollection,
    merge: Omit<MergeTask, 'source'>,
    signal: AbortSignal,
  ): Promise<MergeResult> {
    const { source } = collection;
    const work = async () => {
      const x = { timing: () => {} };
      const task = { ...merge, source };
      const result = await runTask(x, this.pools, 'vector.merge', task, {
        toTheEnd: true,
        begun: true,
        stop: signal,
      });
      if (result.change) this.committed({ collection: collection.id, change: result.change });
      if (merge.request.mode === 'replace') await this.deleted(collection.id);
      return result;
    };
    return source.path !== undefined ? this.#inTurn(source.path, signal, work, Infinity) : work();
  }

  async #inTurn<T>(
    file: string,
    signal: AbortSignal | undefined,
    work: () => Promise<T>,
    waitMs: number = LIMITS.requestDeadlineMs,
  ): Promise<T> {
    const lane = this.#lanes.get(file) ?? { last: Promise.resolve(), waiting: 0 };
    this.#lanes.set(file, lane);
    if (lane.waiting >= EDIT_LIMITS.editQueue)
      throw new TaskFailure('queue-full', 'The server is busy. Retry in a few seconds.');
    const late = performance.now() + waitMs;
    const turn = lane.last.then(() => {
      if (signal?.aborted) throw new TaskFailure('cancelled', 'The request was cancelled.');
      if (performance.now() > late)
        throw new TaskFailure(
          'deadline-exceeded',
          'The request took too long. Request less, or retry later.',
        );
      return work();
    });
    lane.last = turn.catch(() => {});
    lane.waiting++;
    try {
      return await turn;
    } finally {
      lane.waiting--;
      if (lane.waiting === 0) {
        this.#lanes.delete(file);
        this.#rest(file, REST_MS);
      }
    }
  }
}

/**
 * Runs an edit. A late edit is committed with a renewed presence, unless other processes already count it as lost.
 */
async function whilePresent<T>(
  hold: Hold | undefined,
  run: (mark: PresenceMark | undefined) => Promise<T>,
): Promise<T> {
  let mark = hold?.mark;
  for (let attempt = 1; ; attempt++) {
    try {
      return await run(mark);
    } catch (error) {
      const isAbsent = error instanceof TaskFailure && error.code === 'absent';
      if (!hold || !isAbsent || attempt === MAX_ATTEMPTS) throw error;
      mark = await hold.renew();
      if (!mark) throw error;
    }
  }
}
