/** Code that the translation process shares with the engine that starts it. */

import { link, open, rename, stat, statfs } from 'node:fs/promises';
import { dirname, isAbsolute } from 'node:path';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { TaskInput, TaskOutput } from '../../../core/tasks/tasks.js';
import { unreadable } from '../../gdal/gdal.js';
import type { TaskResponse } from '../../threads/failure.js';

/** Tasks that run in such a process. */
export type TranslatorTask =
  | 'ogr.preview'
  | 'ogr.stage'
  | 'ogr.translate'
  | 'ogr.unpack'
  | 'raster.import'
  | 'raster.process';

export interface TranslatorOrder<N extends TranslatorTask> {
  task: N;
  input: TaskInput<N>;
}

export type FromTranslator<N extends TranslatorTask> =
  | { progress: number }
  | { answer: TaskResponse<TaskOutput<N>> };

/**
 * Free bytes below which a failure of GDAL counts as a full disk, because drivers free some space before they report
 * it.
 */
const ALMOST_FULL = 4 << 20;

/** Returns the reason why a translation failed. Call it before the part is removed. */
export async function describeTranslationFailure(
  part: string,
  what: string,
  error: unknown,
): Promise<TaskFailure> {
  const failure = unreadable(what, error);
  if (failure.code !== 'source-unreadable') return failure;
  const { bavail, bsize } = await statfs(dirname(part));
  if (bavail * bsize >= ALMOST_FULL) return failure;
  return new TaskFailure(
    'storage-full',
    'The disk of the server is full. Retry after the operator has freed space.',
    failure.cause_,
  );
}

/** Fails with `invalid-input` unless a path can become a file. */
export async function requireNewFile(output: string): Promise<void> {
  if (!isAbsolute(output) || /^\/+vsi/i.test(output))
    throw new TaskFailure('invalid-input', 'The output is not an absolute path.');
  const exists = await stat(output).then(
    () => true,
    () => false,
  );
  if (exists) throw new TaskFailure('invalid-input', 'The output already exists.');
}

/**
 * GDAL settings for SQLite files. A file has a temporary name until it is complete, so a journal on the disk is
 * useless. It is flushed to the disk before it gets its final name.
 */
export const SQLITE_SETTINGS: ReadonlyMap<string, string> = new Map([
  ['OGR_SQLITE_JOURNAL', 'MEMORY'],
  ['OGR_SQLITE_SYNCHRONOUS', 'OFF'],
]);

/**
 * Gives a file its name after it is flushed to the disk. Unlike a rename, a link never replaces a file that was
 * created in the meantime. Not every file system supports links.
 */
export async function commitOutput(part: string, output: string): Promise<void> {
  const file = await open(part);
  await file.sync().finally(() => file.close());
  try {
    await link(part, output);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'ENOSYS') throw error;
    await rename(part, output);
  }
}
