import { action, group, report } from '../kit.js';

/** Replicas of services and their conflicts. */
export const replicas = group({ tag: 'Services', scope: 'replicas', envelope: 'wrapped' }, [
  report('GET /services/{serviceId}/replicas', 'List Service Replicas'),
  report('GET /services/{serviceId}/replicas/{replicaId}', 'Get Service Replica'),
  report('GET /services/{serviceId}/replicas/{replicaId}/conflicts', 'List Replica Conflicts'),
  report('GET /services/{serviceId}/replicas/{replicaId}/conflicts/{conflictId}', 'Get Replica Conflict'),
  action(
    'POST /services/{serviceId}/replicas/{replicaId}/conflicts/{conflictId}/resolve',
    'Resolve Replica Conflict',
  ),
]);
