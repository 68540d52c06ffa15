import { createClient, RESP_TYPES } from '@redis/client';
import { TILE_LIMITS } from '../../../core/tiles/limits.js';
import * as metrics from '../../telemetry/cache-metrics.js';
import { timedOperation } from '../../telemetry/cache-metrics.js';
import type { LevelStatus, TileLevel } from './levels.js';
import { decodeTile, encodeTile, REDIS_PREFIX, type StoredTile } from './stored-tile.js';

/** Milliseconds without requests after a timeout of Redis. */
const PAUSE_MS = 1000;
const LONGEST_RECONNECT_MS = 5000;
const MAX_QUEUED = 4096;
/** Milliseconds after which a tile expires in Redis, if it was not rendered again. */
const KEPT_MS = 7 * 86_400_000;
const SCANNED_KEYS = 1000;
const CACHE = 'tile-redis';

/** A client that reconnects automatically. Without a connection, its commands fail immediately. */
export function redisClient(url: string) {
  const client = createClient({
    url,
    disableOfflineQueue: true,
    commandsQueueMaxLength: MAX_QUEUED,
    socket: {
      connectTimeout: 2000,
      reconnectStrategy: (attempts) => Math.min(50 * 2 ** attempts, LONGEST_RECONNECT_MS),
    },
    commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
  });
  // `isReady` shows the state. Without a listener, an error would end the process.
  client.on('error', () => {});
  void client.connect().catch(() => {});
  return client;
}

/** Tiles in Redis, shared by all servers that publish the same data. Without a connection it is as if it were empty. */
export class RedisLevel implements TileLevel {
  readonly reach = 'all';
  readonly #client: ReturnType<typeof redisClient>;
  #pausedUntil = 0;
  #waitingBytes = 0;
  readonly #hits = metrics.cacheHits.cell(CACHE);
  readonly #misses = metrics.cacheMisses.cell(CACHE);
  readonly #errors = metrics.cacheErrors.cell(CACHE);

  constructor(url: string) {
    this.#client = redisClient(url);
  }

  get #usable(): boolean {
    return this.#client.isReady && performance.now() >= this.#pausedUntil;
  }

  async read(key: string): Promise<StoredTile | undefined> {
    if (!this.#usable) return undefined;
    try {
      const tile = await timedOperation(CACHE, 'get', () =>
        this.#inTime(this.#client.get(REDIS_PREFIX + key)),
      );
      const stored = tile ? decodeTile(tile as unknown as Uint8Array) : undefined;
      if (stored) this.#hits.value++;
      else this.#misses.value++;
      if (tile && !stored) this.#errors.value++;
      return stored;
    } catch {
      this.#errors.value++;
      return undefined;
    }
  }

  write(key: string, tile: StoredTile, maxAgeMs: number): void {
    if (!this.#usable || this.#waitingBytes > TILE_LIMITS.levelQueueBytes) return;
    const bytes = encodeTile(tile);
    this.#waitingBytes += bytes.byteLength;
    const value = Math.max(1, Math.round(Math.min(maxAgeMs, KEPT_MS)));
    const set = () => this.#client.set(REDIS_PREFIX + key, bytes, { expiration: { type: 'PX', value } });
    timedOperation(CACHE, 'set', set)
      .catch(() => void this.#errors.value++)
      .finally(() => {
        this.#waitingBytes -= bytes.byteLength;
      });
  }

  async drop(pattern: string): Promise<number> {
    if (!this.#client.isReady) return 0;
    const MATCH = REDIS_PREFIX + pattern.replace(/[[\]?\\]/g, '\\$&');
    let dropped = 0;
    try {
      for await (const keys of this.#client.scanIterator({ MATCH, COUNT: SCANNED_KEYS })) {
        if (keys.length === 0) continue;
        dropped += await timedOperation(CACHE, 'remove', () => this.#client.unlink(keys));
      }
    } catch {
      this.#errors.value++;
    }
    return dropped;
  }

  async status(): Promise<LevelStatus> {
    const lookUps = { hits: this.#hits.value, misses: this.#misses.value };
    if (!this.#client.isReady) return { name: 'redis', healthy: false, lookUps };
    try {
      const text = String(await this.#inTime(this.#client.info()));
      const entries = await this.#inTime(this.#client.dbSize());
      const value = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(text)?.[1];
      const count = (name: string) => Number(value(name) ?? 0);
      return {
        name: 'redis',
        healthy: true,
        lookUps,
        entries,
        bytes: count('used_memory'),
        server: {
          version: value('redis_version') ?? '',
          clients: count('connected_clients'),
          uptimeSeconds: count('uptime_in_seconds'),
          usedMemory: value('used_memory_human') ?? '',
        },
      };
    } catch {
      return { name: 'redis', healthy: false, lookUps };
    }
  }

  async close(): Promise<void> {
    this.#client.destroy();
  }

  /** Rejects a command that takes longer than a tile may, and pauses further requests. */
  #inTime<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        this.#pausedUntil = performance.now() + PAUSE_MS;
        reject(new Error('Redis did not answer in time.'));
      }, TILE_LIMITS.redisMs);
      answer.then(resolve, reject).finally(() => clearTimeout(late));
    });
  }
}
