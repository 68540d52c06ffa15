import type { CacheScope } from '../../../core/cluster/notes.js';
import type { TileUses } from './effectiveness.js';
import type { LevelStatus } from './levels.js';

/** Status and operations of the response cache, implemented by the cache's owner. */
export interface CacheControl {
  status(): CacheStatus;
  /** The tiles in memory with exceptional usage. */
  uses(): Promise<TileUses>;
  /** The levels after memory: disk and Redis, if configured. */
  levels(): Promise<readonly LevelStatus[]>;
  /** Contents of each collection. Equal tiles count each time. */
  collections(): readonly { readonly id: string; readonly entries: number; readonly bytes: number }[];
  /** Drops what the scope covers, in every gateway; returns the number of entries dropped here and in the shared levels. */
  invalidate(scope: CacheScope): number | Promise<number>;
}

interface CacheStatus {
  enabled: boolean;
  entries: number;
  bytes: number;
  maxBytes: number;
  hits: number;
  misses: number;
  evictions: number;
  /** Expired entries, and entries that were dropped as stale or on request. */
  expirations: number;
  deletions: number;
  /** Mean milliseconds of a response that no cache contained. */
  meanMakingMs: number;
  /** Seconds for which an entry may be served; 0 when entries do not age. */
  ttlSeconds: number;
}
