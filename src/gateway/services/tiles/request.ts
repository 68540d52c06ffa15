import type { Collection } from '../../../core/collection.js';
import type { Format } from '../../../core/media.js';
import type { TileMatrixSet } from '../../../core/tile-matrix.js';

/** A place in a tile matrix set; row 0 is at the top. */
export interface TileAddress {
  readonly set: TileMatrixSet;
  readonly zoom: number;
  readonly row: number;
  readonly column: number;
}

/** A tile that somebody wants: whatever changes its bytes is here, and so in its key. */
export interface TileRequest {
  readonly format: Format;
  /** Bottom first. An archive is only ever the single collection of a tile. */
  readonly collections: readonly Collection[];
  readonly at: TileAddress;
}

/** Names the content of a tile. */
export function tileKey({ format, collections, at }: TileRequest): string {
  let key = `${format.name}/${at.set.id}/${at.zoom}/${at.row}/${at.column}`;
  for (const c of collections) key += `/${c.layerId}@${c.version}`;
  return key;
}
