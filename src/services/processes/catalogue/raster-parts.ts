import Type from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import { PROCESS_LIMITS } from '../../../core/processes/limits.js';
import type { RasterProcess } from '../../../core/rasters/raster-processes.js';
import { RESAMPLINGS, type Resampling } from '../../../core/rasters/rasters.js';
import type {
  FeaturesFacts,
  InputDefinition,
  InputValues,
  OutputDefinition,
  ProcessDefinition,
  RasterFacts,
  RasterFeatures,
} from '../definition.js';
import { FEATURES_OUTPUT, featuresInput, makeOptional } from './parts.js';

/** Inputs and outputs that many processes of rasters have. */

const RasterReference = Type.Union([
  Type.Object(
    { collection: Type.String({ description: 'Id or URL of a collection of this server.' }) },
    { description: 'A collection.' },
  ),
  Type.Object(
    { href: Type.String({ description: 'URL of results of another job of this server.' }) },
    { description: 'A raster by reference.' },
  ),
]);

export function rasterInput(title: string, description: string): InputDefinition {
  return { title, description, schema: RasterReference, isRaster: true };
}

/** Several rasters; the first leads. */
export const rasterListInput: InputDefinition = {
  title: 'Sources',
  description: 'Rasters. The result uses the pixels of the first.',
  schema: Type.Array(RasterReference, { minItems: 1, maxItems: PROCESS_LIMITS.processRasters }),
  isRasterList: true,
};

export const resamplingInput = makeOptional({
  title: 'Resampling',
  description: 'Resampling method.',
  schema: Type.String({ enum: [...RESAMPLINGS], default: 'nearest' }),
});
export const getResampling = (values: InputValues) =>
  (values['resampling'] as Resampling | undefined) ?? 'nearest';

export function prefixInput(description: string): InputDefinition {
  const schema = Type.String({ maxLength: 30, pattern: '^[A-Za-z0-9_]*$' });
  return makeOptional({ title: 'Prefix', description, schema });
}

export const diagonalsInput = makeOptional({
  title: 'Diagonals',
  description: 'Whether pixels that share only a corner are connected.',
  schema: Type.Boolean({ default: false }),
});

const bandInput = makeOptional({
  title: 'Band',
  description: 'Number of the band, counted from 1.',
  schema: Type.Integer({ minimum: 1, maximum: 65_535, default: 1 }),
});

const RASTER_OUTPUT: OutputDefinition = {
  title: 'Raster',
  description: 'Cloud optimized GeoTIFF, by reference unless the request selects transmission by value.',
  schema: Type.String({ contentEncoding: 'base64', contentMediaType: 'image/tiff; application=geotiff' }),
  isRaster: true,
};

interface RasterSpec {
  id: string;
  title: string;
  description: string;
  inputs?: Record<string, InputDefinition>;
  /** Rasters in place of the one; the first leads. */
  rasters?: Record<string, InputDefinition>;
  /** All bands are worked on. */
  allBands?: boolean;
  /** Default: a raster. Outputs that are values have a schema. */
  output?: 'features' | { name: string; definition: OutputDefinition };
  /** Features that go with it. */
  features?: RasterFeatures & { definition: InputDefinition };
  plan(values: InputValues, facts: RasterFacts): RasterProcess;
}

function buildOutput(output: RasterSpec['output']): { name: string; definition: OutputDefinition } {
  if (output === undefined) return { name: 'raster', definition: RASTER_OUTPUT };
  return output === 'features' ? { name: 'features', definition: FEATURES_OUTPUT } : output;
}

export function rasterProcess({
  id,
  title,
  description,
  inputs,
  rasters = { raster: rasterInput('Raster', 'The raster to work on.') },
  allBands,
  output,
  features,
  plan,
}: RasterSpec): ProcessDefinition {
  const { name, definition } = buildOutput(output);
  return {
    id,
    title,
    description,
    keywords: ['raster'],
    inputs: {
      ...rasters,
      ...(allBands ? {} : { band: bandInput }),
      ...(features ? { [features.input]: features.definition } : {}),
      ...inputs,
    },
    outputs: { [name]: definition },
    work: {
      kind: 'raster',
      inputs: Object.keys(rasters),
      ...(features ? { features } : {}),
      output: name,
      plan,
    },
  };
}

/** Throws 400 with the name of the input if its features are lines or points, which are not areas. */
export function requirePolygons(input: string, { source }: FeaturesFacts): void {
  if (/Point|Line/.test(source.geometryType))
    throw badParameter(
      `/inputs/${input}`,
      `must be polygons, but the geometry type is ${source.geometryType}`,
    );
}

export const pointsInput = featuresInput(
  'Points',
  'Points. The server projects them to the CRS of the raster.',
);

/** Throws 400 naming the input. */
export function requirePoints(input: string, { source }: FeaturesFacts): void {
  if (source.geometryType !== 'Point')
    throw badParameter(`/inputs/${input}`, `must be points, but the geometry type is ${source.geometryType}`);
}

export function defineNumberInput(
  title: string,
  description: string,
  bounds: Record<string, number>,
): InputDefinition {
  return makeOptional({ title, description, schema: Type.Number(bounds) });
}
