import type { Collection } from '../../../core/collection.js';
import type { Expression } from '../../../core/cql2/index.js';
import type { Format } from '../../../core/media.js';
import type { TileMatrixSet } from '../../../core/tile-matrix.js';

/** A place in a tile matrix set; row 0 is at the matrix's corner of origin. */
export interface TileAddress {
  readonly set: TileMatrixSet;
  /** Place of the matrix in the set, from the smallest scale; in WebMercatorQuad the zoom level. */
  readonly zoom: number;
  readonly row: number;
  readonly column: number;
}

/** What tiles show less of than they could: only some features, only some attributes. */
export interface TileSelection {
  /** Names the selection in keys. */
  readonly key: string;
  /** Checked filters by the id of their collection. */
  readonly filters: ReadonlyMap<string, Expression>;
  /** Names of attributes of any of the collections; all when undefined. */
  readonly properties: readonly string[] | undefined;
}

/** A tile that somebody wants: whatever changes its bytes is here, and so in its key. */
export interface TileRequest {
  readonly format: Format;
  /** Bottom first. An archive is only ever the single collection of a tile. */
  readonly collections: readonly Collection[];
  readonly at: TileAddress;
  /** All is shown when absent. */
  readonly selection?: TileSelection | undefined;
}

/** Names the content of a tile. */
export function tileKey(request: TileRequest): string {
  const { format, at } = request;
  return `${format.name}/${at.set.key}/${at.zoom}/${at.row}/${at.column}${contentKey(request)}`;
}

/** Names what tiles that differ only in zoom, row and column have in common. */
export function pyramidKey(request: TileRequest): string {
  return `${request.format.name}/${request.at.set.key}${contentKey(request)}`;
}

function contentKey({ collections, selection }: TileRequest): string {
  let key = '';
  for (const c of collections) key += `/${c.layerId}@${c.version}`;
  return selection ? `${key}/${selection.key}` : key;
}
