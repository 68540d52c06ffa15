import type { TSchema } from 'typebox';
import {
  BufferAggregateBody,
  ClustersBody,
  DensityBody,
  SpatialJoinBody,
} from '../../../core/features/analytics-bodies.js';
import { defineOperation, type Exchange, type Operation } from '../../../core/http/operation.js';
import { defineIntegerParam, defineTextParam } from '../../../core/http/params.js';
import { FEATURES_PATH } from '../../../core/http/paths.js';
import {
  licensedView,
  requestBufferAggregate,
  requestClusters,
  requestDensity,
  requestH3Cells,
  requestSpatialJoin,
} from '../../../services/features/analytics/analyses.js';
import { findView } from '../../../services/features/view.js';
import { analyticsBody, analyticsReply, h3Reply } from '../../surface/analytics.js';
import type { SurfaceDeps } from '../../surface/common.js';

import { featuresCollectionParam } from '../params.js';
import { AnalyticsCollection, H3Collection } from './schema.js';

const COMMON = {
  surface: 'features',
  protocol: 'OGC-Features',
  permission: 'public',
  tag: 'Analytics',
} as const;

const PATH = `${FEATURES_PATH}/collections/{collectionId}`;

const RESPONSES = {
  200: { description: 'Features in WGS 84', content: { 'application/geo+json': AnalyticsCollection } },
  400: { description: 'A member of the body is invalid' },
  402: { description: 'The licence does not cover analytics' },
  404: { description: 'The collection does not exist' },
  501: { description: 'The data source does not support analytics' },
  503: { description: 'The data source does not respond, or the server is busy' },
};

/** Analytics of OGC API Features. */
export function analyticsOperations(deps: SurfaceDeps): Operation[] {
  const posted = <S extends TSchema>(
    spec: Pick<Operation, 'id' | 'path' | 'summary' | 'description'>,
    schema: S,
  ) =>
    ({
      ...COMMON,
      ...spec,
      method: 'POST',
      params: { collectionId: featuresCollectionParam },
      body: analyticsBody(schema),
      responses: RESPONSES,
    }) as const;
  const subject = (x: Exchange<{ collectionId: typeof featuresCollectionParam }>) => ({
    deps,
    x,
    view: licensedView(deps, x.principal, x.params.collectionId),
  });
  return [
    h3Operation(deps),
    defineOperation({
      ...posted(
        {
          id: 'features.clusters',
          path: `${PATH}/clusters`,
          summary: 'Clusters',
          description:
            'DBSCAN or k-means over the centroids, by distances over the ground. clusterId -1 is noise.',
        },
        ClustersBody,
      ),
      run: async (x) => analyticsReply(await requestClusters(subject(x), x.body)),
    }),
    defineOperation({
      ...posted(
        {
          id: 'features.spatialJoin',
          path: `${PATH}/spatial-join`,
          summary: 'Spatial join',
          description:
            'Joins each feature with the features of another layer that match it: matchCount, the fields in carryFields, statistics.',
        },
        SpatialJoinBody,
      ),
      run: async (x) => analyticsReply(await requestSpatialJoin(subject(x), x.body)),
    }),
    defineOperation({
      ...posted(
        {
          id: 'features.bufferAggregate',
          path: `${PATH}/buffer-aggregate`,
          summary: 'Buffer and aggregate',
          description: 'Buffers by a distance over the ground, dissolved by groups or one by one.',
        },
        BufferAggregateBody,
      ),
      run: async (x) => analyticsReply(await requestBufferAggregate(subject(x), x.body)),
    }),
    defineOperation({
      ...posted(
        {
          id: 'features.density',
          path: `${PATH}/density`,
          summary: 'Density',
          description: 'Counts features by the cell of a grid that their centroid is in.',
        },
        DensityBody,
      ),
      run: async (x) => analyticsReply(await requestDensity(subject(x), x.body)),
    }),
  ];
}

const h3Resolution = defineIntegerParam(
  'resolution',
  { min: 0, max: 15, default: undefined },
  { description: 'Resolution of the H3 cells: 0 to 15.' },
);

function h3Operation(deps: SurfaceDeps): Operation {
  return defineOperation({
    ...COMMON,
    id: 'features.getH3',
    method: 'GET',
    path: `${PATH}/h3`,
    summary: 'H3 aggregation',
    description: 'Counts features by the H3 cell of their centroid: properties h3, count and the statistics.',
    params: {
      collectionId: featuresCollectionParam,
      resolution: { ...h3Resolution, required: true },
      where: defineTextParam('where', { description: 'A condition in SQL over the attributes.' }),
      outStatistics: defineTextParam('outStatistics', { description: 'Statistics of each cell, as JSON.' }),
    },
    responses: {
      400: RESPONSES[400],
      404: RESPONSES[404],
      501: RESPONSES[501],
      503: RESPONSES[503],
      200: { description: 'Cells in WGS 84', content: { 'application/geo+json': H3Collection } },
    },
    async run(x) {
      const view = findView(deps, x.principal, x.params.collectionId);
      return h3Reply((await requestH3Cells({ deps, x, view }, x.params)).result);
    },
  });
}
