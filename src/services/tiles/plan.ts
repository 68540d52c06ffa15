/** Parameters of tile requests. */

import { hasPoints } from '../../core/catalog/abilities.js';
import type { CatalogSnapshot, Collection } from '../../core/catalog/collection.js';
import { ApiError, badParameter } from '../../core/errors/errors.js';
import { type Format, isVectorFormat } from '../../core/http/media.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { AskedLook } from '../../core/rasters/look-params.js';
import type { RasterLook } from '../../core/rasters/raster-look.js';
import type { TileSize } from '../../core/rasters/rasters.js';
import {
  findMatrixLevel,
  firstColumn,
  matrixSize,
  type TileMatrixSet,
  tileBox,
} from '../../core/tiles/tile-matrix.js';
import { groundSize, pixelsAtScale } from '../maps/ground.js';
import { newestBatch } from '../rasters/choose.js';
import { rasterLook } from '../rasters/looks.js';
import type { TileSlot } from './cache/tile-cache.js';
import { isMade } from './formats.js';
import { isOutside } from './limits.js';
import { isDrawn } from './make.js';
import { isInvented, shownAt, type TileAddress, type TileRequest, tileKey } from './request.js';
import { type SelectionChoice, tileSelection } from './selection.js';

/** Checks a tile's coordinates: 400 for a matrix or tile that the set does not have. */
export function tileAddress(
  set: TileMatrixSet,
  tileMatrix: string,
  row: number,
  column: number,
): TileAddress {
  const zoom = findMatrixLevel(set, tileMatrix);
  if (zoom === undefined)
    throw badParameter('tileMatrix', `'${tileMatrix.slice(0, 40)}' is not a tile matrix of ${set.id}`);
  const { columns, rows } = matrixSize(set, zoom);
  if (row >= rows)
    throw badParameter(
      'tileRow',
      `must be an integer from 0 to ${rows - 1} for the tile matrix ${tileMatrix}`,
    );
  if (column >= columns)
    throw badParameter(
      'tileCol',
      `must be an integer from 0 to ${columns - 1} for the tile matrix ${tileMatrix}`,
    );
  return { set, zoom, row, column: firstColumn(set.matrices[zoom]!, row, column) };
}

/** Resolved tile request, computed once per target and catalog. */
export interface TilePlan extends TileRequest {
  readonly catalog: CatalogSnapshot;
  /** The slot in which the tile was last found. */
  slot: TileSlot | undefined;
  readonly key: string;
  /** By its client, so that it is not kept. */
  readonly invented: boolean;
  /** Whether the tile is outside the limits in the tileset metadata. */
  readonly outside: boolean;
}

/** A request whose target caches its plan, and its format. */
interface PlannedRequest {
  readonly memo: { value?: TilePlan };
  readonly format: Format;
}

/**
 * The plan of a request. `make` reads and checks the parameters if they or the catalog are new.
 * `negotiated`: the format depends on the target and on the Accept header. `limited`: the limits of tilesets apply.
 */
export function planTile(
  x: PlannedRequest,
  catalog: CatalogSnapshot,
  make: () => TileRequest,
  { negotiated, limited }: { negotiated: boolean; limited: boolean } = { negotiated: true, limited: true },
): TilePlan {
  const before = x.memo.value;
  if (before && before.catalog === catalog && (!negotiated || before.format === x.format)) return before;
  const request = make();
  const { at, format, scale, aggregate, selection, batch } = request;
  const collections = shownAt(at, request.collections);
  // One literal without spread: V8 gives each object made by spreading a separate hidden class, and then every read
  // misses.
  const key = tileKey({ format, collections, at, scale, aggregate, selection, batch });
  const plan: TilePlan = {
    catalog,
    format,
    slot: undefined,
    key,
    collections,
    at,
    scale,
    aggregate,
    selection,
    batch,
    invented: isInvented(request),
    outside: limited && isOutside(at, request.collections),
  };
  // A collection without the requested format responds in another format, which depends on more than the target.
  // Filters are not cached, because their trees are large.
  if ((!negotiated || plan.format === x.format) && !selection) x.memo.value = plan;
  return plan;
}

/** A tile request restricted by the parameters. Throws 400 for stored tiles, which cannot be restricted. */
export function narrowTile(
  collections: readonly Collection[],
  at: TileAddress,
  format: Format,
  params: SelectionChoice & Partial<AskedLook> & Partial<SizeChoice> & AggregateChoice,
): TileRequest {
  const [first] = collections;
  const { scale = 1, aggregate } = params;
  if (aggregate) requireCountable(collections, format, params);
  if (scale !== 1 && !isDrawn({ collections, format }))
    throw badParameter('scale', 'is only for images that the server draws');
  if (first && !isMade(first)) {
    for (const name of ['filter', 'properties'] as const)
      if (params[name])
        throw badParameter(name, 'is not supported for tile archives, which are served unchanged');
  }
  const look = findLook(collections, format, params);
  const selection = tileSelection(collections, params, {
    look,
    size: findSize({ collections, at, format }, params),
  });
  const { collections: newest, batch } = newestBatch(collections, params.datetime);
  return { collections: newest, at, format, scale, aggregate, selection, batch };
}

interface AggregateChoice {
  aggregate?: 'cells' | undefined;
}

/** Throws 400 unless the points of the collections can be counted in vector tiles. */
function requireCountable(
  collections: readonly Collection[],
  format: Format,
  { properties }: SelectionChoice,
): void {
  if (!isVectorFormat(format))
    throw badParameter('aggregate', `is only for vector tiles, not for ${format.name}. Use mvt or mlt`);
  const other = collections.find((one) => !hasPoints(one));
  if (other) throw badParameter('aggregate', `is only for points, and '${other.id}' has other data`);
  if (properties) throw badParameter('properties', 'cannot be combined with aggregate');
}

/** Pixels of an image, as a client names them. */
interface SizeChoice {
  scale: number;
  width: number | undefined;
  height: number | undefined;
  scaleDenominator: number | undefined;
}

/**
 * Pixels of an image if the client requests a size (OGC 20-058, /req/tilesets/tiles-parameters). The image has the
 * bounding box of the tile. Throws 400 for formats other than rendered images.
 */
function findSize(
  { at, ...request }: Pick<TileRequest, 'collections' | 'at' | 'format'>,
  { width, height, scaleDenominator, scale = 1 }: Partial<SizeChoice>,
): TileSize | undefined {
  const size = { width, height, 'scale-denominator': scaleDenominator };
  const names = Object.entries(size).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  if (names.length === 0) return undefined;
  if (!isDrawn(request)) throw badParameter(names[0]!, 'is only for images that the server draws');
  if (scale !== 1) throw badParameter('scale', `cannot be combined with ${names[0]}`);
  const { tileWidth, tileHeight } = at.set.matrices[at.zoom]!;
  if (scaleDenominator === undefined) return { width: width ?? tileWidth, height: height ?? tileHeight };
  if (names.length > 1) throw badParameter(names[0]!, 'cannot be combined with scale-denominator');
  const box = tileBox(at.set, at.zoom, at.row, at.column);
  const sides = groundSize(box, at.set.crs.proj).map((metres) => pixelsAtScale(metres, scaleDenominator));
  if (Math.max(...sides) > LIMITS.mapSide)
    throw badParameter('scale-denominator', `must not make the image larger than ${LIMITS.mapSide} pixels`);
  return { width: sides[0]!, height: sides[1]! };
}

/** Only images have a look. */
function findLook(
  collections: readonly Collection[],
  format: Format,
  params: Partial<AskedLook>,
): RasterLook | undefined {
  const look = rasterLook(collections, params);
  if (look && isVectorFormat(format))
    throw new ApiError('invalid-request', 'Vector tiles do not show rasters. Request png or webp.');
  return look;
}
