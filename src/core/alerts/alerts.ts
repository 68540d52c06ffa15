import type { ObjectId } from '../values/object-id.js';

/** Alerts: rules that watch the change feed, what they trigger, and the messages about it. */

export const TRIGGER_TYPES = ['enter', 'exit', 'dwell', 'threshold'] as const;
export type TriggerType = (typeof TRIGGER_TYPES)[number];

export const ALERT_SEVERITIES = ['info', 'warning', 'critical'] as const;
export type AlertSeverity = (typeof ALERT_SEVERITIES)[number];

export const INCIDENT_STATUSES = ['started', 'ongoing', 'ended'] as const;
type IncidentStatus = (typeof INCIDENT_STATUSES)[number];

export const LIFECYCLES = ['open', 'acknowledged', 'suppressed', 'resolved'] as const;
export type Lifecycle = (typeof LIFECYCLES)[number];

/** Ways to send an alert. Each has at most one configured target. */
export const CHANNELS = [
  'webhook',
  'websocket',
  'email',
  'digest',
  'aws_sns',
  'azure_eventgrid',
  'slack',
  'microsoft_teams',
  'aws_sqs',
  'azure_eventhub',
] as const;
export type Channel = (typeof CHANNELS)[number];

/** Source of a transition: an event of the feed, a timer, or a comparison of all features with the states. */
export type DetectedBy = 'event' | 'timer' | 'rescan';

/** Message about an incident, in no format of a channel. It contains only data that the author of the rule can read. */
export interface AlertMessage {
  readonly eventId: number;
  /** The same for each message about an incident. Receivers can drop repeated messages by it and `incidentStatus`. */
  readonly incidentKey: string;
  readonly ruleId: number;
  readonly ruleName: string;
  readonly zoneId: number | null;
  readonly zoneName: string | null;
  readonly serviceId: string;
  readonly layerId: number;
  readonly layerTitle: string;
  readonly featureId: string;
  readonly objectId: ObjectId;
  readonly triggerType: TriggerType;
  readonly severity: AlertSeverity;
  readonly incidentStatus: IncidentStatus;
  /** RFC 3339. */
  readonly occurredAt: string;
  /** Time and reason of the end, in a message about it. RFC 3339, by the clock of the state database. */
  readonly endedAt?: string;
  readonly endReason?: string;
  readonly detectedBy: DetectedBy;
  /** GeoJSON geometry in CRS84; null without one. */
  readonly geometry: object | null;
  /** Readable attributes of the author, masked. A number that a double cannot represent is an `ExactNumber`. */
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Omitted large members: `geometry`, `attributes`. */
  readonly omitted: readonly string[];
  /** Tenant of the rule, if it has one. */
  readonly tenant?: string;
  readonly resourceRef: string;
}

/** Name of the lane of a channel among the receivers of deliveries. No webhook can have it. */
export const formatLane = (channel: Channel): string => `:alert:${channel}`;

export const formatResourceRef = (eventId: number): string => `alert/${eventId}`;
