import { readable, type VectorCollection } from '../../../core/catalog/collection.js';
import { and, equalsAny } from '../../../core/cql2/index.js';
import { ApiError, badParameter } from '../../../core/errors/errors.js';
import type { TopTask } from '../../../core/features/feature-groups.js';
import type { Operation } from '../../../core/http/operation.js';
import { idLiteral } from '../../../core/values/object-id.js';
import { runTask } from '../../../services/kit/run-task.js';
import { requireLayer } from '../../../services/replicas/layer-view.js';
import { GEOSERVICES_LIMITS } from '../limits.js';
import { type Members, readObjectMember, wholeNumber } from '../members.js';
import { common, readingOperation, SERVER } from './feature-server.js';
import { member } from './query-members.js';
import { createQueryReply, featureParams, layerParams, type QueryDeps } from './query-operations.js';
import { orderKeys, queryRequest, readFeatureQuery } from './query-request.js';
import { groupFields, listComparableFields } from './statistics-request.js';

/** The first features of each group: `queryTopFeatures`. */
export function topFeatureOperations(deps: QueryDeps): Operation[] {
  return readingOperation({
    about: common(SERVER, 'queryTopFeatures'),
    name: 'queryTopFeatures',
    pathParams: layerParams,
    path: `/rest/services/{serviceId}/${SERVER}/{layerId}/queryTopFeatures`,
    params: {
      ...featureParams,
      topFilter: member('topFilter', 'JSON with groupByFields, topCount and orderByFields.'),
    },
    summary: 'First features of each group of a layer',
    async run(x, { serviceId, layerId }, members) {
      const address = { service: serviceId!, layerId: wholeNumber('layerId', layerId), parameter: 'layerId' };
      const layer = requireLayer(deps, x.principal, address);
      const request = queryRequest(layer, members);
      const { ids, more } = await runTask(x, deps.pools, 'vector.top', topTask(layer, members));
      if (more)
        throw new ApiError(
          'payload-too-large',
          `The query matches more than ${GEOSERVICES_LIMITS.geoServicesRecordsMax} features. Request fewer of each group with topCount.`,
        );
      // The second read also applies the row filter of the principal, as every read does.
      const filter = and(readable(layer).filter, equalsAny(layer.source.idColumn, ids.map(idLiteral)));
      const query = { ...request.query, filter };
      return createQueryReply(x, deps.pools, layer, {
        ...request,
        query,
        task: { ...request.task, ...query },
      });
    },
  });
}

function topTask(layer: VectorCollection, members: Members): TopTask {
  const top = readObjectMember(members, 'topFilter');
  if (!top) throw badParameter('topFilter', 'is required');
  const groupBy = groupFields(layer, 'topFilter', joinList(top['groupByFields']));
  if (groupBy.length === 0) throw badParameter('topFilter', 'must have groupByFields');
  const count = wholeNumber('topFilter', top['topCount']);
  if (count < 1) throw badParameter('topFilter', 'must have a topCount of at least 1');
  const sort = orderKeys(joinList(top['orderByFields']), listComparableFields(layer), 'topFilter');
  if (sort.length === 0) throw badParameter('topFilter', 'must have orderByFields');
  return {
    ...readFeatureQuery(layer, members),
    groupBy,
    sort,
    count,
    limit: GEOSERVICES_LIMITS.geoServicesRecordsMax,
  };
}

/** Names by commas; clients also send a list of them. */
function joinList(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  const list = Array.isArray(value) ? value : [value];
  if (!list.every((one) => typeof one === 'string'))
    throw badParameter('topFilter', 'must have names of fields');
  return list.join(',');
}
