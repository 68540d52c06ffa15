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

/** Processes that search for patterns in the locations of features. */

const SHAPES: readonly CellShape[] = ['square', 'hexagon'];

const shapeInput: InputDefinition = makeOptional({
  title: 'Shape',
  description: 'Shape of the cells. Hexagons have a flat top.',
  schema: Type.String({ enum: [...SHAPES], default: SHAPES[0] }),
});

const shapeOf = ({ shape }: InputValues) => (shape ?? SHAPES[0]) as CellShape;

const cellSizeInput = lengthInput('Cell size', 'Side length of a cell.');

/** Throws 400 for a length that must not be 0. */
function positive(name: string, length: number): number {
  if (length > 0) return length;
  throw badParameter(`/inputs/${name}`, 'must be greater than 0');
}

const grid: ProcessDefinition = {
  id: 'geometry.grid',
  title: 'Grid',
  description:
    'Creates cells over the bounding box of all features, in the plane of their CRS. The grid is aligned with the CRS origin.',
  keywords: ['vector'],
  inputs: {
    features: featuresInput('Features', 'The features that the grid covers.'),
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
  description:
    'Returns the H3 cells (WGS 84) that contain centroids of features, with their number and statistics.',
  keywords: ['vector'],
  inputs: {
    features: featuresInput('Features', 'The features to count.'),
    resolution: {
      title: 'Resolution',
      description: 'H3 resolution: 0 (4 million square kilometres) to 15 (one square metre).',
      schema: Type.Integer({ minimum: 0, maximum: 15 }),
    },
    statistics: statisticsInput('Statistics over fields of the features in a cell.'),
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
    'Adds the clusterId of the centroids: by density (DBSCAN; -1 is noise) or by a number of clusters (k-means).',
  keywords: ['vector'],
  inputs: {
    features: featuresInput('Features', 'The features to work on.'),
    algorithm: makeOptional({
      title: 'Algorithm',
      description: 'dbscan or kmeans.',
      schema: Type.String({ enum: ['dbscan', 'kmeans'], default: 'dbscan' }),
    }),
    eps: makeOptional(lengthInput('Distance', 'Maximum distance of neighbours, for dbscan.')),
    unit: unitInput,
    minPoints: makeOptional({
      title: 'Points',
      description: 'Minimum number of features within the distance, including the core feature, for dbscan.',
      schema: Type.Integer({ minimum: 1, maximum: 1_000_000, default: 5 }),
    }),
    k: makeOptional({
      title: 'Clusters',
      description: 'Number of clusters, for kmeans.',
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
    'Creates cells with the feature density at their centres: the number or weight of features per square unit, by a quartic kernel.',
  keywords: ['vector'],
  inputs: {
    features: featuresInput('Features', 'The features to work on.'),
    cellSize: cellSizeInput,
    radius: lengthInput('Radius', `Radius of the kernel, at most ${MAX_CELLS} cell sizes.`),
    unit: unitInput,
    shape: shapeInput,
    weightField: makeOptional({
      title: 'Weight',
      description: 'Numeric field. Default: each feature has weight 1.',
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
    'Finds clusters of high or low values by Getis-Ord Gi*. Adds giZ, giP (two-sided) and giConfidence (99, 95 or 90 per cent; negative for low values; otherwise 0).',
  keywords: ['vector'],
  inputs: {
    features: featuresInput('Features', 'The features to work on.'),
    field: { title: 'Field', description: 'Numeric field.', schema: Type.String() },
    radius: lengthInput('Radius', 'Maximum distance between centroids of neighbours.'),
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
