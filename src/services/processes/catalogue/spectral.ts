import Type from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import { parseBandMath } from '../../../core/rasters/band-math/index.js';
import type { InputDefinition, InputValues } from '../definition.js';
import { makeOptional } from './parts.js';
import { rasterProcess } from './raster-parts.js';

/** Indices of multispectral rasters, as band math over the bands that an input names. */

const COLOURS = {
  blue: 'Blue',
  green: 'Green',
  red: 'Red',
  nir: 'Near infrared',
  swir1: 'Short wave infrared, about 1.6 µm',
  swir2: 'Short wave infrared, about 2.2 µm',
} as const;

/** By their usual names. */
const INDICES = {
  NDVI: '(nir - red) / (nir + red)',
  GNDVI: '(nir - green) / (nir + green)',
  SAVI: '1.5 * (nir - red) / (nir + red + 0.5)',
  EVI: '2.5 * (nir - red) / (nir + 6 * red - 7.5 * blue + 1)',
  NDWI: '(green - nir) / (green + nir)',
  MNDWI: '(green - swir1) / (green + swir1)',
  NDMI: '(nir - swir1) / (nir + swir1)',
  NBR: '(nir - swir2) / (nir + swir2)',
  NDBI: '(swir1 - nir) / (swir1 + nir)',
} as const;

const formulas = Object.entries(INDICES).map(([name, formula]) => `${name} = ${formula}`);

export const spectralIndex = rasterProcess({
  id: 'raster.spectral-index',
  title: 'Spectral index',
  description: `Computes an index of vegetation, water, burns or buildings: ${formulas.join('; ')}. SAVI and EVI require reflectances from 0 to 1.`,
  inputs: {
    index: {
      title: 'Index',
      description: 'Name of the index. Also give the bands of its formula.',
      schema: Type.String({ enum: Object.keys(INDICES) }),
    },
    ...Object.fromEntries(
      Object.entries(COLOURS).map(([name, title]): [string, InputDefinition] => [
        name,
        makeOptional({
          title,
          description: 'Number of the band, counted from 1.',
          schema: Type.Integer({ minimum: 1, maximum: 9999 }),
        }),
      ]),
    ),
  },
  allBands: true,
  plan: (values) => ({
    kind: 'algebra',
    oneBand: false,
    resampling: 'nearest',
    expressions: parseBandMath(formatExpression(values)),
  }),
});

/** The formula over the bands that are named. Throws 400 naming one that is missing. */
function formatExpression(values: InputValues): string {
  const index = values['index'] as keyof typeof INDICES;
  return INDICES[index].replace(/[a-z]\w*/g, (name) => {
    const band = values[name] as number | undefined;
    if (band === undefined) throw badParameter(`/inputs/${name}`, `is required for ${index}`);
    return `b${band}`;
  });
}
