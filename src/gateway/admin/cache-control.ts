/** What the response cache tells and takes; implemented by the cache's owner. */
export interface CacheControl {
  status(): CacheStatus;
  /** Drops what the scope covers; returns the number of entries dropped. */
  invalidate(scope: CacheScope): number | Promise<number>;
}

export interface CacheStatus {
  enabled: boolean;
  entries: number;
  bytes: number;
  maxBytes: number;
  hits: number;
  misses: number;
  evictions: number;
  /** Seconds for which an entry may be served; 0 when entries do not age. */
  ttlSeconds: number;
}

export type CacheScope =
  | { kind: 'all' }
  | { kind: 'metadata' }
  | { kind: 'collection'; collectionId: string }
  | { kind: 'layer'; layerId: number; serviceId?: string }
  | { kind: 'service'; serviceId: string }
  /** `*` stands for any characters. */
  | { kind: 'pattern'; pattern: string };
