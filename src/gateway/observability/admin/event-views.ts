import type { Selectable } from 'kysely';
import { SERVICE } from '../../../core/access/access.js';
import { formatResourceRef } from '../../../core/alerts/alerts.js';
import type { CatalogSnapshot, Collection } from '../../../core/catalog/collection.js';
import { type ObjectId, readObjectId } from '../../../core/values/object-id.js';
import type { SevereLine } from '../../../services/observability/observer.js';
import type { AuditRow } from '../../../stores/audit/audit.js';
import type { JobRow } from '../../../stores/jobs/jobs.js';
import type { Conflict } from '../../../stores/replicas/replica-conflicts.js';
import type { AlertEventTable } from '../../../stores/schema/alert-tables.js';
import { BASE_PATH } from '../../admin/kit.js';
import type { ReleaseRecord } from '../../releases/release-records.js';
import type { EventKind } from './event-kinds.js';

export const EVENT_SEVERITIES = ['info', 'notice', 'warning', 'error', 'critical'] as const;
type EventSeverity = (typeof EVENT_SEVERITIES)[number];

/** An event of the server, with the members by which events are selected. */
export interface OperateEvent {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly kind: EventKind;
  readonly id: string;
  readonly severity: EventSeverity;
  readonly title: string;
  readonly summary: string | null;
  readonly actor: string | null;
  readonly serviceId: string | null;
  readonly layerId: number | null;
  readonly objectId: ObjectId | null;
  readonly resourceRef: string | null;
  readonly operationId: string | null;
  readonly releaseId: string | null;
  readonly replicaId: string | null;
  readonly correlationId: string | null;
  readonly traceId: string | null;
  readonly details: string | null;
  /** Path of the resource in the management API. */
  readonly href: string | null;
}

const NOTHING = {
  summary: null,
  actor: null,
  serviceId: null,
  layerId: null,
  objectId: null,
  resourceRef: null,
  operationId: null,
  releaseId: null,
  replicaId: null,
  correlationId: null,
  traceId: null,
  details: null,
  href: null,
} as const;

export function buildAlertEvent(row: Selectable<AlertEventTable>): OperateEvent {
  return {
    ...NOTHING,
    at: row.occurred_at,
    kind: 'alert',
    id: String(row.id),
    severity: row.severity as EventSeverity,
    title: `${row.rule_name ?? row.trigger_type}: ${row.collection}/${row.feature_id}`,
    summary: `${row.trigger_type}, ${row.incident_status}`,
    serviceId: row.service,
    layerId: row.layer_id,
    objectId: readObjectId(row.object_id)!,
    resourceRef: formatResourceRef(row.id),
    href: `${BASE_PATH}/observability/alerts/${row.id}`,
  };
}

export function buildAuditEvent(row: AuditRow): OperateEvent {
  const resource = row.resource_id === null ? row.resource_type : `${row.resource_type}/${row.resource_id}`;
  return {
    ...NOTHING,
    at: row.at,
    kind: 'audit',
    id: String(row.id),
    severity: row.outcome === 'Success' ? 'notice' : 'warning',
    title: `${row.action}: ${row.outcome}`,
    summary: `${row.event_type} of ${resource}`,
    actor: row.actor,
    resourceRef: resource,
    correlationId: row.correlation_id,
    details: row.details,
    href: `${BASE_PATH}/observability/audit?correlationId=${encodeURIComponent(row.correlation_id)}`,
  };
}

export function buildJobEvent(job: JobRow, catalog: CatalogSnapshot): OperateEvent {
  const at = job.completed_at ?? job.started_at ?? job.created_at;
  const [resource = null] = JSON.parse(job.resources_json) as string[];
  const collection = resource?.startsWith('collection:')
    ? catalog.byId(resource.slice('collection:'.length))
    : undefined;
  return {
    ...NOTHING,
    at,
    kind: 'job',
    id: job.id,
    severity: job.state === 'Failed' ? 'error' : job.state === 'Cancelled' ? 'notice' : 'info',
    title: `${job.kind}: ${job.state}`,
    summary: job.failure_message ?? job.phase,
    actor: job.owner,
    ...locate(collection),
    resourceRef: resource,
    operationId: job.id,
    correlationId: job.correlation_id,
    href: `${BASE_PATH}/jobs/${job.id}`,
  };
}

export function buildConflictEvent(conflict: Conflict, catalog: CatalogSnapshot): OperateEvent {
  const { id, replicaId, layerId, objectId, status, detectedAt, body } = conflict;
  const collection = catalog.byLayerId(layerId);
  const service = collection && encodeURIComponent(collection.service ?? SERVICE);
  return {
    ...NOTHING,
    at: detectedAt,
    kind: 'syncConflict',
    id: `${replicaId}/${id}`,
    severity: status === 'resolved' || body.settled ? 'info' : 'warning',
    title: `Conflict ${body.type}: ${body.collection}/${String(objectId)}`,
    summary: status,
    actor: body.userId,
    ...locate(collection),
    layerId,
    objectId,
    resourceRef: `replica/${replicaId}`,
    replicaId,
    href:
      service === undefined ? null : `${BASE_PATH}/services/${service}/replicas/${replicaId}/conflicts/${id}`,
  };
}

export function buildReleaseEvent(record: ReleaseRecord): OperateEvent {
  const { id, kind, packageId, at, by, status, reason, message, correlationId } = record;
  return {
    ...NOTHING,
    at,
    kind: 'release',
    id,
    severity: message !== null ? 'error' : status === 'ManualInterventionRequired' ? 'warning' : 'notice',
    title: `${kind}: ${status}`,
    summary: message ?? reason,
    actor: by,
    resourceRef: `release/${packageId}`,
    operationId: kind === 'package' ? null : id,
    releaseId: packageId,
    correlationId,
    href: `${BASE_PATH}/metadata/release-packages/${packageId}`,
  };
}

export function buildLogEvent(line: SevereLine): OperateEvent {
  return {
    ...NOTHING,
    at: line.at,
    kind: 'log',
    id: `${line.instance}/${line.number}`,
    severity: line.level,
    title: line.path === undefined ? line.message : `${line.statusCode} ${line.path}`,
    summary: line.message,
    correlationId: line.correlationId ?? null,
    traceId: line.traceId ?? null,
  };
}

function locate(collection: Collection | undefined) {
  return collection
    ? { serviceId: collection.service ?? SERVICE, layerId: collection.layerId }
    : { serviceId: null, layerId: null };
}
