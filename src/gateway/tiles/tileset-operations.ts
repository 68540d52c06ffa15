import { findNumbered } from '../../core/catalog/find.js';
import { ApiError } from '../../core/errors/errors.js';
import { type Format, TILEJSON_FORMAT } from '../../core/http/media.js';
import { defineOperation, type Exchange, type Operation, type Reply } from '../../core/http/operation.js';
import type { TileMatrixSet } from '../../core/tiles/tile-matrix.js';
import { isMade } from '../../services/tiles/formats.js';
import { findMatrixSet, requireTileset } from '../../services/tiles/limits.js';
import * as pages from '../pages/index.js';
import { documentReply, META_FORMATS, selectCollections } from '../surface/common.js';
import type { TilesDeps } from '../surface/tile-reply.js';
import {
  TILES_PATH,
  type TilesetSubject,
  tilesetDocument,
  tilesetFormats,
  tilesetsDocument,
} from '../surface/tilesets.js';
import { collections, METADATA, TILE_OPERATION, tileCollectionParam, tileMatrixSetId } from './params.js';
import { tileJson } from './tilejson.js';

const TILESET_FORMATS: readonly Format[] = [...META_FORMATS, TILEJSON_FORMAT];

/** Tilesets of the dataset and of collections (OGC 20-057, clauses 8 to 10). */
export function tilesetOperations({ visible }: TilesDeps): Operation[] {
  return [
    defineOperation({
      ...TILE_OPERATION,
      id: 'tiles.dataset.vector.getTileSetsList',
      path: `${TILES_PATH}/tiles`,
      summary: 'Tilesets of the dataset',
      tag: 'Tilesets',
      formats: META_FORMATS,
      responses: METADATA,
      run(x) {
        const { collections, matrixSets } = visible(x.principal);
        const document = tilesetsDocument(x, matrixSets, {
          collections: collections.filter(isMade),
          as: 'data',
          collection: undefined,
        });
        return documentReply(x, document, () => pages.buildDocumentPage(x, 'Tilesets', document));
      },
    }),
    defineOperation({
      ...TILE_OPERATION,
      id: 'tiles.dataset.vector.getTileSet',
      path: `${TILES_PATH}/tiles/{tileMatrixSetId}`,
      summary: 'A tileset of the dataset',
      tag: 'Tilesets',
      params: { tileMatrixSetId, collections },
      formats: TILESET_FORMATS,
      responses: METADATA,
      run(x) {
        const catalog = visible(x.principal);
        const set = findMatrixSet(catalog, x.params.tileMatrixSetId);
        const named = x.params.collections;
        const collections = selectCollections(x, catalog, named, isMade);
        return tilesetReply(x, set, {
          as: 'data',
          collections,
          collection: undefined,
          chosen: named !== undefined,
        });
      },
    }),
    defineOperation({
      ...TILE_OPERATION,
      id: 'tiles.collection.vector.getTileSetsList',
      path: `${TILES_PATH}/collections/{collectionId}/tiles`,
      summary: 'Tilesets of a collection',
      tag: 'Tilesets',
      params: { collectionId: tileCollectionParam },
      formats: META_FORMATS,
      responses: METADATA,
      run(x) {
        const catalog = visible(x.principal);
        const collection = findNumbered(catalog, x.params.collectionId);
        const document = tilesetsDocument(x, catalog.matrixSets, {
          as: 'data',
          collections: [collection],
          collection,
        });
        return documentReply(x, document, () =>
          pages.buildDocumentPage(x, `Tilesets of ${collection.title}`, document),
        );
      },
    }),
    defineOperation({
      ...TILE_OPERATION,
      id: 'tiles.collection.vector.getTileSet',
      path: `${TILES_PATH}/collections/{collectionId}/tiles/{tileMatrixSetId}`,
      summary: 'A tileset of a collection',
      tag: 'Tilesets',
      params: { collectionId: tileCollectionParam, tileMatrixSetId },
      formats: TILESET_FORMATS,
      responses: METADATA,
      run(x) {
        const catalog = visible(x.principal);
        const collection = findNumbered(catalog, x.params.collectionId);
        const set = findMatrixSet(catalog, x.params.tileMatrixSetId);
        requireTileset(catalog, collection, set);
        return tilesetReply(x, set, { as: 'data', collections: [collection], collection });
      },
    }),
  ];
}

function tilesetReply(x: Exchange, set: TileMatrixSet, subject: TilesetSubject): Reply {
  if (!tilesetFormats(subject, set).includes(x.format))
    throw new ApiError('not-acceptable', 'f: TileJSON is only available for WebMercatorQuad. Use f=json.');
  if (x.format === TILEJSON_FORMAT) return documentReply(x, tileJson(x, subject), () => '');
  const document = tilesetDocument(x, set, subject);
  return documentReply(x, document, () => pages.buildDocumentPage(x, document.title, document));
}
