import { fstatSync, readSync } from 'node:fs';
import { heldFile } from './held-file.js';

/** Where the header of a wal-index has its counter (https://www.sqlite.org/walformat.html). */
const OFFSET = 8;

/** Commits to a SQLite file, by whatever program. Counts of one log can be compared. */
export interface LogCommits {
  /** Names the write-ahead log: another one counts from zero. */
  readonly log: string;
  readonly count: number;
}

/** The commits to a SQLite file since its write-ahead log was created. Undefined without such a log. */
export function countCommits(path: string): LogCommits | undefined {
  try {
    const fd = heldFile(`${path}-shm`);
    if (fd === undefined) return undefined;
    const counter = new Uint32Array(1);
    if (readSync(fd, counter, 0, 4, OFFSET) < 4) return undefined;
    // The file stays held, so that no later one can have its inode.
    const { dev, ino } = fstatSync(fd);
    return { log: `${dev}/${ino}`, count: counter[0]! };
  } catch {
    return undefined;
  }
}

/** The number of `countCommits`. Two equal numbers of one content mean that nobody wrote in between. */
export function commitCount(path: string): number | undefined {
  return countCommits(path)?.count;
}
