import Type from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import type { FeatureProcess } from '../../../core/processes/feature-processes.js';
import type { FeaturesFacts, InputDefinition, InputValues, ProcessDefinition } from '../definition.js';
import {
  FEATURES_OUTPUT,
  featuresInput,
  featuresWork,
  getLengthMeasure,
  getNumberInput,
  lengthInput,
  makeOptional,
  unitInput,
} from './parts.js';
import { parseStatistics, statisticsInput } from './statistics.js';

/** Processes that bring features of two layers together by where they are. */

const OF_THE_OTHERS = 'they are projected to the CRS of the features.';

const innerOnlyInput: InputDefinition = makeOptional({
  title: 'Matches only',
  description: 'Whether features without a match are omitted.',
  schema: Type.Boolean({ default: false }),
});

type Join = Extract<FeatureProcess, { kind: 'join' }>;

const PREDICATES: readonly Join['predicate'][] = ['intersects', 'contains', 'within', 'dwithin'];
const MODES: readonly Join['mode'][] = ['first', 'each', 'count'];

const spatialJoin: ProcessDefinition = {
  id: 'analytics.spatial-join',
  title: 'Spatial join',
  description:
    'Adds the attributes or the number of matching features of another layer: points in a polygon, the polygon of a point, features within a distance.',
  keywords: ['vector', 'join'],
  inputs: {
    features: featuresInput('Features', 'The features to work on.'),
    join: featuresInput('Join', `The features to match; ${OF_THE_OTHERS}`),
    predicate: makeOptional({
      title: 'Predicate',
      description:
        'Spatial relation of a feature to its matches, in the plane of its CRS. dwithin: within the distance.',
      schema: Type.String({ enum: [...PREDICATES], default: 'intersects' }),
    }),
    distance: makeOptional(lengthInput('Distance', 'Maximum distance for dwithin.')),
    unit: unitInput,
    mode: makeOptional({
      title: 'Mode',
      description:
        'first: attributes of the first (dwithin: nearest) match; each: a feature per match; count: matchCount and statistics.',
      schema: Type.String({ enum: [...MODES], default: 'first' }),
    }),
    statistics: statisticsInput('Statistics over fields of the matches, for mode count.'),
    innerOnly: innerOnlyInput,
  },
  outputs: { features: FEATURES_OUTPUT },
  work: featuresWork(
    (values, facts, others) => ({
      process: {
        kind: 'join',
        countName: 'matchCount',
        predicate: (values['predicate'] ?? 'intersects') as Join['predicate'],
        mode: (values['mode'] ?? 'first') as Join['mode'],
        statistics: joinStatistics(values, others),
        innerOnly: values['innerOnly'] === true,
        ...joinReach(values, facts),
      },
    }),
    'join',
  ),
};

function joinStatistics(values: InputValues, others: FeaturesFacts | undefined): Join['statistics'] {
  if (values['statistics'] !== undefined && values['mode'] !== 'count')
    throw badParameter('/inputs/statistics', 'are only for the mode count');
  return others ? parseStatistics(values, others, ['matchCount']) : [];
}

function joinReach(values: InputValues, facts: FeaturesFacts): Pick<Join, 'reach'> {
  const isNear = values['predicate'] === 'dwithin';
  if (isNear !== (values['distance'] !== undefined))
    throw badParameter('/inputs/distance', isNear ? 'is required for dwithin' : 'is only for dwithin');
  if (!isNear) return {};
  const { ground, perUnit } = getLengthMeasure(values, facts);
  return { reach: { distance: getNumberInput(values, 'distance') * perUnit, ground } };
}

const pointsInPolygons: ProcessDefinition = {
  id: 'analytics.points-in-polygons',
  title: 'Points in polygons',
  description: 'Adds the number of points inside each polygon, and statistics over them.',
  keywords: ['vector', 'join'],
  inputs: {
    features: featuresInput('Polygons', 'The polygons.'),
    points: featuresInput(
      'Points',
      'The points. Points on a boundary are outside. They are projected to the CRS of the polygons.',
    ),
    statistics: statisticsInput('Statistics over fields of the points in a polygon.'),
  },
  outputs: { features: FEATURES_OUTPUT },
  work: featuresWork(
    (values, _, points) => ({
      process: {
        kind: 'join',
        countName: 'pointCount',
        predicate: 'contains',
        mode: 'count',
        innerOnly: false,
        statistics: points ? parseStatistics(values, points, ['pointCount']) : [],
      },
    }),
    'points',
  ),
};

const nearest: ProcessDefinition = {
  id: 'analytics.nearest',
  title: 'Nearest features',
  description:
    'Returns a feature for each of the nearest features of another layer, with both attributes, distance and rank.',
  keywords: ['vector', 'join'],
  inputs: {
    features: featuresInput('Features', 'The features to work on.'),
    near: featuresInput('Near', `The features to match; ${OF_THE_OTHERS}`),
    count: makeOptional({
      title: 'Count',
      description: 'Number of nearest features.',
      schema: Type.Integer({ minimum: 1, maximum: 1000, default: 1 }),
    }),
    maxDistance: makeOptional(lengthInput('Maximum distance', 'Features beyond this distance are ignored.')),
    unit: unitInput,
    innerOnly: innerOnlyInput,
  },
  outputs: { features: FEATURES_OUTPUT },
  work: featuresWork((values, facts) => {
    const measure = getLengthMeasure(values, facts);
    return {
      process: {
        kind: 'nearest',
        measure,
        count: getNumberInput(values, 'count', 1),
        innerOnly: values['innerOnly'] === true,
        ...(values['maxDistance'] === undefined
          ? {}
          : { reach: getNumberInput(values, 'maxDistance') * measure.perUnit }),
      },
    };
  }, 'near'),
};

const distanceMatrix: ProcessDefinition = {
  id: 'analytics.distance-matrix',
  title: 'Distance matrix',
  description:
    'Returns a feature without geometry for each pair of features of two layers: inputId, targetId, distance.',
  keywords: ['vector'],
  inputs: {
    features: featuresInput('Features', 'The features to measure from.'),
    targets: featuresInput('Targets', `The features to measure to; ${OF_THE_OTHERS}`),
    unit: unitInput,
  },
  outputs: { features: FEATURES_OUTPUT },
  work: featuresWork(
    (values, facts) => ({
      process: { kind: 'distances', measure: getLengthMeasure(values, facts) },
      fields: [],
    }),
    'targets',
  ),
};

const overlayShares: ProcessDefinition = {
  id: 'analytics.overlay-shares',
  title: 'Overlay with shares',
  description:
    'Returns the intersection of each pair of features, with both attributes, area or length, and its share of each feature.',
  keywords: ['vector', 'overlay'],
  inputs: {
    features: featuresInput('Features', 'The features to work on.'),
    overlay: featuresInput('Overlay', `The overlay features; ${OF_THE_OTHERS}`),
    unit: unitInput,
  },
  outputs: { features: FEATURES_OUTPUT },
  work: featuresWork(
    (values, facts) => ({ process: { kind: 'intersect', measure: getLengthMeasure(values, facts) } }),
    'overlay',
  ),
};

export const JOIN_PROCESSES: readonly ProcessDefinition[] = [
  spatialJoin,
  pointsInPolygons,
  nearest,
  distanceMatrix,
  overlayShares,
];
