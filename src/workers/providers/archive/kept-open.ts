import { statSync } from 'node:fs';
import { TaskFailure } from '../../../core/tasks.js';

/** Archives kept open per thread and container. */
const MAX_OPEN = 16;

/**
 * Opens files once per thread and keeps the most recently used ones. A file that was replaced or written to
 * is opened anew. The function that comes back throws `source-missing` when there is no file.
 */
export function keptOpen<T>(open: (path: string) => T, close: (archive: T) => void): (path: string) => T {
  const kept = new Map<string, { archive: T; stamp: string }>();
  const drop = (path: string) => {
    const entry = kept.get(path);
    if (!entry) return;
    kept.delete(path);
    close(entry.archive);
  };
  return (path) => {
    const stamp = stampOf(path);
    const found = kept.get(path);
    if (found?.stamp === stamp) {
      // Re-inserting keeps the map in order of use.
      kept.delete(path);
      kept.set(path, found);
      return found.archive;
    }
    drop(path);
    const archive = open(path);
    kept.set(path, { archive, stamp });
    while (kept.size > MAX_OPEN) drop(kept.keys().next().value!);
    return archive;
  };
}

function stampOf(path: string): string {
  try {
    const { ino, size, mtimeMs } = statSync(path);
    return `${ino}/${size}/${mtimeMs}`;
  } catch (error) {
    throw new TaskFailure(
      'source-missing',
      'The file of this collection is gone.',
      `${path}: ${String(error)}`,
    );
  }
}
