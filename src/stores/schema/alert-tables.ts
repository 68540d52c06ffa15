import type { Generated } from 'kysely';

/** An area that rules of alerts watch. */
export interface AlertZoneTable {
  id: Generated<number>;
  name: string;
  service: string;
  is_active: number;
  srid: number | null;
  /** MULTIPOLYGON in the CRS of `srid`. */
  wkt: string | null;
  /** GeoJSON MultiPolygon in CRS84, cut at the antimeridian. */
  area_json: string | null;
  metadata_json: string;
  tenant: string | null;
  created_at: number;
  updated_at: number;
  /** `alert_revisions.revision` at the last change. */
  revision: Generated<number>;
}

export interface AlertRuleTable {
  id: Generated<number>;
  name: string;
  service: string;
  layer_id: number;
  collection: string;
  /** Null for a threshold. */
  zone_id: number | null;
  trigger_type: string;
  severity: string;
  edition: string;
  /** The text of the request. */
  conditions_json: string;
  cooldown_seconds: number;
  is_active: number;
  channels_json: string;
  /** `JobCaller` whose rights the rule has. */
  author_json: string;
  tenant: string | null;
  /** Why the features of the layer must be compared with the states: see `ScanReason`. Null: they agree. */
  scan: string | null;
  scan_since: number | null;
  /** Hash of the readable part of the layer when the states were written. */
  view: string | null;
  /** Why the rule is not evaluated. Null while it is. */
  problem: string | null;
  created_at: number;
  updated_at: number;
  /** `alert_revisions.revision` at the last change of the rule or of its zone. */
  revision: Generated<number>;
}

/** Numbers of the last changes, and when the evaluator last had read the whole feed. */
export interface AlertRevisionTable {
  /** `rules`: zones and rules. `events`: alert events. `trimmed`: the last change of a deleted alert event. */
  name: string;
  revision: number;
  evaluated_at: number | null;
}

/** State of a feature for a rule. Features without a row are outside, and have no history. */
export interface AlertStateTable {
  rule_id: number;
  feature_id: string;
  /** For a threshold: the condition is true. */
  is_inside: number;
  /** Time of the last change of the side. */
  since: number;
  /** The open incident. */
  event_id: number | null;
  /** When `due` happens unless the feature changes before. */
  due_at: number | null;
  due: string | null;
  cools_until: number | null;
  /** Newest value of the time field. */
  newest: string | null;
}

/** An incident: what a rule triggered for a feature. */
export interface AlertEventTable {
  id: Generated<number>;
  rule_id: number | null;
  rule_name: string | null;
  zone_id: number | null;
  service: string;
  layer_id: number;
  collection: string;
  feature_id: string;
  /** An integer of 64 bits. */
  object_id: string;
  trigger_type: string;
  severity: string;
  incident_status: string;
  lifecycle: string;
  /** `event`, `timer` or `rescan`. */
  detected_by: string;
  /** Time of the edit, or when the timer was due. */
  occurred_at: number;
  /** When the incident was recorded and ended, by the clock of the state. */
  started_at: number;
  ended_at: number | null;
  ended_by: string | null;
  acknowledged_at: number | null;
  acknowledged_by: string | null;
  resolved_at: number | null;
  resolved_by: string | null;
  suppressed_until: number | null;
  note: string | null;
  /** `AlertMessage`. */
  message_json: string;
  tenant: string | null;
  /** Number of the last change of the event. Later changes have greater numbers. */
  change_number: number;
}
