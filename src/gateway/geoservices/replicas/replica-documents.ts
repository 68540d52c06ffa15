import { esriFields, findEsriGeometryType } from '../../../core/geoservices/geoservices-features.js';
import { stringifyExactly } from '../../../core/values/json.js';
import type { LayerChanges, LayerData, ReplicaDraft } from '../../../services/replicas/service.js';
import type { Replica } from '../../../stores/replicas/replicas.js';
import type { Wants } from './replica-requests.js';

/** Responses about replicas. Those with features are text, because the features are already JSON. */

export function replicaEntry({ name, id }: Replica) {
  return { replicaName: name, replicaID: id };
}

export function replicaDocument(replica: Replica) {
  const { owner, createdAt, syncedAt, syncModel, epsg, layers, generation } = replica;
  return {
    ...replicaEntry(replica),
    replicaOwner: owner,
    syncModel,
    targetType: 'client',
    syncDirection: 'bidirectional',
    creationDate: createdAt,
    lastSyncDate: syncedAt,
    spatialReference: { wkid: epsg },
    ...(syncModel === 'perReplica' ? { replicaServerGen: generation } : {}),
    layers: layers.map(({ layerId }) => ({ id: layerId })),
    layerServerGens: layers.map((layer) => ({ id: layer.layerId, serverGen: layer.generation })),
  };
}

const EMBEDDED = { transportType: 'esriTransportTypeEmbedded' };

export function createdReplica(
  { name, syncModel, crs }: ReplicaDraft,
  replica: Replica | undefined,
  layers: readonly LayerData[],
): string {
  const [first] = layers;
  const head = {
    replicaName: name,
    ...(replica ? { replicaID: replica.id } : {}),
    ...EMBEDDED,
    responseType: 'esriReplicaResponseTypeData',
    syncModel,
    targetType: 'client',
    ...(syncModel === 'perReplica' ? { replicaServerGen: first!.generation } : {}),
    layerServerGens: layers.map(({ view, generation }) => ({ id: view.layerId, serverGen: generation })),
  };
  return withList(
    head,
    'layers',
    layers.map((layer) => layerText(layer, crs.epsg)),
  );
}

function layerText({ view, features }: LayerData, wkid: number): string {
  const geometryType = findEsriGeometryType(view.esri);
  const head = {
    id: view.layerId,
    name: view.visible.title,
    objectIdFieldName: view.esri.idColumn,
    ...(geometryType === undefined ? {} : { geometryType }),
    hasZ: view.esri.hasZ,
    spatialReference: { wkid },
    fields: esriFields(view.esri),
  };
  return withList(head, 'features', features);
}

export function syncedReplica(replica: Replica, layers: readonly LayerChanges[]): string {
  const generations = layers.map(({ layerId, generation }) => ({ id: layerId, serverGen: generation }));
  const edits = layers.filter((one) => one.results !== undefined || hasChanges(one));
  const head = {
    ...replicaEntry(replica),
    ...EMBEDDED,
    responseType: edits.length > 0 ? 'esriReplicaResponseTypeEdits' : 'esriReplicaResponseTypeNoEdits',
    ...(replica.syncModel === 'perReplica' ? { replicaServerGen: generations[0]!.serverGen } : {}),
    layerServerGens: generations,
  };
  return withList(
    head,
    'edits',
    edits.map((one) => editsText(one, { adds: true, updates: true, deletes: true })),
  );
}

export function extractedChanges(layers: readonly LayerChanges[], wants: Wants): string {
  const head = {
    ...EMBEDDED,
    responseType: 'esriDataChangesResponseTypeEdits',
    layerServerGens: layers.map(({ layerId, generation }) => ({ id: layerId, serverGen: generation })),
  };
  return withList(
    head,
    'edits',
    layers.map((one) => editsText(one, wants)),
  );
}

const hasChanges = ({ delta }: LayerChanges) =>
  delta !== undefined && delta.adds.length + delta.updates.length + delta.deletes.length > 0;

function editsText({ layerId, delta, features, results }: LayerChanges, wants: Wants): string {
  const { conflicts: _, ...ofUpload } = results ?? { conflicts: [] };
  const head = stringifyExactly({ id: layerId, ...ofUpload }).slice(0, -1);
  if (!delta) return `${head}}`;
  const adds = wants.adds ? delta.adds : [];
  const updates = wants.updates ? delta.updates : [];
  // Ids are text of their digits, which is JSON.
  const deletes = idsText(wants.deletes ? delta.deletes : []);
  if (!features) {
    const lists = `"adds":${idsText(adds)},"updates":${idsText(updates)},"deletes":${deletes}`;
    return `${head},"objectIds":{${lists}}}`;
  }
  // A feature that was deleted since then is in the next changes.
  const texts = (ids: readonly string[]) => ids.flatMap((id) => features.get(id) ?? []).join(',');
  return `${head},"features":{"adds":[${texts(adds)}],"updates":[${texts(updates)}],"deleteIds":${deletes}}}`;
}

const idsText = (ids: readonly string[]) => `[${ids.join(',')}]`;

/** An object whose last member is a list of JSON texts. */
function withList(head: object, name: string, texts: readonly string[]): string {
  return `${stringifyExactly(head).slice(0, -1)},"${name}":[${texts.join(',')}]}`;
}
