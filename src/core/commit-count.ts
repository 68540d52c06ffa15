import { readSync } from 'node:fs';
import { heldFile } from './held-file.js';

/** Where the header of a wal-index has its counter (https://www.sqlite.org/walformat.html). */
const OFFSET = 8;

/**
 * Number of commits to a SQLite file, by whatever program, since its write-ahead log was created. Undefined without such a
 * log. Two equal numbers of one content mean that nobody wrote in between.
 */
export function commitCount(path: string): number | undefined {
  try {
    const fd = heldFile(`${path}-shm`);
    if (fd === undefined) return undefined;
    const counter = new Uint32Array(1);
    return readSync(fd, counter, 0, 4, OFFSET) === 4 ? counter[0] : undefined;
  } catch {
    return undefined;
  }
}
