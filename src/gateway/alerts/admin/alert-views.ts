import { formatResourceRef } from '../../../core/alerts/alerts.js';
import { readObjectId } from '../../../core/values/object-id.js';
import { findMessagePosition } from '../../../services/alerts/position.js';
import type { AlertView } from '../../../services/alerts/stream.js';
import type { AlertEventRow } from '../../../stores/alerts/events.js';
import type { AlertRuleRow } from '../../../stores/alerts/rules.js';
import type { AlertZoneRow } from '../../../stores/alerts/zones.js';
import { optionalTimestamp, timestamp } from '../../admin/envelope.js';

/** Zones, rules and events as the wire has them. */

export function zoneView({ id, name, service, is_active, srid, wkt, metadata_json }: AlertZoneRow) {
  return {
    zoneId: id,
    zoneName: name,
    serviceId: service,
    isActive: is_active === 1,
    srid,
    wkt,
    metadata: JSON.parse(metadata_json) as Record<string, string>,
  };
}

export function ruleView(row: AlertRuleRow) {
  return {
    ruleId: row.id,
    ruleName: row.name,
    serviceId: row.service,
    layerId: row.layer_id,
    zoneId: row.zone_id,
    triggerType: row.trigger_type,
    severity: row.severity,
    editionRequired: row.edition,
    conditionsJson: row.conditions_json,
    cooldownSeconds: row.cooldown_seconds,
    isActive: row.is_active === 1,
    channels: JSON.parse(row.channels_json) as string[],
  };
}

export function triggerView(row: AlertEventRow) {
  return {
    eventId: row.id,
    occurredAt: timestamp(row.occurred_at),
    severity: row.severity,
    triggerType: row.trigger_type,
    incidentStatus: row.incident_status,
    lifecycleStatus: row.lifecycle,
    resourceRef: formatResourceRef(row.id),
  };
}

/** `view`: how much of the event the caller can read. */
export function alertEventView(row: AlertEventRow, now: number, view: AlertView) {
  return {
    eventId: row.id,
    ruleId: row.rule_id,
    ruleName: row.rule_name,
    zoneId: row.zone_id,
    serviceId: row.service,
    layerId: row.layer_id,
    objectId: readObjectId(row.object_id)!,
    triggerType: row.trigger_type,
    severity: row.severity,
    incidentStatus: row.incident_status,
    lifecycleStatus: row.lifecycle,
    incidentDurationMs: Math.max(0, (row.ended_at ?? now) - row.started_at),
    occurredAt: timestamp(row.occurred_at),
    acknowledgedAt: optionalTimestamp(row.acknowledged_at),
    acknowledgedBy: row.acknowledged_by,
    resolvedAt: optionalTimestamp(row.resolved_at),
    resolvedBy: row.resolved_by,
    suppressedUntil: optionalTimestamp(row.suppressed_until),
    resourceRef: formatResourceRef(row.id),
    detectedBy: row.detected_by,
    note: row.note,
    featureId: row.feature_id,
    position: view === 'all' ? findMessagePosition(row.message_json) : null,
  };
}
