/** Messages between the gateway thread and the thread that owns the tiles on disk. */

export interface TileStoreData {
  file: string;
  /** Bytes that keys and tiles may take. */
  maxBytes: number;
}

export type TileStoreRequest =
  | { id: number; type: 'read'; key: string }
  | { id: number; type: 'write'; tiles: readonly [key: string, tile: Uint8Array][] }
  /** `pattern` is a GLOB of SQLite. */
  | { id: number; type: 'drop'; pattern: string }
  | { id: number; type: 'count' }
  | { id: number; type: 'close' };

/** Sent once, before any reply. */
export type TileStoreReady = { opened: true } | { opened: false; message: string };

export interface TileStoreCount {
  entries: number;
  bytes: number;
}

/** `value` is the tile or undefined for `read`, the number of tiles for `drop`, a `TileStoreCount` for `count`. */
export type TileStoreReply = { id: number; value: unknown } | { id: number; error: string };
