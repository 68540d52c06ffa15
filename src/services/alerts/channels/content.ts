import { ALERT_SEVERITIES, type AlertMessage, type AlertSeverity } from '../../../core/alerts/alerts.js';
import type { Notice } from '../../../core/cluster/notes.js';
import { isExactNumber } from '../../../core/values/exact-number.js';
import { parseJsonExactly, stringifyExactly } from '../../../core/values/json.js';
import { cleanText } from './plain-text.js';

/** Attributes of a feature that a message for people shows. */
const SHOWN_ATTRIBUTES = 10;
/** Alerts that a joined message lists. */
const LISTED = 20;

/**
 * A message for people: all texts are on one line, without control characters. Each channel quotes them for its medium.
 */
export interface AlertContent {
  /** The same for repeated deliveries of a message. */
  readonly id: string;
  /** The same for all messages about an incident. Undefined for other messages. */
  readonly incident: string | undefined;
  readonly kind: 'alert' | 'notice' | 'digest';
  /** Incident status of an alert, kind of a notice. */
  readonly topic: string;
  readonly title: string;
  readonly severity: AlertSeverity;
  /** RFC 3339. */
  readonly time: string;
  readonly resourceRef: string | undefined;
  readonly facts: readonly (readonly [name: string, value: string])[];
  /** Layers that it is about. */
  readonly layerIds: readonly number[];
  /** Tenant of the rule, if it has one. */
  readonly tenant: string | undefined;
  /** JSON for programs, with a member `type`. */
  readonly json: string;
}

interface StoredNotice extends Notice {
  readonly type: 'notice';
  readonly time: string;
}

/** Members of an alert in a digest. */
const DIGEST_MEMBERS = [
  ...['eventId', 'ruleId', 'ruleName', 'zoneName', 'serviceId', 'layerId', 'layerTitle', 'featureId'],
  ...['objectId', 'triggerType', 'severity', 'incidentStatus', 'occurredAt', 'endedAt', 'resourceRef'],
  'tenant',
  ...['kind', 'subject', 'message', 'time', 'type'],
] as const;

type DigestEntry = Partial<Omit<AlertMessage, 'severity'> & Omit<StoredNotice, 'severity'>> & {
  readonly severity?: AlertSeverity | Notice['severity'];
};

interface StoredDigest {
  readonly type: 'digest';
  readonly count: number;
  readonly time: string;
  readonly alerts: readonly DigestEntry[];
}

/** Body of a delivery with a notice to operators. */
export function formatNotice(notice: Notice, time = new Date().toISOString()): string {
  return JSON.stringify({ type: 'notice', time, ...notice });
}

/** Body of one message for several deliveries. */
export function joinBodies(bodies: readonly string[], count: number): string {
  const alerts = bodies.slice(0, LISTED).map((body) => {
    const members = parseJsonExactly(body, 'all') as Record<string, unknown>;
    return Object.fromEntries(
      DIGEST_MEMBERS.flatMap((name) => {
        const value = members[name];
        if (value === undefined) return [];
        return [[name, typeof value === 'string' ? cleanText(value) : value]];
      }),
    );
  });
  return stringifyExactly({ type: 'digest', count, time: new Date().toISOString(), alerts });
}

/** Reads the body of a delivery: a message about an alert, a notice or a digest. */
export function readContent(id: string, body: string): AlertContent {
  const value = parseJsonExactly(body, 'all') as AlertMessage | StoredNotice | StoredDigest;
  if ('incidentKey' in value) return readAlert(id, body, value);
  return value.type === 'notice' ? readNotice(id, body, value) : readDigest(id, body, value);
}

const VERBS = {
  enter: 'entered',
  exit: 'left',
  dwell: 'stays in',
  threshold: 'meets the condition in',
} as const;
const PAST_VERBS = { ...VERBS, dwell: 'stayed in', threshold: 'met the condition in' } as const;

/** Reasons of ends, for people. */
const END_REASONS: Readonly<Record<string, string>> = {
  left: 'The feature left the zone, or no longer meets the condition',
  deleted: 'The feature was deleted',
  're-entered': 'The feature entered the zone again',
  passed: 'The feature passed the zone, or the value changed once',
  'zone-changed': 'The zone was changed',
};

function readAlert(id: string, body: string, alert: AlertMessage): AlertContent {
  const { incidentStatus, zoneName, triggerType, featureId, layerTitle, occurredAt, endedAt } = alert;
  const place = zoneName === null ? layerTitle : zoneName;
  const verb = (incidentStatus === 'ended' ? PAST_VERBS : VERBS)[triggerType];
  const what = `${cleanText(featureId, 80)} ${verb} ${cleanText(place, 80)}`;
  const reason = alert.endReason ?? 'unknown';
  const times =
    endedAt === undefined
      ? [['Time', occurredAt]]
      : [
          ['Started', occurredAt],
          ['Ended', endedAt],
          ['Reason', END_REASONS[reason] ?? reason],
        ];
  const title = incidentStatus === 'ended' ? `Ended: ${cleanText(alert.ruleName, 100)}` : alert.ruleName;
  const attributes = Object.entries(alert.attributes ?? {}).slice(0, SHOWN_ATTRIBUTES);
  const facts = [
    ['Event', what],
    ['Severity', alert.severity],
    ['Status', incidentStatus],
    ...times,
    ['Layer', layerTitle],
    ['Feature', featureId],
    ...(zoneName === null ? [] : [['Zone', zoneName]]),
    ...attributes.map(([name, attribute]) => [name, formatValue(attribute)]),
    ['Reference', alert.resourceRef],
  ];
  return {
    ...{ id, incident: alert.incidentKey, kind: 'alert', topic: incidentStatus },
    ...{ title: cleanText(title), severity: alert.severity, time: endedAt ?? occurredAt },
    ...{ layerIds: [alert.layerId], tenant: alert.tenant ?? undefined },
    ...{ resourceRef: alert.resourceRef, facts: cleanFacts(facts), json: `{"type":"alert",${body.slice(1)}` },
  };
}

function readNotice(
  id: string,
  body: string,
  { kind, severity, subject, message, time }: StoredNotice,
): AlertContent {
  const facts = [
    ['Message', message],
    ['Subject', subject],
    ['Severity', severity],
    ['Time', time],
  ];
  return {
    ...{ id, incident: undefined, kind: 'notice', topic: kind, title: cleanText(`Graticule: ${kind}`) },
    ...{ severity: severity === 'error' ? 'critical' : 'warning', time, resourceRef: undefined },
    ...{ layerIds: [], tenant: undefined, facts: cleanFacts(facts), json: body },
  };
}

function readDigest(id: string, body: string, { count, alerts, time }: StoredDigest): AlertContent {
  const severities = alerts.map(({ severity }) => (severity === 'error' ? 'critical' : severity));
  const severity = ALERT_SEVERITIES.findLast((one) => severities.includes(one)) ?? 'info';
  const facts = alerts.map((one) => [
    one.ruleName ?? one.kind ?? 'alert',
    `${one.featureId ?? one.subject ?? ''} ${one.incidentStatus ?? ''} ${one.endedAt ?? one.occurredAt ?? one.time ?? ''}`,
  ]);
  const more =
    count > alerts.length ? [['More', `${count - alerts.length} further alerts are not listed`]] : [];
  return {
    ...{ id, incident: undefined, kind: 'digest', topic: 'digest', title: `${count} alerts`, severity, time },
    ...{ layerIds: alerts.flatMap(({ layerId }) => layerId ?? []), tenant: undefined },
    ...{ resourceRef: undefined, facts: cleanFacts([...facts, ...more]), json: body },
  };
}

const formatValue = (value: unknown): string =>
  typeof value === 'object' && value !== null && !isExactNumber(value)
    ? stringifyExactly(value)
    : String(value);

const cleanFacts = (facts: readonly (readonly unknown[])[]) =>
  facts.map(([name, value]) => [cleanText(name, 60), cleanText(value)] as const);
