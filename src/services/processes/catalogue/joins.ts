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

const OF_THE_OTHERS = 'they are projected to the CRS of the others.';

const innerOnlyInput: InputDefinition = makeOptional({
  title: 'Matches only',
  description: 'Features that meet nothing are left out.',
  schema: Type.Boolean({ default: false }),
});

type Join = Extract<FeatureProcess, { kind: 'join' }>;

const PREDICATES: readonly Join['predicate'][] = ['intersects', 'contains', 'within', 'dwithin'];
const MODES: readonly Join['mode'][] = ['first', 'each', 'count'];

const spatialJoin: ProcessDefinition = {
  id: 'analytics.spatial-join',
  title: 'Spatial join',
  description:
    'Features with the attributes of those of another layer that they meet, or with the number of these: how many points lie in each polygon, in which polygon each point lies, what lies within a distance.',
  keywords: ['vector', 'join'],
  inputs: {
    features: featuresInput('Features', 'The features to work on.'),
    join: featuresInput('Join', `The features that are looked for; ${OF_THE_OTHERS}`),
    predicate: makeOptional({
      title: 'Predicate',
      description:
        'What a feature does to those that are looked for, in the plane of its CRS; dwithin: is no further away than the distance.',
      schema: Type.String({ enum: [...PREDICATES], default: 'intersects' }),
    }),
    distance: makeOptional(lengthInput('Distance', 'Largest distance, for dwithin.')),
    unit: unitInput,
    mode: makeOptional({
      title: 'Mode',
      description:
        'first: attributes of the first match (of the nearest, for dwithin); each: a feature for each match; count: matchCount and statistics.',
      schema: Type.String({ enum: [...MODES], default: 'first' }),
    }),
    statistics: statisticsInput('Numbers over the fields of what a feature meets, for the mode count.'),
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
  description: 'Polygons with the number of points inside of them, and statistics over these.',
  keywords: ['vector', 'join'],
  inputs: {
    features: featuresInput('Polygons', 'The polygons that points are counted in.'),
    points: featuresInput(
      'Points',
      'The points; those on a boundary are in no polygon. They are projected to the CRS of the polygons.',
    ),
    statistics: statisticsInput('Numbers over the fields of the points in a polygon.'),
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
    'A feature for each of the nearest features of another layer, with the attributes of both, the distance and the rank.',
  keywords: ['vector', 'join'],
  inputs: {
    features: featuresInput('Features', 'The features to work on.'),
    near: featuresInput('Near', `The features that are looked for; ${OF_THE_OTHERS}`),
    count: makeOptional({
      title: 'Count',
      description: 'How many are looked for.',
      schema: Type.Integer({ minimum: 1, maximum: 1000, default: 1 }),
    }),
    maxDistance: makeOptional(lengthInput('Largest distance', 'What is further away is not taken.')),
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
    'A feature without geometry for each pair of features of two layers: inputId, targetId, distance.',
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
    'A feature for each pair of features that share something, with the attributes of both, its area or length, and the share that it is of each of them.',
  keywords: ['vector', 'overlay'],
  inputs: {
    features: featuresInput('Features', 'The features to work on.'),
    overlay: featuresInput('Overlay', `The features to lay over them; ${OF_THE_OTHERS}`),
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
