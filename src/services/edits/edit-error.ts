import type { EditFailure, EditFailureReason } from '../../core/edits/edits.js';
import { ApiError, type ErrorCode } from '../../core/errors/errors.js';

const CODES: Record<EditFailureReason, ErrorCode> = {
  invalid: 'invalid-body',
  'not-found': 'not-found',
  conflict: 'conflict',
  changed: 'precondition-failed',
  forbidden: 'forbidden',
  undone: 'conflict',
};

/** The error code of a failed edit. */
export const editErrorCode = (reason: EditFailureReason): ErrorCode => CODES[reason];

/** The error of a request with a single edit, which failed. */
export function editError({ reason, message, errors }: EditFailure): ApiError {
  return new ApiError(CODES[reason], message, { errors });
}
