import Type from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import type { ProcessDefinition } from '../definition.js';
import { getNumberInput, makeOptional } from './parts.js';
import { defineNumberInput, pointsInput, prefixInput, rasterProcess, requirePoints } from './raster-parts.js';

/** Processes that tell the values of rasters. */

const Bound = Type.Union([Type.Number(), Type.Null()]);

const statistics = rasterProcess({
  id: 'raster.statistics',
  title: 'Raster statistics',
  description: 'Count, extremes, mean, deviation and sum of each band, of all its pixels.',
  allBands: true,
  output: {
    name: 'statistics',
    definition: {
      title: 'Statistics',
      description:
        'One member for each band; null where no pixel has a value. The deviation is that of the population.',
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
  description: 'How many pixels of a band have values in each of some ranges of equal width.',
  inputs: {
    bins: makeOptional({
      title: 'Ranges',
      description: 'How many there are.',
      schema: Type.Integer({ minimum: 1, maximum: 65_536, default: 256 }),
    }),
    min: defineNumberInput(
      'Least value',
      'Where the first range begins; the least value of the band when absent.',
      {},
    ),
    max: defineNumberInput(
      'Greatest value',
      'Where the last range ends, and it is in it; the greatest of the band when absent.',
      {},
    ),
  },
  output: {
    name: 'histogram',
    definition: {
      title: 'Histogram',
      description: 'The counts, and how many values lie below and above.',
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
  description: 'Points with the values of all bands there; null where there is none.',
  features: {
    input: 'points',
    definition: pointsInput,
    plan: (_, facts) => void requirePoints('points', facts),
  },
  inputs: {
    resampling: makeOptional({
      title: 'Resampling',
      description: 'nearest: the pixel that the point lies in; bilinear: between the four around it.',
      schema: Type.String({ enum: ['nearest', 'bilinear'], default: 'nearest' }),
    }),
    prefix: prefixInput('Before the numbers of the bands in the names of the attributes; band_ when absent.'),
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
