import type { Tile } from '../tile.js';

/**
 * Tiles of equal content, whose bodies are kept once: empty ones, and those of one colour. Tiles whose replies have other
 * headers, such as names for a content delivery network, remain two tiles with one body.
 */
export class SharedTiles {
  readonly #held = new Map<string, { tile: Tile; holders: number }>();
  /** Bytes of all bodies, each counted once. */
  bytes = 0;

  /** The tile to keep in place of this one. */
  hold(tile: Tile): Tile {
    const name = findName(tile);
    const entry = name === undefined ? undefined : this.#held.get(name);
    if (entry) {
      entry.holders++;
      if (hasSameFacts(tile, entry.tile)) return entry.tile;
      tile.body = entry.tile.body;
      return tile;
    }
    if (name !== undefined) this.#held.set(name, { tile, holders: 1 });
    this.bytes += tile.bytes;
    return tile;
  }

  /** Gives back what `hold` returned. Returns the bytes that this set free. */
  release(tile: Tile): number {
    const name = findName(tile);
    const entry = name === undefined ? undefined : this.#held.get(name);
    if (entry && --entry.holders > 0) return 0;
    if (name !== undefined) this.#held.delete(name);
    this.bytes -= tile.bytes;
    return tile.bytes;
  }
}

/** Key of equal responses. The entity tag represents the body. */
function findName({ tag, bytes, mediaType, encoding, lifetime }: Tile): string | undefined {
  if (tag === undefined && bytes > 0) return undefined;
  return `${tag} ${bytes} ${mediaType} ${encoding} ${lifetime}`;
}

/** True if replies with two tiles of equal content have the same headers. */
function hasSameFacts(one: Tile, other: Tile): boolean {
  const hasFacts = (tile: Tile) => tile.shown !== undefined || (tile.lost?.length ?? 0) > 0;
  if (hasFacts(one) || hasFacts(other) || one.dropped !== other.dropped) return false;
  const names = one.names ?? [];
  return names.length === (other.names?.length ?? 0) && names.every((name, n) => name === other.names?.[n]);
}
