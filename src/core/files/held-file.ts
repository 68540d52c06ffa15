import { openSync, statSync } from 'node:fs';

/** File descriptors by device and inode. */
const held = new Map<string, number>();

/**
 * Returns an open descriptor of a file that SQLite also uses; undefined if the file does not exist. The descriptor is
 * never closed, because closing any descriptor drops all locks of the process on the file, including those of SQLite
 * (https://www.sqlite.org/howtocorrupt.html, 2.2). There is one descriptor per file and thread.
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
