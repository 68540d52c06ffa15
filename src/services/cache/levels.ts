import { cursorOf, hasFeatures } from '../../core/abilities.js';
import type { CatalogSnapshot } from '../../core/collection.js';
import type { CollectionChange } from '../../core/edits.js';
import { sharedKey, type TileRequest } from '../tiles/request.js';
import type { CachedTile } from '../tiles/tile.js';
import { maxAgeOf, newTile } from '../tiles/tile.js';
import { EditLog } from './edit-log.js';
import type { KeptTile } from './kept-tile.js';

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
  /** Undefined when the tile is not there, or does not come in time. Never rejects. */
  read(key: string): Promise<KeptTile | undefined>;
  /** Returns at once; the tile may get lost. */
  write(key: string, tile: KeptTile, maxAgeMs: number): void;
  /** Drops the tiles whose key fits, `*` standing for any characters; returns how many. Never rejects. */
  drop(pattern: string): Promise<number>;
  status(): Promise<LevelStatus>;
  close(): Promise<void>;
}

/** A tile found, and for how long it may be kept. */
export interface FoundTile {
  readonly tile: CachedTile;
  readonly maxAgeMs: number;
  /** When its making began, if it was made now: a time of `Date.now()`. */
  readonly made?: number;
}

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

  /** The first tile that still holds. Never rejects. */
  async read(wanted: TileRequest): Promise<FoundTile | undefined> {
    const key = sharedKey(wanted);
    for (const level of this.#levels) {
      const kept = await level.read(key);
      const maxAgeMs = kept ? this.#remainingAge(kept, wanted) : 0;
      if (maxAgeMs > 0) return { tile: tileOf(kept!, wanted), maxAgeMs };
    }
    return undefined;
  }

  /** Keeps a tile whose making began at `began`, a time of `Date.now()`. */
  write(
    wanted: TileRequest,
    { reply, empty, dropped = 0 }: CachedTile,
    began: number,
    maxAgeMs: number,
  ): void {
    const { body = NOTHING } = empty ? {} : reply;
    if (!(body instanceof Uint8Array)) return;
    const cursors = wanted.collections.map(cursorOf);
    const encoding = reply.encoding === 'gzip' ? 'gzip' : 'identity';
    const kept = { made: began, cursors, encoding, dropped, body } as const;
    for (const level of this.#levels) level.write(sharedKey(wanted), kept, maxAgeMs);
  }

  edited(id: string, change: CollectionChange): void {
    this.#edits.add(id, change);
  }

  replaced(after: CatalogSnapshot): void {
    this.#edits.replaced(after);
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
  #remainingAge(kept: KeptTile, wanted: TileRequest): number {
    const left = kept.made + (maxAgeOf(wanted) ?? Number.POSITIVE_INFINITY) - Date.now();
    for (const [i, collection] of wanted.collections.entries()) {
      const { readAt } = collection;
      if (readAt !== undefined && kept.made < readAt) return 0;
      if (!hasFeatures(collection)) continue;
      if (this.#edits.hasChanged(collection.id, kept.cursors[i] ?? 0, wanted)) return 0;
    }
    return left;
  }
}

const NOTHING = new Uint8Array();

function tileOf({ body, encoding, dropped }: KeptTile, wanted: TileRequest): CachedTile {
  const compressed = encoding === 'gzip' ? 'gzip' : undefined;
  return newTile(wanted, body, wanted.format.mediaType, compressed, body.byteLength === 0, dropped);
}
