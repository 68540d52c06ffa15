import Type, { type Static } from 'typebox';
import { badParameter, notFound } from '../../../core/errors/errors.js';
import type { Exchange, Principal } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { isLayerInScope } from '../../../services/access/rules/policy.js';
import type { Decision } from '../../../services/replicas/resolution.js';
import { isExpired } from '../../../services/replicas/service.js';
import { type Conflict, RESOLUTIONS } from '../../../stores/replicas/replica-conflicts.js';
import type { Replica } from '../../../stores/replicas/replicas.js';
import type { ConflictStatus } from '../../../stores/schema/schema.js';
import type { ServicesOf } from '../../admin/deps.js';
import { TimestampSchema, timestamp } from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody } from '../../admin/kit.js';
import { requireLayers } from '../../admin/layer-rights.js';
import { enumeration } from '../../admin/params.js';
import { requireServiceName } from '../../catalog/admin/services.js';
import { ConflictDetail, ConflictSummary, conflictDetail, conflictSummary } from './conflict-views.js';

const SERVICES = ['access', 'catalog', 'replicas', 'state'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action, report } = createRowBuilders(SERVICES);

const members = {
  replicaId: Type.String({ format: 'uuid' }),
  replicaName: Type.String(),
  serviceId: Type.String(),
  layerIds: Type.Array(Type.Integer()),
  syncModel: Type.String({ enum: ['none', 'perLayer', 'perReplica'] }),
  status: Type.String({ enum: ['active', 'expired'] }),
  createdAt: TimestampSchema,
  lastSyncTime: TimestampSchema,
};
const ReplicaSummary = Type.Object(members);
const ReplicaDetail = Type.Object({ ...members, lastSyncGeneration: Type.Integer() });
const ReplicaList = Type.Object({ serviceId: Type.String(), replicas: Type.Array(ReplicaSummary) });

const serviceId = pathString('serviceId', 'Name of a service.');
const replicaId = pathString('replicaId', 'Id of a replica.');
const conflictId = pathString('conflictId', 'Id of a conflict.');

const STATUSES: readonly ConflictStatus[] = ['pending', 'resolved', 'deferred'];
const status = enumeration('status', STATUSES, 'Only conflicts of this status.');

const ConflictList = Type.Object({
  serviceId: Type.String(),
  replicaId: Type.String({ format: 'uuid' }),
  statusFilter: Type.Optional(Type.String()),
  conflicts: Type.Array(ConflictSummary),
});
const ResolveBody = Type.Object({
  action: Type.String({ enum: [...RESOLUTIONS] }),
  fieldValues: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  geometry: Type.Optional(Type.String({ enum: ['client', 'server'] })),
});
const Resolved = Type.Object({
  conflict: ConflictDetail,
  committedNewServerState: Type.Boolean(),
  effect: Type.String({ enum: ['none', 'writeFeatureState', 'deleteFeature'] }),
});

/** Replicas of services and their conflicts. */
export const replicas = group(
  { tag: 'Services', scope: 'replicas', envelope: 'wrapped', isForTenants: true },
  [
    report('GET /services/{serviceId}/replicas', 'List Service Replicas', {
      description: 'Offline copies, oldest first. One expires seven days after it was last synchronised.',
      params: { serviceId },
      data: ReplicaList,
      errors: [404],
      async answer({ params, principal }, deps) {
        requireServiceName(params.serviceId, deps);
        const list = await deps.state.replicas.list(params.serviceId);
        const own = list.filter((replica) => isOwn(replica, principal, deps));
        return { serviceId: params.serviceId, replicas: own.map(buildSummary) };
      },
    }),
    report('GET /services/{serviceId}/replicas/{replicaId}', 'Get Service Replica', {
      params: { serviceId, replicaId },
      data: ReplicaDetail,
      errors: [404],
      async answer(x, deps) {
        const replica = await requireReplica(x, deps);
        return { ...buildSummary(replica), lastSyncGeneration: replica.generation };
      },
    }),
    report('GET /services/{serviceId}/replicas/{replicaId}/conflicts', 'List Replica Conflicts', {
      description: 'Lists edits of the replica that conflict with other edits, oldest first.',
      params: { serviceId, replicaId, status },
      data: ConflictList,
      errors: [400, 404],
      async answer(x, deps) {
        const { params } = x;
        const replica = await requireReplica(x, deps);
        const list = await deps.state.replicaConflicts.list(replica.id, params.status);
        return {
          serviceId: replica.service,
          replicaId: replica.id,
          ...(params.status === undefined ? {} : { statusFilter: params.status }),
          conflicts: list.map((conflict) => conflictSummary(replica, conflict)),
        };
      },
    }),
    report('GET /services/{serviceId}/replicas/{replicaId}/conflicts/{conflictId}', 'Get Replica Conflict', {
      params: { serviceId, replicaId, conflictId },
      data: ConflictDetail,
      errors: [404],
      async answer(x, deps) {
        const { replica, conflict } = await requireConflict(x, deps);
        return conflictDetail(replica, conflict);
      },
    }),
    action(
      'POST /services/{serviceId}/replicas/{replicaId}/conflicts/{conflictId}/resolve',
      'Resolve Replica Conflict',
      {
        description:
          'Resolves the conflict by an edit of the caller. Returns 409 if the conflict is already resolved, or if a later edit changed the conflicting values.',
        params: { serviceId, replicaId, conflictId },
        body: { ...jsonBody(ResolveBody), exactMembers: ['fieldValues'] },
        data: Resolved,
        errors: [400, 404, 409, 503],
        async answer(x, deps) {
          const { replica, conflict } = await requireConflict(x, deps);
          const outcome = await deps.replicas.resolve(x, conflict, readDecision(x.body));
          return {
            conflict: conflictDetail(replica, outcome.conflict),
            committedNewServerState: outcome.effect !== 'none',
            effect: outcome.effect,
          };
        },
      },
    ),
  ],
);

type Request<P> = Pick<Exchange, 'principal'> & { readonly params: P };

async function requireReplica(
  { params: { serviceId, replicaId }, principal }: Request<{ serviceId: string; replicaId: string }>,
  deps: Deps,
): Promise<Replica> {
  requireServiceName(serviceId, deps);
  const replica = await deps.state.replicas.get(serviceId, replicaId);
  if (!replica || !isOwn(replica, principal, deps)) throw notFound('replica', replicaId.slice(0, 100));
  return replica;
}

/** Whether all layers of a replica exist for the caller, whom a tenant may limit to some. */
function isOwn({ layers, service }: Replica, principal: Principal, { catalog }: Deps): boolean {
  return layers.every(({ layerId }) =>
    isLayerInScope(principal, catalog().byLayerId(layerId) ?? { id: String(layerId), layerId, service }),
  );
}

/** Throws `forbidden` for a caller who may not read the layer: a conflict shows values of its features. */
async function requireConflict(
  { params, principal }: Request<{ serviceId: string; replicaId: string; conflictId: string }>,
  deps: Deps,
): Promise<{ replica: Replica; conflict: Conflict }> {
  const replica = await requireReplica({ params, principal }, deps);
  const conflict = await deps.state.replicaConflicts.get(replica.id, params.conflictId);
  if (!conflict) throw notFound('conflict', params.conflictId.slice(0, 100));
  requireLayers([conflict.layerId], 'read', principal, deps);
  return { replica, conflict };
}

/** A member that belongs to another action is refused, because ignoring it would hide a mistake. */
function readDecision(body: Static<typeof ResolveBody>): Decision {
  const { action: name, fieldValues, geometry } = body;
  if (fieldValues && name !== 'mergeFields')
    throw badParameter('fieldValues', 'are only for the action mergeFields');
  if (geometry && name !== 'chooseGeometry')
    throw badParameter('geometry', 'is only for the action chooseGeometry');
  return body as Decision;
}

function buildSummary(replica: Replica): Static<typeof ReplicaSummary> {
  const { id, name, service, layers, syncModel, createdAt, syncedAt } = replica;
  return {
    replicaId: id,
    replicaName: name,
    serviceId: service,
    syncModel,
    layerIds: layers.map(({ layerId }) => layerId),
    status: isExpired(replica) ? 'expired' : 'active',
    createdAt: timestamp(createdAt),
    lastSyncTime: timestamp(syncedAt),
  };
}
