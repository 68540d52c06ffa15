import { accessSync, constants, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Returns a text that changes with each write to a file or to one of its sidecar files; undefined if the file does
 * not exist. A missing sidecar file counts as empty.
 */
export function fileState(path: string, beside: readonly string[]): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats?.isFile()) return undefined;
  const others = beside.map((one) => statSync(one, { throwIfNoEntry: false }));
  return [
    `${stats.ino} ${stats.size} ${stats.mtimeMs}`,
    ...others.flatMap((one) => (one && one.size > 0 ? [`${one.size} ${one.mtimeMs}`] : [])),
  ].join(' ');
}

/** Returns the state of a SQLite file and of its write-ahead log. */
export const sqliteState = (path: string) => fileState(path, [`${path}-wal`]);

/** Returns true if the process can write to a file or folder. */
export function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Returns true if the process can write to a file and create files next to it, as SQLite must. */
export const isWritableStore = (path: string) => isWritable(path) && isWritable(dirname(path));
