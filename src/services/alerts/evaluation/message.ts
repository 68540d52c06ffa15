import type { DetectedBy } from '../../../core/alerts/alerts.js';
import type { EventImage } from '../../../core/streams/events.js';
import { stringifyExactly } from '../../../core/values/json.js';
import type { ObjectId } from '../../../core/values/object-id.js';
import { shownAttributes } from '../../streams/shown.js';
import type { EvaluatedRule } from './layer-rules.js';

/** Maximum characters of a geometry, and of attributes, in a message. The message names omitted members. */
const MOST_CHARACTERS = 16_384;

interface Occasion {
  readonly featureId: string;
  readonly objectId: ObjectId;
  readonly at: number;
  readonly detectedBy: DetectedBy;
  readonly feature: EventImage | null;
}

/** Returns JSON of an `AlertMessage` with the readable attributes of the author, without the members with ids of the event. */
export function formatMessage(
  { row, zone, scope }: EvaluatedRule,
  { featureId, objectId, at, detectedBy, feature }: Occasion,
): string {
  const attributes = feature ? shownAttributes(feature.attributes, scope.fields) : '{}';
  const geometry = feature?.geometry ?? 'null';
  const parts = { geometry, attributes };
  const omitted = Object.entries(parts).flatMap(([name, text]) =>
    text.length > MOST_CHARACTERS ? [name] : [],
  );
  const members = {
    ruleId: row.id,
    ruleName: row.name,
    zoneId: row.zone_id,
    zoneName: zone?.name ?? null,
    serviceId: row.service,
    layerId: row.layer_id,
    layerTitle: scope.collection.title,
    featureId,
    objectId,
    triggerType: row.trigger_type,
    severity: row.severity,
    occurredAt: new Date(at).toISOString(),
    detectedBy,
    omitted,
    ...(row.tenant === null ? {} : { tenant: row.tenant }),
  };
  const shown = omitted.includes('geometry') ? 'null' : geometry;
  const values = omitted.includes('attributes') ? '{}' : attributes;
  return `${stringifyExactly(members).slice(0, -1)},"geometry":${shown},"attributes":${values}}`;
}
