import { CHANNELS, type Channel, formatLane } from '../../../core/alerts/alerts.js';
import type { AlertRules } from '../../../services/alerts/rules.js';
import type { AlertEventQuery, AlertEventStore, DeliveryHealth } from '../../../stores/alerts/events.js';
import type { AlertRuleRow } from '../../../stores/alerts/rules.js';
import { optionalTimestamp } from '../../admin/envelope.js';
import { triggerView } from './alert-views.js';

/** Triggers and events in a health document (contract). */
const MOST_RECENT = 10;

interface HealthDeps {
  readonly state: { readonly alertEvents: AlertEventStore };
  readonly alertRules: AlertRules;
}

const NO_EVENTS = {
  counts: { active: 0, cooling: 0, coolsAt: null },
  recent: [],
  recentCount: 0,
  deliveries: [],
};

/** Returns the health of a rule and of its deliveries. `visible` restricts the events, and what follows from them. */
export async function describeHealth(
  rule: AlertRuleRow,
  visible: Pick<AlertEventQuery, 'layers' | 'tenant'>,
  { state: { alertEvents: events }, alertRules: rules }: HealthDeps,
) {
  const isVisible = visible.layers === undefined || visible.layers.includes(rule.layer_id);
  const [known, evaluatedAt] = await Promise.all([
    isVisible ? readEvents(rule.id, visible, events) : NO_EVENTS,
    events.evaluatedAt(),
  ]);
  const { counts, recent, recentCount, deliveries } = known;
  const byLane = new Map(deliveries.map((one) => [one.sink, one]));
  const named = JSON.parse(rule.channels_json) as Channel[];
  const channels = CHANNELS.filter((channel) => named.includes(channel) || byLane.has(formatLane(channel)));
  const views = channels.map((channel) => describeChannel(channel, byLane.get(formatLane(channel)), rules));
  const isEvaluated = rule.is_active === 1 && rule.problem === null;
  return {
    ruleId: rule.id,
    activeIncidentCount: counts.active,
    coolingDownFeatureCount: counts.cooling,
    recentTriggerCount: recentCount,
    deliveryFailureCount: views.reduce((sum, { failedCount }) => sum + failedCount, 0),
    deadLetterCount: views.reduce((sum, { deadLetterCount }) => sum + deadLetterCount, 0),
    lastEvaluatedAt: isEvaluated ? optionalTimestamp(evaluatedAt) : null,
    lastTriggeredAt: optionalTimestamp(recent[0]?.occurred_at ?? null),
    nextCooldownExpiresAt: optionalTimestamp(counts.coolsAt),
    linkedEventIds: recent.map(({ id }) => id),
    recentTriggers: recent.map(triggerView),
    deliveryChannels: views,
    evaluation: describeEvaluation(rule),
  };
}

async function readEvents(
  ruleId: number,
  visible: Pick<AlertEventQuery, 'layers' | 'tenant'>,
  events: AlertEventStore,
) {
  const [counts, recent, recentCount, deliveries] = await Promise.all([
    events.counts(ruleId),
    events.list({ ...visible, ruleId, limit: MOST_RECENT }),
    events.countRecent(ruleId),
    events.deliveries(ruleId),
  ]);
  return { counts, recent, recentCount, deliveries };
}

function describeEvaluation({ is_active, problem, scan }: AlertRuleRow): string {
  if (is_active === 0) return 'disabled';
  return problem ?? (scan === null ? 'active' : 'rescanning');
}

function describeChannel(channel: Channel, health: DeliveryHealth | undefined, rules: AlertRules) {
  const isConfigured = rules.isConfigured(channel);
  const isFailing = health !== undefined && health.failed > 0;
  return {
    channel,
    status: isConfigured ? (isFailing ? 'failing' : 'configured') : 'unconfigured',
    pendingCount: health?.pending ?? 0,
    processingCount: health?.processing ?? 0,
    deliveredCount: health?.delivered ?? 0,
    failedCount: health?.failed ?? 0,
    deadLetterCount: health?.dead ?? 0,
    lastAttemptAt: optionalTimestamp(health?.attemptedAt ?? null),
    lastDeliveredAt: optionalTimestamp(health?.deliveredAt ?? null),
    lastError: health?.error ?? null,
  };
}
