import { createHash } from 'node:crypto';
import { existsSync, realpathSync, statSync } from 'node:fs';
import { extname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { FileWrites } from '../../../core/edits/file-writes.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import { commitCount } from '../../../core/files/commit-count.js';
import { fileState } from '../../../core/files/file-state.js';
import { listWorldFiles } from '../../../core/files/world-files.js';
import { isCsv } from '../../../core/values/csv.js';
import { listSidecars } from '../inspections/sidecar-crs.js';
import { findFiles } from './find.js';
import { isCopied, RASTER, TABLES } from './formats.js';

/** Files whose states are read between two iterations of the event loop. */
const FILES_A_TURN = 100;

interface FileVersion {
  /** The state in which the file has its version. */
  state: string;
  readonly version: string;
  /** See `FileWrites.fileId`. */
  readonly content: string;
  /** Commit counter of the file at this version, if known. */
  commits: number | undefined;
  /** The state in which the last of our commits left it. */
  ourState?: string;
  /** Commits by this server that are not counted yet, because a commit before them is unknown. */
  readonly later: FileWrites[];
}

/**
 * Versions of published files, which detect a changed file without reading it. A file that edits by this server
 * changed keeps its version, because these edits report their extent to all caches.
 */
export class FileVersions {
  /** By path. */
  readonly #versions = new Map<string, FileVersion>();

  constructor(private readonly contentOf: (path: string) => string | undefined = () => undefined) {}

  /** The version of a file. Throws when there is none. */
  of(path: string): string {
    const state = currentState(path);
    if (state === undefined) throw new TaskFailure('source-missing', 'The file does not exist.');
    const current = this.#versions.get(path);
    if (current?.state === state) return current.version;
    const version = createHash('sha1').update(`${path}\u0000${state}`).digest('hex').slice(0, 12);
    const content = this.#contentOf(path);
    this.#versions.set(path, { state, version, content, commits: commitCount(path), later: [] });
    return version;
  }

  /**
   * Records the state in which writes of this server left a file as the state of its version. Does nothing if another
   * program wrote to the file between them. The file may have changed again before this call.
   */
  leftByUs(path: string, writes: FileWrites): void {
    const version = this.#versions.get(path);
    if (!version || version.content !== writes.fileId) return;
    version.commits ??= writes.before;
    // Commits of several processes arrive in any order.
    version.later.push(writes);
    version.later.sort((one, other) => one.before - other.before);
    while (version.later[0] && version.later[0].before <= version.commits) {
      const { after, state = currentState(path) } = version.later.shift()!;
      // A late report does not describe the present state.
      if (state !== undefined && after >= version.commits) version.ourState = state;
      version.commits = Math.max(version.commits, after);
    }
    if (version.later.length === 0 && version.ourState !== undefined) version.state = version.ourState;
  }

  /** The content that a file had when its version was made. */
  contentAt(path: string): string | undefined {
    return this.#versions.get(path)?.content;
  }

  /** Whether a file is in the state in which it was read, or in which we left it. */
  isKnown(path: string): boolean {
    const state = currentState(path);
    return state !== undefined && this.#versions.get(realpathSync(path))?.state === state;
  }

  /**
   * Finds files below these sources that are in another state than when they were read, and files of collections that no
   * longer exist.
   */
  async findUnread(
    sources: readonly string[],
    dataDir: string,
    collections: readonly { readonly file: string }[],
  ): Promise<string[]> {
    const unread: string[] = [];
    const files = await findFiles(sources, dataDir);
    // Folders that are one source have a version already.
    const paths = files.flatMap(({ path, problem, version }) => (problem || version ? [] : [path]));
    for (const [i, path] of paths.entries()) {
      if (i % FILES_A_TURN === 0) await setImmediate();
      if (!this.isKnown(path)) unread.push(path);
    }
    const read = new Set(collections.map(({ file }) => file));
    for (const file of read) if (this.#versions.has(file) && !existsSync(file)) unread.push(file);
    return unread;
  }

  #contentOf(path: string): string {
    const { dev, ino } = statSync(path);
    return this.contentOf(path) ?? `${dev}/${ino}#0`;
  }
}

const currentState = (path: string) => fileState(path, listCompanions(path));

/** Endings of the other files of a format of several. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  '.shp': ['dbf', 'shx', 'cpg'],
  '.tab': ['dat', 'map', 'id'],
  '.mif': ['mid'],
};

/** Files that are read with a file. */
function listCompanions(path: string): string[] {
  const extension = extname(path).toLowerCase();
  if (TABLES.has(extension)) return [`${path}-wal`];
  if (isCsv(path)) return [`${path}.cpg`, ...listSidecars(path)];
  if (RASTER.has(extension)) return [...listWorldFiles(path), ...listSidecars(path)];
  if (!isCopied(path)) return [];
  const stem = path.slice(0, -extension.length);
  const parts = PARTS[extension] ?? [];
  return [...parts.map((name) => `${stem}.${name}`), ...listSidecars(path)];
}
