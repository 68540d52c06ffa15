import { ApiError, type ErrorCode, type ErrorLink } from '../../../core/errors/errors.js';
import { TaskFailure, type TaskFailureCode } from '../../../core/errors/failure.js';
import { type FieldError, formatDetail, formatFieldError } from '../../../core/errors/field-errors.js';
import { errorHelpUrl } from '../../../core/errors/help-url.js';
import { storageFailure } from '../../../core/errors/storage-faults.js';
import type { Reply, Surface } from '../../../core/http/operation.js';

/** Error codes for failures of tasks. */
const TASK_FAILURES: Record<TaskFailureCode, ErrorCode> = {
  'invalid-input': 'invalid-request',
  'source-unreadable': 'unavailable',
  'source-missing': 'not-found',
  'access-denied': 'unavailable',
  'store-unavailable': 'unavailable',
  'outcome-unknown': 'unavailable',
  absent: 'unavailable',
  'storage-full': 'insufficient-storage',
  'too-large': 'invalid-request',
  'no-data': 'not-found',
  cancelled: 'unavailable',
  'deadline-exceeded': 'deadline-exceeded',
  'queue-full': 'unavailable',
  'too-many': 'too-many-requests',
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
    const detail =
      code === 'internal'
        ? 'The request could not be completed. The log of the server has the reason under the correlation id.'
        : failure.message;
    const later = code === 'unavailable' || code === 'deadline-exceeded' || code === 'too-many-requests';
    const headers = later ? { 'retry-after': retrySeconds(failure.retryAfterMs) } : undefined;
    return new ApiError(code, detail, { cause: failure, headers });
  }
  return new ApiError(
    'internal',
    'The request could not be completed. The log of the server has the reason under the correlation id.',
    { cause: error },
  );
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
  /** Public origin and path prefix, without a trailing slash. */
  baseUrl: string;
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
      help: errorHelpUrl(context.baseUrl, error.code),
      correlationId: context.correlationId,
      timestamp: new Date().toISOString(),
      ...(error.errors ? { errors: error.errors.map(clientError) } : {}),
      ...(error.links ? { links: listLinks(error.links, context.baseUrl) } : {}),
      ...forClients(error),
      // Clients of the management API read either style of error body.
      ...(context.surface === 'admin' ? { success: false, message: error.message } : {}),
    }),
  };
}

function listLinks(links: readonly ErrorLink[], baseUrl: string) {
  return links.map(({ path, title }) => ({ rel: 'related', href: baseUrl + path, title }));
}

/** One invalid member, with the names that existing clients read and with Graticule's names. */
function clientError(error: FieldError) {
  const { name, code = 'invalid', path = name } = error;
  const segments = path.split('/').filter((segment) => segment !== '');
  const index = segments.find((segment) => /^\d+$/.test(segment));
  return {
    name,
    detail: formatDetail(error),
    code,
    severity: 'error',
    path,
    fieldId: segments.findLast((segment) => !/^\d+$/.test(segment)) ?? null,
    itemIndex: index === undefined ? null : Number(index),
    message: formatFieldError(error),
  };
}

const KINDS: Readonly<Record<number, string>> = {
  400: 'validation',
  401: 'authentication',
  403: 'authorization',
  404: 'not-found',
  409: 'conflict',
  412: 'conflict',
  413: 'validation',
  415: 'validation',
  422: 'validation',
  429: 'throttled',
  503: 'unavailable',
  507: 'unavailable',
};

/** Members by which clients decide whether to retry. */
function forClients({ status, code, headers }: ApiError) {
  const seconds = Number(headers?.['retry-after']);
  return {
    kind: KINDS[status] ?? 'unknown',
    machineCode: code,
    retryable: status === 429 || status === 503,
    ...(Number.isFinite(seconds) ? { retryAfterSeconds: seconds } : {}),
  };
}

/** The interface contract fixes every `type`, so a separate member, `help`, links to the manual. */
function problemType(error: ApiError, context: ProblemContext): string {
  if (error.type !== undefined) return error.type;
  const base = `https://${context.vendor}/problems`;
  if (context.surface === 'admin') return `${base}/admin`;
  if (error.status === 401 || error.status === 403) return `${base}/security`;
  if (error.errors) return `${base}/validation`;
  return 'about:blank';
}
