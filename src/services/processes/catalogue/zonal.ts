import Type from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import { ZONE_STATISTICS, type ZoneStatistic } from '../../../core/rasters/raster-processes.js';
import type { FeaturesFacts, FeaturesPlan, InputValues } from '../definition.js';
import { featuresInput, makeOptional } from './parts.js';
import { prefixInput, rasterProcess, requirePolygons } from './raster-parts.js';

/** Statistics of a raster in the features of another layer. */

const USUAL: readonly ZoneStatistic[] = ['count', 'mean', 'min', 'max', 'sum'];

export const zonalStatistics = rasterProcess({
  id: 'raster.zonal-statistics',
  title: 'Zonal statistics',
  description:
    'Adds statistics of the pixels in each polygon. Pixels are weighted by their covered share, or counted by their centre.',
  features: {
    input: 'zones',
    definition: featuresInput('Zones', 'Polygons. The server projects them to the CRS of the raster.'),
    plan: readZones,
  },
  inputs: {
    zoneField: makeOptional({
      title: 'Zone field',
      description: 'Field whose equal values form one zone. Default: one zone per polygon.',
      schema: Type.String({ minLength: 1, maxLength: 200 }),
    }),
    statistics: makeOptional({
      title: 'Statistics',
      description: 'Statistics to add as attributes. Default: count, mean, min, max and sum.',
      schema: Type.Array(Type.String({ enum: [...ZONE_STATISTICS] }), { maxItems: 20, uniqueItems: true }),
    }),
    percentiles: makeOptional({
      title: 'Percentiles',
      description: 'Percentiles from 0 to 100, as attributes such as percentile_25.',
      schema: Type.Array(Type.Number({ minimum: 0, maximum: 100 }), { maxItems: 50, uniqueItems: true }),
    }),
    pixels: makeOptional({
      title: 'Pixels',
      description:
        'share: a pixel counts by the share that the zone covers; centre: whole where its centre is.',
      schema: Type.String({ enum: ['share', 'centre'], default: 'share' }),
    }),
    prefix: prefixInput('Prefix of the attribute names.'),
  },
  output: 'features',
  plan: (values) => ({
    kind: 'zonal',
    statistics: (values['statistics'] as ZoneStatistic[] | undefined) ?? [...USUAL],
    percentiles: (values['percentiles'] as number[] | undefined) ?? [],
    byCentre: values['pixels'] === 'centre',
    prefix: (values['prefix'] as string | undefined) ?? '',
  }),
});

/** Zones of equal value become one. */
function readZones(values: InputValues, facts: FeaturesFacts): FeaturesPlan | undefined {
  requirePolygons('zones', facts);
  const field = values['zoneField'] as string | undefined;
  if (field === undefined) return undefined;
  if (!facts.fields.includes(field))
    throw badParameter('/inputs/zoneField', `'${field.slice(0, 60)}' is not a field of the features`);
  return { process: { kind: 'dissolve', by: [field], statistics: [] }, fields: [field] };
}
