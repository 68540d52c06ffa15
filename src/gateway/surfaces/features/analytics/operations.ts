import type { TSchema } from 'typebox';
import { hasFeatures } from '../../../../core/abilities.js';
import type { ClusterAlgorithm } from '../../../../core/analytics.js';
import { badParameter } from '../../../../core/errors.js';
import { requireEntitlement } from '../../../../core/licensing.js';
import { LIMITS } from '../../../../core/limits.js';
import { type BodySpec, defineOperation, type Exchange, type Operation } from '../../../../core/operation.js';
import { integer, text } from '../../../../core/params.js';
import { bothFilters } from '../../../../services/access/access.js';
import { type GeoServicesFilter, geoServicesFilter } from '../../../../services/geoservices/filter.js';
import { runTask } from '../../../../services/run-task.js';
import { requirePlace, type SurfaceDeps } from '../../common.js';
import { FEATURES_PATH } from '../documents.js';
import { collectionId } from '../params.js';
import { filterOptions, type View, viewOf } from '../view.js';
import {
  fieldNamed,
  fieldNames,
  flagOf,
  integerWithin,
  isNumeric,
  numberOf,
  numberWithin,
  statisticsOf,
  wordOf,
} from './members.js';
import { analyticsReply, h3Reply } from './reply.js';
import {
  AnalyticsCollection,
  type BufferAggregate,
  BufferAggregateBody,
  type Clusters,
  ClustersBody,
  DensityBody,
  H3Collection,
  type SpatialJoin,
  SpatialJoinBody,
} from './schema.js';

const COMMON = {
  surface: 'features',
  protocol: 'OGC-Features',
  permission: 'public',
  tag: 'Analytics',
} as const;

const PATH = `${FEATURES_PATH}/collections/{collectionId}`;
const MAX_METRES = 100_000;

const RESPONSES = {
  200: { description: 'Features in WGS 84', content: { 'application/geo+json': AnalyticsCollection } },
  400: { description: 'A member is wrong' },
  402: { description: 'The licence does not cover analytics' },
  404: { description: 'No such collection' },
  501: { description: 'The store of the collection has no reader for analytics' },
  503: { description: 'The store does not answer, or the server is busy' },
};

const bodyOf = <S extends TSchema>(schema: S): BodySpec<S> => ({
  schema,
  mediaTypes: ['application/json', 'application/x-www-form-urlencoded'],
  required: true,
  maxBytes: LIMITS.searchBytes,
  bounds: { values: LIMITS.searchValues },
  jsonMembers: ['geometry', 'outStatistics'],
});

/** Analytics over any store: computed in the workers. */
export function analyticsOperations(deps: SurfaceDeps): Operation[] {
  return [h3(deps), clusters(deps), spatialJoin(deps), bufferAggregate(deps), density(deps)];
}

/** What the features of a view must pass: the rows that exist, and the filters of the request. */
function query(view: View, filter: GeoServicesFilter) {
  const own = geoServicesFilter(filter, filterOptions(view), view.collection.storageCrs);
  return { source: view.source, filter: bothFilters(view.rows, own) };
}

function licensedView(deps: SurfaceDeps, x: Exchange<{ collectionId: typeof collectionId }>): View {
  const view = viewOf(deps, x.principal, x.params.collectionId);
  requirePlace(view.collection);
  requireEntitlement(deps.licensing, 'spatial-analytics');
  return view;
}

const resolution = integer(
  'resolution',
  { min: 0, max: 15, default: undefined },
  { description: 'Resolution of the H3 cells: 0 to 15.' },
);

function h3(deps: SurfaceDeps): Operation {
  return defineOperation({
    ...COMMON,
    id: 'features.getH3',
    method: 'GET',
    path: `${PATH}/h3`,
    summary: 'H3 aggregation',
    description: 'Counts features by the H3 cell of their centroid: properties h3, count and the statistics.',
    params: {
      collectionId,
      resolution: { ...resolution, required: true },
      where: text('where', { description: 'A condition in SQL over the attributes.' }),
      outStatistics: text('outStatistics', { description: 'Statistics of each cell, as JSON.' }),
    },
    responses: {
      400: RESPONSES[400],
      404: RESPONSES[404],
      501: RESPONSES[501],
      503: RESPONSES[503],
      200: { description: 'Cells in WGS 84', content: { 'application/geo+json': H3Collection } },
    },
    async run(x) {
      const view = viewOf(deps, x.principal, x.params.collectionId);
      const { resolution: level, where, outStatistics } = x.params;
      if (level === undefined) throw badParameter('resolution', 'is required');
      const statistics = statisticsOf(outStatistics, view.queryables, ['h3', 'count']);
      const task = { ...query(view, where === undefined ? {} : { where }), resolution: level, statistics };
      return h3Reply(await runTask(x, deps.pools, 'vector.h3', task));
    },
  });
}

function clusters(deps: SurfaceDeps): Operation {
  return defineOperation({
    ...COMMON,
    id: 'features.clusters',
    method: 'POST',
    path: `${PATH}/clusters`,
    summary: 'Clusters',
    description: 'DBSCAN or k-means over the centroids, by distances over the ground. clusterId -1 is noise.',
    params: { collectionId },
    body: bodyOf(ClustersBody),
    responses: RESPONSES,
    async run(x) {
      const view = licensedView(deps, x);
      const hulls = flagOf('returnHullPerCluster', x.body.returnHullPerCluster, false);
      const statistics = statisticsOf(x.body.outStatistics, view.queryables, ['clusterId', 'featureCount']);
      if (statistics.length > 0 && !hulls)
        throw badParameter('outStatistics', 'needs returnHullPerCluster to be true');
      const task = {
        ...query(view, x.body),
        algorithm: algorithmOf(x.body),
        fields: hulls ? [] : view.fields.map(({ name }) => name),
        hulls,
        statistics,
      };
      const result = await runTask(x, deps.pools, 'vector.clusters', task);
      return analyticsReply('clusters', result, hulls ? LIMITS.clusters : undefined);
    },
  });
}

function algorithmOf({ algorithm, eps, minPoints, k }: Clusters): ClusterAlgorithm {
  const name = wordOf('algorithm', algorithm, { dbscan: 'dbscan', kmeans: 'kmeans' });
  if (name === 'kmeans') return { name, k: integerWithin('k', k, 1, 1000) };
  const metres = numberWithin('eps', eps, 0, MAX_METRES);
  if (metres === 0) throw badParameter('eps', 'must be above 0');
  return { name, eps: metres, minPoints: integerWithin('minPoints', minPoints, 1, 2 ** 31) };
}

function spatialJoin(deps: SurfaceDeps): Operation {
  return defineOperation({
    ...COMMON,
    id: 'features.spatialJoin',
    method: 'POST',
    path: `${PATH}/spatial-join`,
    summary: 'Spatial join',
    description: 'Each feature with what it meets in another layer: matchCount, carried fields, statistics.',
    params: { collectionId },
    body: bodyOf(SpatialJoinBody),
    responses: RESPONSES,
    async run(x) {
      const view = licensedView(deps, x);
      const right = joinedView(deps, x, view, x.body);
      const predicate = wordOf('predicate', x.body.predicate, {
        intersects: 'intersects',
        contains: 'contains',
        within: 'within',
        dwithin: 'dwithin',
      });
      const distance = predicate === 'dwithin' ? numberWithin('distance', x.body.distance, 0, MAX_METRES) : 0;
      const carry = fieldNames('carryFields', x.body.carryFields, right.fields);
      const reserved = ['objectId', 'attributes', 'matchCount', ...carry];
      if (new Set(reserved).size < reserved.length)
        throw badParameter('carryFields', 'has a name that the answer uses itself');
      const statistics = statisticsOf(x.body.outStatistics, right.queryables, reserved);
      const { source, rows } = right;
      const task = {
        ...query(view, x.body),
        fields: view.fields.map(({ name }) => name),
        predicate,
        distance,
        right: { source, carry, statistics, ...(rows === undefined ? {} : { filter: rows }) },
      };
      return analyticsReply('spatial-join', await runTask(x, deps.pools, 'vector.spatialJoin', task));
    },
  });
}

/** The other layer, as the principal may read it. */
function joinedView(deps: SurfaceDeps, x: Exchange, view: View, { joinLayerId }: SpatialJoin): View {
  const layerId = integerWithin('joinLayerId', joinLayerId, 0, 2 ** 31);
  if (layerId === view.collection.layerId) throw badParameter('joinLayerId', 'must be another layer');
  const collection = deps.visible(x.principal).byLayerId(layerId);
  if (!hasFeatures(collection)) throw badParameter('joinLayerId', `there is no feature layer ${layerId}`);
  requirePlace(collection);
  return viewOf(deps, x.principal, collection.id);
}

const UNITS = {
  meters: 'meters',
  kilometers: 'kilometers',
  feet: 'feet',
  miles: 'miles',
  m: 'meters',
  km: 'kilometers',
  ft: 'feet',
  mi: 'miles',
} as const;
const METRES = { meters: 1, kilometers: 1000, feet: 0.3048, miles: 1609.344 } as const;

function bufferAggregate(deps: SurfaceDeps): Operation {
  return defineOperation({
    ...COMMON,
    id: 'features.bufferAggregate',
    method: 'POST',
    path: `${PATH}/buffer-aggregate`,
    summary: 'Buffer and aggregate',
    description: 'Buffers by a distance over the ground, dissolved by groups or one by one.',
    params: { collectionId },
    body: bodyOf(BufferAggregateBody),
    responses: RESPONSES,
    async run(x) {
      const view = licensedView(deps, x);
      const dissolve = flagOf('dissolve', x.body.dissolve, true);
      const groupBy = fieldNames('groupByFields', x.body.groupByFields, view.queryables);
      const reserved = ['featureCount', ...groupBy];
      if (new Set(reserved).size < reserved.length)
        throw badParameter('groupByFields', 'has a name that the answer uses itself');
      const statistics = statisticsOf(x.body.outStatistics, view.queryables, reserved);
      if (!dissolve && statistics.length > 0)
        throw badParameter('outStatistics', 'needs dissolve to be true');
      const task = { ...query(view, x.body), distance: bufferMetres(x.body), dissolve, groupBy, statistics };
      const result = await runTask(x, deps.pools, 'vector.bufferAggregate', task);
      return analyticsReply('buffer-aggregate', result);
    },
  });
}

function bufferMetres({ distance, unit }: BufferAggregate): number {
  const number = numberOf('distance', distance);
  if (number === undefined) throw badParameter('distance', 'is required');
  const metres = number * METRES[wordOf('unit', unit, UNITS)];
  if (metres < 0 || metres > MAX_METRES)
    throw badParameter('distance', `must be between 0 and ${MAX_METRES} metres`);
  return metres;
}

const MODES = {
  hex: 'hex',
  hexgrid: 'hex',
  'hex-grid': 'hex',
  square: 'square',
  squaregrid: 'square',
  'square-grid': 'square',
} as const;

function density(deps: SurfaceDeps): Operation {
  return defineOperation({
    ...COMMON,
    id: 'features.density',
    method: 'POST',
    path: `${PATH}/density`,
    summary: 'Density',
    description: 'Counts features by the cell of a grid that their centroid is in.',
    params: { collectionId },
    body: bodyOf(DensityBody),
    responses: RESPONSES,
    async run(x) {
      const view = licensedView(deps, x);
      const { weightField } = x.body;
      if (weightField && !isNumeric(fieldNamed('weightField', weightField, view.queryables)))
        throw badParameter('weightField', 'must be a numeric field');
      const task = {
        ...query(view, x.body),
        mode: wordOf('mode', x.body.mode, MODES),
        cellSize: numberWithin('cellSize', x.body.cellSize, 10, MAX_METRES),
        ...(weightField ? { weight: weightField } : {}),
      };
      const result = await runTask(x, deps.pools, 'vector.density', task);
      return analyticsReply('density', result, LIMITS.densityCells);
    },
  });
}
