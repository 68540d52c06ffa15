import { ApiError, type ErrorCode } from '../../core/errors.js';
import type { Reply, Surface } from '../../core/operation.js';
import { storageFailure } from '../../core/storage-faults.js';
import { TaskFailure, type TaskFailureCode } from '../../core/tasks.js';

/** What a worker's failure means to an HTTP client. */
const TASK_FAILURES: Record<TaskFailureCode, ErrorCode> = {
  'invalid-input': 'invalid-request',
  'source-unreadable': 'unavailable',
  'source-missing': 'not-found',
  'store-unavailable': 'unavailable',
  'storage-full': 'insufficient-storage',
  'too-large': 'invalid-request',
  'no-data': 'not-found',
  cancelled: 'unavailable',
  'deadline-exceeded': 'deadline-exceeded',
  'queue-full': 'unavailable',
  'worker-lost': 'unavailable',
  internal: 'internal',
};

const RETRY_SECONDS = '2';

/** Any thrown value as an `ApiError`; unexpected ones become 500 without their message. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const failure = error instanceof TaskFailure ? error : storageFailure(error);
  if (failure) {
    const code = TASK_FAILURES[failure.code];
    const detail = code === 'internal' ? 'The request could not be completed.' : failure.message;
    const later = code === 'unavailable' || code === 'deadline-exceeded';
    const headers = later ? { 'retry-after': retrySeconds(failure.retryAfterMs) } : undefined;
    return new ApiError(code, detail, { cause: failure, headers });
  }
  return new ApiError('internal', 'The request could not be completed.', { cause: error });
}

function retrySeconds(ms: number | undefined): string {
  return ms === undefined ? RETRY_SECONDS : String(Math.max(1, Math.ceil(ms / 1000)));
}

export interface ProblemContext {
  surface: Surface | undefined;
  path: string;
  correlationId: string;
  /** Host of the problem type URIs. */
  vendor: string;
}

/** RFC 9457 body of an error. */
export function problemReply(error: ApiError, context: ProblemContext): Reply {
  return {
    status: error.status,
    mediaType: 'application/problem+json',
    headers: error.headers,
    cacheControl: 'no-store',
    body: JSON.stringify({
      type: problemType(error, context),
      title: error.title,
      status: error.status,
      detail: error.message,
      instance: context.path,
      code: error.code,
      correlationId: context.correlationId,
      timestamp: new Date().toISOString(),
      ...(error.errors ? { errors: error.errors } : {}),
      // Clients of the management API read either style of error body.
      ...(context.surface === 'admin' ? { success: false, message: error.message } : {}),
    }),
  };
}

function problemType(error: ApiError, context: ProblemContext): string {
  const base = `https://${context.vendor}/problems`;
  if (context.surface === 'admin') return `${base}/admin`;
  if (error.status === 401 || error.status === 403) return `${base}/security`;
  if (error.errors) return `${base}/validation`;
  return 'about:blank';
}
