import { TaskFailure } from '../../core/errors/failure.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { TaskContext } from '../kit/run-task.js';

interface Patience {
  readonly ms: number;
  /** Error to throw on timeout. */
  late(): Error;
}

/** Tasks that follow one another have the time of one request together. */
export const ONE_REQUEST: Patience = {
  ms: LIMITS.requestDeadlineMs,
  late: () => new TaskFailure('deadline-exceeded', 'The locator takes too long. Send fewer addresses.'),
};

/** Runs work with a timeout, after which the work is aborted. */
export async function inTime<T>(
  work: (bounded: TaskContext) => Promise<T>,
  x: TaskContext,
  { ms, late }: Patience,
): Promise<T> {
  const end = new AbortController();
  const signal = x.signal ? AbortSignal.any([x.signal, end.signal]) : end.signal;
  const answer = work({
    signal,
    span: x.span,
    timing: (stage, time) => x.timing(stage, time),
    stage: (stage, time, place) => x.stage?.(stage, time, place),
    ...(x.correlationId === undefined ? {} : { correlationId: x.correlationId }),
    ...(x.hold ? { hold: x.hold } : {}),
    ...(x.caller ? { caller: x.caller } : {}),
  });
  let timer: NodeJS.Timeout | undefined;
  const lateness = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(late());
      end.abort();
    }, ms);
  });
  try {
    return await Promise.race([answer, lateness]);
  } finally {
    clearTimeout(timer);
    // A late response is ignored.
    answer.catch(() => {});
  }
}
