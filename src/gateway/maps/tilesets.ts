import Type from 'typebox';
import type { CatalogSnapshot, Collection } from '../../core/catalog/collection.js';
import { findNumbered } from '../../core/catalog/find.js';
import { withoutSurface } from '../../core/catalog/other-surfaces.js';
import { defineOperation, type Operation } from '../../core/http/operation.js';
import { defineListParam, pathString } from '../../core/http/params.js';
import { LIMITS } from '../../core/kit/limits.js';
import { isMade } from '../../services/tiles/formats.js';
import { findMatrixSet } from '../../services/tiles/limits.js';
import * as pages from '../pages/index.js';
import { documentReply, META_FORMATS, type SurfaceDeps, selectCollections } from '../surface/common.js';
import { tilesetDocument, tilesetsDocument } from '../surface/tilesets.js';
import { MAP_OPERATION, MAPS_PATH, mapCollectionParam } from './params.js';

const OF_MAPS = {
  ...MAP_OPERATION,
  tag: 'Map tilesets',
  formats: META_FORMATS,
  responses: {
    200: { description: 'Document', content: { 'application/json': Type.Object({}) } },
    400: { description: 'A parameter is invalid' },
    404: { description: 'The collection does not exist or has no map tiles' },
  },
} as const;

const tileMatrixSetId = pathString('tileMatrixSetId', 'Identifier of a tile matrix set.');
const collections = defineListParam(
  'collections',
  LIMITS.collectionsPerRequest,
  'Identifiers. Default: all.',
);

/** Descriptions of map tiles (OGC 20-057, clauses 9 and 10); the tiles themselves are those of /ogc/tiles. */
export function mapTilesetOperations({ visible }: SurfaceDeps): Operation[] {
  return [
    defineOperation({
      ...OF_MAPS,
      id: 'maps.dataset.map.getTileSetsList',
      path: `${MAPS_PATH}/map/tiles`,
      summary: 'Map tilesets of the dataset',
      run(x) {
        const { collections, matrixSets } = visible(x.principal).onEarth;
        const all = collections.filter(isMade);
        const document = tilesetsDocument(x, matrixSets, {
          as: 'map',
          collections: all,
          collection: undefined,
        });
        return documentReply(x, document, () => pages.buildDocumentPage(x, 'Map tilesets', document));
      },
    }),
    defineOperation({
      ...OF_MAPS,
      id: 'maps.dataset.map.getTileSet',
      path: `${MAPS_PATH}/map/tiles/{tileMatrixSetId}`,
      summary: 'A map tileset of the dataset',
      params: { tileMatrixSetId, collections },
      run(x) {
        const named = x.params.collections;
        const catalog = visible(x.principal).onEarth;
        const collections = selectCollections(x, catalog, named, isMade);
        const subject = {
          as: 'map',
          collections: collections,
          collection: undefined,
          chosen: !!named,
        } as const;
        const document = tilesetDocument(x, findMatrixSet(catalog, x.params.tileMatrixSetId), subject);
        return documentReply(x, document, () => pages.buildDocumentPage(x, document.title, document));
      },
    }),
    defineOperation({
      ...OF_MAPS,
      id: 'maps.collection.map.getTileSetsList',
      path: `${MAPS_PATH}/collections/{collectionId}/map/tiles`,
      summary: 'Map tilesets of a collection',
      params: { collectionId: mapCollectionParam },
      run(x) {
        const catalog = visible(x.principal).onEarth;
        const collection = drawable(catalog, x.params.collectionId);
        const document = tilesetsDocument(x, catalog.matrixSets, {
          as: 'map',
          collections: [collection],
          collection,
        });
        return documentReply(x, document, () => pages.buildDocumentPage(x, 'Map tilesets', document));
      },
    }),
    defineOperation({
      ...OF_MAPS,
      id: 'maps.collection.map.getTileSet',
      path: `${MAPS_PATH}/collections/{collectionId}/map/tiles/{tileMatrixSetId}`,
      summary: 'A map tileset of a collection',
      params: { collectionId: mapCollectionParam, tileMatrixSetId },
      run(x) {
        const catalog = visible(x.principal).onEarth;
        const collection = drawable(catalog, x.params.collectionId);
        const subject = { as: 'map', collections: [collection], collection } as const;
        const document = tilesetDocument(x, findMatrixSet(catalog, x.params.tileMatrixSetId), subject);
        return documentReply(x, document, () => pages.buildDocumentPage(x, document.title, document));
      },
    }),
  ];
}

function drawable(catalog: CatalogSnapshot, key: number | string): Collection {
  const collection = findNumbered(catalog, key);
  if (!isMade(collection)) throw withoutSurface('map of', collection);
  return collection;
}
