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
    'Polygons with statistics of the pixels in each of them: what they cover counts by its share of a pixel, or pixels count whole by their centres.',
  features: {
    input: 'zones',
    definition: featuresInput('Zones', 'Polygons; they are projected to the CRS of the raster.'),
    plan: readZones,
  },
  inputs: {
    zoneField: makeOptional({
      title: 'Zone field',
      description: 'Polygons of equal value are one zone; each is a zone of its own without.',
      schema: Type.String({ minLength: 1, maxLength: 200 }),
    }),
    statistics: makeOptional({
      title: 'Statistics',
      description: 'What becomes attributes of the zones; count, mean, min, max and sum when absent.',
      schema: Type.Array(Type.String({ enum: [...ZONE_STATISTICS] }), { maxItems: 20, uniqueItems: true }),
    }),
    percentiles: makeOptional({
      title: 'Percentiles',
      description: 'From 0 to 100; they become percentile_25 and the like.',
      schema: Type.Array(Type.Number({ minimum: 0, maximum: 100 }), { maxItems: 50, uniqueItems: true }),
    }),
    pixels: makeOptional({
      title: 'Pixels',
      description:
        'share: a pixel counts by the share that the zone covers; centre: whole where its centre is.',
      schema: Type.String({ enum: ['share', 'centre'], default: 'share' }),
    }),
    prefix: prefixInput('Before the names of the attributes.'),
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
