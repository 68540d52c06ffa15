/** Carries `TaskFailure` over thread and process boundaries, where an error's own fields are lost. */

import { threadId } from 'node:worker_threads';
import { exceptionText } from '../../core/errors/exception-text.js';
import {
  type FailureMessage,
  TASK_FAILURE_CODES,
  TaskFailure,
  type TaskFailureCode,
} from '../../core/errors/failure.js';
import { storageFailure } from '../../core/errors/storage-faults.js';
import type { RemoteRead } from '../../core/observability/task-scope.js';
import type { WorkerReport } from '../../core/observability/worker-report.js';
import type { TaskWork } from '../../core/tasks/tasks.js';

/** Response of a worker thread or process to one task. */
export type TaskResponse<T = unknown> = ({ ok: true; value: T } | { ok: false; failure: FailureMessage }) & {
  /** Measured work of a traced task. */
  work?: TaskWork;
  /** Requests to federated sources. */
  remoteReads?: readonly RemoteRead[];
  /** Report of a thread that ends soon after its tasks. */
  report?: WorkerReport;
};

const CODES: ReadonlySet<string> = new Set(TASK_FAILURE_CODES);

/**
 * Converts any thrown value to a `TaskFailure`. Errors without a known meaning become `internal` and keep their text
 * for the log.
 */
export function toFailure(error: unknown): TaskFailure {
  const failure = error instanceof TaskFailure ? error : storageFailure(error);
  if (failure) return failure;
  return new TaskFailure('internal', 'The task failed unexpectedly.', exceptionText(error));
}

/** Returns the message of a failure. An unexpected failure includes the stack of the thread, for the log. */
export function failureMessage(error: unknown): FailureMessage {
  const failure = toFailure(error);
  const { code, message, cause_ } = failure;
  const cause =
    cause_ ?? (code === 'internal' || failure.cause !== undefined ? exceptionText(failure) : undefined);
  return cause === undefined ? { code, message } : { code, message, cause };
}

/** Reads a failure that came from outside this process; a malformed one becomes `internal`. */
export function failureFrom(value: unknown): TaskFailure {
  const { code, message, cause } = (value ?? {}) as Partial<Record<keyof FailureMessage, unknown>>;
  if (typeof code !== 'string' || !CODES.has(code) || typeof message !== 'string') {
    return new TaskFailure('internal', 'The worker sent a malformed failure.');
  }
  return new TaskFailure(code as TaskFailureCode, message, typeof cause === 'string' ? cause : undefined);
}

/** Runs a task body and converts its outcome to a `TaskResponse`, so that only plain data leaves the thread. */
export async function runTaskBody<T>(body: () => Promise<T>): Promise<TaskResponse<T>> {
  try {
    return { ok: true, value: await body() };
  } catch (error) {
    return { ok: false, failure: failureMessage(error) };
  }
}

/** Measures work that belongs to a trace. */
export function workSince(startMs: number): TaskWork {
  return { startMs, endMs: preciseNow(), pid: process.pid, thread: threadId };
}

/** Milliseconds since 1970, with fractions. */
export function preciseNow(): number {
  return performance.timeOrigin + performance.now();
}
