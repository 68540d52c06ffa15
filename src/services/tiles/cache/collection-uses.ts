import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TileRequest } from '../request.js';

/** Use of the tiles of one collection in one tile matrix set and format. */
export interface CollectionUse {
  readonly layerId: number;
  /** Id of the tile matrix set. */
  readonly set: string;
  readonly format: string;
  /** Tiles that were in memory when they were requested. */
  readonly hits: number;
  /** Tiles that were rendered, and the milliseconds that this took. */
  readonly made: number;
  readonly madeMs: number;
  /** Rendered tiles by zoom. */
  readonly madeByZoom: readonly number[];
}

/** A cached tile with its uses. */
interface UsedTile {
  readonly uses: number;
  readonly source: UseCount | undefined;
}

/** Counts of one collection, set and format since the start of the process. */
export class UseCount {
  /** Hits of tiles that have left the cache. */
  formerHits = 0;
  made = 0;
  madeMs = 0;
  readonly madeByZoom: number[] = [];

  constructor(
    readonly layerId: number,
    readonly set: string,
    readonly format: string,
  ) {}
}

const MAX_COUNTS = 10_000;
/** Minutes that are reported. */
const MINUTES = 15;
const MINUTE_MS = 60_000;
/** Number of tiles added up in one event-loop iteration. */
const PER_TURN = 20_000;

type Totals = ReadonlyMap<UseCount, CollectionUse>;

/**
 * Uses of the tiles of collections in the last 15 minutes. A hit costs nothing: cached tiles count their uses, which are
 * added up once a minute.
 */
export class CollectionUses {
  readonly #counts = new Map<string, UseCount>();
  /** Totals at the start of each minute, oldest first. */
  readonly #minutes: Totals[] = [new Map()];
  readonly #timer: NodeJS.Timeout;

  constructor(private readonly tiles: () => Iterable<UsedTile>) {
    this.#timer = setInterval(() => void this.#sample(), MINUTE_MS).unref();
  }

  /** The count of a tile. Undefined for tiles of several collections, which belong to no collection. */
  find({ collections, at: { set }, format, selection }: TileRequest): UseCount | undefined {
    const [one] = collections;
    if (!one || collections.length > 1 || selection) return undefined;
    const key = `${one.layerId}/${set.id}/${format.name}`;
    let count = this.#counts.get(key);
    if (!count && this.#counts.size < MAX_COUNTS)
      this.#counts.set(key, (count = new UseCount(one.layerId, set.id, format.name)));
    return count;
  }

  addMade(request: TileRequest, ms: number): void {
    const count = this.find(request);
    if (!count) return;
    const { zoom } = request.at;
    count.made++;
    count.madeMs += ms;
    count.madeByZoom[zoom] = (count.madeByZoom[zoom] ?? 0) + 1;
  }

  /** Uses in the last 15 minutes, or since the start of the process. */
  async recent(): Promise<CollectionUse[]> {
    const before = this.#minutes[0]!;
    const now = await this.#addUp();
    return [...now]
      .map(([count, use]) => subtract(use, before.get(count)))
      .filter(({ hits, made }) => hits + made > 0);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #sample(): Promise<void> {
    this.#minutes.push(await this.#addUp());
    if (this.#minutes.length > MINUTES) this.#minutes.shift();
  }

  async #addUp(): Promise<Totals> {
    const hits = new Map([...this.#counts.values()].map((count) => [count, count.formerHits]));
    let sum = 0;
    for (const { source, uses } of this.tiles()) {
      if (source && uses > 0) hits.set(source, (hits.get(source) ?? 0) + uses);
      if (++sum % PER_TURN === 0) await nextTurn();
    }
    return new Map(
      [...hits].map(([count, sum]) => {
        const { layerId, set, format, made, madeMs, madeByZoom } = count;
        return [count, { layerId, set, format, hits: sum, made, madeMs, madeByZoom: [...madeByZoom] }];
      }),
    );
  }
}

function subtract(now: CollectionUse, before: CollectionUse | undefined): CollectionUse {
  if (!before) return { ...now, madeByZoom: Array.from(now.madeByZoom, (count) => count ?? 0) };
  return {
    ...now,
    // Tiles that left the cache while they were added up can be missing.
    hits: Math.max(0, now.hits - before.hits),
    made: now.made - before.made,
    madeMs: now.madeMs - before.madeMs,
    madeByZoom: Array.from(now.madeByZoom, (count, zoom) => (count ?? 0) - (before.madeByZoom[zoom] ?? 0)),
  };
}
