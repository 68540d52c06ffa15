import Type from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import { defineOperation, type Exchange, type Operation } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { requireVisibleService } from '../../../services/replicas/layer-view.js';
import { type Replicas, requireActiveReplica } from '../../../services/replicas/service.js';
import type { SurfaceDeps } from '../../surface/common.js';
import { common, documentFormat, FORM_TYPES, f, SERVER } from '../features/feature-server.js';
import { member } from '../features/query-members.js';
import { jsonReply, textReply } from '../images/in-band.js';
import { EXACT_GEOSERVICES_MEMBERS, type Members, readTextMember } from '../members.js';
import { postFormOperation } from '../post-forms.js';
import {
  createdReplica,
  extractedChanges,
  replicaDocument,
  replicaEntry,
  syncedReplica,
} from './replica-documents.js';
import { changeRequests, replicaDraft, syncRequest } from './replica-requests.js';

export type ReplicaDeps = Pick<SurfaceDeps, 'catalog' | 'visible'> & { replicas: Replicas };

const PATH = `/rest/services/{serviceId}/${SERVER}`;

const serviceId = pathString('serviceId', 'Name of a service.');
const replicaID = pathString('replicaID', 'Id of a replica.');

const changeParams = {
  layers: member('layers', 'Numbers of layers, separated by commas.'),
  layerServerGens: member('layerServerGens', 'JSON array of {id, serverGen} objects.'),
  layerQueries: member('layerQueries', 'JSON object: by layer {where, useGeometry, queryOption}.'),
  geometry: member('geometry', 'Only features that intersect this geometry.'),
  geometryType: member('geometryType', 'Type of geometry, such as esriGeometryEnvelope.'),
  inSR: member('inSR', 'Spatial reference of the geometry.'),
  outSR: member('outSR', 'Spatial reference of the response.'),
  returnInserts: member('returnInserts', 'Default: true.'),
  returnUpdates: member('returnUpdates', 'Default: true.'),
  returnDeletes: member('returnDeletes', 'Default: true.'),
  returnIdsOnly: member('returnIdsOnly', 'Default: false.'),
  dataFormat: member('dataFormat', 'json.'),
};

/** Members that contain lists or objects as JSON. */
const JSON_MEMBERS = ['layers', 'layerQueries', 'geometry', 'layerServerGens', 'syncLayers', 'edits'];

const form = {
  schema: Type.Object({}),
  mediaTypes: FORM_TYPES,
  required: true,
  jsonMembers: JSON_MEMBERS,
  exactMembers: EXACT_GEOSERVICES_MEMBERS,
  maxBytes: LIMITS.editBytes,
  bounds: { values: LIMITS.editValues, names: LIMITS.editNames },
};

type Verb =
  | 'replicas'
  | 'replica'
  | 'createReplica'
  | 'synchronizeReplica'
  | 'unRegisterReplica'
  | 'extractChanges';

const about = (verb: Verb) => common('Replicas', verb);

/** Offline copies of the layers of a service, as clients of GeoServices make and synchronise them. */
export function replicaOperations(deps: ReplicaDeps): Operation[] {
  return [
    ...readingOperations(deps),
    ...changeOperations(deps),
    ...writingOperations(deps),
    ...formOperations(deps),
  ];
}

function readingOperations(deps: ReplicaDeps): Operation[] {
  const { replicas } = deps;
  return [
    defineOperation({
      ...about('replicas'),
      id: 'geoservices.replicas',
      method: 'GET',
      path: `${PATH}/replicas`,
      summary: 'Replicas of a service',
      description: 'Lists the replicas of the caller.',
      params: { serviceId, f },
      async run(x) {
        requireVisibleService(deps, x.principal, x.params.serviceId);
        const list = await replicas.list(x.principal, x.params.serviceId);
        return jsonReply(list.map(replicaEntry), documentFormat(x.params));
      },
    }),
    defineOperation({
      ...about('replica'),
      id: 'geoservices.replica',
      method: 'GET',
      path: `${PATH}/replicas/{replicaID}`,
      summary: 'A replica',
      params: { serviceId, replicaID, f },
      async run({ params, principal }) {
        const replica = await replicas.get(principal, params.serviceId, params.replicaID);
        return jsonReply(replicaDocument(replica), documentFormat(params));
      },
    }),
  ];
}

function changeOperations(deps: ReplicaDeps): Operation[] {
  const extract = async (x: Exchange, service: string, members: Members) => {
    documentFormat(members);
    const { requests, crs, wants } = changeRequests(deps, { principal: x.principal, service }, members);
    return textReply(extractedChanges(await deps.replicas.extract(x, requests, crs), wants));
  };
  const extraction = {
    ...about('extractChanges'),
    path: `${PATH}/extractChanges`,
    summary: 'Changes of layers since generations',
  };
  return [
    defineOperation({
      ...extraction,
      id: 'geoservices.extractChanges',
      method: 'GET',
      params: { serviceId, f, ...changeParams },
      run: (x) => extract(x, x.params.serviceId, x.params),
    }),
    defineOperation({
      ...extraction,
      id: 'geoservices.postExtractChanges',
      method: 'POST',
      params: { serviceId },
      body: form,
      run: (x) => extract(x, x.params.serviceId, x.body as Members),
    }),
  ];
}

const layers = changeParams.layers;
const id = member('replicaID', 'Id of a replica, from createReplica.');

const FORMS = {
  createReplica: {
    summary: 'Create a replica',
    fields: [
      member('replicaName', 'Name of the replica. Default: replica.'),
      layers,
      changeParams.layerQueries,
      changeParams.geometry,
      changeParams.geometryType,
      changeParams.inSR,
    ],
  },
  synchronizeReplica: {
    summary: 'Synchronise a replica',
    fields: [
      id,
      member('replicaServerGen', 'Generation of the last synchronisation.'),
      member('edits', 'JSON array of edits by layer: {"id", "adds", "updates", "deleteIds"}.'),
    ],
  },
  unRegisterReplica: { summary: 'Unregister a replica', fields: [id] },
} as const;

function formOperations(deps: ReplicaDeps): Operation[] {
  return Object.entries(FORMS).map(([verb, { summary, fields }]) =>
    postFormOperation({
      about: about(verb as Verb),
      path: `${PATH}/${verb}`,
      pathParams: { serviceId },
      summary,
      fields,
      requireAccess: (x) => requireVisibleService(deps, x.principal, x.params.serviceId),
    }),
  );
}

function writingOperations(deps: ReplicaDeps): Operation[] {
  const { replicas } = deps;
  const writing = { method: 'POST', audited: true, params: { serviceId }, body: form } as const;
  return [
    defineOperation({
      ...about('createReplica'),
      ...writing,
      id: 'geoservices.createReplica',
      path: `${PATH}/createReplica`,
      summary: 'Create a replica',
      description: 'Returns the features of the layers, and the generation for the first synchronisation.',
      repeatable: true,
      async run(x) {
        const members = x.body as Members;
        documentFormat(members);
        const draft = replicaDraft(deps, { principal: x.principal, service: x.params.serviceId }, members);
        const { replica, layers } = await replicas.create(x, draft);
        return textReply(createdReplica(draft, replica, layers));
      },
    }),
    defineOperation({
      ...about('synchronizeReplica'),
      ...writing,
      id: 'geoservices.synchronizeReplica',
      path: `${PATH}/synchronizeReplica`,
      summary: 'Synchronise a replica',
      description:
        'Applies the edits of the client and returns the changes on the server since its generation.',
      repeatable: true,
      async run(x) {
        const members = x.body as Members;
        documentFormat(members);
        const caller = { principal: x.principal, service: x.params.serviceId };
        const replica = await replicas.get(caller.principal, caller.service, getId(members));
        requireActiveReplica(replica);
        const request = syncRequest(deps, caller, replica, members);
        const changes = await replicas.synchronize(x, replica, request);
        if (request.close) await replicas.unregister(caller.principal, caller.service, replica.id);
        return textReply(syncedReplica(replica, changes));
      },
    }),
    defineOperation({
      ...about('unRegisterReplica'),
      ...writing,
      id: 'geoservices.unRegisterReplica',
      path: `${PATH}/unRegisterReplica`,
      summary: 'Unregister a replica',
      async run(x) {
        const members = x.body as Members;
        const format = documentFormat(members);
        await replicas.unregister(x.principal, x.params.serviceId, getId(members));
        return jsonReply({ success: true }, format);
      },
    }),
  ];
}

function getId(members: Members): string {
  const id = readTextMember(members, 'replicaID', 100);
  if (id === undefined) throw badParameter('replicaID', 'is required');
  return id;
}
