import { TaskFailure } from '../../../core/errors/failure.js';
import { LIMITS } from '../../../core/kit/limits.js';

/** The ids that were asked for, which the server must have; all without them, at most as many as are imported at once. */
export function selectIds(all: readonly string[], ids: readonly string[] | undefined): readonly string[] {
  const missing = ids?.find((id) => !all.includes(id));
  if (missing !== undefined)
    throw new TaskFailure('source-missing', `The server has no coverage '${missing.slice(0, 200)}'.`);
  const chosen = ids ?? all;
  if (chosen.length > LIMITS.remoteCoverages)
    throw new TaskFailure(
      'too-large',
      `The server has more than ${LIMITS.remoteCoverages} coverages: name some.`,
    );
  return chosen;
}
