import { rm } from 'node:fs/promises';
import { ApiError } from '../../core/errors/errors.js';
import { TaskFailure } from '../../core/errors/failure.js';
import type { StageProblem } from '../../core/exchange/ogr.js';
import { LIMITS } from '../../core/kit/limits.js';

/** Returns the error for a file that cannot be staged. */
export function describeStageProblem(problem: StageProblem): Error {
  switch (problem.problem) {
    case 'no-layer':
      return new ApiError(
        'unprocessable',
        `The file has no such layer; it has: ${problem.names.join(', ') || 'none'}.`,
      );
    case 'no-crs':
      return new ApiError(
        'unprocessable',
        'The file names no coordinate reference system: one has to be given.',
      );
    case 'too-many-features':
      return new TaskFailure('too-large', `The file has more than ${LIMITS.importFeatures} features.`);
  }
}

/** Removes a SQLite file with its logs. */
export async function removeDatabase(path: string): Promise<void> {
  for (const suffix of ['', '-wal', '-shm', '-journal']) await rm(path + suffix, { force: true });
}
