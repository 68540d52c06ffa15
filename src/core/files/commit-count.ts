import { fstatSync, readSync } from 'node:fs';
import { heldFile } from './held-file.js';

/** Position of the counter in the header of a wal-index (https://www.sqlite.org/walformat.html). */
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
    // The file remains open, so that no later file can have its inode.
    const { dev, ino } = fstatSync(fd);
    return { log: `${dev}/${ino}`, count: counter[0]! };
  } catch {
    return undefined;
  }
}

/** Count of `countCommits`. Equal counts of one content mean that no program wrote in between. */
export function commitCount(path: string): number | undefined {
  return countCommits(path)?.count;
}
