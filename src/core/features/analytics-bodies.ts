import Type, { type Static } from 'typebox';
import { STATISTIC_TYPES } from './analytics.js';

/**
 * Bodies of the analytics operations, as JSON or as forms. JSON can contain a value in place of its text. Unsupported
 * members are rejected, never ignored.
 */

const text = (description: string) => Type.Optional(Type.String({ description, maxLength: 1_000_000 }));
const number = (description: string) =>
  Type.Optional(Type.Union([Type.Number(), Type.String()], { description }));
const flag = (description: string, value: boolean) =>
  Type.Optional(Type.Union([Type.Boolean(), Type.String()], { description, default: value }));

const StatisticSchema = Type.Object({
  statisticType: Type.String({ enum: [...STATISTIC_TYPES] }),
  onStatisticField: Type.String(),
  outStatisticFieldName: Type.Optional(Type.String()),
});

const shared = {
  where: text('A condition in SQL over the attributes.'),
  objectIds: text('Ids of features, separated by commas.'),
  geometry: Type.Optional(
    Type.Union([Type.String(), Type.Object({})], {
      description: 'A geometry in GeoServices JSON, or x,y, or xmin,ymin,xmax,ymax.',
    }),
  ),
  geometryType: text('esriGeometryPoint, -Multipoint, -Polyline, -Polygon or -Envelope.'),
  inSR: Type.Optional(
    Type.Union([Type.Number(), Type.String(), Type.Object({})], {
      description: 'Spatial reference of the geometry.',
    }),
  ),
  spatialRel: text(
    'esriSpatialRelIntersects (default), -Contains, -Within, -Touches, -Overlaps, -Crosses or -EnvelopeIntersects.',
  ),
  time: text('An instant or start,end in milliseconds since 1970.'),
  timeRelation: text('esriTimeRelationOverlaps.'),
  f: text('json or geojson.'),
};

const outStatistics = Type.Optional(
  Type.Union([Type.Array(StatisticSchema), StatisticSchema, Type.String()], {
    description: 'Statistics of each group: an object, a list of them, or either as JSON text.',
  }),
);

const body = <T extends Parameters<typeof Type.Object>[0]>(members: T) =>
  Type.Object({ ...members, ...shared }, { additionalProperties: false });

export const ClustersBody = body({
  algorithm: text('dbscan (default) or kmeans.'),
  eps: number('Metres to neighbours, for dbscan: above 0, at most 100000.'),
  minPoints: number('Points that make a core, for dbscan: at least 1.'),
  k: number('Clusters, for kmeans: 1 to 1000.'),
  returnHullPerCluster: flag('A hull per cluster instead of the features.', false),
  outStatistics,
});

export const SpatialJoinBody = body({
  joinLayerId: Type.Union([Type.Number(), Type.String()], {
    description: 'Number of the layer to join; another one.',
  }),
  predicate: text('intersects (default), contains, within or dwithin.'),
  distance: number('Metres, for dwithin: at most 100000.'),
  carryFields: text('Fields of the joined layer to carry as arrays, separated by commas.'),
  outStatistics,
});

export const BufferAggregateBody = body({
  distance: Type.Union([Type.Number(), Type.String()], {
    description: 'Width of the buffers, from 0 to 100000 m.',
  }),
  unit: text('meters (default), kilometers, feet or miles; m, km, ft, mi.'),
  dissolve: flag('One buffer per group instead of one per feature.', true),
  groupByFields: text('Fields that make the groups, separated by commas.'),
  outStatistics,
});

export const DensityBody = body({
  cellSize: Type.Union([Type.Number(), Type.String()], {
    description: 'Length of the side of a cell: 10 to 100000 m.',
  }),
  mode: text('hex (default) or square.'),
  weightField: text('A numeric field to sum up.'),
});

export type Clusters = Static<typeof ClustersBody>;
export type SpatialJoin = Static<typeof SpatialJoinBody>;
export type BufferAggregate = Static<typeof BufferAggregateBody>;
export type Density = Static<typeof DensityBody>;
