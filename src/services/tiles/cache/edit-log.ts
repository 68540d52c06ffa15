import { hasFeatures } from '../../../core/catalog/abilities.js';
import type { ChangedCollection } from '../../../core/catalog/catalog-change.js';
import type { CollectionChange } from '../../../core/edits/edits.js';
import { TILE_LIMITS } from '../../../core/tiles/limits.js';
import type { TileRequest } from '../request.js';
import { touches } from './pyramid.js';

interface Log {
  /** Cursor of the last edit. */
  cursor: number;
  /** Edits before this cursor are no longer known. */
  floor: number;
  edits: CollectionChange[];
  /** Areas of all the edits. */
  areas: number;
}

/**
 * Areas of the last edits of each collection. They show whether a tile from another level is older than an edit of
 * its area.
 */
export class EditLog {
  readonly #logs = new Map<string, Log>();

  /** Follows a reload. Edits that the reload found, but no event reported, can be anywhere. */
  replaced(changed: readonly ChangedCollection[]): void {
    for (const { after } of changed) {
      if (!hasFeatures(after)) continue;
      const { id, cursor } = after;
      if (this.#logs.get(id)?.cursor !== cursor)
        this.#logs.set(id, { cursor, floor: cursor, edits: [], areas: 0 });
    }
  }

  add(id: string, change: CollectionChange): void {
    const log = this.#logs.get(id);
    if (!log) return;
    log.cursor = Math.max(log.cursor, change.cursor);
    if (!change.areas) {
      log.floor = Math.max(log.floor, change.cursor);
      return;
    }
    log.edits.push(change);
    log.areas += change.areas.length;
    while (log.areas > TILE_LIMITS.loggedAreas) {
      const { cursor, areas } = log.edits.shift()!;
      log.floor = Math.max(log.floor, cursor);
      log.areas -= areas!.length;
    }
  }

  /** Whether an edit after that cursor touches the tile, or may. */
  hasChanged(id: string, since: number, tile: TileRequest): boolean {
    const log = this.#logs.get(id);
    if (!log || since < log.floor) return true;
    if (since >= log.cursor) return false;
    return log.edits.some(
      ({ cursor, areas }) => cursor > since && areas!.some((area) => touches(tile, area)),
    );
  }
}
