import type { Box } from '../../../core/geometry/box.js';
import * as caches from '../../telemetry/cache-metrics.js';
import * as metrics from '../../telemetry/metrics.js';
import { pyramidKey, type TileAddress, type TileRequest } from '../request.js';
import type { KeyedTileRequest, Tile } from '../tile.js';
import { type CollectionUse, CollectionUses, type UseCount } from './collection-uses.js';
import { type TileUses, tileUses } from './effectiveness.js';
import { type CacheReach, type LookUpWatch, TileLevels, type TimedTile } from './levels.js';
import { hasPlace, Pyramid, touches } from './pyramid.js';
import { SharedTiles } from './shared-tiles.js';

/**
 * A slot in the cache. A caller that requests the same tile repeatedly can keep the slot, and needs no look-up. The
 * members that a hit reads come first and are not fractions, so they are in one line of the processor's cache.
 */
export interface TileSlot {
  /** Response that the API created from the tile. */
  answer: unknown;
  /** False once the tile has left the cache. */
  live: boolean;
  /** Whether it was used since the last eviction check. Marking is cheaper than keeping the map in order of use. */
  used: boolean;
  /** Number of hits. */
  uses: number;
  /** Expiry in milliseconds since 1970. Undefined for tiles of data whose changes are reported. */
  readonly expires: number | undefined;
  /** Time of its last hit or rendering, in seconds since 1970. */
  usedAt: number;
  readonly tile: Tile;
  /** Milliseconds that its making took. */
  readonly madeMs: number;
  readonly key: string;
  readonly at: TileAddress;
  readonly pyramid: Pyramid<TileSlot>;
  /** Undefined for tiles of several collections. */
  readonly source: UseCount | undefined;
}

/** A tile that is being rendered. */
interface PendingTile {
  readonly request: KeyedTileRequest;
  tile?: Promise<Tile>;
  /** Something has changed since: who waits gets the tile, but it is not kept. */
  stale: boolean;
}

/** Tiles that are rendered together. */
export interface TileBlock {
  /** Names these very tiles. */
  readonly key: string;
  /** Row by row, in the counting of the tile matrix. */
  readonly tiles: readonly KeyedTileRequest[];
  readonly width: number;
  readonly height: number;
  /** Index of the requested tile. */
  readonly index: number;
}

/** A block that is being rendered. */
interface PendingBlock {
  readonly requests: readonly KeyedTileRequest[];
  readonly began: number;
  readonly tiles: Promise<readonly Tile[]>;
}

export interface CacheStatistics {
  entries: number;
  /** Equal tiles counted once, and what the entries themselves cost. */
  bytes: number;
  maxBytes: number;
  hits: number;
  misses: number;
  evictions: number;
  /** Expired tiles, and tiles that were dropped as stale or on request. */
  expirations: number;
  deletions: number;
  /** Mean milliseconds to render a tile, including waiting. */
  meanMakingMs: number;
}

/** Memory of an entry in addition to its bytes: key, object, slots of maps. */
const ENTRY_OVERHEAD = 384;
const NEVER = Number.POSITIVE_INFINITY;
const seconds = (milliseconds: number) => Math.floor(milliseconds / 1000);

/**
 * Tiles in memory, limited by bytes. Tiles that were not used for a long time are evicted first. Concurrent requests
 * for one missing tile wait for a single rendering.
 */
export class TileCache {
  readonly #tiles = new Map<string, TileSlot>();
  readonly #pyramids = new Map<string, Pyramid<TileSlot>>();
  readonly #shared = new SharedTiles();
  readonly #collectionUses = new CollectionUses(() => this.#tiles.values());
  readonly #making = new Map<string, PendingTile>();
  readonly #drawing = new Map<string, PendingBlock>();
  readonly #maxBytes: number;
  readonly #levels: TileLevels;
  readonly #hits = caches.cacheHits.cell('tile');
  readonly #misses = caches.cacheMisses.cell('tile');
  readonly #evictions = caches.cacheEvictions.cell('tile');
  /** Numbers of tiles ever stored and removed. */
  #stored = 0;
  #removed = 0;
  /** Number of rendered tiles, and total milliseconds of waiting for them. */
  #generations = 0;
  #generationMs = 0;
  /** Seconds since 1970, updated each second. Reading the clock for each tile costs more than finding the tile. */
  #second = seconds(Date.now());
  readonly #tileHits = metrics.tileCacheHits.cell();
  readonly #tileMisses = metrics.tileCacheMisses.cell();

  /** Whether tiles are cached at any level. If not, rendering more than the requested tile is useless. */
  get keeps(): boolean {
    return this.#maxBytes > 0 || this.#levels.any;
  }

  get reach(): CacheReach {
    return this.#levels.reach;
  }

  constructor(maxBytes: number, levels = new TileLevels([])) {
    this.#maxBytes = maxBytes;
    this.#levels = levels;
    setInterval(() => {
      this.#second = seconds(Date.now());
    }, 1000).unref();
    caches.cacheBytes.observe((gauge) => gauge.cell('tile').set(this.#bytes));
    caches.cacheHitRatio.observe((gauge) => {
      const total = this.#hits.value + this.#misses.value;
      gauge.cell('tile').set(total === 0 ? 0 : this.#hits.value / total);
    });
    caches.cacheOperationCounter.observe((counter) => {
      counter.cell('tile', 'get').value = this.#hits.value + this.#misses.value;
      counter.cell('tile', 'set').value = this.#stored;
      counter.cell('tile', 'remove').value = this.#removed;
    });
  }

  get #bytes(): number {
    return this.#shared.bytes + this.#tiles.size * ENTRY_OVERHEAD;
  }

  /** The slot of a cached tile. `last` is the slot in which the caller found it before. */
  find(key: string, last?: TileSlot): TileSlot | undefined {
    const slot = last?.live ? last : this.#tiles.get(key);
    if (!slot) return undefined;
    if (slot.expires !== undefined && slot.expires < Date.now()) {
      this.#remove(slot);
      metrics.tileCacheExpired.cell().inc();
      return undefined;
    }
    slot.used = true;
    slot.uses++;
    slot.usedAt = this.#second;
    this.#hits.value++;
    this.#tileHits.value++;
    return slot;
  }

  /**
   * The tile from an ongoing or new rendering, cached for at most `maxAgeMs`. Call it after `find` returned no slot.
   */
  load(
    request: KeyedTileRequest,
    make: () => Promise<Tile>,
    maxAgeMs = NEVER,
    watch?: LookUpWatch,
  ): Promise<Tile> {
    this.#misses.value++;
    this.#tileMisses.value++;
    const making = this.#making.get(request.key);
    return making?.tile ?? this.#follow(request, this.#readOrMake(request, make, maxAgeMs, watch));
  }

  /** Reads the levels after memory before it renders a tile. */
  #readOrMake(
    request: KeyedTileRequest,
    make: () => Promise<Tile>,
    maxAgeMs: number,
    watch: LookUpWatch | undefined,
  ): Promise<TimedTile> {
    const making = () => {
      const began = Date.now();
      return make().then((tile) => ({ tile, maxAgeMs, began }));
    };
    if (!this.#levels.any) return making();
    return this.#levels.read(request, watch).then((stored) => stored ?? making());
  }

  /**
   * Like `load`, for a tile that is rendered together with its neighbours. `draw` returns the tiles of the block in
   * their order. Requests for one of them wait for the block. Tiles that are cached or being rendered are unchanged.
   */
  loadBlock(
    block: TileBlock,
    draw: () => Promise<readonly Tile[]>,
    maxAgeMs = NEVER,
    watch?: LookUpWatch,
  ): Promise<Tile> {
    this.#misses.value++;
    this.#tileMisses.value++;
    const request = block.tiles[block.index]!;
    const making = this.#making.get(request.key);
    return making?.tile ?? this.#follow(request, this.#readOrDraw(block, draw, maxAgeMs, watch));
  }

  async #readOrDraw(
    { key, tiles: requests, index }: TileBlock,
    draw: () => Promise<readonly Tile[]>,
    maxAgeMs: number,
    watch: LookUpWatch | undefined,
  ): Promise<TimedTile> {
    const stored = this.#levels.any ? await this.#levels.read(requests[index]!, watch) : undefined;
    if (stored) return stored;
    let drawing = this.#drawing.get(key);
    if (!drawing) {
      drawing = { requests, began: Date.now(), tiles: draw() };
      this.#drawing.set(key, drawing);
      this.#followOthers(key, drawing, maxAgeMs);
    }
    const { began, tiles } = drawing;
    return { tile: (await tiles)[index]!, maxAgeMs, began };
  }

  #followOthers(key: string, drawing: PendingBlock, maxAgeMs: number): void {
    const { requests, began, tiles } = drawing;
    const done = () => {
      if (this.#drawing.get(key) === drawing) this.#drawing.delete(key);
    };
    tiles.then(done, done);
    requests.forEach((one, i) => {
      if (this.#tiles.has(one.key) || this.#making.has(one.key)) return;
      // It is possible that no request waits for this tile.
      this.#follow(
        one,
        tiles.then((all) => ({ tile: all[i]!, maxAgeMs, began })),
      ).catch(() => {});
    });
  }

  #follow(request: KeyedTileRequest, loading: Promise<TimedTile>): Promise<Tile> {
    const making: PendingTile = { request, stale: false };
    this.#making.set(request.key, making);
    const done = () => {
      // After an invalidation another rendering of the same key may be under way.
      if (this.#making.get(request.key) === making) this.#making.delete(request.key);
    };
    making.tile = loading.then(
      ({ tile, maxAgeMs, began }) => {
        done();
        const madeMs = began === undefined ? 0 : Date.now() - began;
        if (began !== undefined) {
          metrics.tileCacheGenerated.cell().inc();
          this.#generations++;
          this.#generationMs += madeMs;
          this.#collectionUses.addMade(request, madeMs);
        }
        if (making.stale || tile.isLossy) return tile;
        this.#put(request, tile, { maxAgeMs, madeMs });
        if (began !== undefined) this.#levels.write(request, tile, began, maxAgeMs);
        return tile;
      },
      (error: unknown) => {
        done();
        metrics.tileCacheFailed.cell().inc();
        throw error;
      },
    );
    return making.tile;
  }

  #put(
    request: KeyedTileRequest,
    ready: Tile,
    { maxAgeMs, madeMs }: { maxAgeMs: number; madeMs: number },
  ): void {
    if (ready.bytes + ENTRY_OVERHEAD > this.#maxBytes / 8 || !hasPlace(request.at.set, request.at.zoom))
      return;
    const before = this.#tiles.get(request.key);
    if (before) this.#remove(before);
    this.#stored++;
    const pyramid = this.#pyramidOf(request);
    keepAlone(ready);
    const tile = this.#shared.hold(ready);
    const now = Date.now();
    const expires = maxAgeMs === NEVER ? undefined : now + maxAgeMs;
    // The slot does not refer to the request itself, because a plan refers to its complete catalog.
    const { key, at } = request;
    // One literal without spread, because the hottest path reads this object.
    const slot: TileSlot = {
      answer: tile.answer,
      live: true,
      used: false,
      uses: 0,
      expires,
      usedAt: seconds(now),
      tile,
      madeMs,
      key,
      at,
      pyramid,
      source: this.#collectionUses.find(request),
    };
    this.#tiles.set(key, slot);
    pyramid.add(at, slot, tile.bytes);
    this.#makeRoom();
  }

  #pyramidOf(request: KeyedTileRequest): Pyramid<TileSlot> {
    const name = pyramidKey(request);
    let pyramid = this.#pyramids.get(name);
    if (!pyramid) this.#pyramids.set(name, (pyramid = new Pyramid(name, request)));
    return pyramid;
  }

  /**
   * Evicts tiles by the second-chance algorithm: a tile used since the last check is moved to the end of the queue.
   */
  #makeRoom(): void {
    for (const [key, slot] of this.#tiles) {
      if (this.#bytes <= this.#maxBytes) return;
      if (slot.used) {
        slot.used = false;
        this.#tiles.delete(key);
        this.#tiles.set(key, slot);
      } else {
        this.#remove(slot);
        this.#evictions.value++;
      }
    }
  }

  /** Returns the bytes that this set free. */
  #remove(slot: TileSlot): number {
    const { key, at, pyramid, tile, source, uses } = slot;
    if (source) source.formerHits += uses;
    this.#removed++;
    slot.live = false;
    this.#tiles.delete(key);
    pyramid.delete(at, tile.bytes);
    if (pyramid.entries === 0) this.#pyramids.delete(pyramid.name);
    return this.#shared.release(tile) + ENTRY_OVERHEAD;
  }

  /** Drops the tiles whose key fits; returns how many. Renderings under way are not kept either. */
  invalidate(fits: (key: string) => boolean): number {
    return this.#drop(
      [...this.#tiles.values()].filter(({ key }) => fits(key)),
      ({ key }) => fits(key),
    );
  }

  /**
   * Drops the tiles of a collection: tiles that show a part of the areas (CRS84), or all tiles. Returns their number.
   * Running renderings of them are not cached, and later requests get a new rendering.
   */
  dropCollection(layerId: number, areas?: readonly Box[]): number {
    const doomed = new Set<TileSlot>();
    for (const pyramid of this.#pyramids.values()) {
      if (!pyramid.layerIds.includes(layerId)) continue;
      const parts = areas ? areas.map((area) => pyramid.touchedBy(area)) : [pyramid.all()];
      for (const part of parts) for (const slot of part) doomed.add(slot);
    }
    const shows = ({ collections }: TileRequest) => collections.some((c) => c.layerId === layerId);
    const inAreas = (tile: TileRequest) => areas?.some((area) => touches(tile, area)) ?? true;
    return this.#drop(doomed, (tile) => shows(tile) && inAreas(tile));
  }

  #drop(slots: Iterable<TileSlot>, isStale: (tile: KeyedTileRequest) => boolean): number {
    for (const making of this.#making.values()) {
      if (!isStale(making.request)) continue;
      making.stale = true;
      this.#making.delete(making.request.key);
    }
    for (const [key, { requests }] of this.#drawing) if (requests.some(isStale)) this.#drawing.delete(key);
    let dropped = 0;
    let released = 0;
    for (const slot of slots) {
      released += this.#remove(slot);
      dropped++;
    }
    metrics.tileCacheDeleted.cell().inc(dropped);
    metrics.tileCacheReleased.cell().inc(released);
    return dropped;
  }

  statistics(): CacheStatistics {
    return {
      entries: this.#tiles.size,
      bytes: this.#bytes,
      maxBytes: this.#maxBytes,
      hits: this.#hits.value,
      misses: this.#misses.value,
      evictions: this.#evictions.value,
      expirations: metrics.tileCacheExpired.cell().value,
      deletions: metrics.tileCacheDeleted.cell().value,
      meanMakingMs: this.#generations === 0 ? 0 : this.#generationMs / this.#generations,
    };
  }

  /** The tiles with exceptional usage. */
  uses(): Promise<TileUses> {
    return tileUses(this.#tiles.values(), this.#tiles.size);
  }

  /** Uses of the tiles of collections in the last minutes. */
  collectionUses(): Promise<CollectionUse[]> {
    return this.#collectionUses.recent();
  }

  /** Tiles and their bytes by collection; a tile of several collections counts for each of them. */
  byCollection(): Map<number, { entries: number; bytes: number }> {
    const counts = new Map<number, { entries: number; bytes: number }>();
    for (const { layerIds, entries, bytes } of this.#pyramids.values()) {
      for (const layerId of layerIds) {
        const sum = counts.get(layerId) ?? { entries: 0, bytes: 0 };
        counts.set(layerId, { entries: sum.entries + entries, bytes: sum.bytes + bytes });
      }
    }
    return counts;
  }
}

/** A body that is part of a larger buffer would keep all of it in memory. */
function keepAlone(tile: Tile): void {
  const { body } = tile;
  if (body === undefined || body.byteLength === body.buffer.byteLength) return;
  const alone = Buffer.allocUnsafeSlow(body.byteLength);
  alone.set(body);
  // In place: the object keeps its hidden class.
  Object.assign(tile, { body: alone });
}
