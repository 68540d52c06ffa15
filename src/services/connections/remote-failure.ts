import { ApiError, fieldFailure } from '../../core/errors/errors.js';
import { TaskFailure } from '../../core/errors/failure.js';

/**
 * Converts failures of requests to another server into errors for clients: 400 with the name of the member if the
 * request is not allowed, 502 if the server failed.
 */
export function remoteFailure(member: string, error: unknown): unknown {
  if (!(error instanceof TaskFailure)) return error;
  const { code, message } = error;
  switch (code) {
    case 'invalid-input':
      return fieldFailure('invalid-body', [{ name: member, detail: message }], { cause: error });
    case 'access-denied':
      return new ApiError('invalid-body', message, {
        errors: [{ name: 'password', detail: message }],
        cause: error,
      });
    case 'source-unreadable':
    case 'source-missing':
    case 'store-unavailable':
    case 'deadline-exceeded':
    case 'too-large':
      return new ApiError('bad-gateway', message, { cause: error });
    default:
      return error;
  }
}

/** Like `remoteFailure`, if the contract distinguishes a late server (504) from a failed one. */
export function timelyFailure(member: string, error: unknown): unknown {
  if (error instanceof TaskFailure && error.code === 'deadline-exceeded')
    return new ApiError('gateway-timeout', error.message, { cause: error });
  return remoteFailure(member, error);
}
