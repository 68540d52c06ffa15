import { ApiError, badParameter } from '../../../core/errors/errors.js';
import type { Operation } from '../../../core/http/operation.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { requireLayer } from '../../../services/replicas/layer-view.js';
import { textReply } from '../images/in-band.js';
import { layerDefs } from '../maps/map-choice.js';
import { type Members, readObjectsMember, readTextMember, wholeNumber } from '../members.js';
import { common, readingOperation, SERVER } from './feature-server.js';
import { member } from './query-members.js';
import { createQueryReply, featureParams, layerParams, type QueryDeps } from './query-operations.js';
import { queryRequest } from './query-request.js';

const { serviceId } = layerParams;
const { geometry, geometryType, inSR, spatialRel, distance, units, time } = featureParams;
const { outSR, returnGeometry, returnZ, geometryPrecision, maxAllowableOffset } = featureParams;
const { resultRecordCount, returnCountOnly, returnIdsOnly } = featureParams;
const params = {
  layerDefs: member('layerDefs', 'SQL conditions by layer number, such as {"0":"a > 1"}.'),
  geometry,
  geometryType,
  inSR,
  spatialRel,
  distance,
  units,
  time,
  outSR,
  returnGeometry,
  returnZ,
  geometryPrecision,
  maxAllowableOffset,
  resultRecordCount,
  returnCountOnly,
  returnIdsOnly,
};
const MAX_TEXT = 8000;

/** Query of a service: features of several layers in one response. */
export function serviceQueryOperations(deps: QueryDeps): Operation[] {
  return readingOperation({
    about: common(SERVER, 'query'),
    name: 'serviceQuery',
    path: `/rest/services/{serviceId}/${SERVER}/query`,
    pathParams: { serviceId },
    params,
    summary: 'Features of layers of a service',
    async run(x, path, members) {
      const format = readTextMember(members, 'f', MAX_TEXT) ?? 'json';
      if (!['json', 'pjson'].includes(format.toLowerCase())) throw badParameter('f', 'must be json or pjson');
      const parts: Uint8Array[] = [];
      let bytes = 0;
      for (const { layerId, ...own } of readLayers(members)) {
        const address = { service: path['serviceId']!, layerId, parameter: 'layerDefs' };
        const layer = requireLayer(deps, x.principal, address);
        const request = queryRequest(layer, { ...members, ...own, f: 'json' });
        const { body } = await createQueryReply(x, deps.pools, layer, request);
        const document = typeof body === 'string' ? Buffer.from(body) : (body as Uint8Array);
        bytes += document.length;
        if (bytes > LIMITS.geoServicesBytes)
          throw new ApiError(
            'payload-too-large',
            'The response would be too large. Request the layers one by one.',
          );
        const head = `${parts.length === 0 ? '{"layers":[' : ','}{"id":${layerId},`;
        // The document without its opening brace.
        parts.push(Buffer.from(head), document.subarray(1));
      }
      const [start, end] = parts.length === 0 ? ['{"layers":[', ']}'] : ['', ']}'];
      return textReply(Buffer.concat([Buffer.from(start!), ...parts, Buffer.from(end!)]));
    },
  });
}

interface LayerQuery {
  readonly layerId: number;
  readonly where: unknown;
  readonly outFields: unknown;
}

/** A list of objects with `layerId`, `where` and `outFields`, or conditions by the numbers. Throws 400 naming `layerDefs`. */
function readLayers(members: Members): LayerQuery[] {
  const text = members['layerDefs'];
  if (text === undefined || text === '') throw badParameter('layerDefs', 'is required');
  const isList = Array.isArray(text) || (typeof text === 'string' && text.trimStart().startsWith('['));
  const list: readonly Members[] = isList
    ? readObjectsMember(members, 'layerDefs', LIMITS.collectionsPerRequest)!
    : Object.entries(layerDefs(members)).map(([layerId, where]) => ({ layerId, where }));
  if (list.length > LIMITS.collectionsPerRequest)
    throw badParameter('layerDefs', `must name at most ${LIMITS.collectionsPerRequest} layers`);
  return list.map(({ layerId, where, outFields }) => ({
    layerId: wholeNumber('layerDefs', layerId),
    where: where || '1=1',
    outFields: outFields || '*',
  }));
}
