import type { CacheScope } from '../../../core/cluster/notes.js';
import type { TileUses } from './effectiveness.js';
import type { LevelStatus } from './levels.js';

/** What the response cache tells and takes; implemented by the cache's owner. */
export interface CacheControl {
  status(): CacheStatus;
  /** The tiles in memory that stand out by how they are used. */
  uses(): Promise<TileUses>;
  /** The levels behind memory: disk and Redis, as far as they are configured. */
  levels(): Promise<readonly LevelStatus[]>;
  /** What is held of each collection; equal tiles count each time. */
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
  /** Of entries whose time was over, and of those that were dropped as stale or by order. */
  expirations: number;
  deletions: number;
  /** Milliseconds that an answer takes which no cache had. */
  meanMakingMs: number;
  /** Seconds for which an entry may be served; 0 when entries do not age. */
  ttlSeconds: number;
}
