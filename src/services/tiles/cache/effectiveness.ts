import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TileSlot } from './tile-cache.js';

/** Usage of one cached tile. */
export interface TileUse {
  readonly key: string;
  readonly accessCount: number;
  /** Uses to uses and its making. */
  readonly hitRatio: number;
  /** Milliseconds that making it took; 0 when it was found in a level behind memory. */
  readonly avgExecutionTimeMs: number;
  readonly memoryBytes: number;
  /** Milliseconds since the epoch, to the second. */
  readonly lastAccessed: number;
}

export interface TileUses {
  readonly mostUsed: TileUse[];
  /** The least used tiles for their size. Among unused tiles, the largest. */
  readonly leastUseful: TileUse[];
  readonly largest: TileUse[];
}

const SHOWN = 10;
/** Number of tiles checked in one event-loop iteration. */
const PER_TURN = 20_000;

/**
 * Cached tiles with exceptional usage. Checks each tile once, a part at a time. The cache is in use while this runs.
 */
export async function tileUses(slots: Iterable<TileSlot>, count: number): Promise<TileUses> {
  const mostUsed = new Best((slot) => slot.uses);
  const leastUseful = new Best(({ uses, tile }) => tile.bytes / (uses + 1) ** 2);
  const largest = new Best(({ tile }) => tile.bytes);
  let sum = 0;
  for (const slot of slots) {
    for (const best of [mostUsed, leastUseful, largest]) best.offer(slot);
    // Tiles that are used during this loop are moved to the end repeatedly, so the loop needs a limit.
    if (++sum >= count) break;
    if (sum % PER_TURN === 0) await nextTurn();
  }
  return { mostUsed: mostUsed.uses, leastUseful: leastUseful.uses, largest: largest.uses };
}

/** The `SHOWN` slots with the highest ranks. */
class Best {
  #slots: { slot: TileSlot; rank: number }[] = [];

  constructor(private readonly rankOf: (slot: TileSlot) => number) {}

  offer(slot: TileSlot): void {
    const rank = this.rankOf(slot);
    const store = this.#slots;
    if (store.length === SHOWN && rank <= store[SHOWN - 1]!.rank) return;
    const place = store.findIndex((other) => other.rank < rank);
    store.splice(place < 0 ? store.length : place, 0, { slot, rank });
    store.length = Math.min(store.length, SHOWN);
  }

  get uses(): TileUse[] {
    return this.#slots.map(({ slot }) => buildUse(slot));
  }
}

function buildUse({ key, uses, usedAt, madeMs, tile }: TileSlot): TileUse {
  return {
    key,
    accessCount: uses,
    hitRatio: uses / (uses + 1),
    avgExecutionTimeMs: madeMs,
    memoryBytes: tile.bytes,
    lastAccessed: usedAt * 1000,
  };
}
