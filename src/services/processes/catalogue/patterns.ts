import Type from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import type { ClusterAlgorithm } from '../../../core/features/analytics.js';
import type { CellShape, Measure } from '../../../core/processes/feature-processes.js';
import type { FeaturesFacts, InputDefinition, InputValues, ProcessDefinition } from '../definition.js';
import {
  FEATURES_OUTPUT,
  featuresInput,
  featuresWork,
  getLengthMeasure,
  getNumberInput,
  lengthInCrs,
  lengthInput,
  makeOptional,
  measuredLength,
  numberField,
  unitInput,
} from './parts.js';
import { parseStatistics, statisticsInput } from './statistics.js';

/** Processes that look for patterns in where features are. */

const SHAPES: readonly CellShape[] = ['square', 'hexagon'];

const shapeInput: InputDefinition = makeOptional({
  title: 'Shape',
  description: 'Of the cells; hexagons have a flat top.',
  schema: Type.String({ enum: [...SHAPES], default: SHAPES[0] }),
});

const shapeOf = ({ shape }: InputValues) => (shape ?? SHAPES[0]) as CellShape;

const cellSizeInput = lengthInput('Cell size', 'Length of a side.');

/** Throws 400 for a length that must not be 0. */
function positive(name: string, length: number): number {
  if (length > 0) return length;
  throw badParameter(`/inputs/${name}`, 'must be greater than 0');
}

const grid: ProcessDefinition = {
  id: 'geometry.grid',
  title: 'Grid',
  description:
    'Cells over the box around all features, in the plane of their CRS; the grid goes through its origin.',
  keywords: ['vector'],
  inputs: {
    features: featuresInput('Features', 'The features that the grid lies over.'),
    cellSize: cellSizeInput,
    unit: unitInput,
    shape: shapeInput,
  },
  outputs: { features: FEATURES_OUTPUT },
  work: featuresWork((values, facts) => ({
    process: {
      kind: 'grid',
      shape: shapeOf(values),
      side: positive('cellSize', lengthInCrs(values, 'cellSize', facts)),
    },
    fields: [],
  })),
};

const h3: ProcessDefinition = {
  id: 'analytics.h3-aggregate',
  title: 'H3 cells',
  description: 'H3 cells that hold centroids of features, in WGS 84, with their number and statistics.',
  keywords: ['vector'],
  inputs: {
    features: featuresInput('Features', 'The features to count.'),
    resolution: {
      title: 'Resolution',
      description: 'Of the cells: 0 (4 million square kilometres) to 15 (one square metre).',
      schema: Type.Integer({ minimum: 0, maximum: 15 }),
    },
    statistics: statisticsInput('Numbers over the fields of the features in a cell.'),
  },
  outputs: { features: FEATURES_OUTPUT },
  work: featuresWork((values, facts) => {
    const statistics = parseStatistics(values, facts, ['h3', 'featureCount']);
    return {
      process: { kind: 'h3', resolution: getNumberInput(values, 'resolution'), statistics },
      fields: [...new Set(statistics.map(({ field }) => field))],
    };
  }),
};

const clusters: ProcessDefinition = {
  id: 'analytics.cluster',
  title: 'Clusters',
  description:
    'Features with the clusterId of their centroids: by density (DBSCAN; -1 is noise), or a number of clusters (k-means).',
  keywords: ['vector'],
  inputs: {
    features: featuresInput('Features', 'The features to work on.'),
    algorithm: makeOptional({
      title: 'Algorithm',
      description: 'dbscan or kmeans.',
      schema: Type.String({ enum: ['dbscan', 'kmeans'], default: 'dbscan' }),
    }),
    eps: makeOptional(lengthInput('Distance', 'Distance of neighbours, for dbscan.')),
    unit: unitInput,
    minPoints: makeOptional({
      title: 'Points',
      description: 'Features within the distance, itself included, that make a core, for dbscan.',
      schema: Type.Integer({ minimum: 1, maximum: 1_000_000, default: 5 }),
    }),
    k: makeOptional({
      title: 'Clusters',
      description: 'How many, for kmeans.',
      schema: Type.Integer({ minimum: 1, maximum: 1000 }),
    }),
  },
  outputs: { features: FEATURES_OUTPUT },
  work: featuresWork((values, facts) => {
    const measure = getLengthMeasure(values, facts);
    return {
      process: { kind: 'clusters', ground: measure.ground, algorithm: readAlgorithm(values, measure) },
    };
  }),
};

function readAlgorithm(values: InputValues, measure: Measure): ClusterAlgorithm {
  if (values['algorithm'] === 'kmeans') {
    if (values['k'] === undefined) throw badParameter('/inputs/k', 'is required for kmeans');
    return { name: 'kmeans', k: getNumberInput(values, 'k') };
  }
  if (values['eps'] === undefined) throw badParameter('/inputs/eps', 'is required for dbscan');
  const eps = positive('eps', measuredLength(values, 'eps', measure));
  return { name: 'dbscan', eps, minPoints: getNumberInput(values, 'minPoints', 5) };
}

/** More cells than these along the radius of a kernel say no more. */
const MAX_CELLS = 100;

const density: ProcessDefinition = {
  id: 'analytics.density',
  title: 'Density',
  description:
    'Cells with the density of features at their centres: how many, or what weight, by a square unit, spread around each centroid by the quartic kernel.',
  keywords: ['vector'],
  inputs: {
    features: featuresInput('Features', 'The features to work on.'),
    cellSize: cellSizeInput,
    radius: lengthInput('Radius', `How far a feature is spread, at most ${MAX_CELLS} cell sizes.`),
    unit: unitInput,
    shape: shapeInput,
    weightField: makeOptional({
      title: 'Weight',
      description: 'A field of numbers; each feature counts 1 without.',
      schema: Type.String(),
    }),
  },
  outputs: { features: FEATURES_OUTPUT },
  work: featuresWork((values, facts) => {
    const measure = getLengthMeasure(values, facts);
    const side = positive('cellSize', measuredLength(values, 'cellSize', measure));
    const radius = positive('radius', measuredLength(values, 'radius', measure));
    if (radius > side * MAX_CELLS)
      throw badParameter('/inputs/radius', `must be at most ${MAX_CELLS} cell sizes`);
    const weight = findWeight(values, facts);
    return {
      process: {
        kind: 'density',
        shape: shapeOf(values),
        side,
        radius,
        measure,
        ...(weight ? { weight } : {}),
      },
      fields: weight ? [weight] : [],
    };
  }),
};

const findWeight = (values: InputValues, facts: FeaturesFacts) =>
  values['weightField'] === undefined ? undefined : numberField(values, 'weightField', facts);

const hotSpots: ProcessDefinition = {
  id: 'analytics.hot-spots',
  title: 'Hot spots',
  description:
    'Features with Gi* of Getis and Ord: whether high (or low) values of a field lie together. giZ, giP (two-sided), giConfidence (99, 95, 90 per cent; negative where low values lie together; else 0).',
  keywords: ['vector'],
  inputs: {
    features: featuresInput('Features', 'The features to work on.'),
    field: { title: 'Field', description: 'A field of numbers.', schema: Type.String() },
    radius: lengthInput('Radius', 'Features are neighbours whose centroids are no further apart.'),
    unit: unitInput,
  },
  outputs: { features: FEATURES_OUTPUT },
  work: featuresWork((values, facts) => {
    const measure = getLengthMeasure(values, facts);
    const radius = positive('radius', measuredLength(values, 'radius', measure));
    const field = numberField(values, 'field', facts);
    return { process: { kind: 'hot-spots', field, radius, ground: measure.ground } };
  }),
};

export const PATTERN_PROCESSES: readonly ProcessDefinition[] = [grid, h3, clusters, density, hotSpots];
