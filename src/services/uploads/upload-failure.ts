import { ApiError } from '../../core/errors/errors.js';
import { storageFailure } from '../../core/errors/storage-faults.js';

/** Why bytes that a client sends are not all on the disk: 507 for a full disk, and else 400 with `otherwise`. */
export function uploadFailure(
  cause: unknown,
  otherwise = 'The body was interrupted before its end.',
): ApiError {
  if (cause instanceof ApiError) return cause;
  if (storageFailure(cause)?.code === 'storage-full')
    return new ApiError('insufficient-storage', 'The server has no space for the upload. Retry later.', {
      cause,
    });
  return new ApiError('invalid-request', otherwise, { cause });
}
