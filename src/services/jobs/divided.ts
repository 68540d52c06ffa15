import { setTimeout as pause } from 'node:timers/promises';
import { TaskFailure, type TaskFailureCode } from '../../core/failure.js';
import { readKept } from '../../core/json.js';
import type { JobParts, PartRow } from '../../stores/job-parts.js';
import { JobStopped, type PartState } from './kinds.js';

export interface DividedOptions {
  readonly jobId: string;
  readonly signal: AbortSignal;
  readonly store: JobParts;
  readonly leaseMs: number;
  /** Called when the parts are there. */
  added(): void;
}

/** Milliseconds between looks at the parts. */
const LOOK_MS = 500;

/** Has all servers do the parts of a job; see `JobContext.divide`. */
export async function divide(
  options: DividedOptions,
  parts: readonly unknown[],
  tell: (states: readonly PartState[]) => void,
): Promise<unknown[]> {
  const { jobId, signal, store, added } = options;
  signal.throwIfAborted();
  const count = await store.add(jobId, parts);
  if (count === undefined) throw new JobStopped('lease-lost');
  added();
  try {
    return await results(options, count, tell);
  } catch (error) {
    const goesOn = signal.aborted && (signal.reason as JobStopped).reason !== 'cancelled';
    if (!goesOn) await withdraw(options);
    throw error;
  }
}

/** Resolves when nobody works on a part any more, or can say so. */
async function withdraw({ jobId, store, leaseMs }: DividedOptions): Promise<void> {
  await store.withdraw(jobId);
  const late = performance.now() + leaseMs;
  while (performance.now() < late && (await store.isWorkedOn(jobId))) await pause(LOOK_MS);
}

async function results(
  { jobId, signal, store, leaseMs }: DividedOptions,
  count: number,
  tell: (states: readonly PartState[]) => void,
): Promise<unknown[]> {
  const rows: (PartRow | undefined)[] = Array.from({ length: count });
  for (let newest = 0; ; await pause(LOOK_MS, undefined, { signal })) {
    // A row may become visible a while after its time.
    for (const row of await store.since(jobId, newest - leaseMs)) {
      rows[row.ordinal] = row;
      newest = Math.max(newest, row.updated_at);
    }
    const failure = rows.find((row) => row?.state === 'failed');
    if (failure) throw partFailure(failure);
    const states = rows.map(stateOf);
    tell(states);
    if (states.every(({ isDone }) => isDone)) return states.map(({ result }) => result);
  }
}

function stateOf(row: PartRow | undefined): PartState {
  const parsed = (text: string | null | undefined) => (text ? readKept(text) : undefined);
  return {
    isDone: row?.state === 'done',
    progress: parsed(row?.progress_json),
    result: parsed(row?.result_json),
  };
}

function partFailure({ failure_code, failure_message }: PartRow): Error {
  return new TaskFailure(failure_code as TaskFailureCode, failure_message ?? '');
}
