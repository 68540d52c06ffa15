import { TaskFailure } from '../../../core/errors/failure.js';
import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';

/**
 * Returns the requested ids, all of which the server must have. Default: all ids, up to the maximum of one import.
 */
export function selectIds(all: readonly string[], ids: readonly string[] | undefined): readonly string[] {
  const missing = ids?.find((id) => !all.includes(id));
  if (missing !== undefined)
    throw new TaskFailure('source-missing', `The server has no coverage '${missing.slice(0, 200)}'.`);
  const chosen = ids ?? all;
  if (chosen.length > EXCHANGE_LIMITS.remoteCoverages)
    throw new TaskFailure(
      'too-large',
      `The server has more than ${EXCHANGE_LIMITS.remoteCoverages} coverages. Select some by id.`,
    );
  return chosen;
}
