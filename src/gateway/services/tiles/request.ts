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
export function tileKey(request: TileRequest): string {
  const { format, at } = request;
  return `${format.name}/${at.set.id}/${at.zoom}/${at.row}/${at.column}${contentKey(request)}`;
}

/** Names what tiles that differ only in zoom, row and column have in common. */
export function pyramidKey(request: TileRequest): string {
  return `${request.format.name}/${request.at.set.id}${contentKey(request)}`;
}

function contentKey({ collections }: TileRequest): string {
  let key = '';
  for (const c of collections) key += `/${c.layerId}@${c.version}`;
  return key;
}
