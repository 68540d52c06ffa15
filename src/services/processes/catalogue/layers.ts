import Type from 'typebox';
import { STATISTIC_TYPES, type StatisticType } from '../../../core/analytics.js';
import { badParameter } from '../../../core/errors.js';
import type { FeatureProcess } from '../../../core/feature-processes.js';
import type { CollectionOperation } from '../../../core/geometry-operations.js';
import type { FeaturesFacts, InputDefinition, InputValues, ProcessDefinition } from '../definition.js';
import { holesInput, ratioInput } from './geometry.js';
import {
  FEATURES_OUTPUT,
  featuresInput,
  featuresWork,
  fieldNames,
  lengthInCrs,
  lengthInput,
  numberOf,
  optional,
  unitInput,
} from './parts.js';

/** Processes over whole layers: their features together, or laid over those of another one. */

function overlayProcess(
  kind: Exclude<FeatureProcess['kind'], 'map' | 'dissolve' | 'together' | 'join'>,
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

const Statistic = Type.Object({
  type: Type.String({ enum: [...STATISTIC_TYPES] }),
  field: Type.String(),
  name: Type.Optional(Type.String({ description: 'Of the attribute; type_field when absent.' })),
});

const partsInput: InputDefinition = optional({
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
    groupBy: optional({
      title: 'Group by',
      description: 'Fields whose values make groups; all features are one group without.',
      schema: Type.Array(Type.String(), { maxItems: 20 }),
    }),
    statistics: optional({
      title: 'Statistics',
      description: 'Numbers over the values of fields in each group.',
      schema: Type.Array(Statistic, { maxItems: 50 }),
    }),
    parts: partsInput,
  },
  outputs: { features: FEATURES_OUTPUT },
  work: featuresWork((values, facts) => {
    const by = fieldNames(values, 'groupBy', facts);
    const statistics = statisticsOf(values, facts, by);
    const fields = [...new Set([...by, ...statistics.map(({ field }) => field)])];
    return { process: { kind: 'dissolve', by, statistics, parts: values['parts'] === true }, fields };
  }),
};

interface StatisticInput {
  type: StatisticType;
  field: string;
  name?: string;
}

function statisticsOf(values: InputValues, facts: FeaturesFacts, by: readonly string[]) {
  const list = (values['statistics'] as StatisticInput[] | undefined) ?? [];
  const taken = new Set(['featurecount', 'fid', 'geom', ...by.map((name) => name.toLowerCase())]);
  return list.map(({ type, field, name = `${type}_${field}` }, i) => {
    const at = `/inputs/statistics/${i}`;
    if (!facts.fields.includes(field))
      throw badParameter(`${at}/field`, `there is no field '${field.slice(0, 60)}'`);
    const sort = facts.source.fields.find((candidate) => candidate.name === field)!.type;
    const isNumber = sort === 'integer' || sort === 'number';
    if (!isNumber && !['count', 'min', 'max'].includes(type))
      throw badParameter(`${at}/type`, `${type} needs numbers, and '${field.slice(0, 60)}' is ${sort}`);
    if (taken.has(name.toLowerCase()))
      throw badParameter(`${at}/name`, `there are two attributes '${name.slice(0, 60)}'`);
    taken.add(name.toLowerCase());
    return { type, field, name };
  });
}

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

const PREDICATES = ['intersects', 'contains', 'within'] as const;
const MODES = ['first', 'each', 'count'] as const;

const spatialJoin: ProcessDefinition = {
  id: 'analytics.spatial-join',
  title: 'Spatial join',
  description:
    'Features with the attributes of those of another layer that they meet, or with the number of these: how many points lie in each polygon, in which polygon each point lies.',
  keywords: ['vector', 'join'],
  inputs: {
    features: featuresInput('Features', 'The features to work on.'),
    join: featuresInput(
      'Join',
      'The features that are looked for; they are projected to the CRS of the others.',
    ),
    predicate: optional({
      title: 'Predicate',
      description: 'What a feature does to those that are looked for, in the plane of its CRS.',
      schema: Type.String({ enum: [...PREDICATES], default: 'intersects' }),
    }),
    mode: optional({
      title: 'Mode',
      description:
        'first: attributes of the first match; each: a feature for each match; count: matchCount alone.',
      schema: Type.String({ enum: [...MODES], default: 'first' }),
    }),
    innerOnly: optional({
      title: 'Matches only',
      description: 'Features that meet nothing are left out.',
      schema: Type.Boolean({ default: false }),
    }),
  },
  outputs: { features: FEATURES_OUTPUT },
  work: featuresWork(
    (values) => ({
      process: {
        kind: 'join',
        predicate: (values['predicate'] ?? 'intersects') as (typeof PREDICATES)[number],
        mode: (values['mode'] ?? 'first') as (typeof MODES)[number],
        innerOnly: values['innerOnly'] === true,
      },
    }),
    'join',
  ),
};

const toleranceInputs = {
  tolerance: optional(lengthInput('Tolerance', 'Points that are nearer to each other are taken for one.')),
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
  union,
  spatialJoin,
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
      ratio: numberOf(values, 'ratio', 0.3),
      holes: values['holes'] === true,
    }),
  ),
];
