import Type from 'typebox';
import type { Format } from '../../core/http/media.js';
import {
  choice,
  datetimeParam,
  defineIntegerParam,
  defineListParam,
  definePositiveNumberParam,
  numberedCollectionParam,
  pathInteger,
  pathString,
  subsetParam,
} from '../../core/http/params.js';
import { LIMITS } from '../../core/kit/limits.js';
import { lookParams } from '../../core/rasters/look-params.js';
import { crsParam, filterParams } from '../surface/crs-params.js';

/** Definitions that all operations of the surface share. */
export const TILE_OPERATION = {
  surface: 'tiles',
  protocol: 'OGC-Tiles',
  permission: 'public',
  method: 'GET',
} as const;

export const tileCollectionParam = numberedCollectionParam;
export const tileMatrixSetId = pathString(
  'tileMatrixSetId',
  'Identifier of a tile matrix set, for example WebMercatorQuad.',
);
export const tileMatrix = pathString('tileMatrix', 'Identifier of a matrix: the zoom level.');
export const tileRow = pathInteger(
  'tileRow',
  'Row of the tile, 0 at the corner of origin: the top of most sets.',
);
export const tileCol = pathInteger('tileCol', 'Column of the tile, 0 at the left.');
export const collections = defineListParam(
  'collections',
  LIMITS.collectionsPerRequest,
  'Ids, numbers or URLs of the collections to show. Default: all.',
);
const SIDE = { min: 1, max: LIMITS.mapSide, default: undefined };

export const tileQuery = {
  datetime: datetimeParam,
  subset: subsetParam,
  crs: crsParam('crs', 'CRS of the tile: only that of the tile matrix set.'),
  subsetCrs: crsParam('subset-crs', 'CRS of subset.'),
  ...filterParams,
  scale: defineIntegerParam(
    'scale',
    { min: 1, max: 2, default: 1 },
    {
      description:
        'Image tiles only: 2 doubles the pixels per side and the size of symbols, for high-resolution screens.',
    },
  ),
  width: defineIntegerParam('width', SIDE, {
    description: 'Width of an image tile. Default: the tile width of the tile matrix.',
  }),
  height: defineIntegerParam('height', SIDE, {
    description: 'Height of an image tile. Default: the tile height of the tile matrix.',
  }),
  scaleDenominator: definePositiveNumberParam(
    'scale-denominator',
    'Scale of an image, which gives its size: not together with width, height or scale.',
  ),
  aggregate: choice(
    'aggregate',
    ['cells'],
    'Vector tiles of points only: cells returns squares with the number of points (count) in place of the features.',
  ),
  properties: defineListParam('properties', 1000, 'Only these attributes of each feature.'),
  ...lookParams,
};

export const DOCUMENT = {
  200: { description: 'Document', content: { 'application/json': Type.Object({}) } },
};
export const METADATA = {
  ...DOCUMENT,
  400: { description: 'A parameter is wrong' },
  404: { description: 'Not found' },
  406: { description: 'Format not acceptable' },
};
export const tileResponses = (formats: readonly Format[]) => ({
  200: {
    description: 'Tile',
    content: Object.fromEntries(formats.map(({ mediaType }) => [mediaType, null])),
  },
  204: { description: 'The tile is empty. PNG and WebP tiles are transparent images instead' },
  400: { description: 'Tile matrix or coordinates outside the set' },
  404: {
    description:
      'The collection does not exist, is not available in this tile matrix set, or does not cover the tile',
  },
  406: { description: 'Format not acceptable' },
});
