import { rmSync } from 'node:fs';

const SUFFIXES = ['', '-wal', '-shm', '-journal'];

/** Removes a SQLite file with its existing logs. */
export function removeDatabaseFiles(path: string): void {
  for (const suffix of SUFFIXES) rmSync(path + suffix, { force: true });
}
