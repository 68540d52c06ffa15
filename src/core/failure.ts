/** Why a task fails, as it crosses threads and processes. */

/** Why a task failed, as a meaning; the gateway maps meanings to status codes. */
export type TaskFailureCode =
  | 'invalid-input'
  | 'source-unreadable'
  | 'source-missing'
  | 'store-unavailable'
  | 'storage-full'
  | 'too-large'
  | 'no-data'
  | 'cancelled'
  | 'deadline-exceeded'
  | 'queue-full'
  | 'worker-lost'
  | 'internal';

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
