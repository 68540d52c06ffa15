import { CHANNELS, type Channel, formatLane } from '../../../core/alerts/alerts.js';
import type { AlertRules } from '../../../services/alerts/rules.js';
import type { AlertEventStore, DeliveryHealth } from '../../../stores/alerts/events.js';
import type { AlertRuleRow } from '../../../stores/alerts/rules.js';
import { optionalTimestamp } from '../../admin/envelope.js';
import { triggerView } from './alert-views.js';

/** Triggers and events in a health document (contract). */
const MOST_RECENT = 10;

/** Returns the health of a rule and of its deliveries. */
export async function describeHealth(rule: AlertRuleRow, events: AlertEventStore, rules: AlertRules) {
  const [counts, recent, recentCount, deliveries, evaluatedAt] = await Promise.all([
    events.counts(rule.id),
    events.list({ ruleId: rule.id, limit: MOST_RECENT }),
    events.countRecent(rule.id),
    events.deliveries(rule.id),
    events.evaluatedAt(),
  ]);
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
