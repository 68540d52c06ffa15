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

/** What a level tells of itself. */
export interface LevelStatus {
  readonly name: 'disk' | 'redis';
  /** False while it is left out because it fails. */
  readonly healthy: boolean;
  /** By this process since its start. */
  readonly lookUps: { readonly hits: number; readonly misses: number };
  /** Of a shared Redis, all that is in it. */
  readonly entries?: number;
  readonly bytes?: number;
  readonly server?: {
    readonly version: string;
    readonly clients: number;
    readonly uptimeSeconds: number;
    /** As the server writes it: `1.2M`. */
    readonly usedMemory: string;
  };
}

/** A place for tiles behind the memory of this process. Its failures cost renderings, never answers. */
export interface TileLevel {
  readonly reach: Exclude<CacheReach, 'process'>;
  /** Undefined when the tile is not there, or does not come in time. Never rejects. */
  read(key: string): Promise<StoredTile | undefined>;
  /** Returns at once; the tile may get lost. */
  write(key: string, tile: StoredTile, maxAgeMs: number): void;
  /** Drops the tiles whose key fits, `*` standing for any characters; returns how many. Never rejects. */
  drop(pattern: string): Promise<number>;
  status(): Promise<LevelStatus>;
  close(): Promise<void>;
}

/** A tile found, and for how long it may be kept. */
export interface TimedTile {
  readonly tile: Tile;
  readonly maxAgeMs: number;
  /** When its making began, if it was made now: a time of `Date.now()`. */
  readonly began?: number;
}

/** Where tiles are kept: in the memory of one process alone, for all processes of a server, or for all servers. */
export type CacheReach = 'process' | 'server' | 'all';

/** The levels behind memory, fastest first, and what tells which of their tiles still hold. */
export class TileLevels {
  readonly #levels: readonly TileLevel[];
  readonly #edits = new EditLog();

  constructor(levels: readonly TileLevel[]) {
    this.#levels = levels;
  }

  /** False when there is nothing to look into. */
  get any(): boolean {
    return this.#levels.length > 0;
  }

  get reach(): CacheReach {
    if (this.#levels.some(({ reach }) => reach === 'all')) return 'all';
    return this.any ? 'server' : 'process';
  }

  /** The first tile that still holds. Never rejects. */
  async read(request: TileRequest, span?: unknown): Promise<TimedTile | undefined> {
    const key = sharedKey(request);
    for (const level of this.#levels) {
      const stored = await inSpan(span, lookUpIn(TIERS[level.reach]), () => level.read(key));
      const maxAgeMs = stored ? this.#remainingAge(stored, request) : 0;
      if (maxAgeMs > 0) return { tile: buildTile(stored!, request), maxAgeMs };
    }
    return undefined;
  }

  /** Keeps a tile whose making began at `began`, a time of `Date.now()`. */
  write(request: TileRequest, tile: Tile, began: number, maxAgeMs: number): void {
    const { encoding = 'identity', dropped = 0 } = tile;
    const { body = NOTHING, tag = '' } = tile.empty ? {} : tile;
    const cursors = request.collections.map(getEditCursor);
    const stored = { began, cursors, encoding, tag, dropped, body } as const;
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

  /** Milliseconds for which a tile still holds; 0 when it does not. */
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

const TIERS = { server: 'disk', all: 'redis' } as const;

/** The span of a look into a tier of the cache. */
export const lookUpIn = (tier: 'memory' | 'disk' | 'redis') => ({
  name: 'svc.cache.operation',
  attributes: { 'svc.operation': 'get', 'svc.cache.tier': tier },
});

const NOTHING = new Uint8Array();

function buildTile({ body, encoding, tag, dropped }: StoredTile, request: TileRequest): Tile {
  return newTile(request, body, request.format.mediaType, findCompression(encoding), body.byteLength === 0, {
    tag,
    dropped,
  });
}
