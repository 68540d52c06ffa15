/** Why a task fails, as it crosses threads and processes. */

/** Why a task may fail, as meanings; the gateway maps them to status codes. */
export const TASK_FAILURE_CODES = [
  'invalid-input',
  'source-unreadable',
  'source-missing',
  /** Another server does not take the credentials. */
  'access-denied',
  'store-unavailable',
  /** It may have been done, or not. */
  'outcome-unknown',
  /** Other processes can regard this process as stopped. The task had no effect. */
  'absent',
  'storage-full',
  'too-large',
  'no-data',
  'cancelled',
  'deadline-exceeded',
  'queue-full',
  /** The caller has too many requests of the kind that run. */
  'too-many',
  'worker-lost',
  'internal',
] as const;

export type TaskFailureCode = (typeof TASK_FAILURE_CODES)[number];

/** Failure of an import from another server, with a code for clients. */
export class SourceFault extends Error {
  override readonly name = 'SourceFault';
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** A `TaskFailure` as plain data. */
export interface FailureMessage {
  code: TaskFailureCode;
  message: string;
  /** For the log only. */
  cause?: string;
}

/** The one error that crosses a thread or process boundary. `message` may be shown to a client. */
export class TaskFailure extends Error {
  override readonly name = 'TaskFailure';
  constructor(
    readonly code: TaskFailureCode,
    message: string,
    /** For the log only: never sent to a client. */
    readonly cause_?: string,
    /** When it is worth to try again, as far as that is known. */
    readonly retryAfterMs?: number,
  ) {
    super(message);
  }
}

/** Codes of failures that the caller caused. */
const OF_CLIENTS: ReadonlySet<TaskFailureCode> = new Set([
  ...(['invalid-input', 'source-missing', 'too-large', 'no-data'] as const),
]);

/** Converts a failure caused by the response of another server to a failure that is not the fault of the client. */
export function toUpstreamFailure(error: unknown): unknown {
  if (!(error instanceof TaskFailure) || !OF_CLIENTS.has(error.code)) return error;
  return new TaskFailure('source-unreadable', error.message, error.cause_, error.retryAfterMs);
}
