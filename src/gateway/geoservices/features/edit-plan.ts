import Type from 'typebox';
import type { VectorCollection } from '../../../core/catalog/collection.js';
import type { EditOperation, EditOrigin } from '../../../core/edits/edits.js';
import { ApiError, badParameter } from '../../../core/errors/errors.js';
import { type Crs, coordinatePrecision } from '../../../core/geometry/crs.js';
import type { Exchange } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { type EditBounds, editBounds } from '../../../services/edits/edit-bounds.js';
import { keyedOperations, numberedOutcomes } from '../../../services/edits/numbered-edits.js';
import { spatialReference } from '../../../services/geoservices/geometry.js';
import { inputOf } from '../../../services/replicas/conflicts.js';
import { requireLayer } from '../../../services/replicas/layer-view.js';
import {
  type EditResult,
  type LayerEdits,
  noteOutcome,
  requireOnce,
} from '../../../services/replicas/upload.js';
import { auditResource } from '../../../stores/audit/audit-scope.js';
import type { EditDeps } from '../../features/edits/target.js';
import { acceptsLoss } from '../../surface/geometry-loss.js';
import { layerCrs } from '../layer-documents.js';
import { EXACT_MEMBERS, flagOf, type Members, objectId, objectsOf, wholeNumber } from '../members.js';
import { FORM_TYPES, SERVER } from './feature-server.js';
import { layerEdits } from './layer-edits.js';

/** Edits of one layer: read, checked against what their caller may do, and run. */

export const serviceId = pathString('serviceId', 'Name of a service.');
export const layerId = pathString('layerId', 'Number of a layer.');

export const editForm = {
  schema: Type.Object({}),
  mediaTypes: [...FORM_TYPES, 'application/json'],
  required: true,
  jsonMembers: [
    ...['adds', 'updates', 'deletes', 'edits', 'features', 'geometry', 'objectIds'],
    ...['layers', 'fieldMappings', 'calcExpression'],
  ],
  exactMembers: EXACT_MEMBERS,
  maxBytes: LIMITS.editBytes,
  bounds: { values: LIMITS.editValues, names: LIMITS.editNames },
};

export interface Results {
  readonly addResults: EditResult[];
  readonly updateResults: EditResult[];
  readonly deleteResults: EditResult[];
}

export function layerOf(
  deps: EditDeps,
  { principal }: Exchange,
  service: string,
  layer: unknown,
): VectorCollection {
  const number = wholeNumber('layerId', layer);
  return requireLayer(deps, principal, { service, layerId: number, parameter: 'layerId' });
}

/** Edits of a layer that were read, and that this caller may try. */
export interface EditPlan {
  readonly layer: VectorCollection;
  readonly collection: VectorCollection;
  readonly bounds: EditBounds;
  readonly crs: Crs;
  readonly edits: LayerEdits;
}

/** Throws 400, 401 and 403. */
export function planEdits(x: Exchange, deps: EditDeps, layer: VectorCollection, members: Members): EditPlan {
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

export async function runPlan(
  x: Exchange,
  deps: EditDeps,
  { layer, collection, bounds, crs, edits }: EditPlan,
  atomic: boolean,
): Promise<Results> {
  const { adds, updates } = edits;
  const operations = operationsOf(edits);
  const results = operations.map(({ id = null }) => ({
    objectId: id === null ? null : objectId('edits', id),
    success: false,
  }));
  if (operations.length > 0) {
    const { outcomes } = await deps.edits.run(x, collection, {
      ...{ ...bounds, crs: crs.proj, swapAxes: false, mode: atomic ? 'atomic' : 'each' },
      ...{ precision: coordinatePrecision(crs), acceptsLoss: acceptsLoss(x) },
      operations: await keyedOperations(x, deps.pools, layer, operations),
      origin: originOf(x, layer),
    });
    const numbered = await numberedOutcomes(x, deps.pools, layer, { operations, outcomes });
    for (const [i, outcome] of numbered.entries()) noteOutcome(results[i]!, outcome);
  }
  const succeeded = results.filter(({ success }) => success).length;
  auditResource(layer.id, { operations: operations.length, succeeded });
  return {
    addResults: results.slice(0, adds.length),
    updateResults: results.slice(adds.length, adds.length + updates.length),
    deleteResults: results.slice(adds.length + updates.length),
  };
}

/** Whose edits they are, for events. */
export function originOf(x: Exchange, { id, layerId: number }: VectorCollection): EditOrigin {
  return {
    ...{ collection: id, layerId: number, protocol: SERVER },
    ...{ requestId: x.correlationId, actor: x.principal.id },
  };
}

export const countOf = ({ adds, updates, deletes }: LayerEdits) =>
  adds.length + updates.length + deletes.length;

export const tooMany = () =>
  badParameter('edits', `must not be more than ${LIMITS.batchOperations}: send them in parts`);

export function requirePlain(members: Members): void {
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
