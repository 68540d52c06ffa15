import Type from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import type { ProcessDefinition } from '../definition.js';
import { getNumberInput, makeOptional } from './parts.js';
import { defineNumberInput, pointsInput, prefixInput, rasterProcess, requirePoints } from './raster-parts.js';

/** Processes that return values of rasters. */

const Bound = Type.Union([Type.Number(), Type.Null()]);

const statistics = rasterProcess({
  id: 'raster.statistics',
  title: 'Raster statistics',
  description: 'Computes count, minimum, maximum, mean, standard deviation and sum of each band.',
  allBands: true,
  output: {
    name: 'statistics',
    definition: {
      title: 'Statistics',
      description:
        'One object for each band; null if no pixel has a value. The standard deviation is of the population.',
      schema: Type.Array(
        Type.Object({
          band: Type.Integer(),
          count: Type.Integer(),
          missing: Type.Integer({ description: 'Pixels without a value.' }),
          min: Bound,
          max: Bound,
          mean: Bound,
          stddev: Bound,
          sum: Bound,
        }),
      ),
    },
  },
  plan: () => ({ kind: 'statistics' }),
});

const histogram = rasterProcess({
  id: 'raster.histogram',
  title: 'Raster histogram',
  description: 'Counts the pixels of a band in value ranges of equal width.',
  inputs: {
    bins: makeOptional({
      title: 'Ranges',
      description: 'Number of ranges.',
      schema: Type.Integer({ minimum: 1, maximum: 65_536, default: 256 }),
    }),
    min: defineNumberInput('Minimum', 'Start of the first range. Default: the minimum of the band.', {}),
    max: defineNumberInput(
      'Maximum',
      'End of the last range, included. Default: the maximum of the band.',
      {},
    ),
  },
  output: {
    name: 'histogram',
    definition: {
      title: 'Histogram',
      description: 'Counts per range, and counts below and above all ranges.',
      schema: Type.Object({
        band: Type.Integer(),
        min: Type.Number(),
        max: Type.Number(),
        counts: Type.Array(Type.Integer()),
        below: Type.Integer(),
        above: Type.Integer(),
      }),
    },
  },
  plan(values) {
    const [min, max] = [values['min'] as number | undefined, values['max'] as number | undefined];
    if (min !== undefined && max !== undefined && min >= max)
      throw badParameter('/inputs/max', 'must be above min');
    return {
      kind: 'histogram',
      bins: getNumberInput(values, 'bins', 256),
      ...(min === undefined ? {} : { min }),
      ...(max === undefined ? {} : { max }),
    };
  },
});

const sample = rasterProcess({
  id: 'raster.sample',
  title: 'Sample at points',
  description: 'Adds the values of all bands at each point; null if a band lacks a value.',
  features: {
    input: 'points',
    definition: pointsInput,
    plan: (_, facts) => void requirePoints('points', facts),
  },
  inputs: {
    resampling: makeOptional({
      title: 'Resampling',
      description: 'nearest: the pixel of the point; bilinear: between the four surrounding pixels.',
      schema: Type.String({ enum: ['nearest', 'bilinear'], default: 'nearest' }),
    }),
    prefix: prefixInput('Prefix of the attribute names, before the band number. Default: band_.'),
  },
  allBands: true,
  output: 'features',
  plan: (values) => ({
    kind: 'sample',
    bilinear: values['resampling'] === 'bilinear',
    prefix: (values['prefix'] as string | undefined) ?? 'band_',
  }),
});

export const RASTER_VALUES: readonly ProcessDefinition[] = [statistics, histogram, sample];
