import { join } from 'node:path';
import { makeFolderSync } from '../../../core/files/own-folder.js';
import { TILE_LIMITS } from '../../../core/tiles/limits.js';
import { TileStoreLink } from '../../../workers/tiles/store/link.js';
import * as metrics from '../../telemetry/cache-metrics.js';
import { timedOperation } from '../../telemetry/cache-metrics.js';
import type { LevelStatus, TileLevel } from './levels.js';
import { decodeTile, encodeTile, type StoredTile } from './stored-tile.js';

/** Tiles wait this long for company: one transaction writes them all. */
const GATHER_MS = 50;
const CACHE = 'tile-disk';

/** Tiles in a file in a folder. A separate thread reads and writes it. */
export class DiskLevel implements TileLevel {
  readonly reach = 'server';
  readonly #store: TileStoreLink;
  #gathered: [key: string, tile: Uint8Array][] = [];
  #gatheredBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #healthy = true;
  readonly #hits = metrics.cacheHits.cell(CACHE);
  readonly #misses = metrics.cacheMisses.cell(CACHE);
  readonly #errors = metrics.cacheErrors.cell(CACHE);

  private constructor(store: TileStoreLink) {
    this.#store = store;
  }

  /** Opens or creates the file. Rejects when that fails. `worker` is the script of the thread. */
  static async open(directory: string, maxBytes: number, worker?: URL): Promise<DiskLevel> {
    makeFolderSync(directory);
    return new DiskLevel(await TileStoreLink.open({ file: join(directory, 'tiles.db'), maxBytes }, worker));
  }

  async read(key: string): Promise<StoredTile | undefined> {
    if (this.#store.waiting >= TILE_LIMITS.levelQueue) return undefined;
    try {
      const tile = await timedOperation(CACHE, 'get', () => this.#store.read(key));
      this.#healthy = true;
      if (!tile) return this.#missed();
      const entry = decodeTile(tile);
      if (!entry) return this.#failed();
      this.#hits.value++;
      return entry;
    } catch {
      this.#healthy = false;
      return this.#failed();
    }
  }

  write(key: string, tile: StoredTile): void {
    if (this.#gatheredBytes > TILE_LIMITS.levelQueueBytes) return;
    const bytes = encodeTile(tile);
    this.#gathered.push([key, bytes]);
    this.#gatheredBytes += bytes.byteLength;
    this.#timer ??= setTimeout(() => void this.#flush(), GATHER_MS);
  }

  async drop(pattern: string): Promise<number> {
    await this.#flush();
    // In patterns of the tile cache, only the star is a wildcard.
    const drop = () => this.#store.drop(pattern.replace(/[[?]/g, '[$&]'));
    return timedOperation(CACHE, 'remove', drop).catch(() => 0);
  }

  async status(): Promise<LevelStatus> {
    const counted = await this.#store.count().catch(() => undefined);
    const lookUps = { hits: this.#hits.value, misses: this.#misses.value };
    return { name: 'disk', healthy: this.#healthy && counted !== undefined, lookUps, ...counted };
  }

  async close(): Promise<void> {
    await this.#flush();
    await this.#store.close().catch(() => {});
  }

  async #flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const tiles = this.#gathered;
    if (tiles.length === 0) return;
    const bytes = this.#gatheredBytes;
    this.#gathered = [];
    try {
      await timedOperation(CACHE, 'set', () => this.#store.write(tiles));
    } catch {
      this.#healthy = false;
      this.#errors.value++;
    }
    // Bytes that the thread has not written yet also count.
    this.#gatheredBytes -= bytes;
  }

  #missed(): undefined {
    this.#misses.value++;
  }

  #failed(): undefined {
    this.#errors.value++;
    this.#misses.value++;
  }
}
