import { statSync } from 'node:fs';

/**
 * What a write to a file, or to one of the files beside it, changes; undefined when there is no such file. Files beside
 * it that are missing or empty count as not there.
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

/** The state of a SQLite file, which writes to a log beside it first. */
export const sqliteState = (path: string) => fileState(path, [`${path}-wal`]);
