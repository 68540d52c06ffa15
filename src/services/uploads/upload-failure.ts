import { ApiError } from '../../core/errors/errors.js';
import { storageFailure } from '../../core/errors/storage-faults.js';

/** Why bytes that a client sends are not all on the disk: 507 for a full disk, and else 400 with `otherwise`. */
export function uploadFailure(cause: unknown, otherwise = 'The body was cut off.'): ApiError {
  if (cause instanceof ApiError) return cause;
  if (storageFailure(cause)?.code === 'storage-full')
    return new ApiError('insufficient-storage', 'There is no space left for the upload.', { cause });
  return new ApiError('invalid-request', otherwise, { cause });
}
