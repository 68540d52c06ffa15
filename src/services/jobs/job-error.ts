import { ApiError, type ErrorCode } from '../../core/errors/errors.js';
import type { JobRow } from '../../stores/jobs/jobs.js';

/** Cause of a failed job. `input`: data named by the client; `size`: too much data. */
type Blame = 'conflict' | 'forbidden' | 'input' | 'size' | 'storage' | 'passing' | 'server';

/** By the codes of task failures and of refusals, which jobs keep. */
const BLAMES: Readonly<Record<string, Blame>> = {
  conflict: 'conflict',
  'precondition-failed': 'conflict',
  cancelled: 'conflict',
  forbidden: 'forbidden',
  'invalid-input': 'input',
  'invalid-request': 'input',
  'invalid-body': 'input',
  gone: 'input',
  'source-unreadable': 'input',
  'source-missing': 'input',
  'no-data': 'input',
  'not-found': 'input',
  unprocessable: 'input',
  'too-large': 'size',
  'payload-too-large': 'size',
  'storage-full': 'storage',
  'insufficient-storage': 'storage',
  unavailable: 'passing',
  'store-unavailable': 'passing',
  'outcome-unknown': 'passing',
  'access-denied': 'passing',
  absent: 'passing',
  'queue-full': 'passing',
  'too-many': 'passing',
  'too-many-requests': 'passing',
  'bad-gateway': 'passing',
  'gateway-timeout': 'passing',
  'worker-lost': 'passing',
  'deadline-exceeded': 'passing',
  source_unreachable: 'passing',
  timeout: 'passing',
  internal: 'server',
};

/** Error codes of an operation for faults of its clients. */
export interface ClientFaults {
  readonly input: ErrorCode;
  /** Default: that of `input`. */
  readonly size?: ErrorCode;
}

/** The error of a request that waited for a job, which did not succeed. `ended` is the message of a job without one. */
export function jobError(
  {
    state,
    failure_code: code,
    failure_message: message,
  }: Pick<JobRow, 'state' | 'failure_code' | 'failure_message'>,
  faults: ClientFaults,
  ended = `The job ended: ${state}.`,
): ApiError {
  return failureError(code ?? (state === 'Cancelled' ? 'cancelled' : ''), message ?? ended, faults);
}

/** The error of a failure with this code. */
export function failureError(
  code: string,
  message: string,
  { input, size = input }: ClientFaults,
  cause?: unknown,
): ApiError {
  const errors: Readonly<Record<Blame, ErrorCode>> = {
    conflict: 'conflict',
    forbidden: 'forbidden',
    input,
    size,
    storage: 'insufficient-storage',
    passing: 'unavailable',
    server: 'internal',
  };
  return new ApiError(errors[chooseBlame(code)], message, cause === undefined ? {} : { cause });
}

/** Cause of a failure code. Failures of data servers have separate codes: `import.timeout`. */
function chooseBlame(code: string): Blame {
  const own = code.slice(code.lastIndexOf('.') + 1);
  return BLAMES[own] ?? (own === code ? 'server' : 'input');
}
