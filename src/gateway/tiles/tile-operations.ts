import { hasFeatures } from '../../core/catalog/abilities.js';
import type { CatalogSnapshot, Collection } from '../../core/catalog/collection.js';
import { findNumbered } from '../../core/catalog/find.js';
import { ApiError, badParameter } from '../../core/errors/errors.js';
import { listNames } from '../../core/errors/near-names.js';
import type { Crs } from '../../core/geometry/crs.js';
import { type Format, formatNames, isVectorFormat, negotiate } from '../../core/http/media.js';
import { declareMemo, defineOperation, type Exchange, type Operation } from '../../core/http/operation.js';
import { isMade, MADE_FORMATS, TILE_FORMATS, tileFormats } from '../../services/tiles/formats.js';
import { findMatrixSet, requireTileset } from '../../services/tiles/limits.js';
import { narrowTile, planTile, type TilePlan, tileAddress } from '../../services/tiles/plan.js';
import type { TileAddress } from '../../services/tiles/request.js';
import { selectCollections } from '../surface/common.js';
import { replyWithTile, type TilesDeps } from '../surface/tile-reply.js';
import { TILES_PATH } from '../surface/tilesets.js';
import {
  collections,
  TILE_OPERATION,
  tileCol,
  tileCollectionParam,
  tileMatrix,
  tileMatrixSetId,
  tileQuery,
  tileResponses,
  tileRow,
} from './params.js';

/** Tiles of collections and of the dataset (OGC 20-057, clause 7). */
export function createTileOperations(deps: TilesDeps): Operation[] {
  return [
    defineOperation({
      ...TILE_OPERATION,
      id: 'tiles.collection.vector.getTile',
      path: `${TILES_PATH}/collections/{collectionId}/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}`,
      summary: 'A tile of a collection',
      tag: 'Tiles',
      params: {
        collectionId: tileCollectionParam,
        tileMatrixSetId,
        tileMatrix,
        tileRow,
        tileCol,
        ...tileQuery,
      },
      formats: TILE_FORMATS,
      responses: tileResponses(TILE_FORMATS),
      memo: declareMemo<TilePlan>(),
      run(x) {
        const catalog = deps.visible(x.principal);
        const plan = planTile(x, catalog, () => {
          const collection = findNumbered(catalog, x.params.collectionId);
          const at = readAddress(catalog, x.params);
          requireTileset(catalog, collection, at.set);
          return narrowTile([collection], at, negotiateFormat(x, collection), x.params);
        });
        return replyWithTile(x, deps, plan);
      },
    }),
    defineOperation({
      ...TILE_OPERATION,
      id: 'tiles.dataset.vector.getTile',
      path: `${TILES_PATH}/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}`,
      summary: 'A tile of several collections',
      tag: 'Tiles',
      params: { tileMatrixSetId, tileMatrix, tileRow, tileCol, collections, ...tileQuery },
      formats: MADE_FORMATS,
      responses: tileResponses(MADE_FORMATS),
      memo: declareMemo<TilePlan>(),
      run(x) {
        const catalog = deps.visible(x.principal);
        const plan = planTile(x, catalog, () => {
          const fits = isVectorFormat(x.format) ? hasFeatures : isMade;
          const selection = selectCollections(x, catalog, x.params.collections, fits);
          if (selection.length === 0)
            throw new ApiError(
              'not-acceptable',
              `No collection has tiles of the format ${x.format.name}. Use another one of f.`,
            );
          return narrowTile(selection, readAddress(catalog, x.params), x.format, x.params);
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
  const set = findMatrixSet(catalog, params.tileMatrixSetId);
  const at = tileAddress(set, params.tileMatrix, params.tileRow, params.tileCol);
  if (params.crs && params.crs.uri !== at.set.crs.uri) {
    throw badParameter('crs', `must be ${at.set.crs.uri}, the CRS of ${at.set.id}`);
  }
  return at;
}

/** The tile format of one collection, out of those it has. 406 for a format that only other collections have. */
function negotiateFormat(x: Exchange, collection: Collection): Format {
  const offered = tileFormats([collection]);
  if (!/(^|&)f=/.test(x.query)) return negotiate(undefined, x.header('accept'), offered);
  if (offered.includes(x.format)) return x.format;
  if (isMade(collection) && !MADE_FORMATS.includes(x.format)) {
    throw badParameter('f', `must be one of ${listNames(formatNames(MADE_FORMATS))}`);
  }
  const names = listNames(offered.map((format) => format.name));
  throw new ApiError(
    'not-acceptable',
    `f: '${x.format.name}' is not a format of the tiles of this collection. Use ${names}.`,
  );
}
