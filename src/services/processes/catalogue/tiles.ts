import Type from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import type { Box } from '../../../core/geometry/box.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { WrittenContainer } from '../../../core/tiles/archives.js';
import type { ProcessDefinition } from '../definition.js';
import { fileOutput, makeOptional } from './parts.js';

const zoom = (isDefault?: number) =>
  Type.Integer({
    minimum: 0,
    maximum: LIMITS.tileZoom,
    ...(isDefault === undefined ? {} : { default: isDefault }),
  });

/** The inputs, as their schemas let them through. */
interface TilesValues {
  collections: string[];
  maxZoom: number;
  minZoom?: number;
  format?: WrittenContainer;
  tileFormat?: string;
  tileMatrixSet?: string;
  bbox?: number[];
}

export const tileArchive: ProcessDefinition = {
  id: 'conversion.tile-archive',
  title: 'Tile archive',
  description: 'Writes tiles of collections to a PMTiles, MBTiles or GeoPackage file.',
  keywords: ['tiles', 'export'],
  inputs: {
    collections: {
      title: 'Collections',
      description: 'Ids of collections, the bottom layer first.',
      schema: Type.Array(Type.String({ minLength: 1 }), {
        minItems: 1,
        maxItems: LIMITS.collectionsPerRequest,
      }),
    },
    minZoom: makeOptional({ title: 'Minimum zoom', description: 'Minimum zoom level.', schema: zoom(0) }),
    maxZoom: { title: 'Maximum zoom', description: 'Maximum zoom level.', schema: zoom() },
    format: makeOptional({
      title: 'Format',
      description: 'Format of the archive. A GeoPackage can contain only image tiles.',
      schema: Type.String({ enum: ['pmtiles', 'mbtiles', 'gpkg'], default: 'pmtiles' }),
    }),
    tileFormat: makeOptional({
      title: 'Tile format',
      description: 'Format of the tiles. Default: the default format of the collections (mvt for features).',
      schema: Type.String({ enum: ['mvt', 'mlt', 'png', 'webp', 'jpeg'] }),
    }),
    tileMatrixSet: makeOptional({
      title: 'Tile matrix set',
      description: 'Id of the tile matrix set. PMTiles and MBTiles support only WebMercatorQuad.',
      schema: Type.String({ minLength: 1, maxLength: 256, default: 'WebMercatorQuad' }),
    }),
    bbox: makeOptional({
      title: 'Bounding box',
      description:
        'west, south, east, north in degrees. Across the antimeridian, west is greater than east. Default: the extent of the collections.',
      schema: Type.Array(Type.Number({ minimum: -180, maximum: 180 }), { minItems: 4, maxItems: 4 }),
    }),
  },
  outputs: {
    archive: {
      ...fileOutput('Archive', 'Archive file. PMTiles and MBTiles can be published as a collection.'),
      isTiles: true,
    },
  },
  refuse({ bbox }) {
    const [, south = 0, , north = 1] = (bbox as number[] | undefined) ?? [];
    if (south >= north) throw badParameter('/inputs/bbox', 'must have its south below its north');
  },
  work: {
    kind: 'tiles',
    output: 'archive',
    select(values) {
      const {
        collections,
        maxZoom,
        minZoom = 0,
        tileFormat = '',
        bbox,
        ...others
      } = values as unknown as TilesValues;
      const { format: container = 'pmtiles', tileMatrixSet: tileMatrixSetId = 'WebMercatorQuad' } = others;
      return {
        collections,
        tileMatrixSetId,
        minZoom,
        maxZoom,
        format: tileFormat,
        container,
        ...(bbox ? { bbox: bbox as unknown as Box } : {}),
      };
    },
  },
};
