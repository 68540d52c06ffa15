import { findNumbered } from '../../core/catalog/find.js';
import { defineOperation, type Operation } from '../../core/http/operation.js';
import { pageLookParams } from '../../core/rasters/look-params.js';
import { matrixSetDocument } from '../../core/tiles/tile-matrix/document.js';
import { pageLook } from '../../services/rasters/looks.js';
import { findMatrixSet } from '../../services/tiles/limits.js';
import { openApiDocument } from '../http/openapi.js';
import * as pages from '../pages/index.js';
import { datasetLinks, documentReply, META_FORMATS, surfaceBasics } from '../surface/common.js';
import { collectionsReply, finderParams } from '../surface/finder.js';
import { MemberTexts } from '../surface/member-texts.js';
import type { TilesDeps } from '../surface/tile-reply.js';
import { TILES_PATH } from '../surface/tilesets.js';
import { TILES_CONFORMANCE } from './conformance.js';
import { tiledCollectionDocument, tiledListLinks, tileMatrixSetsDocument } from './documents.js';
import { DOCUMENT, METADATA, TILE_OPERATION, tileCollectionParam, tileMatrixSetId } from './params.js';
import { createTileOperations } from './tile-operations.js';
import { tilesetOperations } from './tileset-operations.js';
import { xyzOperations } from './xyz-operations.js';

/** Vector and map tiles: OGC API Tiles part 1. */
export function tilesOperations(deps: TilesDeps): Operation[] {
  const operations: Operation[] = [];
  operations.push(
    ...surfaceBasics({
      ...TILE_OPERATION,
      path: TILES_PATH,
      landingPath: `${TILES_PATH}/`,
      title: 'Tiles',
      description:
        'Vector tiles (MVT) and image tiles (PNG, WebP) of every collection, and tiles of archives.',
      conformance: TILES_CONFORMANCE,
      apiPaths: [`${TILES_PATH}/openapi.json`],
      formats: META_FORMATS,
      links: (x) => [
        {
          href: `${x.baseUrl}${TILES_PATH}/collections`,
          rel: 'data',
          type: 'application/json',
          title: 'Collections',
        },
        ...datasetLinks(x),
        {
          href: `${x.baseUrl}${TILES_PATH}/tileMatrixSets`,
          rel: 'http://www.opengis.net/def/rel/ogc/1.0/tiling-schemes',
          type: 'application/json',
          title: 'Tile matrix sets',
        },
      ],
      landingPage: pages.buildLandingPage,
      conformancePage: pages.buildConformancePage,
      api: (x) =>
        openApiDocument(
          { title: 'Graticule Tiles', description: 'OGC API Tiles', serverUrl: x.baseUrl },
          operations,
        ),
    }),
    ...collectionOperations(deps),
    ...tilesetOperations(deps),
    ...createTileOperations(deps),
    ...matrixSetOperations(deps),
    ...xyzOperations(deps),
  );
  return operations;
}

function collectionOperations({ visible, places }: TilesDeps): Operation[] {
  const texts = new MemberTexts();
  return [
    defineOperation({
      ...TILE_OPERATION,
      id: 'tiles.getCollections',
      path: `${TILES_PATH}/collections`,
      summary: 'Collections that have tiles',
      params: finderParams,
      tag: 'Collections',
      formats: META_FORMATS,
      responses: DOCUMENT,
      run(x) {
        return collectionsReply(x, places, visible(x.principal).collections, {
          texts,
          links: tiledListLinks(x),
          describe: (collection) => tiledCollectionDocument(x, collection),
        });
      },
    }),
    defineOperation({
      ...TILE_OPERATION,
      id: 'tiles.getCollection',
      path: `${TILES_PATH}/collections/{collectionId}`,
      summary: 'One collection',
      tag: 'Collections',
      params: { collectionId: tileCollectionParam, ...pageLookParams },
      formats: META_FORMATS,
      responses: METADATA,
      run(x) {
        const collection = findNumbered(visible(x.principal), x.params.collectionId);
        const document = tiledCollectionDocument(x, collection);
        const look = pageLook(collection, x.params);
        return documentReply(x, document, () => pages.buildCollectionPage(x, document, collection, { look }));
      },
    }),
  ];
}

function matrixSetOperations({ catalog }: TilesDeps): Operation[] {
  return [
    defineOperation({
      ...TILE_OPERATION,
      id: 'tiles.getTileMatrixSets',
      path: `${TILES_PATH}/tileMatrixSets`,
      summary: 'Tile matrix sets',
      tag: 'Tile matrix sets',
      formats: META_FORMATS,
      responses: METADATA,
      run(x) {
        const document = tileMatrixSetsDocument(x, catalog().matrixSets);
        return documentReply(x, document, () => pages.buildDocumentPage(x, 'Tile matrix sets', document));
      },
    }),
    defineOperation({
      ...TILE_OPERATION,
      id: 'tiles.getTileMatrixSet',
      path: `${TILES_PATH}/tileMatrixSets/{tileMatrixSetId}`,
      summary: 'A tile matrix set',
      tag: 'Tile matrix sets',
      params: { tileMatrixSetId },
      formats: META_FORMATS,
      responses: METADATA,
      run(x) {
        const document = matrixSetDocument(findMatrixSet(catalog(), x.params.tileMatrixSetId));
        return documentReply(x, document, () => pages.buildDocumentPage(x, document.title, document));
      },
    }),
  ];
}
