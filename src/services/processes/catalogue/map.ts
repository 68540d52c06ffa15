import Type from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { PAPERS } from '../../../core/processes/map-pages.js';
import { resolveCrs } from '../../../native/crs.js';
import type { ProcessDefinition } from '../definition.js';
import { featuresInput, fileOutput, makeOptional } from './parts.js';

const flag = (title: string, description: string) =>
  makeOptional({ title, description, schema: Type.Boolean({ default: true }) });

/** Formats of maps, and their media types. */
export const MAP_PAGE_FORMATS = {
  pdf: 'application/pdf',
  png: 'image/png',
  jpeg: 'image/jpeg',
  tiff: 'image/tiff; application=geotiff',
} as const;

export const mapImage: ProcessDefinition = {
  id: 'cartography.map',
  title: 'Map',
  description:
    'Renders collections and features as an image, or as a PDF page with title, legend, scale bar and north arrow.',
  keywords: ['map', 'export'],
  inputs: {
    layers: makeOptional({
      title: 'Layers',
      description: 'Ids of collections, the bottom layer first.',
      schema: Type.Array(Type.String({ minLength: 1 }), { maxItems: 20 }),
    }),
    features: makeOptional(featuresInput('Features', 'Drawn above the layers.')),
    bbox: makeOptional({
      title: 'Bounding box',
      description:
        'west, south, east, north in degrees. Across the antimeridian, west is greater than east. Default: the extent of the layers.',
      schema: Type.Array(Type.Number({ minimum: -180, maximum: 180 }), { minItems: 4, maxItems: 4 }),
    }),
    crs: makeOptional({
      title: 'CRS',
      description: 'CRS of the map.',
      schema: Type.String({ minLength: 1, maxLength: 200, default: 'EPSG:3857' }),
    }),
    format: makeOptional({
      title: 'Format',
      description: 'Format of the file.',
      schema: Type.String({ enum: Object.keys(MAP_PAGE_FORMATS), default: 'pdf' }),
    }),
    width: makeOptional({
      title: 'Width',
      description: 'Width of an image in pixels.',
      schema: Type.Integer({ minimum: 16, maximum: LIMITS.mapSide, default: 1024 }),
    }),
    height: makeOptional({
      title: 'Height',
      description: 'Height of an image in pixels.',
      schema: Type.Integer({ minimum: 16, maximum: LIMITS.mapSide, default: 768 }),
    }),
    paper: makeOptional({
      title: 'Paper',
      description: 'Paper size of a PDF page.',
      schema: Type.String({ enum: Object.keys(PAPERS), default: 'A4' }),
    }),
    orientation: makeOptional({
      title: 'Orientation',
      description: 'Orientation of a PDF page.',
      schema: Type.String({ enum: ['landscape', 'portrait'], default: 'landscape' }),
    }),
    dpi: makeOptional({
      title: 'Resolution',
      description: 'Resolution of a PDF page in dots per inch.',
      schema: Type.Integer({ minimum: 72, maximum: 300, default: 150 }),
    }),
    title: makeOptional({
      title: 'Title',
      description: 'Title of a PDF page.',
      schema: Type.String({ maxLength: 120 }),
    }),
    legend: flag('Legend', 'Whether a PDF page has a legend.'),
  },
  outputs: {
    file: fileOutput('Map', 'Map in the requested format.'),
  },
  refuse({ bbox, crs }) {
    if (crs !== undefined) resolveCrs('/inputs/crs', String(crs));
    const [, south = 0, , north = 1] = (bbox as number[] | undefined) ?? [];
    if (south >= north || south < -90 || north > 90)
      throw badParameter('/inputs/bbox', 'must have its south below its north, both from -90 to 90');
  },
  work: { kind: 'map', input: 'features', output: 'file' },
};
