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
        'The overlay features. They are projected to the CRS of the features.',
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
    inputs: { features: featuresInput('Features', 'The features to process together.'), ...inputs },
    outputs: { features: FEATURES_OUTPUT },
    work: featuresWork((values, facts) => ({
      process: { kind: 'together', operation: operation(values, facts) },
      fields: [],
    })),
  };
}

const partsInput: InputDefinition = makeOptional({
  title: 'Single parts',
  description: 'Whether each part of the union is a feature.',
  schema: Type.Boolean({ default: false }),
});

const dissolve: ProcessDefinition = {
  id: 'geometry.dissolve',
  title: 'Dissolve',
  description:
    'Merges features with equal values into one feature with the union of their geometries and their number.',
  keywords: ['vector'],
  inputs: {
    features: featuresInput('Features', 'The features to work on.'),
    groupBy: groupByInput,
    statistics: statisticsInput('Statistics over fields of each group.'),
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
    'Merges the buffers of features with equal values into one feature, with the number of features.',
  inputs: {
    ...dissolve.inputs,
    distance: lengthInput('Distance', 'Distance of the buffers, geodesic in a geographic CRS.'),
    unit: unitInput,
  },
  work: featuresWork((values, facts) => dissolvePlan(values, facts, bufferOperation(values, facts))),
};

const union: ProcessDefinition = {
  id: 'geometry.union',
  title: 'Union of all',
  description: 'Merges all geometries into one feature or into single parts.',
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
    'Moves vertices and segments to vertices of another layer within a planar tolerance. Invalid results are repaired.',
  keywords: ['vector'],
  inputs: {
    features: featuresInput('Features', 'The features to move.'),
    reference: featuresInput(
      'Reference',
      'The features to snap to. They are projected to the CRS of the features.',
    ),
    tolerance: lengthInput('Tolerance', 'Maximum movement of a vertex.'),
    unit: unitInput,
  },
  outputs: { features: FEATURES_OUTPUT },
  work: featuresWork(
    (values, facts) => ({ process: { kind: 'snap', tolerance: lengthInCrs(values, 'tolerance', facts) } }),
    'reference',
  ),
};

const toleranceInputs = {
  tolerance: makeOptional(lengthInput('Tolerance', 'Points within this distance are merged.')),
  unit: unitInput,
};
const tolerance = (values: InputValues, facts: FeaturesFacts) => lengthInCrs(values, 'tolerance', facts);

export const LAYER_PROCESSES: readonly ProcessDefinition[] = [
  overlayProcess('clip', {
    id: 'geometry.clip',
    title: 'Clip',
    description: 'Keeps the parts of features inside the overlay.',
  }),
  overlayProcess('subtract', {
    id: 'geometry.difference',
    title: 'Difference',
    description: 'Keeps the parts of features outside the overlay.',
  }),
  overlayProcess('intersect', {
    id: 'geometry.intersect',
    title: 'Intersection',
    description: 'Returns the intersection of each pair of features, with both attributes.',
  }),
  overlayProcess('symmetric-difference', {
    id: 'geometry.symmetric-difference',
    title: 'Symmetric difference',
    description: 'Returns the areas covered by only one of the layers, with its attributes.',
  }),
  overlayProcess('union', {
    id: 'geometry.union-overlay',
    title: 'Union of two layers',
    description:
      'Returns the intersections of both layers with both attributes, and the areas covered by only one layer.',
  }),
  dissolve,
  bufferAggregate,
  union,
  snapToLayer,
  togetherProcess(
    {
      id: 'geometry.voronoi',
      title: 'Voronoi polygons',
      description: 'Creates the Voronoi cell of each vertex.',
    },
    toleranceInputs,
    (values, facts) => ({ name: 'voronoi', tolerance: tolerance(values, facts) }),
  ),
  togetherProcess(
    {
      id: 'geometry.delaunay',
      title: 'Delaunay triangles',
      description: 'Creates the Delaunay triangulation of the vertices.',
    },
    toleranceInputs,
    (values, facts) => ({ name: 'delaunay', tolerance: tolerance(values, facts) }),
  ),
  togetherProcess(
    {
      id: 'geometry.polygonize',
      title: 'Polygons of lines',
      description: 'Creates the polygons enclosed by lines. Lines are split where they cross.',
    },
    {},
    () => ({ name: 'polygonize' }),
  ),
  togetherProcess(
    {
      id: 'geometry.layer-convex-hull',
      title: 'Convex hull of all',
      description: 'Creates the convex hull of all features.',
    },
    {},
    () => ({ name: 'convex-hull' }),
  ),
  togetherProcess(
    {
      id: 'geometry.layer-concave-hull',
      title: 'Concave hull of all',
      description: 'Creates the concave hull of all features.',
    },
    { ratio: ratioInput, holes: holesInput },
    (values) => ({
      name: 'concave-hull',
      ratio: getNumberInput(values, 'ratio', 0.3),
      holes: values['holes'] === true,
    }),
  ),
];
