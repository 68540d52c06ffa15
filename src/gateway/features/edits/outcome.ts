import type { EditFailure, EditFailureReason } from '../../../core/edits/edits.js';
import { ApiError, ERROR_TABLE, type ErrorCode } from '../../../core/errors/errors.js';

const CODES: Record<Exclude<EditFailureReason, 'undone'>, ErrorCode> = {
  invalid: 'invalid-body',
  'not-found': 'not-found',
  conflict: 'conflict',
  changed: 'precondition-failed',
  forbidden: 'forbidden',
};

/** Failed Dependency (RFC 4918, 11.4): the operation was fit, another one of its atomic batch was not. */
const UNDONE = 424;

export function editError({ reason, message, errors }: EditFailure): ApiError {
  const code = reason === 'undone' ? 'conflict' : CODES[reason];
  return new ApiError(code, message, { errors });
}

/** Status of one operation of a batch. */
export function outcomeStatus(reason: EditFailureReason): number {
  return reason === 'undone' ? UNDONE : ERROR_TABLE[CODES[reason]][0];
}
