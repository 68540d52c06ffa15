import Type from 'typebox';
import type { VectorCollection } from '../../../core/catalog/collection.js';
import { badParameter } from '../../../core/errors/errors.js';
import type { Crs } from '../../../core/geometry/crs.js';
import type { Exchange } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { type EditPlan, planEdits, runEditPlan } from '../../../services/edits/plan.js';
import { type EditDeps, type EditTarget, editTarget } from '../../../services/edits/target.js';
import { spatialReference } from '../../../services/geoservices/geometry.js';
import { requireLayer } from '../../../services/replicas/layer-view.js';
import { type EditResultDocument, noteOutcome } from '../../../services/replicas/upload.js';
import { auditResource } from '../../../stores/audit/audit-scope.js';
import { createEditor } from '../../surface/editor.js';
import { layerCrs } from '../layer-documents.js';
import { GEOSERVICES_LIMITS } from '../limits.js';
import {
  EXACT_GEOSERVICES_MEMBERS,
  type Members,
  readFlagMember,
  readObjectsMember,
  wholeNumber,
} from '../members.js';
import { FORM_TYPES } from './feature-server.js';
import { layerEdits } from './layer-edits.js';

/** Edits of one layer: read, checked against what their caller may do, and run. */

export const serviceId = pathString('serviceId', 'Name of a service.');
export const layerNumberParam = pathString('layerId', 'Number of a layer.');

export const editForm = {
  schema: Type.Object({}),
  mediaTypes: [...FORM_TYPES, 'application/json'],
  required: true,
  jsonMembers: [
    ...['adds', 'updates', 'deletes', 'edits', 'features', 'geometry', 'objectIds'],
    ...['layers', 'fieldMappings', 'calcExpression'],
  ],
  exactMembers: EXACT_GEOSERVICES_MEMBERS,
  maxBytes: LIMITS.editBytes,
  bounds: { values: LIMITS.editValues, names: LIMITS.editNames },
};

export interface Results {
  readonly addResults: EditResultDocument[];
  readonly updateResults: EditResultDocument[];
  readonly deleteResults: EditResultDocument[];
}

export function requireEditLayer(
  deps: EditDeps,
  { principal }: Exchange,
  service: string,
  layer: unknown,
): VectorCollection {
  const number = wholeNumber('layerId', layer);
  return requireLayer(deps, principal, { service, layerId: number, parameter: 'layerId' });
}

/** The layer as the caller may edit it. Throws 401 and 403. */
export function layerTarget(x: Exchange, deps: EditDeps, layer: VectorCollection): EditTarget {
  const collection = deps.catalog().byId(layer.id) as VectorCollection;
  return editTarget(deps, createEditor(x), { collection, visible: layer });
}

/** Throws 400, 401 and 403. */
export function readEdits(x: Exchange, deps: EditDeps, layer: VectorCollection, members: Members): EditPlan {
  requirePlain(members);
  const target = layerTarget(x, deps, layer);
  const crs = readCrs(layer, members);
  return planEdits(target, crs, layerEdits(layer, crs.epsg, members));
}

export async function runLayerEdits(
  x: Exchange,
  deps: EditDeps,
  plan: EditPlan,
  atomic: boolean,
): Promise<Results> {
  const { adds, updates, deletes } = plan.edits;
  const ids = [...adds.map(() => null), ...updates.map(({ id }) => id), ...deletes];
  const results: EditResultDocument[] = ids.map((objectId) => ({ objectId, success: false }));
  const outcomes = await runEditPlan(x, deps, plan, atomic ? 'atomic' : 'each');
  for (const [i, outcome] of outcomes.entries()) noteOutcome(results[i]!, outcome);
  const succeeded = results.filter(({ success }) => success).length;
  auditResource(plan.visible.id, { operations: results.length, succeeded });
  return {
    addResults: results.slice(0, adds.length),
    updateResults: results.slice(adds.length, adds.length + updates.length),
    deleteResults: results.slice(adds.length + updates.length),
  };
}

export function requirePlain(members: Members): void {
  for (const name of ['useGlobalIds', 'returnEditMoment', 'async'])
    if (readFlagMember(members, name, false))
      throw badParameter(name, 'must be false. true is not supported');
  for (const name of ['attachments', 'gdbVersion', 'assetMaps'])
    if (members[name]) throw badParameter(name, 'is not supported');
}

/** The spatial reference of all geometries: that which they name, or that of the layer, in which those are that name none. */
function readCrs(layer: VectorCollection, members: Members): Crs {
  const codes = new Map<number, Crs>();
  for (const name of ['adds', 'updates'])
    for (const { geometry } of readObjectsMember(members, name, GEOSERVICES_LIMITS.replicaEdits) ?? []) {
      if (geometry === undefined || geometry === null) continue;
      const own = (geometry as Members)['spatialReference'];
      const crs = own === undefined || own === null ? layerCrs(layer) : spatialReference(name, own);
      codes.set(crs.epsg, crs);
      if (codes.size > 1) throw badParameter(name, 'have geometries in several spatial references');
    }
  return [...codes.values()][0] ?? layerCrs(layer);
}
