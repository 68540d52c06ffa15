import { ApiError } from '../../../core/errors/errors.js';
import type { FeatureQuery, ItemsResult } from '../../../core/features/features.js';
import { uncrossed } from '../../../core/geometry/box.js';
import { CRS84 } from '../../../core/geometry/crs.js';
import { esriFields, findEsriGeometryType } from '../../../core/geoservices/geoservices-features.js';
import type { Exchange, Operation, Reply } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import { stringifyExactly } from '../../../core/values/json.js';
import { runTask } from '../../../services/kit/run-task.js';
import { esriLayer, requireLayer } from '../../../services/replicas/layer-view.js';
import type { SurfaceDeps } from '../../surface/common.js';
import { crsMember } from '../../surface/crs-member.js';
import { jsonReply } from '../images/in-band.js';
import { boxIn, createSpatialReference, envelopeObject } from '../layer-documents.js';
import { GEOSERVICES_LIMITS } from '../limits.js';
import { wholeNumber } from '../members.js';
import { common, readingOperation, SERVER, type ServerType } from './feature-server.js';
import { countPbf, featuresPbf, idsPbf } from './pbf-documents.js';
import { createTransformMember } from './quantization.js';
import { member } from './query-members.js';
import { type QueryRequest, queryRequest } from './query-request.js';
import { groupsReply } from './statistics-operations.js';
import { groupsRequest } from './statistics-request.js';

export type QueryDeps = Pick<SurfaceDeps, 'catalog' | 'visible' | 'pools'>;

export const layerParams = {
  serviceId: pathString('serviceId', 'Name of a service.'),
  layerId: pathString('layerId', 'Number of a layer.'),
};

/** Parameters of all queries that select features. */
export const featureParams = {
  where: member('where', 'SQL condition.'),
  objectIds: member('objectIds', 'Ids, separated by commas.'),
  geometry: member('geometry', 'A geometry, or xmin,ymin,xmax,ymax.'),
  geometryType: member('geometryType', 'Type of geometry, such as esriGeometryEnvelope.'),
  inSR: member('inSR', 'Spatial reference of the geometry.'),
  spatialRel: member(
    'spatialRel',
    'Spatial relation of features to geometry. Default: esriSpatialRelIntersects.',
  ),
  distance: member('distance', 'Also features within this distance of the geometry.'),
  units: member('units', 'Unit of the distance, such as esriSRUnit_Meter.'),
  time: member('time', 'Milliseconds since 1970, or start,end.'),
  outFields: member('outFields', 'Names of fields, or *. Default: only the id.'),
  outSR: member('outSR', 'Spatial reference of the response.'),
  returnGeometry: member('returnGeometry', 'Default: true.'),
  returnZ: member('returnZ', 'Default: false.'),
  geometryPrecision: member('geometryPrecision', 'Decimal places of coordinates.'),
  orderByFields: member(
    'orderByFields',
    'Names of fields, separated by commas. DESC after a name reverses its order.',
  ),
  resultOffset: member('resultOffset', 'Number of features to skip.'),
  resultRecordCount: member('resultRecordCount', `At most ${GEOSERVICES_LIMITS.geoServicesRecordsMax}.`),
  returnCountOnly: member('returnCountOnly', 'Return only the number of features.'),
  returnIdsOnly: member('returnIdsOnly', 'Return only the ids of the features.'),
  returnExtentOnly: member('returnExtentOnly', 'Return only the extent of the features.'),
  maxAllowableOffset: member(
    'maxAllowableOffset',
    'How far lines and rings may be from what is left of them.',
  ),
  quantizationParameters: member('quantizationParameters', 'Quantization of coordinates to integers.'),
  returnCentroid: member('returnCentroid', 'Return the centroid of each feature.'),
  resultType: member('resultType', 'tile or standard: the maximum number of features in a response.'),
  maxRecordCountFactor: member('maxRecordCountFactor', 'Number of pages in one response, at most 10.'),
  returnExceededLimitFeatures: member(
    'returnExceededLimitFeatures',
    'false: no features where there are more than one answer has.',
  ),
};

export const groupParams = {
  outStatistics: member('outStatistics', 'Statistics to compute, as JSON.'),
  groupByFieldsForStatistics: member('groupByFieldsForStatistics', 'Names of fields.'),
  having: member('having', 'SQL condition on the statistics.'),
  returnDistinctValues: member('returnDistinctValues', 'Distinct values of outFields.'),
};

/** Queries of the layers of a FeatureServer. */
export function queryOperations(deps: QueryDeps): Operation[] {
  return layerQueryOperations(deps, SERVER);
}

/** The same of the layers of a server of that type. */
export function layerQueryOperations(deps: QueryDeps, server: ServerType): Operation[] {
  return readingOperation({
    about: common(server, 'query', server),
    name: server === SERVER ? 'query' : `query${server}`,
    path: `/rest/services/{serviceId}/${server}/{layerId}/query`,
    pathParams: layerParams,
    params: { ...featureParams, ...groupParams },
    summary: 'Features of a layer',
    run(x, { serviceId, layerId }, members) {
      const id = wholeNumber('layerId', layerId);
      const address = { service: serviceId!, layerId: id, parameter: 'layerId' };
      const layer = requireLayer(deps, x.principal, address);
      const groups = groupsRequest(layer, members);
      if (groups) return groupsReply(x, deps.pools, groups);
      return createQueryReply(x, deps.pools, layer, queryRequest(layer, members));
    },
  });
}

type Layer = ReturnType<typeof requireLayer>;

export async function createQueryReply(
  x: Exchange,
  pools: Pools,
  layer: Layer,
  request: QueryRequest,
): Promise<Reply> {
  const format = request.format === 'pjson' ? 'pjson' : 'json';
  switch (request.answer) {
    case 'count': {
      const number = await count(x, pools, request.query);
      return request.format === 'pbf' ? countPbf(number) : jsonReply({ count: number }, format);
    }
    case 'extent':
      return jsonReply(await extentAnswer(x, pools, layer, request), format);
    case 'ids':
      return idsReply(x, pools, layer, request);
    default:
      return featuresReply(layer, request, await runTask(x, pools, 'vector.items', request.task));
  }
}

function count(x: Exchange, pools: Pools, query: FeatureQuery): Promise<number> {
  return runTask(x, pools, 'vector.count', query);
}

async function extentAnswer(x: Exchange, pools: Pools, { storageCrs }: Layer, request: QueryRequest) {
  const { query, crs } = request;
  const { extent, extent84 } = await runTask(x, pools, 'vector.extent', query);
  const [box, from] =
    crs.proj === CRS84.proj && extent84 ? [uncrossed(extent84), CRS84] : [extent, storageCrs];
  const image = box && boxIn(box, from, crs);
  const counted = request.counts ? { count: await count(x, pools, query) } : {};
  return {
    ...counted,
    extent: image
      ? envelopeObject(image, crs)
      : {
          xmin: 'NaN',
          ymin: 'NaN',
          xmax: 'NaN',
          ymax: 'NaN',
          spatialReference: createSpatialReference(crs),
        },
  };
}

/** Ids of a page of them. */
const IDS = 50_000;
const COMMA = Buffer.from(',');

async function idsReply(
  x: Exchange,
  pools: Pools,
  { source }: Layer,
  { task, format }: QueryRequest,
): Promise<Reply> {
  const { maxBytes: _, ...plain } = task;
  const page = {
    ...plain,
    format: 'csv' as const,
    fields: [],
    skipGeometry: true,
    limit: IDS,
    offset: 0,
    form: { kind: format === 'pbf' ? ('packed-ids' as const) : ('ids' as const) },
  };
  const lists: Uint8Array[] = [];
  let number = 0;
  for (let part: ItemsResult | undefined; !part || part.more; ) {
    part = await runTask(x, pools, 'vector.items', { ...page, ...(part?.last ? { after: part.last } : {}) });
    number += part.returned;
    if (number > GEOSERVICES_LIMITS.geoServicesIds)
      throw new ApiError(
        'payload-too-large',
        `The query matches more than ${GEOSERVICES_LIMITS.geoServicesIds} ids. Request fewer, for example with where.`,
      );
    if (part.returned > 0) lists.push(part.features);
  }
  if (format === 'pbf') return idsPbf(source.idColumn, lists);
  const ids = Buffer.concat(lists.flatMap((list, i) => (i === 0 ? [list] : [COMMA, list])));
  const [head, end] =
    format === 'geojson'
      ? ['{"properties":{"objectIds":[', ']}}']
      : [`{"objectIdFieldName":${JSON.stringify(source.idColumn)},"objectIds":[`, ']}'];
  return reply(Buffer.concat([Buffer.from(head), ids, Buffer.from(end)]));
}

function featuresReply(layer: Layer, request: QueryRequest, answer: ItemsResult): Reply {
  const { source } = layer;
  const page = answer.more && request.wholeOnly ? { ...answer, features: new Uint8Array(0) } : answer;
  if (request.format === 'geojson') {
    const more = page.more ? '"properties":{"exceededTransferLimit":true},' : '';
    return {
      ...pageReply(`{"type":"FeatureCollection",${crsMember(request.crs)}${more}"features":[`, page),
      mediaType: 'application/geo+json',
    };
  }
  const esri = esriLayer(layer);
  const geometryType = findEsriGeometryType(esri);
  const names = new Set([source.idColumn, ...request.fields.map(({ name }) => name)]);
  const { skipGeometry, quantisation, z } = request.task;
  const hasZ = z === true;
  const fields = esriFields(esri).filter(({ name }) => names.has(name));
  if (request.format === 'pbf') {
    const shown = skipGeometry ? undefined : geometryType;
    const result = { idColumn: source.idColumn, geometryType: shown, crs: request.crs, hasZ, fields };
    return featuresPbf({ ...result, more: page.more, quantisation: quantisation! }, page.features);
  }
  const head = stringifyExactly({
    objectIdFieldName: source.idColumn,
    globalIdFieldName: '',
    ...(geometryType === undefined || skipGeometry ? {} : { geometryType, hasZ, hasM: false }),
    ...(skipGeometry ? {} : { spatialReference: createSpatialReference(request.crs) }),
    ...(quantisation ? { transform: createTransformMember(quantisation, hasZ) } : {}),
    fields,
    ...(page.more ? { exceededTransferLimit: true } : {}),
  });
  return pageReply(`${head.slice(0, -1)},"features":[`, page);
}

/** A document whose last member is the list of features. */
function pageReply(head: string, { features }: ItemsResult): Reply {
  return reply(Buffer.concat([Buffer.from(head), features, Buffer.from(']}')]));
}

function reply(body: string | Uint8Array): Reply {
  return { status: 200, mediaType: 'application/json', body, cacheControl: 'no-store' };
}
