import { notFound } from '../../../core/errors.js';
import type { ItemsResult } from '../../../core/features.js';
import { parseJsonExactly } from '../../../core/json.js';
import type { Operation } from '../../../core/operation.js';
import { pathString } from '../../../core/params.js';
import { requireLayer } from '../../../services/replicas/layer-view.js';
import { runTask } from '../../../services/run-task.js';
import { common, documentFormat, readingOperation, SERVER, type ServerType } from './feature-server.js';
import { jsonReply, textReply } from './in-band.js';
import { spatialReferenceOf } from './layer-documents.js';
import { type Members, wholeNumber } from './members.js';
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
      if (found.returned === 0) throw notFound('feature', objectId);
      const text = featureText(
        found,
        request.task.skipGeometry ? undefined : spatialReferenceOf(request.crs),
      );
      return format === 'pjson' ? jsonReply(parseJsonExactly(text, 'all'), format) : textReply(text);
    },
  });
}

/** The document as text, so that numbers keep their digits. The geometry, which is the last member, names its CRS. */
function featureText({ features }: ItemsResult, reference: object | undefined): string {
  const feature = Buffer.from(features).toString();
  const hasGeometry = reference !== undefined && feature.endsWith('}}');
  const inner = hasGeometry
    ? `${feature.slice(0, -2)},"spatialReference":${JSON.stringify(reference)}}}`
    : feature;
  return `{"feature":${inner}}`;
}
