import { notFound } from '../../../core/errors/errors.js';
import { featuresIn } from '../../../core/geoservices/geoservices-features.js';
import type { Operation } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { runTask } from '../../../services/kit/run-task.js';
import { requireLayer } from '../../../services/replicas/layer-view.js';
import { jsonReply } from '../images/in-band.js';
import { createSpatialReference } from '../layer-documents.js';
import { type Members, wholeNumber } from '../members.js';
import { common, documentFormat, readingOperation, SERVER, type ServerType } from './feature-server.js';
import { featureParams, layerParams, type QueryDeps } from './query-operations.js';
import { queryRequest } from './query-request.js';

const { returnZ, outSR } = featureParams;

/** One feature of a layer of a FeatureServer or MapServer: all attributes, and the geometry in the CRS of the layer. */
export function featureOperations(deps: QueryDeps, server: ServerType): Operation[] {
  return readingOperation({
    about: common(server, 'feature', server),
    name: server === SERVER ? 'feature' : `feature${server}`,
    path: `/rest/services/{serviceId}/${server}/{layerId}/{objectId}`,
    pathParams: { ...layerParams, objectId: pathString('objectId', 'Id of a feature.') },
    params: { returnZ, outSR },
    summary: 'A feature of a layer',
    async run(x, { serviceId, layerId, objectId = '' }, members) {
      const address = { service: serviceId!, layerId: wholeNumber('layerId', layerId), parameter: 'layerId' };
      const layer = requireLayer(deps, x.principal, address);
      const format = documentFormat(members);
      if (!/^-?\d{1,19}$/.test(objectId)) throw notFound('feature', objectId.slice(0, 100));
      const chosen: Members = { objectIds: objectId, outFields: '*', returnZ: members['returnZ'] };
      const request = queryRequest(layer, { ...chosen, outSR: members['outSR'] });
      const found = await runTask(x, deps.pools, 'vector.items', { ...request.task, limit: 1 });
      const [feature] = featuresIn(found.features);
      if (!feature) throw notFound('feature', objectId);
      const spatialReference = createSpatialReference(request.crs);
      const geometry = feature.geometry && { ...feature.geometry, spatialReference };
      return jsonReply({ feature: { ...feature, geometry } }, format);
    },
  });
}
