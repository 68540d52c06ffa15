import Type from 'typebox';
import { plainFields } from '../../../core/access/field-masks.js';
import { findExactness } from '../../../core/cql2/exactness.js';
import type { OperandKind } from '../../../core/cql2/index.js';
import { badParameter } from '../../../core/errors/errors.js';
import { STATISTIC_TYPES } from '../../../core/features/analytics.js';
import type { Box } from '../../../core/geometry/box.js';
import { CRS84 } from '../../../core/geometry/crs.js';
import type { Measure } from '../../../core/processes/feature-processes.js';
import type { FieldType } from '../../../core/sources/vector-source.js';
import { parseCql2Value } from '../../filters/filters.js';
import type { FeaturesFacts, InputDefinition, InputValues, ProcessDefinition } from '../definition.js';
import {
  areaUnitInput,
  FEATURES_OUTPUT,
  featuresInput,
  featuresWork,
  getAreaMeasure,
  getLengthMeasure,
  groupByInput,
  makeOptional,
  requireFieldNames,
  unitInput,
} from './parts.js';
import { parseSummary, summaryStatisticsInput } from './statistics.js';

/** Processes that read attributes, or add attributes to features. */

function measureProcess(
  of: 'area' | 'length',
  about: Pick<ProcessDefinition, 'title' | 'description'>,
  unit: InputDefinition,
  measure: (values: InputValues, facts: FeaturesFacts) => Measure,
): ProcessDefinition {
  return {
    id: `geometry.${of}`,
    ...about,
    keywords: ['vector'],
    inputs: {
      features: featuresInput('Features', 'The features to measure.'),
      unit,
      method: makeOptional({
        title: 'Method',
        description:
          'geodesic: over the ground; planar: in the plane of the coordinates. Default: geodesic for a geographic CRS, otherwise planar.',
        schema: Type.String({ enum: ['geodesic', 'planar'] }),
      }),
    },
    outputs: { features: FEATURES_OUTPUT },
    work: featuresWork((values, facts) => ({
      process: { kind: 'measure', of, measure: measure(values, withMethod(values, facts)) },
    })),
  };
}

/**
 * The facts for the requested method. With `geodesic`, lengths and areas in a projected CRS are also measured over
 * the ground.
 */
function withMethod({ method, unit }: InputValues, facts: FeaturesFacts): FeaturesFacts {
  if (method === undefined) return facts;
  if (method === 'geodesic' && unit === 'crs')
    throw badParameter('/inputs/unit', 'must be a unit of length if the method is geodesic');
  return { ...facts, crs: { ...facts.crs, isGeographic: method === 'geodesic' } };
}

/** Types of attributes that a value may become. */
const TYPES: Partial<Record<OperandKind, FieldType>> = {
  number: 'number',
  string: 'string',
  boolean: 'boolean',
  date: 'date',
  timestamp: 'date-time',
};

const calculateField: ProcessDefinition = {
  id: 'analytics.calculate-field',
  title: 'Calculate a field',
  description: 'Adds an attribute with the value of a CQL2 expression (arithmetic, functions, predicates).',
  keywords: ['table'],
  inputs: {
    features: featuresInput('Features', 'The features to work on.'),
    name: {
      title: 'Name',
      description: 'Name of the new attribute.',
      schema: Type.String({ minLength: 1, maxLength: 63, pattern: '^[^\\u0000]*$' }),
    },
    expression: {
      title: 'Expression',
      description: 'CQL2 text (population / area), or CQL2 JSON. Spatial literals are in WGS 84.',
      schema: Type.Union([Type.String({ minLength: 1, maxLength: 100_000 }), Type.Object({})]),
    },
  },
  outputs: { features: FEATURES_OUTPUT },
  work: featuresWork((values, { source, fields }) => {
    const name = String(values['name']);
    if ([source.idColumn, ...fields].some((other) => other.toLowerCase() === name.toLowerCase()))
      throw badParameter('/inputs/name', `the field '${name}' already exists. Choose another name`);
    const text = values['expression'];
    const language = typeof text === 'string' ? 'cql2-text' : 'cql2-json';
    const readable = plainFields(source.fields).filter((field) => fields.includes(field.name));
    const schema = { ...source, fields: readable, filterCrs: CRS84 };
    const { operand, kind } = parseCql2Value('/inputs/expression', { text, language }, schema);
    const isWhole = kind === 'number' && findExactness(operand, schema) === 'whole';
    const type = isWhole ? 'integer' : TYPES[kind];
    if (!type)
      throw badParameter('/inputs/expression', `is ${kind}, which cannot be the value of an attribute`);
    return { process: { kind: 'calculate', name, type, expression: operand } };
  }),
};

const summaryStatistics: ProcessDefinition = {
  id: 'analytics.summary-statistics',
  title: 'Summary statistics',
  description:
    'Returns a feature without geometry for each group of equal values, with the feature count and field statistics.',
  keywords: ['table'],
  inputs: {
    features: featuresInput('Features', 'The features to summarize.'),
    groupBy: groupByInput,
    statistics: summaryStatisticsInput(
      `${STATISTIC_TYPES.join(', ')}, median, or percentile with its share of 100.`,
    ),
  },
  outputs: { features: FEATURES_OUTPUT },
  work: featuresWork((values, facts) => {
    const by = requireFieldNames(values, 'groupBy', facts);
    const summary = parseSummary(values, facts, ['featureCount', ...by]);
    const fields = [...summary.statistics, ...summary.percentiles].map(({ field }) => field);
    return { process: { kind: 'summarize', by, ...summary }, fields: [...new Set([...by, ...fields])] };
  }),
};

const deduplicate: ProcessDefinition = {
  id: 'analytics.deduplicate',
  title: 'Deduplicate',
  description:
    'Keeps the first of several equal features. Features are equal if their geometries, the listed fields, or both are equal. The start vertex of a ring is irrelevant.',
  keywords: ['table'],
  inputs: {
    features: featuresInput('Features', 'The features to work on.'),
    geometry: makeOptional({
      title: 'Geometry',
      description: 'Whether equal features must have the same geometry.',
      schema: Type.Boolean({ default: true }),
    }),
    fields: makeOptional({
      title: 'Fields',
      description: 'Fields with the same values in equal features.',
      schema: Type.Array(Type.String(), { maxItems: 100 }),
    }),
  },
  outputs: { features: FEATURES_OUTPUT },
  work: featuresWork((values, facts) => {
    const by = requireFieldNames(values, 'fields', facts);
    const geometry = values['geometry'] !== false;
    if (!geometry && by.length === 0)
      throw badParameter('/inputs/fields', 'must name a field if the geometry is not compared');
    return { process: { kind: 'deduplicate', by, geometry } };
  }),
};

const dataQuality: ProcessDefinition = {
  id: 'analytics.data-quality',
  title: 'Data quality',
  description:
    'Reports geometries that are null, empty, duplicate, outside an extent, or invalid (with reason and position), and the nulls of each field.',
  keywords: ['table'],
  inputs: {
    features: featuresInput('Features', 'The features to check.'),
    extent: makeOptional({
      title: 'Extent',
      description:
        'Expected extent: minx, miny, maxx, maxy in the CRS of the features. Default: the globe in a geographic CRS, otherwise no check.',
      schema: Type.Array(Type.Number(), { minItems: 4, maxItems: 4 }),
    }),
  },
  outputs: { features: FEATURES_OUTPUT },
  work: featuresWork((values, { crs }) => {
    const extent = (values['extent'] ?? (crs.isGeographic ? GLOBE : undefined)) as Box | undefined;
    if (extent && (extent[0] > extent[2] || extent[1] > extent[3]))
      throw badParameter('/inputs/extent', 'must have its minimum coordinates first');
    return { process: { kind: 'quality', ...(extent ? { extent } : {}) } };
  }),
};

const GLOBE: Box = [-180, -90, 180, 90];

export const ATTRIBUTE_PROCESSES: readonly ProcessDefinition[] = [
  measureProcess(
    'area',
    { title: 'Areas', description: 'Adds the area of each feature, without holes, as attribute area.' },
    areaUnitInput,
    getAreaMeasure,
  ),
  measureProcess(
    'length',
    {
      title: 'Lengths',
      description: 'Adds the length of lines and of polygon rings as attribute length.',
    },
    unitInput,
    getLengthMeasure,
  ),
  calculateField,
  summaryStatistics,
  deduplicate,
  dataQuality,
];
