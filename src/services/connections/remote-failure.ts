import { ApiError, fieldFailure } from '../../core/errors/errors.js';
import { TaskFailure } from '../../core/errors/failure.js';

/** Failures of asking another server as clients are told them: 400 naming the member where it may not be asked, 502 where it is to blame. */
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

/** As `remoteFailure`, where the contract tells a server that is late (504) from one that answers badly. */
export function timelyFailure(member: string, error: unknown): unknown {
  if (error instanceof TaskFailure && error.code === 'deadline-exceeded')
    return new ApiError('gateway-timeout', error.message, { cause: error });
  return remoteFailure(member, error);
}
