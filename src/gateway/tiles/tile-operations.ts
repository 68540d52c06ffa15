import { hasFeatures } from '../../core/catalog/abilities.js';
import type { CatalogSnapshot, Collection } from '../../core/catalog/collection.js';
import { findNumbered } from '../../core/catalog/find.js';
import { ApiError, badParameter } from '../../core/errors/errors.js';
import type { Crs } from '../../core/geometry/crs.js';
import { type Format, isVectorFormat } from '../../core/http/media.js';
import { defineOperation, memoOf, type Operation } from '../../core/http/operation.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { AskedLook } from '../../core/rasters/look-params.js';
import type { RasterLook } from '../../core/rasters/raster-look.js';
import type { TileSize } from '../../core/rasters/rasters.js';
import { tileBox } from '../../core/tiles/tile-matrix.js';
import { groundSize, pixelsAtScale } from '../../services/maps/ground.js';
import { newestBatch } from '../../services/rasters/choose.js';
import { rasterLook } from '../../services/rasters/looks.js';
import { formatOf, isMade, MADE_FORMATS, TILE_FORMATS } from '../../services/tiles/formats.js';
import { isDrawn } from '../../services/tiles/make.js';
import type { TileAddress, TileRequest } from '../../services/tiles/request.js';
import { selectCollections } from '../surface/common.js';
import { requireSet, TILES_PATH } from '../surface/tilesets.js';
import {
  COMMON,
  collectionId,
  collections,
  requireTileset,
  type TilesDeps,
  tileCol,
  tileMatrix,
  tileMatrixSetId,
  tileQuery,
  tileResponses,
  tileRow,
} from './params.js';
import { type AskedSelection, tileSelection } from './selection.js';
import { planTile, replyWithTile, type TilePlan, tileAddress } from './tile.js';

/** Tiles of collections and of the dataset (OGC 20-057, clause 7). */
export function tileOperations(deps: TilesDeps): Operation[] {
  return [
    defineOperation({
      ...COMMON,
      id: 'tiles.collection.vector.getTile',
      path: `${TILES_PATH}/collections/{collectionId}/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}`,
      summary: 'A tile of a collection',
      tag: 'Tiles',
      params: { collectionId, tileMatrixSetId, tileMatrix, tileRow, tileCol, ...tileQuery },
      formats: TILE_FORMATS,
      responses: tileResponses(TILE_FORMATS),
      memo: memoOf<TilePlan>(),
      run(x) {
        const catalog = deps.visible(x.principal);
        const plan = planTile(x, catalog, () => {
          const collection = findNumbered(catalog, x.params.collectionId);
          const at = readAddress(catalog, x.params);
          requireTileset(catalog, collection, at.set);
          return requestOf([collection], at, formatOf(x, collection), x.params);
        });
        return replyWithTile(x, deps, plan);
      },
    }),
    defineOperation({
      ...COMMON,
      id: 'tiles.dataset.vector.getTile',
      path: `${TILES_PATH}/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}`,
      summary: 'A tile of several collections',
      tag: 'Tiles',
      params: { tileMatrixSetId, tileMatrix, tileRow, tileCol, collections, ...tileQuery },
      formats: MADE_FORMATS,
      responses: tileResponses(MADE_FORMATS),
      memo: memoOf<TilePlan>(),
      run(x) {
        const catalog = deps.visible(x.principal);
        const plan = planTile(x, catalog, () => {
          const fits = isVectorFormat(x.format) ? hasFeatures : isMade;
          const selection = selectCollections(x, catalog, x.params.collections, fits);
          if (selection.length === 0)
            throw new ApiError('not-acceptable', 'No collection has tiles of this format.');
          return requestOf(selection, readAddress(catalog, x.params), x.format, x.params);
        });
        return replyWithTile(x, deps, plan);
      },
    }),
  ];
}

interface TileParams {
  tileMatrixSetId: string;
  tileMatrix: string;
  tileRow: number;
  tileCol: number;
  crs: Crs | undefined;
}

/** A tile has the CRS of its set. */
function readAddress(catalog: CatalogSnapshot, params: TileParams): TileAddress {
  const set = requireSet(catalog, params.tileMatrixSetId);
  const at = tileAddress(set, params.tileMatrix, params.tileRow, params.tileCol);
  if (params.crs && params.crs.uri !== at.set.crs.uri) {
    throw badParameter('crs', `tiles of ${at.set.id} are in ${at.set.crs.uri}`);
  }
  return at;
}

/** A request for a tile, narrowed by the parameters. Stored tiles cannot show less than they hold: 400. */
export function requestOf(
  collections: readonly Collection[],
  at: TileAddress,
  format: Format,
  params: AskedSelection & Partial<AskedLook> & Partial<AskedSize>,
): TileRequest {
  const [first] = collections;
  const { scale = 1 } = params;
  if (scale !== 1 && !isDrawn({ collections, format }))
    throw badParameter('scale', 'is for images that are drawn on request');
  if (first && !isMade(first)) {
    for (const name of ['filter', 'properties'] as const)
      if (params[name]) throw badParameter(name, 'tiles of an archive are served as they are stored');
  }
  const look = lookOf(collections, format, params);
  const selection = tileSelection(collections, params, {
    look,
    size: sizeOf({ collections, at, format }, params),
  });
  const { collections: newest, batch } = newestBatch(collections, params.datetime);
  return { collections: newest, at, format, scale, selection, batch };
}

interface AskedSize {
  scale: number;
  width: number | undefined;
  height: number | undefined;
  scaleDenominator: number | undefined;
}

/**
 * Pixels of an image where the client says so (OGC 20-058, /req/tilesets/tiles-parameters); its box is that of the tile.
 * Throws 400 for what is no image made on request.
 */
function sizeOf(
  { at, ...request }: Pick<TileRequest, 'collections' | 'at' | 'format'>,
  { width, height, scaleDenominator, scale = 1 }: Partial<AskedSize>,
): TileSize | undefined {
  const size = { width, height, 'scale-denominator': scaleDenominator };
  const names = Object.entries(size).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  if (names.length === 0) return undefined;
  if (!isDrawn(request)) throw badParameter(names[0]!, 'is for images that are drawn on request');
  if (scale !== 1) throw badParameter('scale', `does not go with ${names[0]}`);
  const { tileWidth, tileHeight } = at.set.matrices[at.zoom]!;
  if (scaleDenominator === undefined) return { width: width ?? tileWidth, height: height ?? tileHeight };
  if (names.length > 1) throw badParameter(names[0]!, 'does not go with scale-denominator');
  const box = tileBox(at.set, at.zoom, at.row, at.column);
  const sides = groundSize(box, at.set.crs.proj).map((metres) => pixelsAtScale(metres, scaleDenominator));
  if (Math.max(...sides) > LIMITS.mapSide)
    throw badParameter('scale-denominator', `makes the image larger than ${LIMITS.mapSide} pixels`);
  return { width: sides[0]!, height: sides[1]! };
}

/** Only images have a look. */
function lookOf(
  collections: readonly Collection[],
  format: Format,
  params: Partial<AskedLook>,
): RasterLook | undefined {
  const look = rasterLook(collections, params);
  if (look && isVectorFormat(format))
    throw new ApiError('invalid-request', 'Vector tiles do not show rasters.');
  return look;
}
