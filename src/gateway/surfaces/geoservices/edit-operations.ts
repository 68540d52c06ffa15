import Type from 'typebox';
import type { VectorCollection } from '../../../core/collection.js';
import { and, type Expression } from '../../../core/cql2/index.js';
import type { Crs } from '../../../core/crs.js';
import type { EditOperation } from '../../../core/edits.js';
import { ApiError, badParameter } from '../../../core/errors.js';
import { TaskFailure } from '../../../core/failure.js';
import { LIMITS } from '../../../core/limits.js';
import { defineOperation, type Exchange, type Operation } from '../../../core/operation.js';
import { pathString } from '../../../core/params.js';
import { type EditBounds, editBounds } from '../../../services/edit-bounds.js';
import { spatialReference } from '../../../services/geoservices/geometry.js';
import { inputOf } from '../../../services/replicas/conflicts.js';
import { requireLayer } from '../../../services/replicas/layer-view.js';
import {
  type EditResult,
  type LayerEdits,
  noteOutcome,
  requireOnce,
} from '../../../services/replicas/upload.js';
import { runTask } from '../../../services/run-task.js';
import { auditResource } from '../../../stores/audit-scope.js';
import type { EditDeps } from '../features/edits/target.js';
import { common, documentFormat, membersOf, SERVER } from './feature-server.js';
import { jsonReply } from './in-band.js';
import { layerCrs } from './layer-documents.js';
import { layerEdits } from './layer-edits.js';
import { flagOf, type Members, objectsOf, wholeNumber } from './members.js';
import { queryRequest } from './query-request.js';

const SERVICE = `/rest/services/{serviceId}/${SERVER}`;
const LAYER = `${SERVICE}/{layerId}`;

const serviceId = pathString('serviceId', 'Name of a service.');
const layerId = pathString('layerId', 'Number of a layer.');

const form = {
  schema: Type.Object({}),
  mediaTypes: ['application/x-www-form-urlencoded', 'application/json', 'multipart/form-data'],
  required: true,
  jsonMembers: ['adds', 'updates', 'deletes', 'edits', 'features', 'geometry', 'objectIds'],
  maxBytes: LIMITS.editBytes,
  bounds: { values: LIMITS.editValues, names: LIMITS.editNames },
};

interface Results {
  readonly addResults: EditResult[];
  readonly updateResults: EditResult[];
  readonly deleteResults: EditResult[];
}

/** Edits of features, as clients of GeoServices make them. */
export function editOperations(deps: EditDeps): Operation[] {
  return [...layerOperations(deps), serviceOperation(deps)];
}

function layerOperations(deps: EditDeps): Operation[] {
  const operation = (
    verb: string,
    summary: string,
    run: (x: Exchange, layer: VectorCollection, members: Members) => Promise<object>,
  ) =>
    defineOperation({
      ...common('FeatureServer', verb),
      ...{ method: 'POST', audited: true, body: form, params: { serviceId, layerId }, repeatable: true },
      id: `geoservices.${verb}`,
      path: `${LAYER}/${verb}`,
      summary,
      async run(x) {
        const members = membersOf(x);
        const format = documentFormat(members);
        requirePlain(members);
        return jsonReply(
          await run(x, layerOf(deps, x, x.params.serviceId, x.params.layerId), members),
          format,
        );
      },
    });
  return [
    operation('applyEdits', 'Add, change and delete features of a layer', (x, layer, members) =>
      applyEdits(x, deps, layer, members, flagOf(members, 'rollbackOnFailure', false)),
    ),
    operation('addFeatures', 'Add features', async (x, layer, members) => {
      const edits = { adds: members['features'] };
      const { addResults } = await applyEdits(x, deps, layer, edits, isAtomic(members));
      return { addResults };
    }),
    operation('updateFeatures', 'Change features', async (x, layer, members) => {
      const edits = { updates: members['features'] };
      const { updateResults } = await applyEdits(x, deps, layer, edits, isAtomic(members));
      return { updateResults };
    }),
    operation('deleteFeatures', 'Delete features', async (x, layer, members) => {
      planEdits(x, deps, layer, {});
      const { deletes, filter } = await featuresToDelete(x, deps, layer, members);
      const plan = planEdits(x, deps, layer, { deletes });
      // Others may have changed features since: those that do not pass any more stay.
      const bounds = { ...plan.bounds, filter: and(plan.bounds.filter, filter) };
      const { deleteResults } = await runPlan(x, deps, { ...plan, bounds }, isAtomic(members));
      return { deleteResults };
    }),
  ];
}

const isAtomic = (members: Members) => flagOf(members, 'rollbackOnFailure', true);

function layerOf(deps: EditDeps, { principal }: Exchange, service: string, layer: unknown): VectorCollection {
  const number = wholeNumber('layerId', layer);
  return requireLayer(deps, principal, { service, layerId: number, parameter: 'layerId' });
}

/** Edits of several layers; each layer is a transaction of its own. */
function serviceOperation(deps: EditDeps): Operation {
  return defineOperation({
    ...common('FeatureServer', 'applyEdits'),
    ...{ method: 'POST', audited: true, body: form, params: { serviceId }, repeatable: true },
    id: 'geoservices.applyServiceEdits',
    path: `${SERVICE}/applyEdits`,
    summary: 'Add, change and delete features of several layers',
    async run(x) {
      const members = membersOf(x);
      const format = documentFormat(members);
      requirePlain(members);
      const list = objectsOf(members, 'edits', LIMITS.replicaEdits);
      if (!list) throw badParameter('edits', 'is missing');
      if (new Set(list.map(({ id }) => String(id))).size < list.length)
        throw badParameter('edits', 'name a layer twice');
      const atomic = flagOf(members, 'rollbackOnFailure', true);
      if (atomic && list.length > 1)
        throw badParameter(
          'rollbackOnFailure',
          'must be false for several layers: each is a transaction of its own',
        );
      // All of them can be tried before the first is.
      const plans = list.map((one) =>
        planEdits(x, deps, layerOf(deps, x, x.params.serviceId, one['id']), one),
      );
      const count = plans.reduce((all, { edits }) => all + countOf(edits), 0);
      if (count > LIMITS.batchOperations) throw tooMany();
      const results: object[] = [];
      for (const plan of plans) {
        const { layerId: id } = plan.layer;
        // What was written before stays, so its results are told.
        const outcome = await runPlan(x, deps, plan, atomic).catch((error: unknown) => {
          if (results.length === 0) throw error;
          return failedResults(plan.edits, error);
        });
        results.push({ id, ...outcome });
      }
      return jsonReply(results, format);
    },
  });
}

function applyEdits(
  x: Exchange,
  deps: EditDeps,
  layer: VectorCollection,
  members: Members,
  atomic: boolean,
): Promise<Results> {
  return runPlan(x, deps, planEdits(x, deps, layer, members), atomic);
}

/** Edits of a layer that were read, and that this caller may try. */
interface EditPlan {
  readonly layer: VectorCollection;
  readonly collection: VectorCollection;
  readonly bounds: EditBounds;
  readonly crs: Crs;
  readonly edits: LayerEdits;
}

/** Throws 400, 401 and 403. */
function planEdits(x: Exchange, deps: EditDeps, layer: VectorCollection, members: Members): EditPlan {
  requirePlain(members);
  const collection = deps.catalog().byId(layer.id) as VectorCollection;
  if (x.principal.kind === 'anonymous')
    throw new ApiError('unauthenticated', 'Credentials are needed to change features.');
  const bounds = editBounds(layer, deps.access(x.principal, collection, 'write'));
  const crs = crsOf(layer, members);
  const sent = layerEdits(layer, crs.epsg, members);
  // Ids of new features are the store's.
  const edits = { ...sent, adds: sent.adds.map((one) => ({ ...one, id: undefined })) };
  if (countOf(edits) > LIMITS.batchOperations) throw tooMany();
  requireOnce(edits, layer.layerId);
  return { layer, collection, bounds, crs, edits };
}

async function runPlan(
  x: Exchange,
  deps: EditDeps,
  { layer, collection, bounds, crs, edits }: EditPlan,
  atomic: boolean,
): Promise<Results> {
  const { adds, updates } = edits;
  const operations = operationsOf(edits);
  const results = operations.map(({ id = null }) => ({
    objectId: id === null ? null : Number(id),
    success: false,
  }));
  if (operations.length > 0) {
    const { outcomes } = await deps.edits.run(x, collection, {
      ...{ ...bounds, crs: crs.proj, swapAxes: false, mode: atomic ? 'atomic' : 'each', operations },
      origin: {
        ...{ collection: layer.id, layerId: layer.layerId, protocol: SERVER },
        ...{ requestId: x.correlationId, actor: x.principal.id },
      },
    });
    for (const [i, outcome] of outcomes.entries()) noteOutcome(results[i]!, outcome);
  }
  const succeeded = results.filter(({ success }) => success).length;
  auditResource(layer.id, { operations: operations.length, succeeded });
  return {
    addResults: results.slice(0, adds.length),
    updateResults: results.slice(adds.length, adds.length + updates.length),
    deleteResults: results.slice(adds.length + updates.length),
  };
}

const countOf = ({ adds, updates, deletes }: LayerEdits) => adds.length + updates.length + deletes.length;

const tooMany = () =>
  badParameter('edits', `must not be more than ${LIMITS.batchOperations}: send them in parts`);

/** Results of edits that were not tried, or may have been: the code says which. */
function failedResults({ adds, updates, deletes }: LayerEdits, error: unknown): Results {
  const isTold = error instanceof TaskFailure || error instanceof ApiError;
  const description = isTold ? error.message : 'The edits failed unexpectedly.';
  const failed = (ids: readonly (number | null)[]) =>
    ids.map((objectId) => ({
      ...{ objectId, success: false },
      error: { code: 1000, description },
    }));
  return {
    addResults: failed(adds.map(() => null)),
    updateResults: failed(updates.map(({ id }) => id)),
    deleteResults: failed(deletes),
  };
}

function requirePlain(members: Members): void {
  for (const name of ['useGlobalIds', 'returnEditMoment', 'async'])
    if (flagOf(members, name, false)) throw badParameter(name, 'must be false: it is not supported');
  for (const name of ['attachments', 'gdbVersion', 'assetMaps'])
    if (members[name]) throw badParameter(name, 'is not supported');
}

function operationsOf({ adds, updates, deletes }: LayerEdits): EditOperation[] {
  return [
    ...adds.map((sent) => ({ type: 'create', feature: inputOf(sent) }) as const),
    ...updates.map((sent) => ({ type: 'update', id: String(sent.id), feature: inputOf(sent) }) as const),
    ...deletes.map((id) => ({ type: 'delete', id: String(id) }) as const),
  ];
}

/** The spatial reference of all geometries: that which they name, or that of the layer, in which those are that name none. */
function crsOf(layer: VectorCollection, members: Members): Crs {
  const codes = new Map<number, Crs>();
  for (const name of ['adds', 'updates'])
    for (const { geometry } of objectsOf(members, name, LIMITS.replicaEdits) ?? []) {
      if (geometry === undefined || geometry === null) continue;
      const own = (geometry as Members)['spatialReference'];
      const crs = own === undefined || own === null ? layerCrs(layer) : spatialReference(name, own);
      codes.set(crs.epsg, crs);
      if (codes.size > 1) throw badParameter(name, 'have geometries in several spatial references');
    }
  return [...codes.values()][0] ?? layerCrs(layer);
}

/** Features to delete: those that are named, or that pass the filters. */
async function featuresToDelete(
  x: Exchange,
  { pools }: EditDeps,
  layer: VectorCollection,
  members: Members,
): Promise<{ deletes: unknown; filter?: Expression }> {
  const names = ['where', 'objectIds', 'geometry'];
  if (names.every((name) => members[name] === undefined || members[name] === ''))
    throw badParameter('objectIds', 'or where or geometry must be there');
  if (names.every((name) => name === 'objectIds' || !members[name])) return { deletes: members['objectIds'] };
  const { task, query } = queryRequest(layer, { ...members, f: 'json', returnGeometry: 'false' });
  const limit = LIMITS.batchOperations + 1;
  const page = await runTask(x, pools, 'vector.items', { ...task, fields: [], limit, offset: 0 });
  const features = JSON.parse(`[${Buffer.from(page.features).toString()}]`) as {
    attributes: Record<string, number>;
  }[];
  const deletes = features.map(({ attributes }) => attributes[layer.source.idColumn]!);
  return { deletes, ...(query.filter === undefined ? {} : { filter: query.filter }) };
}
