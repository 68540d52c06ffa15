import Type from 'typebox';
import type { Collection } from '../../../core/collection.js';
import type { Crs } from '../../../core/crs.js';
import { badParameter, notFound } from '../../../core/errors.js';
import { LIMITS } from '../../../core/limits.js';
import { type Format, MVT_FORMAT } from '../../../core/media.js';
import { defineOperation, type Operation } from '../../../core/operation.js';
import { crsParam, datetimeParam, list, pathInteger, pathString, text } from '../../../core/params.js';
import { type TileMatrixSet, tileMatrixSet } from '../../../core/tile-matrix.js';
import type { TileCache } from '../../cache/tile-cache.js';
import { openApiDocument } from '../../http/openapi.js';
import * as pages from '../../pages/index.js';
import type { TileAddress } from '../../services/tiles/request.js';
import {
  documentReply,
  findByLayerId,
  META_FORMATS,
  type SurfaceDeps,
  selectCollections,
  surfaceBasics,
} from '../common.js';
import { TILES_CONFORMANCE } from './conformance.js';
import {
  TILES_PATH,
  tiledCollectionDocument,
  tiledCollectionsDocument,
  tileMatrixSetDocument,
  tileMatrixSetsDocument,
  tilesetDocument,
  tilesetsDocument,
} from './documents.js';
import { formatOf, isMade, MADE_FORMATS, matrixSetsOf, TILE_FORMATS } from './formats.js';
import { tile, tileAddress, tilePlan } from './tile.js';

export interface TilesDeps extends SurfaceDeps {
  tiles: TileCache;
}

const COMMON = { surface: 'tiles', protocol: 'OGC-Tiles', permission: 'public', method: 'GET' } as const;

const collectionId = pathInteger('collectionId', 'Numeric identifier of a collection.');
const tileMatrixSetId = pathString(
  'tileMatrixSetId',
  'Identifier of a tile matrix set, for example WebMercatorQuad.',
);
const tileMatrix = pathString('tileMatrix', 'Identifier of a matrix: the zoom level.');
const tileRow = pathInteger('tileRow', 'Row of the tile, 0 at the top.');
const tileCol = pathInteger('tileCol', 'Column of the tile, 0 at the left.');
const collections = list(
  'collections',
  LIMITS.collectionsPerRequest,
  'Identifiers of the collections to show; all when absent.',
);
const tileQuery = {
  datetime: datetimeParam,
  subset: text('subset', { description: 'Axis subset; the published collections have no further axes.' }),
  crs: crsParam('crs', 'CRS of the tile: only that of the tile matrix set.'),
  subsetCrs: crsParam('subset-crs', 'CRS of subset.'),
};

const DOCUMENT = { 200: { description: 'Document', content: { 'application/json': Type.Object({}) } } };
const METADATA = {
  ...DOCUMENT,
  400: { description: 'A parameter is wrong' },
  404: { description: 'Not found' },
  406: { description: 'Format not acceptable' },
};
const tileResponses = (formats: readonly Format[]) => ({
  200: {
    description: 'Tile',
    content: Object.fromEntries(formats.map(({ mediaType }) => [mediaType, null])),
  },
  204: { description: 'Nothing is in this tile' },
  400: { description: 'Tile matrix or coordinates outside the set' },
  404: { description: 'No such collection, or it has no tiles in this tile matrix set' },
  406: { description: 'Format not acceptable' },
});

/** Vector and map tiles: OGC API Tiles part 1. */
export function tilesOperations(deps: TilesDeps): Operation[] {
  const operations: Operation[] = [];
  operations.push(
    ...surfaceBasics({
      ...COMMON,
      path: TILES_PATH,
      landingPath: `${TILES_PATH}/`,
      title: 'Tiles',
      description:
        'Vector tiles (MVT) and image tiles (PNG) of every collection, and tile archives as they are.',
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
        {
          href: `${x.baseUrl}${TILES_PATH}/tiles`,
          rel: 'http://www.opengis.net/def/rel/ogc/1.0/tilesets-vector',
          type: 'application/json',
          title: 'Tilesets',
        },
        {
          href: `${x.baseUrl}${TILES_PATH}/tileMatrixSets`,
          rel: 'http://www.opengis.net/def/rel/ogc/1.0/tiling-schemes',
          type: 'application/json',
          title: 'Tile matrix sets',
        },
      ],
      landingPage: pages.landingPage,
      conformancePage: pages.conformancePage,
      api: (x) =>
        openApiDocument(
          { title: 'Graticule Tiles', description: 'OGC API Tiles', serverUrl: x.baseUrl },
          operations,
        ),
    }),
    ...collectionOperations(deps),
    ...tilesetOperations(deps),
    ...tileOperations(deps),
    ...matrixSetOperations(),
  );
  return operations;
}

function collectionOperations({ visible }: TilesDeps): Operation[] {
  return [
    defineOperation({
      ...COMMON,
      id: 'tiles.getCollections',
      path: `${TILES_PATH}/collections`,
      summary: 'Collections that have tiles',
      tag: 'Collections',
      formats: META_FORMATS,
      responses: DOCUMENT,
      run(x) {
        const document = tiledCollectionsDocument(x, visible(x.principal).collections);
        return documentReply(x, document, () => pages.collectionsPage(x, document));
      },
    }),
    defineOperation({
      ...COMMON,
      id: 'tiles.getCollection',
      path: `${TILES_PATH}/collections/{collectionId}`,
      summary: 'One collection',
      tag: 'Collections',
      params: { collectionId },
      formats: META_FORMATS,
      responses: METADATA,
      run(x) {
        const document = tiledCollectionDocument(
          x,
          findByLayerId(visible(x.principal), x.params.collectionId),
        );
        return documentReply(x, document, () => pages.documentPage(x, document.title, document));
      },
    }),
  ];
}

function tilesetOperations({ visible }: TilesDeps): Operation[] {
  return [
    defineOperation({
      ...COMMON,
      id: 'tiles.getDatasetTilesets',
      path: `${TILES_PATH}/tiles`,
      summary: 'Tilesets of the dataset',
      tag: 'Tilesets',
      formats: META_FORMATS,
      responses: METADATA,
      run(x) {
        const document = tilesetsDocument(x, {
          collections: visible(x.principal).collections.filter(isMade),
          collection: undefined,
        });
        return documentReply(x, document, () => pages.documentPage(x, 'Tilesets', document));
      },
    }),
    defineOperation({
      ...COMMON,
      id: 'tiles.getDatasetTileset',
      path: `${TILES_PATH}/tiles/{tileMatrixSetId}`,
      summary: 'A tileset of the dataset',
      tag: 'Tilesets',
      params: { tileMatrixSetId, collections },
      formats: META_FORMATS,
      responses: METADATA,
      run(x) {
        const set = requireSet(x.params.tileMatrixSetId);
        const chosen = selectCollections(visible(x.principal), x.params.collections, isMade);
        const document = tilesetDocument(x, set, { collections: chosen, collection: undefined }, x.query);
        return documentReply(x, document, () => pages.documentPage(x, document.title, document));
      },
    }),
    defineOperation({
      ...COMMON,
      id: 'tiles.getCollectionTilesets',
      path: `${TILES_PATH}/collections/{collectionId}/tiles`,
      summary: 'Tilesets of a collection',
      tag: 'Tilesets',
      params: { collectionId },
      formats: META_FORMATS,
      responses: METADATA,
      run(x) {
        const collection = findByLayerId(visible(x.principal), x.params.collectionId);
        const document = tilesetsDocument(x, { collections: [collection], collection });
        return documentReply(x, document, () =>
          pages.documentPage(x, `Tilesets of ${collection.title}`, document),
        );
      },
    }),
    defineOperation({
      ...COMMON,
      id: 'tiles.getCollectionTileset',
      path: `${TILES_PATH}/collections/{collectionId}/tiles/{tileMatrixSetId}`,
      summary: 'A tileset of a collection',
      tag: 'Tilesets',
      params: { collectionId, tileMatrixSetId },
      formats: META_FORMATS,
      responses: METADATA,
      run(x) {
        const collection = findByLayerId(visible(x.principal), x.params.collectionId);
        const set = requireSet(x.params.tileMatrixSetId);
        requireTileset(collection, set);
        const document = tilesetDocument(x, set, { collections: [collection], collection });
        return documentReply(x, document, () => pages.documentPage(x, document.title, document));
      },
    }),
  ];
}

function tileOperations(deps: TilesDeps): Operation[] {
  return [
    defineOperation({
      ...COMMON,
      id: 'tiles.getCollectionTile',
      path: `${TILES_PATH}/collections/{collectionId}/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}`,
      summary: 'A tile of a collection',
      tag: 'Tiles',
      params: { collectionId, tileMatrixSetId, tileMatrix, tileRow, tileCol, ...tileQuery },
      formats: TILE_FORMATS,
      responses: tileResponses(TILE_FORMATS),
      run(x) {
        const catalog = deps.visible(x.principal);
        const plan = tilePlan(x, catalog, () => {
          const collection = findByLayerId(catalog, x.params.collectionId);
          const at = readAddress(x.params);
          requireTileset(collection, at.set);
          return { collections: [collection], at, format: formatOf(x, collection) };
        });
        return tile(x, deps, plan);
      },
    }),
    defineOperation({
      ...COMMON,
      id: 'tiles.getDatasetTile',
      path: `${TILES_PATH}/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}`,
      summary: 'A tile of several collections',
      tag: 'Tiles',
      params: { tileMatrixSetId, tileMatrix, tileRow, tileCol, collections, ...tileQuery },
      formats: MADE_FORMATS,
      responses: tileResponses(MADE_FORMATS),
      run(x) {
        const catalog = deps.visible(x.principal);
        const plan = tilePlan(x, catalog, () => {
          const fits = x.format === MVT_FORMAT ? (c: Collection) => c.kind === 'vector' : isMade;
          const chosen = selectCollections(catalog, x.params.collections, fits);
          return { collections: chosen, at: readAddress(x.params), format: x.format };
        });
        return tile(x, deps, plan);
      },
    }),
  ];
}

function matrixSetOperations(): Operation[] {
  return [
    defineOperation({
      ...COMMON,
      id: 'tiles.getTileMatrixSets',
      path: `${TILES_PATH}/tileMatrixSets`,
      summary: 'Tile matrix sets',
      tag: 'Tile matrix sets',
      formats: META_FORMATS,
      responses: METADATA,
      run(x) {
        const document = tileMatrixSetsDocument(x);
        return documentReply(x, document, () => pages.documentPage(x, 'Tile matrix sets', document));
      },
    }),
    defineOperation({
      ...COMMON,
      id: 'tiles.getTileMatrixSet',
      path: `${TILES_PATH}/tileMatrixSets/{tileMatrixSetId}`,
      summary: 'A tile matrix set',
      tag: 'Tile matrix sets',
      params: { tileMatrixSetId },
      formats: META_FORMATS,
      responses: METADATA,
      run(x) {
        const document = tileMatrixSetDocument(requireSet(x.params.tileMatrixSetId));
        return documentReply(x, document, () => pages.documentPage(x, document.title, document));
      },
    }),
  ];
}

function requireTileset(collection: Collection, set: TileMatrixSet): void {
  if (!matrixSetsOf(collection).includes(set)) throw notFound(`tileset of ${collection.id}`, set.id);
}

function requireSet(id: string): TileMatrixSet {
  const set = tileMatrixSet(id);
  if (!set) throw notFound('tile matrix set', id.slice(0, 100));
  return set;
}

interface TileParams {
  tileMatrixSetId: string;
  tileMatrix: string;
  tileRow: number;
  tileCol: number;
  subset: string | undefined;
  crs: Crs | undefined;
}

/** No published collection has an axis beyond x and y; a tile has the CRS of its set. */
function readAddress(params: TileParams): TileAddress {
  const at = tileAddress(params.tileMatrixSetId, params.tileMatrix, params.tileRow, params.tileCol);
  if (params.subset !== undefined) throw badParameter('subset', 'these collections have no further axis');
  if (params.crs && params.crs.uri !== at.set.crs.uri) {
    throw badParameter('crs', `tiles of ${at.set.id} are in ${at.set.crs.uri}`);
  }
  return at;
}
