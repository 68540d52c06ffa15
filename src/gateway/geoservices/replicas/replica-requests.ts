import { plainFields } from '../../../core/access/field-masks.js';
import type { VectorCollection } from '../../../core/catalog/collection.js';
import { usesGeneratedIds } from '../../../core/catalog/generated-ids.js';
import { type Expression, NO_FEATURES } from '../../../core/cql2/ast.js';
import { badParameter } from '../../../core/errors/errors.js';
import { CRS84, type Crs, defaultCrs } from '../../../core/geometry/crs.js';
import type { Principal } from '../../../core/http/operation.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { type LayerEdits, requireDistinctFeatures } from '../../../services/edits/layer-edits.js';
import type { Catalogs } from '../../../services/features/view.js';
import { geoServicesFilter } from '../../../services/geoservices/filter.js';
import { spatialReference } from '../../../services/geoservices/geometry.js';
import {
  listServiceLayers,
  requireLayer,
  requireVisibleService,
} from '../../../services/replicas/layer-view.js';
import type {
  ChangeRequest,
  LayerChoice,
  LayerSync,
  ReplicaDraft,
  SyncDirection,
} from '../../../services/replicas/service.js';
import type { Replica } from '../../../stores/replicas/replicas.js';
import { layerEdits } from '../features/layer-edits.js';
import { GEOSERVICES_LIMITS } from '../limits.js';
import {
  type Members,
  readChoiceMember,
  readFlagMember,
  readIntegerMember,
  readIntegersMember,
  readObjectMember,
  readObjectsMember,
  readTextMember,
  requireObject,
  wholeNumber,
} from '../members.js';

/**
 * Parameters of requests for replicas. Each reader throws 400 with the name of the parameter, and 404 for a missing
 * replica or layer.
 */

const MAX_LAYERS = 100;
const MAX_NAME = 200;

interface Caller {
  readonly principal: Principal;
  readonly service: string;
}

export function replicaDraft(catalogs: Catalogs, caller: Caller, members: Members): ReplicaDraft {
  const { principal, service } = caller;
  requireVisibleService(catalogs, principal, service);
  requirePlain(members);
  const syncModel = readChoiceMember(members, 'syncModel', {
    values: ['none', 'perLayer', 'perReplica'],
    fallback: 'perReplica',
  });
  const layers = layerChoices(catalogs, caller, members);
  if (syncModel !== 'none') requireFollowed(layers);
  return {
    service,
    name: readTextMember(members, 'replicaName', MAX_NAME) ?? 'replica',
    syncModel,
    crs: readCrs(members, 'replicaSR') ?? commonCrs(layers),
    layers,
  };
}

/** Unsupported options of replicas are refused, not ignored. */
function requirePlain(members: Members): void {
  readChoiceMember(members, 'dataFormat', { values: ['json'], fallback: 'json' });
  readChoiceMember(members, 'transportType', {
    values: ['esriTransportTypeEmbedded'],
    fallback: 'esriTransportTypeEmbedded',
  });
  for (const name of ['async', 'returnAttachments', 'returnAttachmentDatabyURL'])
    if (readFlagMember(members, name, false))
      throw badParameter(name, 'must be false. true is not supported');
}

function layerChoices(catalogs: Catalogs, caller: Caller, members: Members): LayerChoice[] {
  const ids = readIntegersMember(members, 'layers', MAX_LAYERS);
  const collections = ids
    ? ids.map((layerId) => copied(requireLayer(catalogs, caller.principal, { ...caller, layerId })))
    : listServiceLayers(catalogs, caller.principal, caller.service)
        .filter(({ source }) => !usesGeneratedIds(source))
        .slice(0, MAX_LAYERS);
  if (collections.length === 0) throw badParameter('layers', 'must name at least one layer');
  const queries = readObjectMember(members, 'layerQueries') ?? {};
  return collections.map((collection) => {
    const query = queries[String(collection.layerId)];
    return {
      collection,
      filter: layerFilter(
        collection,
        members,
        query === undefined ? {} : requireObject('layerQueries', query),
      ),
    };
  });
}

/** Replicas follow the feed, whose events name features by their keys. */
function copied(layer: VectorCollection): VectorCollection {
  if (usesGeneratedIds(layer.source))
    throw badParameter(
      'layers',
      `layer ${layer.layerId} has keys that are not numbers, so it cannot be replicated`,
    );
  return layer;
}

function requireFollowed(layers: readonly LayerChoice[]): void {
  for (const { collection } of layers)
    if (!collection.source.writable)
      throw badParameter('layers', `layer ${collection.layerId} is read-only, so it has no change feed`);
}

function layerFilter(collection: VectorCollection, members: Members, query: Members): Expression | undefined {
  const option = readChoiceMember(query, 'queryOption', {
    values: ['useFilter', 'all', 'none'],
    fallback: 'useFilter',
  });
  if (option !== 'useFilter') return option === 'none' ? NO_FEATURES : undefined;
  const where = readTextMember(query, 'where', LIMITS.geoServicesWhere);
  const area = readFlagMember(query, 'useGeometry', true)
    ? {
        geometry: members['geometry'],
        geometryType: readTextMember(members, 'geometryType', MAX_NAME),
        inSR: members['inSR'],
      }
    : {};
  const { source } = collection;
  const schema = { ...source, fields: plainFields(source.fields), filterCrs: defaultCrs(collection) };
  return geoServicesFilter(
    { ...area, ...(where === undefined ? {} : { where }) },
    schema,
    collection.storageCrs,
  );
}

function readCrs(members: Members, name: string): Crs | undefined {
  const value = members[name];
  return value === undefined || value === null || value === '' ? undefined : spatialReference(name, value);
}

/** The CRS of the data if all layers have the same one. */
function commonCrs(layers: readonly LayerChoice[]): Crs {
  const [first, ...others] = layers.map(({ collection }) => collection.storageCrs);
  return first!.epsg > 0 && others.every(({ epsg }) => epsg === first!.epsg) ? first! : CRS84;
}

/** Change requests for layers of which the client has no replica. */
export function changeRequests(
  catalogs: Catalogs,
  caller: Caller,
  members: Members,
): { requests: ChangeRequest[]; crs: Crs | undefined; wants: Wants } {
  requireVisibleService(catalogs, caller.principal, caller.service);
  requirePlain(members);
  const generations = readGenerations(members, 'layerServerGens');
  const choices = layerChoices(catalogs, caller, {
    ...members,
    layers: members['layers'] ?? [...generations.keys()],
  });
  requireFollowed(choices);
  const requests = choices.map((choice) => {
    const generation = generations.get(choice.collection.layerId);
    if (generation === undefined)
      throw badParameter('layerServerGens', `must have a generation for layer ${choice.collection.layerId}`);
    return { choice, generation };
  });
  const crs = readFlagMember(members, 'returnIdsOnly', false)
    ? undefined
    : (readCrs(members, 'outSR') ?? commonCrs(choices));
  return { requests, crs, wants: readWants(members) };
}

/** Requested kinds of changes. */
export interface Wants {
  readonly adds: boolean;
  readonly updates: boolean;
  readonly deletes: boolean;
}

function readWants(members: Members): Wants {
  return {
    adds: readFlagMember(members, 'returnInserts', true),
    updates: readFlagMember(members, 'returnUpdates', true),
    deletes: readFlagMember(members, 'returnDeletes', true),
  };
}

function readGenerations(members: Members, name: string): Map<number, number> {
  const list = readObjectsMember(members, name, MAX_LAYERS);
  if (!list) throw badParameter(name, 'is required');
  return new Map(
    list.map(({ id, serverGen }) => [
      wholeNumber(`${name}.id`, id),
      wholeNumber(`${name}.serverGen`, serverGen),
    ]),
  );
}

export interface SyncRequest {
  readonly layers: LayerSync[];
  readonly edits: ReadonlyMap<number, LayerEdits>;
  readonly atomic: boolean;
  /** The client needs the replica no more. */
  readonly close: boolean;
}

const DIRECTIONS: readonly SyncDirection[] = ['download', 'upload', 'bidirectional'];

export function syncRequest(
  catalogs: Catalogs,
  caller: Caller,
  replica: Replica,
  members: Members,
): SyncRequest {
  requirePlain(members);
  if (members['editsUploadID'] || members['editsUploadId'])
    throw badParameter('editsUploadID', 'is not supported. Send the edits in edits');
  const layers = replica.syncModel === 'perLayer' ? ofLayers(members) : ofReplica(replica, members);
  const edits = collectEdits(catalogs, caller, replica, members);
  const uploading = new Set(
    layers.flatMap(({ layerId, direction }) => (direction === 'download' ? [] : [layerId])),
  );
  for (const layerId of edits.keys())
    if (!uploading.has(layerId))
      throw badParameter('edits', `layer ${layerId} is not uploaded by this replica`);
  return {
    layers,
    edits,
    atomic: readFlagMember(members, 'rollbackOnFailure', false),
    close: readFlagMember(members, 'closeReplica', false),
  };
}

function ofReplica({ layers }: Replica, members: Members): LayerSync[] {
  const generation = readIntegerMember(members, 'replicaServerGen');
  if (generation === undefined) throw badParameter('replicaServerGen', 'is required');
  const direction = readDirection(members);
  return layers.map(({ layerId }) => ({ layerId, generation, direction }));
}

function ofLayers(members: Members): LayerSync[] {
  const list = readObjectsMember(members, 'syncLayers', MAX_LAYERS);
  if (!list || list.length === 0) throw badParameter('syncLayers', 'is required');
  const layers = list.map((one) => ({
    layerId: wholeNumber('syncLayers.id', one['id']),
    generation: wholeNumber('syncLayers.serverGen', one['serverGen']),
    direction: readDirection(one),
  }));
  if (new Set(layers.map(({ layerId }) => layerId)).size < layers.length)
    throw badParameter('syncLayers', 'must name each layer once');
  return layers;
}

const readDirection = (members: Members) =>
  readChoiceMember(members, 'syncDirection', { values: DIRECTIONS, fallback: 'bidirectional' });

function collectEdits(
  catalogs: Catalogs,
  caller: Caller,
  replica: Replica,
  members: Members,
): Map<number, LayerEdits> {
  const list = readObjectsMember(members, 'edits', MAX_LAYERS) ?? [];
  const edits = new Map<number, LayerEdits>();
  let count = 0;
  for (const one of list) {
    const layerId = wholeNumber('edits.id', one['id']);
    if (edits.has(layerId)) throw badParameter('edits', `has layer ${layerId} twice`);
    if (!replica.layers.some((layer) => layer.layerId === layerId))
      throw badParameter('edits', `the replica has no layer ${layerId}`);
    const collection = requireLayer(catalogs, caller.principal, { ...caller, layerId, parameter: 'edits' });
    const ofLayer = layerEdits(collection, replica.epsg, one);
    count += ofLayer.adds.length + ofLayer.updates.length + ofLayer.deletes.length;
    if (count > GEOSERVICES_LIMITS.replicaEdits)
      throw badParameter(
        'edits',
        `must have at most ${GEOSERVICES_LIMITS.replicaEdits} edits. Send them in several requests`,
      );
    requireDistinctFeatures(ofLayer, layerId);
    edits.set(layerId, ofLayer);
  }
  return edits;
}
