import type { Tile } from '../tile.js';

/** Tiles of equal content, held once: empty ones, and those of one colour. */
export class SharedTiles {
  readonly #held = new Map<string, { tile: Tile; holders: number }>();
  /** Bytes of all bodies, each counted once. */
  bytes = 0;

  /** The tile to keep in place of this one. */
  hold(tile: Tile): Tile {
    const name = nameOf(tile);
    const entry = name === undefined ? undefined : this.#held.get(name);
    if (entry) {
      entry.holders++;
      return entry.tile;
    }
    if (name !== undefined) this.#held.set(name, { tile, holders: 1 });
    this.bytes += tile.bytes;
    return tile;
  }

  /** Gives back what `hold` returned. Returns the bytes that this set free. */
  release(tile: Tile): number {
    const name = nameOf(tile);
    const entry = name === undefined ? undefined : this.#held.get(name);
    if (entry && --entry.holders > 0) return 0;
    if (name !== undefined) this.#held.delete(name);
    this.bytes -= tile.bytes;
    return tile.bytes;
  }
}

/** What makes two answers the same; the entity tag stands for the body. */
function nameOf({ tag, bytes, mediaType, encoding, lifetime }: Tile): string | undefined {
  if (tag === undefined && bytes > 0) return undefined;
  return `${tag} ${bytes} ${mediaType} ${encoding} ${lifetime}`;
}
