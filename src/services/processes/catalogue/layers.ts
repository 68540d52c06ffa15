import Type from 'typebox';
import type { CollectionOperation, GeometryOperation } from '../../../core/geometry/geometry-operations.js';
import type { OverlayKind } from '../../../core/processes/feature-processes.js';
import type {
  FeaturesFacts,
  FeaturesPlan,
  InputDefinition,
  InputValues,
  ProcessDefinition,
} from '../definition.js';
import { bufferOperation, holesInput, ratioInput } from './geometry.js';
import {
  FEATURES_OUTPUT,
  featuresInput,
  featuresWork,
  getNumberInput,
  groupByInput,
  lengthInCrs,
  lengthInput,
  makeOptional,
  requireFieldNames,
  unitInput,
} from './parts.js';
import { parseStatistics, statisticsInput } from './statistics.js';

/** Processes over whole layers: their features together, or laid over those of another one. */

function overlayProcess(
  kind: OverlayKind,
  about: { id: string; title: string; description: string },
): ProcessDefinition {
  return {
    ...about,
    keywords: ['vector', 'overlay'],
    inputs: {
      features: featuresInput('Features', 'The features to work on.'),
      overlay: featuresInput(
        'Overlay',
        'The features to lay over them; they are projected to the CRS of the others.',
      ),
    },
    outputs: { features: FEATURES_OUTPUT },
    work: featuresWork(() => ({ process: { kind } }), 'overlay'),
  };
}

function togetherProcess(
  about: { id: string; title: string; description: string },
  inputs: Record<string, InputDefinition>,
  operation: (values: InputValues, facts: FeaturesFacts) => CollectionOperation,
): ProcessDefinition {
  return {
    ...about,
    keywords: ['vector'],
    inputs: { features: featuresInput('Features', 'The features to work on, all together.'), ...inputs },
    outputs: { features: FEATURES_OUTPUT },
    work: featuresWork((values, facts) => ({
      process: { kind: 'together', operation: operation(values, facts) },
      fields: [],
    })),
  };
}

const partsInput: InputDefinition = makeOptional({
  title: 'Parts as features',
  description: 'A feature for each part of the union.',
  schema: Type.Boolean({ default: false }),
});

const dissolve: ProcessDefinition = {
  id: 'geometry.dissolve',
  title: 'Dissolve',
  description:
    'One feature for each group of equal values: the union of their geometries, with their number.',
  keywords: ['vector'],
  inputs: {
    features: featuresInput('Features', 'The features to work on.'),
    groupBy: groupByInput,
    statistics: statisticsInput('Numbers over the values of fields in each group.'),
    parts: partsInput,
  },
  outputs: { features: FEATURES_OUTPUT },
  work: featuresWork((values, facts) => dissolvePlan(values, facts)),
};

function dissolvePlan(
  values: InputValues,
  facts: FeaturesFacts,
  operation?: GeometryOperation,
): FeaturesPlan {
  const by = requireFieldNames(values, 'groupBy', facts);
  const statistics = parseStatistics(values, facts, ['featureCount', ...by]);
  const fields = [...new Set([...by, ...statistics.map(({ field }) => field)])];
  const parts = values['parts'] === true;
  return {
    process: { kind: 'dissolve', by, statistics, parts, ...(operation ? { operation } : {}) },
    fields,
  };
}

const bufferAggregate: ProcessDefinition = {
  ...dissolve,
  id: 'analytics.buffer-aggregate',
  title: 'Dissolved buffers',
  description:
    'The union of the areas within a distance of features, one feature for each group of equal values, with their number.',
  inputs: {
    ...dissolve.inputs,
    distance: lengthInput('Distance', 'As of a buffer: over the ground in a geographic CRS.'),
    unit: unitInput,
  },
  work: featuresWork((values, facts) => dissolvePlan(values, facts, bufferOperation(values, facts))),
};

const union: ProcessDefinition = {
  id: 'geometry.union',
  title: 'Union of all',
  description: 'The union of all geometries, as one feature or as one for each of its parts.',
  keywords: ['vector'],
  inputs: { features: featuresInput('Features', 'The features to work on.'), parts: partsInput },
  outputs: { features: FEATURES_OUTPUT },
  work: featuresWork((values) => ({
    process: { kind: 'dissolve', by: [], statistics: [], parts: values['parts'] === true },
    fields: [],
  })),
};

const snapToLayer: ProcessDefinition = {
  id: 'geometry.snap-to-layer',
  title: 'Snap to a layer',
  description:
    'Vertices and segments move onto vertices of another layer that are within a tolerance, in the plane of the coordinates; what becomes invalid is repaired.',
  keywords: ['vector'],
  inputs: {
    features: featuresInput('Features', 'The features that move.'),
    reference: featuresInput(
      'Reference',
      'The features that stay; they are projected to the CRS of the others.',
    ),
    tolerance: lengthInput('Tolerance', 'Longest way of a vertex.'),
    unit: unitInput,
  },
  outputs: { features: FEATURES_OUTPUT },
  work: featuresWork(
    (values, facts) => ({ process: { kind: 'snap', tolerance: lengthInCrs(values, 'tolerance', facts) } }),
    'reference',
  ),
};

const toleranceInputs = {
  tolerance: makeOptional(
    lengthInput('Tolerance', 'Points that are nearer to each other are taken for one.'),
  ),
  unit: unitInput,
};
const tolerance = (values: InputValues, facts: FeaturesFacts) => lengthInCrs(values, 'tolerance', facts);

export const LAYER_PROCESSES: readonly ProcessDefinition[] = [
  overlayProcess('clip', {
    id: 'geometry.clip',
    title: 'Clip',
    description: 'The parts of features that lie inside of the overlay.',
  }),
  overlayProcess('subtract', {
    id: 'geometry.difference',
    title: 'Difference',
    description: 'The parts of features that lie outside of the overlay.',
  }),
  overlayProcess('intersect', {
    id: 'geometry.intersect',
    title: 'Intersection',
    description: 'A feature for each pair of features that share something, with the attributes of both.',
  }),
  overlayProcess('symmetric-difference', {
    id: 'geometry.symmetric-difference',
    title: 'Symmetric difference',
    description: 'What only one of both layers covers, with the attributes that it has there.',
  }),
  overlayProcess('union', {
    id: 'geometry.union-overlay',
    title: 'Union of two layers',
    description: 'What both layers share, with the attributes of both, and what only one of them covers.',
  }),
  dissolve,
  bufferAggregate,
  union,
  snapToLayer,
  togetherProcess(
    {
      id: 'geometry.voronoi',
      title: 'Voronoi polygons',
      description: 'For each vertex the area that is nearer to it than to all others.',
    },
    toleranceInputs,
    (values, facts) => ({ name: 'voronoi', tolerance: tolerance(values, facts) }),
  ),
  togetherProcess(
    { id: 'geometry.delaunay', title: 'Delaunay triangles', description: 'Triangles between the vertices.' },
    toleranceInputs,
    (values, facts) => ({ name: 'delaunay', tolerance: tolerance(values, facts) }),
  ),
  togetherProcess(
    {
      id: 'geometry.polygonize',
      title: 'Polygons of lines',
      description: 'The areas that lines enclose, cut where these cross.',
    },
    {},
    () => ({ name: 'polygonize' }),
  ),
  togetherProcess(
    {
      id: 'geometry.layer-convex-hull',
      title: 'Convex hull of all',
      description: 'The convex hull around all features.',
    },
    {},
    () => ({ name: 'convex-hull' }),
  ),
  togetherProcess(
    {
      id: 'geometry.layer-concave-hull',
      title: 'Concave hull of all',
      description: 'A tight hull around the vertices of all features.',
    },
    { ratio: ratioInput, holes: holesInput },
    (values) => ({
      name: 'concave-hull',
      ratio: getNumberInput(values, 'ratio', 0.3),
      holes: values['holes'] === true,
    }),
  ),
];
