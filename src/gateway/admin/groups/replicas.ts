import Type, { type Static } from 'typebox';
import { notFound } from '../../../core/errors.js';
import { pathString } from '../../../core/params.js';
import { isExpired } from '../../../services/replicas/service.js';
import type { Replica } from '../../../stores/replicas.js';
import type { AdminDeps } from '../deps.js';
import { TimestampSchema, timestamp } from '../envelope.js';
import { action, group, report } from '../kit.js';
import { requireService } from './services.js';

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

/** Replicas of services and their conflicts. */
export const replicas = group({ tag: 'Services', scope: 'replicas', envelope: 'wrapped' }, [
  report('GET /services/{serviceId}/replicas', 'List Service Replicas', {
    description: 'Offline copies, oldest first. One expires seven days after it was last synchronised.',
    params: { serviceId },
    data: ReplicaList,
    errors: [404],
    async answer({ params }, deps) {
      requireService(params.serviceId, deps);
      const list = await deps.state.replicas.list(params.serviceId);
      return { serviceId: params.serviceId, replicas: list.map(summaryOf) };
    },
  }),
  report('GET /services/{serviceId}/replicas/{replicaId}', 'Get Service Replica', {
    params: { serviceId, replicaId },
    data: ReplicaDetail,
    errors: [404],
    async answer({ params }, deps) {
      const replica = await requireReplica(params, deps);
      return { ...summaryOf(replica), lastSyncGeneration: replica.generation };
    },
  }),
  report('GET /services/{serviceId}/replicas/{replicaId}/conflicts', 'List Replica Conflicts'),
  report('GET /services/{serviceId}/replicas/{replicaId}/conflicts/{conflictId}', 'Get Replica Conflict'),
  action(
    'POST /services/{serviceId}/replicas/{replicaId}/conflicts/{conflictId}/resolve',
    'Resolve Replica Conflict',
  ),
]);

async function requireReplica(
  { serviceId, replicaId }: { serviceId: string; replicaId: string },
  deps: AdminDeps,
): Promise<Replica> {
  requireService(serviceId, deps);
  const replica = await deps.state.replicas.get(serviceId, replicaId);
  if (!replica) throw notFound('replica', replicaId.slice(0, 100));
  return replica;
}

function summaryOf(replica: Replica): Static<typeof ReplicaSummary> {
  const { id, name, service, layers, syncModel, createdAt, syncedAt } = replica;
  return {
    ...{ replicaId: id, replicaName: name, serviceId: service, syncModel },
    layerIds: layers.map(({ layerId }) => layerId),
    status: isExpired(replica) ? 'expired' : 'active',
    createdAt: timestamp(createdAt),
    lastSyncTime: timestamp(syncedAt),
  };
}
