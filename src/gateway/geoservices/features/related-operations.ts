import { hasFeatures, isServed } from '../../../core/catalog/abilities.js';
import type { VectorCollection } from '../../../core/catalog/collection.js';
import { useGeneratedCollectionIds } from '../../../core/catalog/generated-ids.js';
import type { Relationship } from '../../../core/catalog/layer-settings.js';
import { layerFailure } from '../../../core/catalog/unread.js';
import { isNumber, type Scalar } from '../../../core/cql2/ast.js';
import { and, equalsAny } from '../../../core/cql2/index.js';
import { badParameter } from '../../../core/errors/errors.js';
import type { ItemsTask } from '../../../core/features/features.js';
import {
  type EsriFeature,
  esriFields,
  featuresIn,
  findEsriGeometryType,
} from '../../../core/geoservices/geoservices-features.js';
import type { Exchange, Operation } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import type { FieldType } from '../../../core/sources/vector-source.js';
import { formatDecimal } from '../../../core/values/exact-number.js';
import type { ObjectId } from '../../../core/values/object-id.js';
import {
  findFieldType,
  getRelationshipFields,
  toComparableValue,
} from '../../../services/catalog/layers/relationship-fields.js';
import { runTask } from '../../../services/kit/run-task.js';
import { esriLayer, requireLayer } from '../../../services/replicas/layer-view.js';
import { jsonReply } from '../images/in-band.js';
import { createSpatialReference, relationshipId } from '../layer-documents.js';
import { GEOSERVICES_LIMITS } from '../limits.js';
import {
  type Members,
  objectId,
  readFlagMember,
  readIntegerMember,
  readObjectIdsMember,
  wholeNumber,
} from '../members.js';
import { common, documentFormat, readingOperation, SERVER } from './feature-server.js';
import { member } from './query-members.js';
import type { QueryDeps } from './query-operations.js';
import { queryRequest } from './query-request.js';

const path = {
  serviceId: pathString('serviceId', 'Name of a service.'),
  layerId: pathString('layerId', 'Number of a layer.'),
};

const params = {
  objectIds: member('objectIds', 'Ids of the features whose related features are requested.'),
  relationshipId: member('relationshipId', 'Number of a relationship of the layer.'),
  definitionExpression: member('definitionExpression', 'SQL condition on the related features.'),
  outFields: member('outFields', 'Names of fields of the related layer, or *.'),
  outSR: member('outSR', 'Spatial reference of the response.'),
  returnGeometry: member('returnGeometry', 'Default: true.'),
  orderByFields: member(
    'orderByFields',
    'Names of fields, separated by commas. DESC after a name reverses its order.',
  ),
  returnCountOnly: member('returnCountOnly', 'Return only the number of related features of each feature.'),
};

/** Features of other layers that belong to those of a layer. */
export function relatedOperations(deps: QueryDeps): Operation[] {
  return readingOperation({
    about: common('FeatureServer', 'queryRelatedRecords'),
    name: 'queryRelatedRecords',
    path: `/rest/services/{serviceId}/${SERVER}/{layerId}/queryRelatedRecords`,
    pathParams: path,
    params,
    summary: 'Query related records',
    async run(x, { serviceId, layerId }, members) {
      const format = documentFormat(members);
      const id = wholeNumber('layerId', layerId);
      const layer = requireLayer(deps, x.principal, {
        service: serviceId!,
        layerId: id,
        parameter: 'layerId',
      });
      return jsonReply(await relatedRecords(x, deps, layer, members), format);
    },
  });
}

async function relatedRecords(x: Exchange, deps: QueryDeps, layer: VectorCollection, members: Members) {
  const relationship = readRelationship(layer, members);
  const related = relatedLayer(x, deps, relationship);
  const ends = chooseEnds(relationship, layer, related);
  const origins = await originsByValue(x, deps, layer, ends, members);
  const { definitionExpression: where, outFields, outSR, returnGeometry, orderByFields } = members;
  const request = queryRequest(related, { where, outFields, outSR, returnGeometry, orderByFields });
  const { task, crs } = request;
  const names = new Set([related.source.idColumn, ...request.fields.map(({ name }) => name)]);
  const filter = and(
    task.filter,
    equalsAny(
      ends.other,
      [...origins.values()].map(({ value }) => value),
    ),
  );
  const answer = await read(x, deps, {
    ...task,
    filter,
    fields: [...new Set([...names, ends.other])].filter((name) => name !== related.source.idColumn),
    limit: GEOSERVICES_LIMITS.geoServicesRecords,
    maxBytes: MAX_BYTES,
  });
  const groups = collectGroups(answer.features, origins, ends);
  for (const { attributes } of answer.features) if (!names.has(ends.other)) delete attributes[ends.other];
  const isCount = readFlagMember(members, 'returnCountOnly', false);
  const esri = esriLayer(related);
  return {
    fields: esriFields(esri).filter(({ name }) => names.has(name)),
    ...(task.skipGeometry
      ? {}
      : { geometryType: findEsriGeometryType(esri), spatialReference: createSpatialReference(crs) }),
    ...(answer.more ? { exceededTransferLimit: true } : {}),
    relatedRecordGroups: [...groups].map(([objectId, features]) =>
      isCount ? { objectId, count: features.length } : { objectId, relatedRecords: features },
    ),
  };
}

/** The fields whose values are equal, and their types. */
interface Ends {
  readonly own: string;
  readonly ownType: FieldType;
  readonly other: string;
  readonly otherType: FieldType;
}

/** Throws 400 where the caller may not read one of the fields. */
function chooseEnds(relationship: Relationship, layer: VectorCollection, related: VectorCollection): Ends {
  const { own, other } = getRelationshipFields(relationship);
  const [ownType, otherType] = [findFieldType(own, layer), findFieldType(other, related)];
  if (!ownType || !otherType)
    throw badParameter('relationshipId', 'depends on a field that you may not read');
  return { own, ownType, other, otherType };
}

/** Values that related features have, and the ids of the features that they belong to. */
type Origins = Map<string, { readonly value: Scalar; readonly ids: ObjectId[] }>;

/** Equal values have one key. */
const buildKey = (value: Scalar) => (isNumber(value) ? formatDecimal(value) : JSON.stringify(value));

/** Ids of the features that are named, by the values that related ones have. */
async function originsByValue(
  x: Exchange,
  deps: QueryDeps,
  layer: VectorCollection,
  { own, ownType, otherType }: Ends,
  members: Members,
): Promise<Origins> {
  const objectIds = readObjectIdsMember(members, 'objectIds', GEOSERVICES_LIMITS.geoServicesRecords);
  if (!objectIds || objectIds.length === 0) throw badParameter('objectIds', 'is required');
  const ids = objectIds.join(',');
  const { task } = queryRequest(layer, { objectIds: ids, returnGeometry: 'false', outFields: own });
  const { features } = await read(x, deps, { ...task, limit: objectIds.length });
  const origins: Origins = new Map();
  for (const { attributes } of features) {
    const value = toComparableValue(readTruth(attributes[own], ownType), otherType);
    if (value === undefined) continue;
    const id = objectId('objectIds', attributes[layer.source.idColumn]);
    const key = buildKey(value);
    const origin = origins.get(key);
    if (origin) origin.ids.push(id);
    else origins.set(key, { value, ids: [id] });
  }
  return origins;
}

/** Related features, grouped by the ids of the features they are related to. */
function collectGroups(
  features: readonly EsriFeature[],
  origins: Origins,
  { other, otherType }: Ends,
): Map<ObjectId, EsriFeature[]> {
  const groups = new Map<ObjectId, EsriFeature[]>();
  for (const feature of features) {
    const value = toComparableValue(readTruth(feature.attributes[other], otherType), otherType);
    if (value === undefined) continue;
    for (const id of origins.get(buildKey(value))?.ids ?? []) addTo(groups, id, feature);
  }
  return groups;
}

function addTo<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

/** They are read on the event loop. */
const MAX_BYTES = 4_194_304;

async function read(x: Exchange, { pools }: QueryDeps, task: ItemsTask) {
  const { features, more } = await runTask(x, pools, 'vector.items', task);
  return { more, features: featuresIn(features) };
}

/** Booleans are returned as 0 and 1. */
const readTruth = (value: unknown, type: string) =>
  type === 'boolean' && value !== null ? value === 1 : value;

function readRelationship({ relationships = [] }: VectorCollection, members: Members): Relationship {
  const id = readIntegerMember(members, 'relationshipId');
  if (id === undefined) throw badParameter('relationshipId', 'is required');
  const match = relationships.find((one, i) => relationshipId(one, i) === id);
  if (!match) throw badParameter('relationshipId', `there is no relationship ${id} of the layer`);
  return match;
}

/** Returns the related layer. Throws 404 if the caller cannot read the layer. */
function relatedLayer(x: Exchange, deps: QueryDeps, { relatedLayerId }: Relationship): VectorCollection {
  const catalog = deps.visible(x.principal);
  const related = catalog.byLayerId(relatedLayerId);
  if (related && hasFeatures(related) && isServed(related, 'FeatureServer'))
    return useGeneratedCollectionIds(related);
  throw layerFailure(catalog, relatedLayerId);
}
