import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { explainAssumedCrs } from '../../core/catalog/assumed-crs.js';
import { ApiError } from '../../core/errors/errors.js';
import { TaskFailure } from '../../core/errors/failure.js';
import { EXCHANGE_LIMITS } from '../../core/exchange/limits.js';
import type { StageProblem } from '../../core/exchange/ogr.js';
import type { AssumedCrs } from '../../core/geometry/stated-crs.js';

/** Returns the error for a file that cannot be staged. */
export function describeStageProblem(problem: StageProblem): Error {
  switch (problem.problem) {
    case 'no-layer':
      return new ApiError(
        'unprocessable',
        `The file does not have this layer. Use ${problem.names.join(', ') || 'another file'}.`,
      );
    case 'no-crs':
      return new ApiError(
        'unprocessable',
        'The file has no coordinate reference system. Assign one, for example with SourceSrid or --crs.',
      );
    case 'too-many-features':
      return new TaskFailure(
        'too-large',
        `The file has more than ${EXCHANGE_LIMITS.importFeatures} features.`,
      );
  }
}

/** Warning about an assumed CRS. It names no other collection, because a caller may not know it. */
export function describeUndeclared(assumed: AssumedCrs): string {
  const because = assumed.as === 'guess' ? 'the data then overlaps published data' : assumed.because;
  return `${explainAssumedCrs({ ...assumed, because })} Set SourceSrid if that is wrong.`;
}

/** Removes a SQLite file with its logs. */
export async function removeDatabase(path: string): Promise<void> {
  for (const suffix of ['', '-wal', '-shm', '-journal']) await rm(path + suffix, { force: true });
}

/** Removes a staging file, and leftovers of killed translations, whose names contain their process. */
export async function removeStaged(path: string): Promise<void> {
  await removeDatabase(path);
  const folder = dirname(path);
  const part = `${basename(path)}.part-`;
  for (const name of await readdir(folder).catch(() => []))
    if (name.startsWith(part)) await rm(join(folder, name), { recursive: true, force: true });
}
