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

/** Processes that make rasters of features, and mend or cut rasters. */

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
    'Features on the pixels of a raster: values of a field, or one value. Later features lie on top.',
  features: {
    input: 'features',
    definition: featuresInput('Features', 'They are projected to the CRS of the raster.'),
    plan: (values, facts) => void requireNumbers(values, facts),
  },
  inputs: {
    field: makeOptional({
      title: 'Field',
      description: 'A field of numbers, whose values pixels get; features without one are left out.',
      schema: Type.String({ minLength: 1, maxLength: 200 }),
    }),
    value: defineNumberInput('Value', 'What pixels get where there is no field.', { default: 1 }),
    allTouched: makeOptional({
      title: 'All touched',
      description: 'Pixels that a feature touches get its value; else those whose centres lie in it.',
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
  description: 'A field of numbers; points without one are left out.',
  schema: Type.String({ minLength: 1, maxLength: 200 }),
};

const idw = rasterProcess({
  id: 'raster.interpolate-idw',
  title: 'Interpolate by distance',
  description:
    'Values between points on the pixels of a raster, weighted by a power of the inverse of their distance.',
  features: pointsWithField,
  inputs: {
    field: pointField,
    power: defineNumberInput('Power', 'Of the distance.', { minimum: 0.01, maximum: 100, default: 2 }),
    radius: defineNumberInput(
      'Radius',
      'Points farther away count nothing, in units of the CRS; all count when absent.',
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
    'Values between points on the pixels of a raster, on the planes of the triangles between them; none outside.',
  features: pointsWithField,
  inputs: { field: pointField },
  allBands: true,
  plan: (values) => ({ kind: 'linear', field: String(values['field']) }),
});

const clip = rasterProcess({
  id: 'raster.clip',
  title: 'Clip a raster',
  description:
    'All bands of the pixels whose centres lie in polygons, in the box of these. No pixel is moved.',
  features: {
    input: 'features',
    definition: featuresInput('Polygons', 'They are projected to the CRS of the raster.'),
    plan: (_, facts) => void requirePolygons('features', facts),
  },
  allBands: true,
  plan: () => ({ kind: 'clip' }),
});

const fillNodata = rasterProcess({
  id: 'raster.fill-nodata',
  title: 'Fill nodata',
  description: 'Pixels of a band without a value get one, weighted by distance, from those around them.',
  inputs: {
    distance: makeOptional({
      title: 'Distance',
      description: 'How far values are looked for, in pixels.',
      schema: Type.Integer({ minimum: 1, maximum: 1000, default: 100 }),
    }),
    smoothing: makeOptional({
      title: 'Smoothing',
      description: 'How often what was filled is averaged with its neighbours.',
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
    'Areas of equal value that have few pixels get the value of their largest neighbour. Values are whole numbers.',
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
