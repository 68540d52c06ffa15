import { statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isWritable } from '../../core/files/file-state.js';

/** Problems that prevent a data folder from storing data. */
export interface FolderProblems {
  /** Set while the folder, or a file that the server has open in it, is not the one of the start or cannot be written. */
  lost?: string;
  /** Set while its disk is full. */
  full?: string;
}

/** The data folder is not the one that the server started with. */
export class DataLostError extends Error {}

/** Bytes that must be free: a commit, its log and a temporary file need some. */
const MIN_FREE = 16 << 20;
/** Free bytes below which the audit row of a change has no room. */
const MIN_FREE_FOR_ROW = 64 << 10;

/** The data folder of a running server. */
export class DataFolder {
  readonly #inodes: ReadonlyMap<string, string>;

  /**
   * `files`: names of files in the folder that the server keeps open. `inode`: of the folder at the start of the server,
   * which may be earlier; the one of now by default.
   */
  constructor(
    private readonly path: string,
    files: readonly string[],
    inode = readInode(path) ?? '',
  ) {
    const paths = files.map((name) => join(path, name));
    this.#inodes = new Map([[path, inode], ...paths.map((one) => [one, readInode(one) ?? ''] as const)]);
  }

  problems(): FolderProblems {
    const lost = this.lost();
    if (lost !== undefined) return { lost };
    const full = this.#full(MIN_FREE);
    return full === undefined ? {} : { full };
  }

  /** Reason why a change could not be recorded here. Undefined if it can. `lost` reports a missing folder. */
  full(): string | undefined {
    try {
      return this.#full(MIN_FREE_FOR_ROW);
    } catch {
      return undefined;
    }
  }

  #full(needed: number): string | undefined {
    const { bavail, bsize } = statfsSync(this.path);
    const free = bavail * bsize;
    if (free >= needed) return undefined;
    return `the disk of ${this.path} is full: ${free} bytes are free, ${needed} are needed`;
  }

  /** Why what is written would be lost; undefined if it would not. */
  lost(): string | undefined {
    for (const [path, inode] of this.#inodes) {
      const now = readInode(path);
      if (now === undefined)
        return `${path} was deleted while the server runs. Restore it, or restart the server with another data folder.`;
      if (now !== inode)
        return `${path} was replaced while the server runs. Restore it or restart the server.`;
      if (!isWritable(path))
        return `${path} became read-only while the server runs. Make it writable for the user of the server.`;
    }
    return undefined;
  }
}

/** Device and inode of a file or folder; undefined if there is none. */
export function readInode(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats && `${stats.dev}/${stats.ino}`;
}
