import { ApiError } from '../../core/errors/errors.js';
import type { RasterSource } from '../../core/rasters/rasters.js';
import type { StoredObject } from '../../core/sources/storage.js';
import type { WrittenContainer } from '../../core/tiles/archives.js';

/** Prefix of the keys of published archives. */
export const PUBLISHED = 'published/';

export interface TakeOptions {
  mediaType: string;
  signal: AbortSignal;
  /**
   * Throws `conflict` if the key exists. In a bucket, two servers at nearly the same time can still overwrite each
   * other.
   */
  isNew?: boolean;
}

/** Files that jobs make for clients and for the catalog. Keys are relative paths: `rasters/9b1d.tif`. */
export interface Storage {
  /** The folder of this machine that has the files; undefined where all servers of a state see the same ones. */
  readonly folder: string | undefined;
  /** Whether archives of tiles in this container are served from here. */
  publishes(container: WrittenContainer): boolean;
  /** Moves a completed file of this machine into the storage. It appears under its key completely or not at all. */
  take(path: string, key: string, options: TakeOptions): Promise<void>;
  /** Undefined: it is not there. */
  stat(key: string): Promise<StoredObject | undefined>;
  /** Bytes of the file with this tag. Rejects with `source-missing` if the file has changed. */
  read(key: string, tag: string, start: number, length: number): AsyncIterable<Uint8Array>;
  remove(key: string): Promise<void>;
  keys(begin: string): Promise<string[]>;
  /** Location for readers of archives: a path, or a URL. */
  locate(key: string): string;
  /** Source for readers of rasters. */
  locateRaster(key: string): RasterSource;
  /** Locations of the published archives outside published folders. */
  listPublished(): Promise<string[]>;
}

export function taken(): ApiError {
  return new ApiError('conflict', 'A collection of this name already exists. Choose another name.');
}
