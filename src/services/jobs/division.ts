import { TaskFailure, type TaskFailureCode } from '../../core/errors/failure.js';
import { decodeStoredJson } from '../../core/values/json.js';
import type { JobParts, PartRow } from '../../stores/jobs/job-parts.js';
import { JobStopError, type PartState } from './kinds.js';

export interface DividedOptions {
  readonly jobId: string;
  readonly signal: AbortSignal;
  readonly store: JobParts;
  readonly leaseMs: number;
  /** Milliseconds between progress checks of the parts. */
  readonly lookMs: number;
  /** Called once the parts are stored. */
  added(): void;
}

/** Has all servers do the parts of a job; see `JobContext.divide`. */
export async function divide(
  options: DividedOptions,
  parts: readonly unknown[],
  tell: (states: readonly PartState[]) => void,
): Promise<unknown[]> {
  const { jobId, signal, store, added } = options;
  signal.throwIfAborted();
  const count = await store.add(jobId, parts);
  if (count === undefined) throw new JobStopError('lease-lost');
  added();
  try {
    return await results(options, count, tell);
  } catch (error) {
    const goesOn = signal.aborted && (signal.reason as JobStopError).reason !== 'cancelled';
    if (!goesOn) await withdraw(options);
    throw error;
  }
}

/** Resolves when no process works on a part, or can still report a result. */
async function withdraw(options: DividedOptions): Promise<void> {
  const { jobId, store, leaseMs } = options;
  const late = AbortSignal.timeout(leaseMs);
  const changes = new Changes(options);
  try {
    await store.withdraw(jobId);
    while (await store.isWorkedOn(jobId)) await changes.next(late);
  } catch (error) {
    if (!late.aborted) throw error;
  } finally {
    changes.end();
  }
}

async function results(
  options: DividedOptions,
  count: number,
  tell: (states: readonly PartState[]) => void,
): Promise<unknown[]> {
  const { jobId, signal, store, leaseMs } = options;
  const rows: (PartRow | undefined)[] = Array.from({ length: count });
  const changes = new Changes(options);
  try {
    for (let newest = 0; ; await changes.next(signal)) {
      // A row may become visible a while after its time.
      for (const row of await store.since(jobId, newest - leaseMs)) {
        rows[row.ordinal] = row;
        newest = Math.max(newest, row.updated_at);
      }
      const failure = rows.find((row) => row?.state === 'failed');
      if (failure) throw partFailure(failure);
      const states = rows.map(buildState);
      tell(states);
      if (states.every(({ isDone }) => isDone)) return states.map(({ result }) => result);
    }
  } finally {
    changes.end();
  }
}

/** Changes of parts, by signals. Progress has no signal. */
class Changes {
  readonly #lookMs: number;
  readonly #unfollow: () => void;
  /** There was one since the last look. */
  #isMissed = false;
  #wake: () => void = () => {};

  constructor({ store, lookMs }: DividedOptions) {
    this.#lookMs = lookMs;
    this.#unfollow = store.follow(() => {
      this.#isMissed = true;
      this.#wake();
    });
  }

  /** Resolves after a change since the last call, or at the next progress check. Rejects with the signal's reason. */
  async next(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.#isMissed)
      await new Promise<void>((resolve) => {
        const end = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', end);
          resolve();
        };
        const timer = setTimeout(end, this.#lookMs);
        signal.addEventListener('abort', end);
        this.#wake = end;
      });
    this.#isMissed = false;
    signal.throwIfAborted();
  }

  end(): void {
    this.#unfollow();
  }
}

function buildState(row: PartRow | undefined): PartState {
  const parsed = (text: string | null | undefined) => (text ? decodeStoredJson(text) : undefined);
  return {
    isDone: row?.state === 'done',
    progress: parsed(row?.progress_json),
    result: parsed(row?.result_json),
  };
}

function partFailure({ failure_code, failure_message }: PartRow): Error {
  return new TaskFailure(failure_code as TaskFailureCode, failure_message ?? '');
}
