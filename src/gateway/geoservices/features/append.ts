import type { VectorCollection } from '../../../core/catalog/collection.js';
import { and, equalsAny } from '../../../core/cql2/index.js';
import { ApiError, badParameter } from '../../../core/errors/errors.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import { featuresIn } from '../../../core/geoservices/geoservices-features.js';
import { defineOperation, type Exchange, type Operation } from '../../../core/http/operation.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { ObjectId } from '../../../core/values/object-id.js';
import { countEdits } from '../../../services/edits/layer-edits.js';
import { type EditPlan, narrowPlan, requireCount } from '../../../services/edits/plan.js';
import type { EditDeps } from '../../../services/edits/target.js';
import { runTask } from '../../../services/kit/run-task.js';
import type { EditResultDocument } from '../../../services/replicas/upload.js';
import { geometryLoss } from '../../surface/editor.js';
import { jsonReply } from '../images/in-band.js';
import { GEOSERVICES_LIMITS } from '../limits.js';
import {
  type Members,
  objectId,
  readIntegersMember,
  readObjectsMember,
  readTextMember,
  requireObject,
  wholeNumber,
} from '../members.js';
import {
  type AppendKey,
  type AppendOptions,
  type AppendSourceLayer,
  appendOptions,
  canonicalKey,
  type FieldMapping,
  fieldMapping,
  keyValue,
  type MatchingField,
  sourceLayers,
} from './append-request.js';
import {
  editForm,
  layerNumberParam,
  layerTarget,
  readEdits,
  requireEditLayer,
  requirePlain,
  runLayerEdits,
  serviceId,
} from './edit-plan.js';
import { common, documentFormat, mergeParameters, SERVER } from './feature-server.js';
import { queryRequest } from './query-request.js';

const SERVICE = `/rest/services/{serviceId}/${SERVER}`;
const MAX_TEXT = 8000;

/** Appends features of a source to layers, or updates the features with the same key. */
export function appendOperations(deps: EditDeps): Operation[] {
  const about = { ...common('FeatureServer', 'append'), method: 'POST', audited: true } as const;
  return [
    defineOperation({
      ...about,
      body: editForm,
      params: { serviceId, layerId: layerNumberParam, geometryLoss },
      repeatable: true,
      id: 'geoservices.append',
      path: `${SERVICE}/{layerId}/append`,
      summary: 'Append features to a layer',
      async run(x) {
        const members = mergeParameters(x);
        const format = documentFormat(members);
        const layer = requireEditLayer(deps, x, x.params.serviceId, x.params.layerId);
        const sources = sourceLayers(members);
        const name = readTextMember(members, 'sourceTableName', MAX_TEXT);
        const source = name === undefined ? sources[0] : sources.find((one) => one.name === name);
        if (!source || (name === undefined && sources.length > 1))
          throw badParameter('sourceTableName', 'must name one of the layers of edits');
        const appended = await run(x, deps, await planAppend(x, deps, { layer, source, members }));
        return jsonReply({ status: 'Completed', ...appended }, format);
      },
    }),
    defineOperation({
      ...about,
      body: editForm,
      params: { serviceId },
      repeatable: true,
      id: 'geoservices.appendToService',
      path: `${SERVICE}/append`,
      summary: 'Append features to layers of a service',
      async run(x) {
        const members = mergeParameters(x);
        const format = documentFormat(members);
        const plans: Plan[] = [];
        const all = targets(members);
        requireCount(all.reduce((sum, { source }) => sum + source.features.length, 0));
        // All of them can be tried before the first is.
        for (const { source, number, own } of all) {
          const layer = requireEditLayer(deps, x, x.params.serviceId, number);
          plans.push(await planAppend(x, deps, { layer, source, members: { ...members, ...own } }));
        }
        if (plans.length > 1 && plans.some(({ options }) => options.atomic))
          throw badParameter(
            'rollbackOnFailure',
            'must be false for several layers, because each layer has its own transaction',
          );
        const layers: (AppendResult & { id: number })[] = [];
        for (const plan of plans) {
          // Layers that were already written are kept, so their results are returned.
          const appended = await run(x, deps, plan).catch((error: unknown) => {
            if (layers.length === 0) throw error;
            return failed(plan, error);
          });
          layers.push({ id: plan.edits.visible.layerId, ...appended });
        }
        const sum = (name: Count) => layers.reduce((all, one) => all + one[name], 0);
        const counts = Object.fromEntries(COUNTS.map((name) => [name, sum(name)]));
        return jsonReply({ status: 'Completed', ...counts, layers }, format);
      },
    }),
  ];
}

const COUNTS = ['numFeaturesAppended', 'numFeaturesUpdated', 'numFeaturesFailed'] as const;
type Count = (typeof COUNTS)[number];

interface AppendResult extends Record<Count, number> {
  readonly addResults?: readonly EditResultDocument[];
  readonly updateResults?: readonly EditResultDocument[];
  readonly error?: object;
}

interface Target {
  readonly source: AppendSourceLayer;
  /** Id of the target layer. */
  readonly number: unknown;
  /** Parameters for this layer only. */
  readonly own: Members;
}

/** `layerMappings` says which layer of the source goes where; without it the source does. */
function targets(members: Members): Target[] {
  const sources = sourceLayers(members);
  const mappings = readObjectsMember(members, 'layerMappings', GEOSERVICES_LIMITS.replicaEdits);
  const only = readIntegersMember(members, 'layers', GEOSERVICES_LIMITS.replicaEdits);
  const all = mappings
    ? mappings.map(({ id, sourceTableName, ...own }) => {
        const source = sources.find(({ name }) => name === sourceTableName);
        if (!source) throw badParameter('layerMappings', 'must name layers of edits');
        return { source, number: id, own };
      })
    : sources.map((source) => ({ source, number: source.id, own: {} }));
  const numbers = all.map(({ number }) => wholeNumber(mappings ? 'layerMappings' : 'edits', number));
  if (new Set(numbers).size < numbers.length)
    throw badParameter('layerMappings', 'must name each layer once');
  return only ? all.filter((_, i) => only.includes(numbers[i]!)) : all;
}

interface Plan {
  readonly edits: EditPlan;
  readonly options: AppendOptions;
}

/** Throws 400, 401 and 403. */
async function planAppend(
  x: Exchange,
  deps: EditDeps,
  { layer, source, members }: { layer: VectorCollection; source: AppendSourceLayer; members: Members },
): Promise<Plan> {
  requirePlain(members);
  const options = appendOptions(layer, members);
  const mapping = fieldMapping(layer, members, options.key?.name);
  const features = source.features.map((feature) => mapped(feature, mapping));
  const { key } = options;
  if (key === undefined) {
    const adds = options.inserts ? features : [];
    return { options, edits: readEdits(x, deps, layer, { adds }) };
  }
  // A caller who may not edit must not learn which features exist.
  layerTarget(x, deps, layer);
  const keys = listKeys(features, key);
  const ids = await storedIds(x, deps, layer, { key: key.name, keys });
  const idAt = (i: number) => ids.get(canonicalKey(keys[i]!));
  const adds = features.filter((_, i) => idAt(i) === undefined);
  const updates = features.flatMap((feature, i) => {
    const id = idAt(i);
    return id === undefined ? [] : [readChange(feature, { idColumn: layer.source.idColumn, id, options })];
  });
  const edits = { adds: options.inserts ? adds : [], updates: options.updates ? updates : [] };
  const plan = readEdits(x, deps, layer, edits);
  if (key.name === layer.source.idColumn || edits.updates.length === 0) return { options, edits: plan };
  return { options, edits: narrowPlan(plan, equalsAny(key.name, keys)) };
}

function mapped(feature: Members, mapping: FieldMapping): Members {
  const attributes = requireObject('edits', feature['attributes'] ?? {});
  const own = Object.entries(attributes).flatMap(([name, value]) => {
    const target = mapping(name);
    return target === undefined ? [] : [[target, value] as const];
  });
  return { attributes: Object.fromEntries(own), geometry: feature['geometry'] };
}

function readChange(
  { attributes, geometry }: Members,
  { idColumn, id, options }: { idColumn: string; id: ObjectId; options: AppendOptions },
): Members {
  const changed = { ...(attributes as Members), [idColumn]: id };
  return { attributes: changed, ...(options.geometries ? { geometry } : {}) };
}

/** Throws 400 for features without a key, and for two with the same. */
function listKeys(features: readonly Members[], key: MatchingField): AppendKey[] {
  const keys = features.map(({ attributes }) => {
    const value = keyValue((attributes as Members)[key.name], key);
    if (value === undefined) throw badParameter('edits', `has a feature without its key, ${key.name}`);
    return value;
  });
  if (new Set(keys.map(canonicalKey)).size < keys.length)
    throw badParameter('edits', `contains two features with the same value of ${key.name}`);
  return keys;
}

/** Object ids of the features that have keys. Throws 400 where one key is that of several. */
async function storedIds(
  x: Exchange,
  { pools }: EditDeps,
  layer: VectorCollection,
  { key, keys }: { key: string; keys: readonly AppendKey[] },
): Promise<Map<string, ObjectId>> {
  const { idColumn } = layer.source;
  const { task, query } = queryRequest(layer, { f: 'json', returnGeometry: 'false' });
  const page = await runTask(x, pools, 'vector.items', {
    ...task,
    filter: and(query.filter, equalsAny(key, keys)),
    fields: key === idColumn ? [] : [key],
    limit: LIMITS.batchOperations + 1,
    offset: 0,
  });
  const ids = new Map<string, ObjectId>();
  for (const { attributes } of featuresIn(page.features)) {
    const value = canonicalKey(attributes[key] as AppendKey);
    if (ids.has(value))
      throw badParameter('upsertMatchingField', `is not unique: several features have one ${key}`);
    ids.set(value, objectId('edits', attributes[idColumn]));
  }
  return ids;
}

async function run(x: Exchange, deps: EditDeps, { edits, options }: Plan): Promise<AppendResult> {
  const { addResults, updateResults } = await runLayerEdits(x, deps, edits, options.atomic);
  const succeeded = (results: readonly EditResultDocument[]) =>
    results.filter(({ success }) => success).length;
  const [added, updated] = [succeeded(addResults), succeeded(updateResults)];
  return {
    numFeaturesAppended: added,
    numFeaturesUpdated: updated,
    numFeaturesFailed: addResults.length + updateResults.length - added - updated,
    ...(options.results ? { addResults, updateResults } : {}),
  };
}

/** Features that were not tried, or may have been: the error says which. */
function failed({ edits }: Plan, error: unknown): AppendResult {
  const isTold = error instanceof TaskFailure || error instanceof ApiError;
  const description = isTold ? error.message : 'The edits failed unexpectedly.';
  return {
    numFeaturesAppended: 0,
    numFeaturesUpdated: 0,
    numFeaturesFailed: countEdits(edits.edits),
    error: { code: 1000, description },
  };
}
