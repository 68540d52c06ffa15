import { ApiError } from '../../core/errors/errors.js';
import { SourceFault, TaskFailure } from '../../core/errors/failure.js';
import { storageFailure } from '../../core/errors/storage-faults.js';

/**
 * Description of a failure for clients. A failure without a known meaning is `internal`: only the log contains its
 * cause.
 */
export function describeJobFailure(
  error: unknown,
  onError: (error: unknown) => void,
): { code: string; message: string } {
  if (error instanceof SourceFault) return { code: error.code, message: error.message };
  const failure = error instanceof ApiError || error instanceof TaskFailure ? error : storageFailure(error);
  if (failure) return { code: failure.code, message: failure.message };
  onError(error);
  return { code: 'internal', message: 'The job failed because of an internal error.' };
}
