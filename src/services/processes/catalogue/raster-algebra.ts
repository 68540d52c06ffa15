import Type from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { BandMathError, parseBandMath } from '../../../core/rasters/band-math/index.js';
import {
  MOSAIC_OPERATORS,
  type MosaicOperator,
  type RasterClass,
} from '../../../core/rasters/raster-processes.js';
import type { InputValues, ProcessDefinition } from '../definition.js';
import { getNumberInput, makeOptional } from './parts.js';
import {
  defineNumberInput,
  getResampling,
  rasterInput,
  rasterListInput,
  rasterProcess,
  resamplingInput,
} from './raster-parts.js';

/** Processes that compute pixel values from other pixel values at the same location. */

/** Results have a band each. */
const MAX_EXPRESSIONS = 16;

function parseExpressions(text: string) {
  try {
    const expressions = parseBandMath(text);
    if (expressions.length > MAX_EXPRESSIONS)
      throw new BandMathError(`must have at most ${MAX_EXPRESSIONS} expressions`);
    return expressions;
  } catch (error) {
    if (error instanceof BandMathError) throw badParameter('/inputs/expression', error.message);
    throw error;
  }
}

const algebra = rasterProcess({
  id: 'raster.map-algebra',
  title: 'Raster calculator',
  description:
    'Computes band math over rasters. b1 is the first band of the first raster; the bands of the other rasters follow. A pixel has a value if all bands of the expression have one.',
  rasters: { sources: rasterListInput },
  inputs: {
    expression: {
      title: 'Expression',
      description: 'Expression such as (b2 - b1) / (b2 + b1). Expressions separated by ; make one band each.',
      schema: Type.String({ minLength: 1, maxLength: LIMITS.expressionCharacters }),
    },
    resampling: resamplingInput,
  },
  allBands: true,
  plan: (values) => ({
    kind: 'algebra',
    oneBand: false,
    expressions: parseExpressions(String(values['expression'])),
    resampling: getResampling(values),
  }),
});

const METHODS = ['difference', 'ratio', 'percent', 'classes'] as const;

/** Expression for a change from b1 to b2. */
function formatChange(method: (typeof METHODS)[number], threshold: number): string {
  switch (method) {
    case 'difference':
      return 'b2 - b1';
    case 'ratio':
      return 'b2 / b1';
    case 'percent':
      return '(b2 - b1) / b1 * 100';
    case 'classes':
      return `where(b2 - b1 > ${threshold}, 1, where(b1 - b2 > ${threshold}, -1, 0))`;
  }
}

const change = rasterProcess({
  id: 'raster.change',
  title: 'Change between two dates',
  description:
    'Computes the change of a band as difference, ratio, per cent or classes (1 for an increase above the threshold, -1 for a decrease, otherwise 0).',
  rasters: {
    before: rasterInput('Before', 'Raster of the earlier date. The result uses its pixels.'),
    after: rasterInput('After', 'Raster of the later date.'),
  },
  inputs: {
    method: makeOptional({
      title: 'Method',
      description: 'difference, ratio, percent or classes.',
      schema: Type.String({ enum: [...METHODS], default: 'difference' }),
    }),
    threshold: defineNumberInput('Threshold', 'Classes only: smaller changes count as no change.', {
      minimum: 0,
      maximum: 1e30,
      default: 0,
    }),
    resampling: resamplingInput,
  },
  plan: (values) => ({
    kind: 'algebra',
    oneBand: true,
    expressions: parseBandMath(
      formatChange(
        (values['method'] as (typeof METHODS)[number]) ?? 'difference',
        getNumberInput(values, 'threshold'),
      ),
    ),
    resampling: getResampling(values),
  }),
});

const Class = Type.Object(
  {
    min: Type.Optional(Type.Number({ description: 'Minimum value. Default: no minimum.' })),
    max: Type.Optional(Type.Number({ description: 'Upper limit, excluded. Default: no limit.' })),
    value: Type.Number({ description: 'New value.' }),
  },
  { additionalProperties: false },
);

/** In ascending order. Throws 400 naming the input. */
function readClasses(values: InputValues): RasterClass[] {
  const classes = (values['remap'] as Partial<RasterClass>[]).map(({ min, max, value }, i) => {
    const [low, high] = [min ?? -Infinity, max ?? Infinity];
    if (low >= high) throw badParameter(`/inputs/remap/${i}/max`, 'must be above min');
    return { min: low, max: high, value: value!, i };
  });
  classes.sort((a, b) => a.min - b.min);
  const overlap = classes.find((one, i) => i > 0 && classes[i - 1]!.max > one.min);
  if (overlap) throw badParameter(`/inputs/remap/${overlap.i}`, 'has values of another class');
  return classes.map(({ min, max, value }) => ({ min, max, value }));
}

const reclassify = rasterProcess({
  id: 'raster.reclassify',
  title: 'Reclassify',
  description: 'Replaces values from min up to max by the value of their class.',
  inputs: {
    remap: {
      title: 'Classes',
      description: 'Value ranges with their new values.',
      schema: Type.Array(Class, { minItems: 1, maxItems: 1000 }),
    },
    others: makeOptional({
      title: 'Other values',
      description: 'Treatment of values outside all classes: nodata or keep.',
      schema: Type.String({ enum: ['nodata', 'keep'], default: 'nodata' }),
    }),
  },
  plan: (values) => ({
    kind: 'reclassify',
    classes: readClasses(values),
    keepsOthers: values['others'] === 'keep',
  }),
});

const mosaic = rasterProcess({
  id: 'raster.mosaic',
  title: 'Mosaic',
  description: 'Merges rasters with all their bands, on the pixels of the first.',
  rasters: { sources: rasterListInput },
  inputs: {
    operator: makeOptional({
      title: 'Operator',
      description: 'Value of a pixel that several rasters cover.',
      schema: Type.String({ enum: [...MOSAIC_OPERATORS], default: 'last' }),
    }),
    resampling: resamplingInput,
  },
  allBands: true,
  plan: (values) => ({
    kind: 'mosaic',
    operator: (values['operator'] as MosaicOperator | undefined) ?? 'last',
    resampling: getResampling(values),
  }),
});

export const RASTER_ALGEBRA: readonly ProcessDefinition[] = [algebra, change, reclassify, mosaic];
