import { hasCoverage, isDrawable } from '../../core/catalog/abilities.js';
import { type Collection, hasTilesAt } from '../../core/catalog/collection.js';
import { isByRange } from '../../core/catalog/raster-sources.js';
import type { Expression } from '../../core/cql2/index.js';
import { type Format, isVectorFormat } from '../../core/http/media.js';
import type { AcquisitionTime, AxisRange } from '../../core/http/params.js';
import { version } from '../../core/kit/version.js';
import type { RasterLook } from '../../core/rasters/raster-look.js';
import type { TileSize } from '../../core/rasters/rasters.js';
import type { TileMatrixSet } from '../../core/tiles/tile-matrix.js';
import { styleTag } from '../styles/tag.js';

/** A place in a tile matrix set; row 0 is at the matrix's corner of origin. */
export interface TileAddress {
  readonly set: TileMatrixSet;
  /** Place of the matrix in the set, from the smallest scale; in WebMercatorQuad the zoom level. */
  readonly zoom: number;
  readonly row: number;
  readonly column: number;
}

/**
 * Restriction of tiles to some features or attributes. Such tiles are rendered for each request: clients can invent
 * any number of filters, and a shared rendering could show the state before an edit.
 */
export interface TileSelection {
  /** Names the selection in keys. */
  readonly key: string;
  /** Checked filters by the id of their collection. */
  readonly filters: ReadonlyMap<string, Expression>;
  /** Names of attributes of any of the collections; all when undefined. */
  readonly properties: readonly string[] | undefined;
  /** Rendering of the raster among the collections. Default: its own rendering. */
  readonly look: RasterLook | undefined;
  /** Part of the vertical axis of rasters; their first level when undefined. */
  readonly heights: AxisRange | undefined;
  /** Pixels of an image. Default: the size in the tile matrix. */
  readonly size: TileSize | undefined;
}

/** A requested tile. It contains everything that changes the bytes, and so does its key. */
export interface TileRequest {
  readonly format: Format;
  /** Bottom first. An archive is only ever the single collection of a tile. */
  readonly collections: readonly Collection[];
  readonly at: TileAddress;
  /** Pixels of an image per pixel of the tile matrix: 1 or 2. Default: 1. */
  readonly scale?: number | undefined;
  /** The number of points in each cell in place of the features. Vector tiles of points only. */
  readonly aggregate?: 'cells' | undefined;
  /** Restriction of the content. Default: everything is shown. */
  readonly selection?: TileSelection | undefined;
  /** The acquisition time of rasters. Default: all of a mosaic, the newest time of a series. */
  readonly batch?: AcquisitionTime | undefined;
}

/** The collections that are in tiles of this scale. */
export function shownAt(
  { set, zoom }: TileAddress,
  collections: readonly Collection[],
): readonly Collection[] {
  const { level } = set.matrices[zoom]!;
  return collections.filter((collection) => hasTilesAt(collection, level));
}

/**
 * Whether clients can invent the content of a tile. In the cache, such tiles would replace tiles that are requested
 * again.
 */
export function isInvented({ collections, selection, batch }: TileRequest): boolean {
  if (selection) return true;
  return batch !== undefined && collections.some((one) => hasCoverage(one) && isByRange(one.raster.source));
}

/** Names the content of a tile in this process. */
export function tileKey(request: TileRequest): string {
  return `${addressKey(request)}${contentKey(request, ({ version }) => version)}`;
}

/** Key of the common properties of tiles that differ only in zoom, row and column. */
export function pyramidKey(request: TileRequest): string {
  const content = contentKey(request, ({ version }) => version);
  return `${formatKey(request)}/${request.at.set.key}${content}`;
}

/** Key of the content of a tile, the same in all processes and releases. */
export function sharedKey(request: TileRequest): string {
  const content = contentKey(request, ({ origin }) => origin);
  return `${addressKey(request)}${content}/${version()}`;
}

/** `png`, `png@2x`, `mvt` or `mvt+cells`. */
function formatKey({ format, scale = 1, aggregate }: TileRequest): string {
  const name = aggregate ? `${format.name}+${aggregate}` : format.name;
  return scale === 1 ? name : `${name}@${scale}x`;
}

function addressKey(request: TileRequest): string {
  const { set, zoom, row, column } = request.at;
  return `${formatKey(request)}/${set.key}/${zoom}/${row}/${column}`;
}

function contentKey(
  { collections, selection, batch, format }: TileRequest,
  versionOf: (collection: Collection) => string,
): string {
  let key = '';
  for (const collection of collections) {
    key += `/${collection.id}@${versionOf(collection)}`;
    if (!isVectorFormat(format) && isDrawable(collection) && collection.style.version > 0)
      key += `~${styleTag(collection.style)}`;
  }
  if (batch) key += `/${timeKey(batch)}${batch.range ? `~${timeKey(batch.range)}` : ''}`;
  return selection ? `${key}/${selection.key}` : key;
}

const timeKey = ({ start, end }: AcquisitionTime) => (start === end ? `${start}` : `${start}..${end}`);
