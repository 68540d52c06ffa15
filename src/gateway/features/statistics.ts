import Type from 'typebox';
import { defineOperation, type Operation } from '../../core/http/operation.js';
import { FEATURES_PATH } from '../../core/http/paths.js';
import { attributeStatistics } from '../../services/features/attribute-statistics.js';
import { findView } from '../../services/features/view.js';
import * as pages from '../pages/index.js';
import { documentReply, META_FORMATS, type SurfaceDeps } from '../surface/common.js';

import { featuresCollectionParam } from './params.js';

/** Statistics of the values of each attribute, for pages with charts and as JSON. */
export function statisticsOperation(deps: SurfaceDeps): Operation {
  return defineOperation({
    surface: 'features',
    protocol: 'OGC-Features',
    permission: 'public',
    method: 'GET',
    tag: 'Analytics',
    id: 'features.getStatistics',
    path: `${FEATURES_PATH}/collections/{collectionId}/statistics`,
    summary: 'Statistics of the attributes',
    description:
      'Counts, ranges, means, quantiles, frequent values and histograms. For very large collections they cover only the first features, and `complete` is false.',
    params: { collectionId: featuresCollectionParam },
    formats: META_FORMATS,
    responses: {
      200: {
        description: 'Statistics by attribute',
        content: { 'application/json': Type.Object({}), 'text/html': null },
      },
      404: { description: 'The collection does not exist' },
      503: { description: 'The data source does not respond, or the server is busy' },
    },
    async run(x) {
      const { visible } = findView(deps, x.principal, x.params.collectionId);
      const statistics = await attributeStatistics(deps.pools, visible, x);
      const self = `${x.baseUrl}${x.path}`;
      const links = META_FORMATS.map((format) => ({
        href: `${self}?f=${format.name}`,
        rel: format === x.format ? 'self' : 'alternate',
        type: format.mediaType,
        title: `These statistics as ${format.name === 'json' ? 'JSON' : 'a page'}`,
      }));
      const document = { collection: visible.id, title: visible.title, ...statistics, links };
      return documentReply(x, document, () => pages.buildStatisticsPage(x, visible, document));
    },
  });
}
