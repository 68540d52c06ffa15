import type { Reply } from '../../core/operation.js';
import * as metrics from '../telemetry/metrics.js';

/** A tile ready to send: compressed already where that helps, with its entity tag. */
export interface CachedTile {
  /** The answer that every request for this tile gets; without a body when nothing is in the tile. */
  readonly reply: Reply;
  readonly bytes: number;
}

/** A place in the cache. Who asks for the same tile again may keep it, and finds the tile without a look-up. */
export interface TileSlot {
  readonly tile: CachedTile;
  /** Milliseconds since the epoch; never for tiles of data that tells when it changes. */
  readonly expires: number;
  /** Since eviction last came by. Marking is cheaper than keeping the map in order of use. */
  used: boolean;
  /** False once the tile has left the cache. */
  live: boolean;
}

export interface CacheStatistics {
  entries: number;
  bytes: number;
  maxBytes: number;
  hits: number;
  misses: number;
  evictions: number;
}

/** What an entry costs beyond its bytes: key, object, map slot. */
const ENTRY_OVERHEAD = 256;
const NEVER = Number.POSITIVE_INFINITY;

/**
 * Tiles in memory, bounded by bytes; those that were not used for long go first. Concurrent requests for one missing
 * tile wait for a single rendering.
 */
export class TileCache {
  readonly #tiles = new Map<string, TileSlot>();
  readonly #pending = new Map<string, Promise<CachedTile>>();
  readonly #maxBytes: number;
  readonly #hits = metrics.cacheHits.cell('tile');
  readonly #misses = metrics.cacheMisses.cell('tile');
  readonly #evictions = metrics.cacheEvictions.cell('tile');
  readonly #tileHits = metrics.tileCacheHits.cell();
  readonly #tileMisses = metrics.tileCacheMisses.cell();
  readonly #generated = metrics.tileCacheGenerated.cell();
  #bytes = 0;
  /** Raised by every invalidation, so that a rendering begun before it is not stored after it. */
  #epoch = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    metrics.cacheBytes.observe((gauge) => gauge.cell('tile').set(this.#bytes));
    metrics.cacheHitRatio.observe((gauge) => {
      const total = this.#hits.value + this.#misses.value;
      gauge.cell('tile').set(total === 0 ? 0 : this.#hits.value / total);
    });
  }

  /** The slot of a tile that is there; `last` is where the caller found it before. */
  find(key: string, last?: TileSlot): TileSlot | undefined {
    const slot = last?.live ? last : this.#tiles.get(key);
    if (!slot) return undefined;
    if (slot.expires !== NEVER && slot.expires < Date.now()) {
      this.#remove(key);
      return undefined;
    }
    slot.used = true;
    this.#hits.value++;
    this.#tileHits.value++;
    return slot;
  }

  /** The tile from an ongoing or new rendering, kept no longer than `maxAgeMs`; call after `find` found nothing. */
  fill(key: string, render: () => Promise<CachedTile>, maxAgeMs = NEVER): Promise<CachedTile> {
    this.#misses.value++;
    this.#tileMisses.value++;
    const running = this.#pending.get(key);
    if (running) return running;
    const epoch = this.#epoch;
    const promise = render()
      .then((tile) => {
        this.#generated.value++;
        if (epoch === this.#epoch) this.#store(key, tile, maxAgeMs);
        return tile;
      })
      .finally(() => {
        // After an invalidation another rendering of the same key may be under way.
        if (this.#pending.get(key) === promise) this.#pending.delete(key);
      });
    this.#pending.set(key, promise);
    return promise;
  }

  #store(key: string, tile: CachedTile, maxAgeMs: number): void {
    const size = tile.bytes + ENTRY_OVERHEAD;
    if (size > this.#maxBytes / 8) return;
    this.#remove(key);
    this.#tiles.set(key, { tile, expires: Date.now() + maxAgeMs, used: false, live: true });
    this.#bytes += size;
    this.#makeRoom();
  }

  /** Second chance: a tile that was used since it was last looked at goes to the end of the line instead. */
  #makeRoom(): void {
    for (const [key, slot] of this.#tiles) {
      if (this.#bytes <= this.#maxBytes) return;
      if (slot.used) {
        slot.used = false;
        this.#tiles.delete(key);
        this.#tiles.set(key, slot);
      } else {
        this.#remove(key);
        this.#evictions.value++;
      }
    }
  }

  #remove(key: string): void {
    const slot = this.#tiles.get(key);
    if (!slot) return;
    slot.live = false;
    this.#tiles.delete(key);
    this.#bytes -= slot.tile.bytes + ENTRY_OVERHEAD;
  }

  /** Drops the tiles whose key fits; returns how many. Renderings under way are not stored either. */
  invalidate(fits: (key: string) => boolean): number {
    this.#epoch++;
    this.#pending.clear();
    const doomed = [...this.#tiles.keys()].filter(fits);
    for (const key of doomed) this.#remove(key);
    metrics.tileCacheDeleted.cell().inc(doomed.length);
    return doomed.length;
  }

  statistics(): CacheStatistics {
    return {
      entries: this.#tiles.size,
      bytes: this.#bytes,
      maxBytes: this.#maxBytes,
      hits: this.#hits.value,
      misses: this.#misses.value,
      evictions: this.#evictions.value,
    };
  }
}
