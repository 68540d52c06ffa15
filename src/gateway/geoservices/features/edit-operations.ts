import type { VectorCollection } from '../../../core/catalog/collection.js';
import type { Expression } from '../../../core/cql2/index.js';
import { ApiError, badParameter } from '../../../core/errors/errors.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import { featuresIn } from '../../../core/geoservices/geoservices-features.js';
import { defineOperation, type Exchange, type Operation } from '../../../core/http/operation.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { ObjectId } from '../../../core/values/object-id.js';
import { countEdits, type LayerEdits } from '../../../services/edits/layer-edits.js';
import { narrowPlan, requireCount } from '../../../services/edits/plan.js';
import type { EditDeps } from '../../../services/edits/target.js';
import { runTask } from '../../../services/kit/run-task.js';
import { geometryLoss } from '../../surface/editor.js';
import { jsonReply } from '../images/in-band.js';
import { GEOSERVICES_LIMITS } from '../limits.js';
import { type Members, objectId, readFlagMember, readObjectsMember } from '../members.js';
import { appendOperations } from './append.js';
import { calculateOperation } from './calculate.js';
import { editFormOperations } from './edit-forms.js';
import {
  editForm,
  layerNumberParam,
  layerTarget,
  type Results,
  readEdits,
  requireEditLayer,
  requirePlain,
  runLayerEdits,
  serviceId,
} from './edit-plan.js';
import { common, documentFormat, mergeParameters, SERVER } from './feature-server.js';
import { queryRequest } from './query-request.js';

const SERVICE = `/rest/services/{serviceId}/${SERVER}`;
const LAYER = `${SERVICE}/{layerId}`;

/** Edits of features, as clients of GeoServices make them. */
export function createGeoServicesEditOperations(deps: EditDeps): Operation[] {
  return [
    ...layerOperations(deps),
    serviceOperation(deps),
    calculateOperation(deps),
    ...editFormOperations(deps),
    ...appendOperations(deps),
  ];
}

function layerOperations(deps: EditDeps): Operation[] {
  const operation = (
    verb: string,
    summary: string,
    run: (x: Exchange, layer: VectorCollection, members: Members) => Promise<object>,
  ) =>
    defineOperation({
      ...common('FeatureServer', verb),
      method: 'POST',
      audited: true,
      body: editForm,
      params: { serviceId, layerId: layerNumberParam, geometryLoss },
      repeatable: true,
      id: `geoservices.${verb}`,
      path: `${LAYER}/${verb}`,
      summary,
      async run(x) {
        const members = mergeParameters(x);
        const format = documentFormat(members);
        requirePlain(members);
        return jsonReply(
          await run(x, requireEditLayer(deps, x, x.params.serviceId, x.params.layerId), members),
          format,
        );
      },
    });
  return [
    operation('applyEdits', 'Add, change and delete features of a layer', (x, layer, members) =>
      applyEdits(x, deps, layer, members, readFlagMember(members, 'rollbackOnFailure', false)),
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
      layerTarget(x, deps, layer);
      const { deletes, filter } = await featuresToDelete(x, deps, layer, members);
      const plan = readEdits(x, deps, layer, { deletes });
      const { deleteResults } = await runLayerEdits(x, deps, narrowPlan(plan, filter), isAtomic(members));
      return { deleteResults };
    }),
  ];
}

const isAtomic = (members: Members) => readFlagMember(members, 'rollbackOnFailure', true);

/** Edits of several layers, one transaction for each layer. */
function serviceOperation(deps: EditDeps): Operation {
  return defineOperation({
    ...common('FeatureServer', 'applyEdits'),
    method: 'POST',
    audited: true,
    body: editForm,
    params: { serviceId, geometryLoss },
    repeatable: true,
    id: 'geoservices.applyServiceEdits',
    path: `${SERVICE}/applyEdits`,
    summary: 'Add, change and delete features of several layers',
    async run(x) {
      const members = mergeParameters(x);
      const format = documentFormat(members);
      requirePlain(members);
      const list = readObjectsMember(members, 'edits', GEOSERVICES_LIMITS.replicaEdits);
      if (!list) throw badParameter('edits', 'is required');
      if (new Set(list.map(({ id }) => String(id))).size < list.length)
        throw badParameter('edits', 'must name each layer once');
      const atomic = readFlagMember(members, 'rollbackOnFailure', true);
      if (atomic && list.length > 1)
        throw badParameter(
          'rollbackOnFailure',
          'must be false for several layers, because each layer has its own transaction',
        );
      // All of them can be tried before the first is.
      const plans = list.map((one) =>
        readEdits(x, deps, requireEditLayer(deps, x, x.params.serviceId, one['id']), one),
      );
      requireCount(plans.reduce((all, { edits }) => all + countEdits(edits), 0));
      const results: object[] = [];
      for (const plan of plans) {
        const { layerId: id } = plan.visible;
        // Layers that were already written are kept, so their results are returned.
        const outcome = await runLayerEdits(x, deps, plan, atomic).catch((error: unknown) => {
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
  return runLayerEdits(x, deps, readEdits(x, deps, layer, members), atomic);
}

/** Features to delete: those with the given ids, or those that match the filters. */
async function featuresToDelete(
  x: Exchange,
  { pools }: EditDeps,
  layer: VectorCollection,
  members: Members,
): Promise<{ deletes: unknown; filter?: Expression }> {
  const names = ['where', 'objectIds', 'geometry'];
  if (names.every((name) => members[name] === undefined || members[name] === ''))
    throw badParameter('objectIds', 'is required, or where or geometry');
  if (names.every((name) => name === 'objectIds' || !members[name])) return { deletes: members['objectIds'] };
  const { task, query } = queryRequest(layer, { ...members, f: 'json', returnGeometry: 'false' });
  const limit = LIMITS.batchOperations + 1;
  const page = await runTask(x, pools, 'vector.items', { ...task, fields: [], limit, offset: 0 });
  const { idColumn } = layer.source;
  const deletes = featuresIn(page.features).map(({ attributes }) => objectId('where', attributes[idColumn]));
  return { deletes, filter: query.filter };
}

/** Results of edits that were not tried, or may have been: the code says which. */
function failedResults({ adds, updates, deletes }: LayerEdits, error: unknown): Results {
  const isTold = error instanceof TaskFailure || error instanceof ApiError;
  const description = isTold ? error.message : 'The edits failed unexpectedly.';
  const failed = (ids: readonly (ObjectId | null)[]) =>
    ids.map((objectId) => ({
      objectId,
      success: false,
      error: { code: 1000, description },
    }));
  return {
    addResults: failed(adds.map(() => null)),
    updateResults: failed(updates.map(({ id }) => id)),
    deleteResults: failed(deletes),
  };
}
