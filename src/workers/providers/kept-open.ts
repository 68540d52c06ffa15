import { lstatSync, type Stats, statSync } from 'node:fs';
import { TaskFailure } from '../../core/errors/failure.js';
import { heldResources } from '../../core/observability/held.js';
import { requirePlainPath } from '../files/plain-path.js';

export interface KeptOpenOptions {
  /** Files kept open per thread. */
  max: number;
  /** Returns the value that identifies a version of a file. If it changes, the file is reopened. */
  stamp: (stats: Stats) => string | number;
}

export interface KeptOpen<T> {
  /** The open file. Throws `source-missing` when there is none. */
  get(path: string): T;
  /** Closes every file of this thread. */
  closeAll(): void;
}

/** Opens files once per thread and keeps the most recently used ones. */
export function keptOpen<T extends object>(
  open: (path: string) => T,
  close: (file: T) => void,
  options: KeptOpenOptions,
): KeptOpen<T> {
  const files = new Map<string, { file: T; stamp: string | number }>();
  const drop = (path: string) => {
    const entry = files.get(path);
    if (!entry) return;
    files.delete(path);
    heldResources.closed(entry.file);
    close(entry.file);
  };
  const get = (path: string): T => {
    const stamp = options.stamp(requireFileStats(path));
    const entry = files.get(path);
    if (entry?.stamp === stamp) {
      // Re-inserting keeps the map in order of use.
      files.delete(path);
      files.set(path, entry);
      return entry.file;
    }
    drop(path);
    requirePlainPath(path);
    const file = open(path);
    heldResources.opened('archive-file', path, file).keep('open files');
    files.set(path, { file, stamp });
    while (files.size > options.max) drop(files.keys().next().value!);
    return file;
  };
  const closeAll = () => {
    for (const path of [...files.keys()]) drop(path);
  };
  return { get, closeAll };
}

/** Throws `source-missing` if a file was deleted or was replaced by a link, a pipe, a device or a folder. */
export function requireFileStats(path: string): Stats {
  try {
    let stats = lstatSync(path);
    if (stats.isSymbolicLink()) {
      requirePlainPath(path);
      stats = statSync(path);
    }
    if (stats.isFile()) return stats;
  } catch (error) {
    if (error instanceof TaskFailure) throw error;
    throw missing(`${path}: ${String(error)}`);
  }
  throw missing(`${path} is not a file`);
}

const missing = (cause: string) =>
  new TaskFailure('source-missing', 'The file of this collection no longer exists.', cause);
