import Type, { type Static } from 'typebox';
import { CONFLICT_TYPES, type Conflict, RESOLUTIONS } from '../../../stores/replicas/replica-conflicts.js';
import type { Replica } from '../../../stores/replicas/replicas.js';
import { TimestampSchema, timestamp } from '../../admin/envelope.js';

/** Conflicts of replicas in the management API. */

const summary = {
  conflictId: Type.String({ format: 'uuid' }),
  serviceId: Type.String(),
  replicaId: Type.String({ format: 'uuid' }),
  layerId: Type.Integer(),
  objectId: Type.Integer(),
  conflictType: Type.String({
    enum: [...CONFLICT_TYPES],
    description: "The client's edit comes first in deleteUpdate and updateDelete.",
  }),
  status: Type.String({ enum: ['pending', 'resolved', 'deferred'] }),
  detectedAt: TimestampSchema,
  serverGeneration: Type.Integer(),
  clientEditApplied: Type.Boolean(),
  clientEditOutcomeUnknown: Type.Boolean(),
  clientEditSuperseded: Type.Boolean(),
};
export const ConflictSummary = Type.Object(summary);

const State = Type.Optional(
  Type.Object(
    { attributes: Type.Record(Type.String(), Type.Unknown()), geometry: Type.Unknown() },
    { description: 'Attributes, and the geometry as GeoJSON in CRS84.' },
  ),
);

export const ConflictDetail = Type.Object({
  ...summary,
  baseState: State,
  clientState: State,
  serverState: State,
  fieldChanges: Type.Optional(
    Type.Array(
      Type.Object({
        field: Type.String(),
        baseValue: Type.Unknown(),
        clientValue: Type.Unknown(),
        serverValue: Type.Unknown(),
        changedOnClient: Type.Boolean(),
        changedOnServer: Type.Boolean(),
      }),
    ),
  ),
  geometryChanged: Type.Optional(Type.Boolean()),
  userId: Type.Optional(Type.String()),
  deviceId: Type.Optional(Type.String()),
  syncOperationId: Type.Optional(Type.String()),
  resolutionAction: Type.Optional(Type.String({ enum: [...RESOLUTIONS] })),
  resolvedAt: Type.Optional(TimestampSchema),
  resolvedBy: Type.Optional(Type.String()),
  resolvedServerGeneration: Type.Optional(Type.Integer()),
});

export function conflictSummary({ service }: Replica, conflict: Conflict): Static<typeof ConflictSummary> {
  const { id, replicaId, layerId, objectId, body, status, detectedAt, resolution } = conflict;
  return {
    conflictId: id,
    serviceId: service,
    replicaId,
    layerId,
    conflictType: body.type,
    status,
    // Written digit by digit, also beyond 2^53.
    objectId: objectId as number,
    detectedAt: timestamp(detectedAt),
    serverGeneration: body.generation,
    clientEditApplied: resolution?.clientEditApplied ?? false,
    clientEditOutcomeUnknown: conflict.outcomeUnknown,
    clientEditSuperseded: conflict.superseded,
  };
}

export function conflictDetail(replica: Replica, conflict: Conflict): Static<typeof ConflictDetail> {
  const { base, client, server, fieldChanges, geometryChanged, userId, syncId } = conflict.body;
  const { resolution, status } = conflict;
  return {
    ...conflictSummary(replica, conflict),
    ...(base ? { baseState: base as Static<typeof State> } : {}),
    ...(client ? { clientState: client as Static<typeof State> } : {}),
    ...(server ? { serverState: server as Static<typeof State> } : {}),
    fieldChanges: [...fieldChanges],
    geometryChanged,
    userId,
    syncOperationId: syncId,
    ...(resolution ? { resolutionAction: resolution.action } : {}),
    ...(resolution && status === 'resolved'
      ? {
          resolvedAt: timestamp(resolution.at),
          resolvedBy: resolution.by,
          resolvedServerGeneration: resolution.generation,
        }
      : {}),
  };
}
