import { openSync, statSync } from 'node:fs';

/** File descriptors by device and inode. */
const held = new Map<string, number>();

/**
 * A descriptor of a file that SQLite has open, too; undefined when there is no such file. It is never closed: the system
 * drops all locks that a process has on a file, those of SQLite too, when the process closes any descriptor of it
 * (https://www.sqlite.org/howtocorrupt.html, 2.2). There is one for each such file and thread.
 */
export function heldFile(path: string): number | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  // To open a pipe would wait for its writer.
  if (!stats?.isFile()) return undefined;
  const key = `${stats.dev}/${stats.ino}`;
  let fd = held.get(key);
  if (fd === undefined) {
    fd = openToWrite(path) ?? openSync(path, 'r');
    held.set(key, fd);
  }
  return fd;
}

function openToWrite(path: string): number | undefined {
  try {
    return openSync(path, 'r+');
  } catch {
    return undefined;
  }
}
