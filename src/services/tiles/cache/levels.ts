import { getEditCursor, hasFeatures } from '../../../core/catalog/abilities.js';
import type { ChangedCollection } from '../../../core/catalog/catalog-change.js';
import type { CollectionChange } from '../../../core/edits/edits.js';
import { findCompression } from '../../../core/http/content-coding.js';
import { inSpan } from '../../telemetry/spans.js';
import { sharedKey, type TileRequest } from '../request.js';
import type { Tile } from '../tile.js';
import { findMaxAge, newTile } from '../tile.js';
import { EditLog } from './edit-log.js';
import type { StoredTile } from './stored-tile.js';

/** Status of a level. */
export interface LevelStatus {
  readonly name: 'disk' | 'redis';
  /** False while the level is skipped because it fails. */
  readonly healthy: boolean;
  /** By this process since its start. */
  readonly lookUps: { readonly hits: number; readonly misses: number };
  /** Number of entries. For a shared Redis, of the complete database. */
  readonly entries?: number;
  readonly bytes?: number;
  readonly server?: {
    readonly version: string;
    readonly clients: number;
    readonly uptimeSeconds: number;
    /** Memory in the notation of the Redis server: `1.2M`. */
    readonly usedMemory: string;
  };
}

/**
 * A store for tiles after the memory of this process. Its failures cause additional renderings, but never failed
 * responses.
 */
export interface TileLevel {
  readonly reach: Exclude<CacheReach, 'process'>;
  /** Undefined when the tile is not there, or does not come in time. Never rejects. */
  read(key: string): Promise<StoredTile | undefined>;
  /** Returns immediately. The tile can get lost. */
  write(key: string, tile: StoredTile, maxAgeMs: number): void;
  /**
   * Drops the tiles whose key matches the pattern, in which `*` matches any characters. Returns their number. Never
   * rejects.
   */
  drop(pattern: string): Promise<number>;
  status(): Promise<LevelStatus>;
  close(): Promise<void>;
}

/** A cached or new tile with the time for which it can be kept. */
export interface TimedTile {
  readonly tile: Tile;
  readonly maxAgeMs: number;
  /** Start of the rendering, in milliseconds of `Date.now()`. Undefined for cached tiles. */
  readonly began?: number;
}

/** Reach of a cache: the memory of one process, all processes of a server, or all servers. */
export type CacheReach = 'process' | 'server' | 'all';

/** The levels after memory, fastest first, with the check whether their tiles are still valid. */
export class TileLevels {
  readonly #levels: readonly TileLevel[];
  readonly #edits = new EditLog();

  constructor(levels: readonly TileLevel[]) {
    this.#levels = levels;
  }

  /** Whether there are any levels. */
  get any(): boolean {
    return this.#levels.length > 0;
  }

  get reach(): CacheReach {
    if (this.#levels.some(({ reach }) => reach === 'all')) return 'all';
    return this.any ? 'server' : 'process';
  }

  /** The first tile that is still valid. Never rejects. */
  async read(request: TileRequest, watch: LookUpWatch = {}): Promise<TimedTile | undefined> {
    const key = sharedKey(request);
    for (const level of this.#levels) {
      const tier = TIERS[level.reach];
      const stored = await inSpan(watch.span, lookUpIn(tier), () => level.read(key));
      const maxAgeMs = stored ? this.#remainingAge(stored, request) : 0;
      if (maxAgeMs <= 0) continue;
      watch.found?.(tier);
      return { tile: buildTile(stored!, request), maxAgeMs };
    }
    return undefined;
  }

  /** Stores a tile whose rendering started at `began`, in milliseconds of `Date.now()`. */
  write(request: TileRequest, tile: Tile, began: number, maxAgeMs: number): void {
    const { encoding = 'identity', dropped = 0, features } = tile;
    const { body = NOTHING, tag = '' } = tile.empty ? {} : tile;
    const cursors = request.collections.map(getEditCursor);
    const stored = { began, cursors, encoding, tag, dropped, features, body } as const;
    for (const level of this.#levels) level.write(sharedKey(request), stored, maxAgeMs);
  }

  edited(id: string, change: CollectionChange): void {
    this.#edits.add(id, change);
  }

  replaced(changed: readonly ChangedCollection[]): void {
    this.#edits.replaced(changed);
  }

  async drop(pattern: string): Promise<number> {
    const dropped = await Promise.all(this.#levels.map((level) => level.drop(pattern)));
    return dropped.reduce((sum, one) => sum + one, 0);
  }

  status(): Promise<LevelStatus[]> {
    return Promise.all(this.#levels.map((level) => level.status()));
  }

  async close(): Promise<void> {
    await Promise.all(this.#levels.map((level) => level.close()));
  }

  /** Milliseconds for which a tile is still valid. 0 if it is not. */
  #remainingAge(stored: StoredTile, request: TileRequest): number {
    const left = stored.began + (findMaxAge(request) ?? Number.POSITIVE_INFINITY) - Date.now();
    for (const [i, collection] of request.collections.entries()) {
      const { readAt } = collection;
      if (readAt !== undefined && stored.began < readAt) return 0;
      if (!hasFeatures(collection)) continue;
      if (this.#edits.hasChanged(collection.id, stored.cursors[i] ?? 0, request)) return 0;
    }
    return left;
  }
}

/** Tiers of the cache, fastest first. */
export type CacheTier = 'memory' | 'disk' | 'redis';

/** Observation of a look-up in the levels after memory. */
export interface LookUpWatch {
  /** Span of the request. */
  readonly span?: unknown;
  /** Called with the tier that has the tile. */
  found?(tier: CacheTier): void;
}

const TIERS = { server: 'disk', all: 'redis' } as const;

/** The span of a look-up in a tier of the cache. */
export const lookUpIn = (tier: CacheTier) => ({
  name: 'svc.cache.operation',
  attributes: { 'svc.operation': 'get', 'svc.cache.tier': tier },
});

const NOTHING = new Uint8Array();

function buildTile({ body, encoding, tag, dropped, features }: StoredTile, request: TileRequest): Tile {
  return newTile(request, body, request.format.mediaType, findCompression(encoding), body.byteLength === 0, {
    tag,
    dropped,
    features,
  });
}
