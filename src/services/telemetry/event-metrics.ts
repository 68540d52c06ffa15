import { Counter, Gauge } from './instruments.js';

/** Instruments of the outboxes, the feed and the streams. */

const counter = (name: string, help: string, labels?: readonly string[]) =>
  new Counter({ name, help, labels });
const gauge = (name: string, help: string) => new Gauge({ name, help });

export const outboxDispatched = counter('svc.outbox.dispatched_total', 'Events copied from outboxes');
export const outboxFailed = counter('svc.outbox.failed_total', 'Failed attempts to copy events');
export const outboxDeadLettered = counter(
  'svc.outbox.dead_lettered_total',
  'Events dropped for a receiver after all attempts',
);
export const outboxRecovered = counter(
  'svc.outbox.recovered_claims_total',
  'Outboxes whose lease expired in another process',
);
export const outboxPending = gauge('svc.outbox.pending_count', 'Due deliveries');
export const outboxDead = gauge('svc.outbox.dead_lettered_count', 'Deliveries dropped after all attempts');
export const outboxOldest = gauge('svc.outbox.oldest_pending_age_seconds', 'Age of the oldest due delivery');

// Without receivers the counts are 0. A missing value would mean that they are unknown.
for (const one of [outboxPending, outboxDead, outboxOldest]) one.cell().set(0);

export const sinkPublished = counter('svc.event_sink.published_total', 'Events delivered to receivers');
export const sinkFailed = counter('svc.event_sink.failed_total', 'Failed attempts to deliver events');
export const sinkDeadLettered = counter(
  'svc.event_sink.dead_lettered_total',
  'Events dropped for a receiver after all attempts',
);

const TRANSPORT = ['transport'] as const;
export const sessionsOpened = counter(
  'svc.streaming.sessions_opened_total',
  'Stream sessions opened',
  TRANSPORT,
);
export const sessionsClosed = counter('svc.streaming.sessions_closed_total', 'Stream sessions closed', [
  'transport',
  'reason',
]);
export const sessionsRejected = counter(
  'svc.streaming.sessions_rejected_total',
  'Stream sessions rejected because of limits',
);
export const slowConsumerDrops = counter(
  'svc.streaming.slow_consumer_drops_total',
  'Events dropped for slow consumers',
  TRANSPORT,
);
export const heartbeatsSent = counter('svc.streaming.heartbeats_sent_total', 'Heartbeats sent');
export const replayDelivered = counter(
  'svc.streaming.replay_events_delivered_total',
  'Events replayed from the change feed',
  TRANSPORT,
);
export const activeSessions = gauge('svc.streaming.active_sessions', 'Open stream sessions');

export const clusterDropped = counter(
  'svc.streaming.cluster_broadcast_dropped_total',
  'Messages to other gateways and servers that could not be sent',
);
export const clusterBacklog = gauge(
  'svc.streaming.cluster_broadcast_backlog',
  'Messages in transit to other gateways and servers',
);
/** Counts a note to other processes from now until it is sent or lost. */
export function broadcast(): (sent: boolean) => void {
  const backlog = clusterBacklog.cell();
  backlog.add(1);
  return (sent) => {
    backlog.add(-1);
    if (!sent) clusterDropped.cell().inc();
  };
}

export const opsNotifications = counter(
  'svc.alerts.ops_notifications_total',
  'Alerts to operators that this gateway had for its subscribers',
  ['source', 'severity', 'outcome'],
);

export const EVENT_INSTRUMENTS = [
  outboxDispatched,
  outboxFailed,
  outboxDeadLettered,
  outboxRecovered,
  outboxPending,
  outboxDead,
  outboxOldest,
  sinkPublished,
  sinkFailed,
  sinkDeadLettered,
  sessionsOpened,
  sessionsClosed,
  sessionsRejected,
  slowConsumerDrops,
  heartbeatsSent,
  replayDelivered,
  activeSessions,
  clusterDropped,
  clusterBacklog,
  opsNotifications,
];
