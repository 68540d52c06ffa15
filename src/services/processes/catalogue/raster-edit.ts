import Type from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import type { FeaturesFacts, InputDefinition, InputValues, ProcessDefinition } from '../definition.js';
import { featuresInput, getNumberInput, makeOptional } from './parts.js';
import {
  defineNumberInput,
  diagonalsInput,
  pointsInput,
  rasterProcess,
  requirePoints,
  requirePolygons,
} from './raster-parts.js';

/** Processes that create rasters from features, and repair or clip rasters. */

/** The field, if there is one, has numbers. Throws 400 naming it. */
function requireNumbers(values: InputValues, { fields, source }: FeaturesFacts): void {
  const name = values['field'] as string | undefined;
  if (name === undefined) return;
  const type = source.fields.find((field) => field.name === name)?.type;
  if (!fields.includes(name))
    throw badParameter('/inputs/field', `'${name.slice(0, 60)}' is not a field of the features`);
  if (type !== 'number' && type !== 'integer')
    throw badParameter(
      '/inputs/field',
      `must name a field of numbers, but '${name.slice(0, 60)}' has the type ${type}`,
    );
}

const rasterize = rasterProcess({
  id: 'raster.rasterize',
  title: 'Rasterize',
  description:
    'Burns features into the pixels of a raster, with the values of a field or one value. Later features overwrite earlier ones.',
  features: {
    input: 'features',
    definition: featuresInput('Features', 'Features. The server projects them to the CRS of the raster.'),
    plan: (values, facts) => void requireNumbers(values, facts),
  },
  inputs: {
    field: makeOptional({
      title: 'Field',
      description: 'Numeric field with the pixel values. Features without a value are ignored.',
      schema: Type.String({ minLength: 1, maxLength: 200 }),
    }),
    value: defineNumberInput('Value', 'Pixel value if no field is given.', { default: 1 }),
    allTouched: makeOptional({
      title: 'All touched',
      description:
        'Whether all pixels that a feature touches get its value. Default: pixels with their centre inside.',
      schema: Type.Boolean({ default: false }),
    }),
  },
  allBands: true,
  plan: (values) => ({
    kind: 'rasterize',
    value: getNumberInput(values, 'value', 1),
    allTouched: values['allTouched'] === true,
    ...(values['field'] === undefined ? {} : { field: String(values['field']) }),
  }),
});

/** Points with a field of numbers. */
const pointsWithField = {
  input: 'points',
  definition: pointsInput,
  plan(values: InputValues, facts: FeaturesFacts) {
    requirePoints('points', facts);
    requireNumbers(values, facts);
    return undefined;
  },
};
const pointField: InputDefinition = {
  title: 'Field',
  description: 'Numeric field. Points without a value are ignored.',
  schema: Type.String({ minLength: 1, maxLength: 200 }),
};

const idw = rasterProcess({
  id: 'raster.interpolate-idw',
  title: 'Interpolate by distance',
  description: 'Interpolates values of points on the pixels of a raster by inverse distance weighting.',
  features: pointsWithField,
  inputs: {
    field: pointField,
    power: defineNumberInput('Power', 'Exponent of the distance.', {
      minimum: 0.01,
      maximum: 100,
      default: 2,
    }),
    radius: defineNumberInput(
      'Radius',
      'Maximum distance of points, in units of the CRS. Default: no limit.',
      {
        minimum: 1e-9,
        maximum: 1e9,
      },
    ),
  },
  allBands: true,
  plan: (values) => ({
    kind: 'idw',
    field: String(values['field']),
    power: getNumberInput(values, 'power', 2),
    ...(values['radius'] === undefined ? {} : { radius: getNumberInput(values, 'radius') }),
  }),
});

const linear = rasterProcess({
  id: 'raster.interpolate-linear',
  title: 'Interpolate in triangles',
  description:
    'Interpolates values of points on the pixels of a raster by triangulation. Pixels outside the triangles have no value.',
  features: pointsWithField,
  inputs: { field: pointField },
  allBands: true,
  plan: (values) => ({ kind: 'linear', field: String(values['field']) }),
});

const clip = rasterProcess({
  id: 'raster.clip',
  title: 'Clip a raster',
  description:
    'Keeps all bands of pixels with their centre inside polygons, cropped to the bounding box of the polygons. Pixels are not resampled.',
  features: {
    input: 'features',
    definition: featuresInput('Polygons', 'Features. The server projects them to the CRS of the raster.'),
    plan: (_, facts) => void requirePolygons('features', facts),
  },
  allBands: true,
  plan: () => ({ kind: 'clip' }),
});

const fillNodata = rasterProcess({
  id: 'raster.fill-nodata',
  title: 'Fill nodata',
  description: 'Fills pixels without a value from surrounding pixels, weighted by distance.',
  inputs: {
    distance: makeOptional({
      title: 'Distance',
      description: 'Maximum search distance in pixels.',
      schema: Type.Integer({ minimum: 1, maximum: 1000, default: 100 }),
    }),
    smoothing: makeOptional({
      title: 'Smoothing',
      description: 'Number of smoothing passes over the filled pixels.',
      schema: Type.Integer({ minimum: 0, maximum: 100, default: 0 }),
    }),
  },
  plan: (values) => ({
    kind: 'fill',
    distance: getNumberInput(values, 'distance', 100),
    smoothing: getNumberInput(values, 'smoothing'),
  }),
});

const sieve = rasterProcess({
  id: 'raster.sieve',
  title: 'Sieve',
  description:
    'Replaces small areas of equal value by the value of their largest neighbour. Values must be integers.',
  inputs: {
    threshold: {
      title: 'Threshold',
      description: 'Areas of less pixels are merged.',
      schema: Type.Integer({ minimum: 2, maximum: 1_000_000_000 }),
    },
    diagonals: diagonalsInput,
  },
  plan: (values) => ({
    kind: 'sieve',
    threshold: getNumberInput(values, 'threshold'),
    diagonals: values['diagonals'] === true,
  }),
});

export const RASTER_EDITS: readonly ProcessDefinition[] = [rasterize, idw, linear, clip, fillNodata, sieve];
