import type { Collection } from '../../../core/collection.js';
import type { Format } from '../../../core/media.js';
import type { TileMatrixSet } from '../../../core/tile-matrix.js';
import { version } from '../../../core/version.js';
import { contentTag } from '../../http/content-tag.js';

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

/** Names the content of a tile in this process. */
export function tileKey(request: TileRequest): string {
  return `${addressKey(request)}${contentKey(request, ({ id, version }) => `${id}@${version}`)}`;
}

/** Names what tiles that differ only in zoom, row and column have in common. */
export function pyramidKey(request: TileRequest): string {
  const content = contentKey(request, ({ id, version }) => `${id}@${version}`);
  return `${request.format.name}/${request.at.set.id}${content}`;
}

/** Names the content of a tile wherever it is made, by whatever release. */
export function sharedKey(request: TileRequest): string {
  const content = contentKey(request, ({ id, origin }) => `${id}@${origin}`);
  return `${addressKey(request)}${content}/${definitionOf(request.at.set)}-${version()}`;
}

function addressKey({ format, at: { set, zoom, row, column } }: TileRequest): string {
  return `${format.name}/${set.id}/${zoom}/${row}/${column}`;
}

function contentKey({ collections }: TileRequest, nameOf: (collection: Collection) => string): string {
  let key = '';
  for (const collection of collections) key += `/${nameOf(collection)}`;
  return key;
}

const definitions = new WeakMap<TileMatrixSet, string>();

/** Configuration may give another definition to the same name. */
function definitionOf(set: TileMatrixSet): string {
  let tag = definitions.get(set);
  if (!tag) definitions.set(set, (tag = contentTag(JSON.stringify(set)).slice(0, 8)));
  return tag;
}
