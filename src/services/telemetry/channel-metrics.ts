import { Counter, Gauge, Histogram } from './instruments.js';

/** Instruments of the channels that send alerts. */

const CHANNEL = ['channel'] as const;
const counter = (name: string, help: string) =>
  new Counter({ name: `svc.alerts.deliveries_${name}_total`, help, labels: CHANNEL });

export const alertsSucceeded = counter('succeeded', 'Alerts that a channel accepted');
export const alertsFailed = counter('failed', 'Failed attempts to send alerts');
export const alertsDeadLettered = counter('dead_lettered', 'Alerts that became dead letters');
export const alertsRateCapped = counter(
  'rate_capped',
  'Alerts that were joined into one message because of the rate cap of the channel',
);
export const alertsDeferred = counter(
  'circuit_deferred',
  'Attempts that were put off because a channel failed several times in a row',
);
export const alertLatency = new Histogram({
  name: 'svc.alerts.delivery_latency',
  help: 'Milliseconds from the alert to the result of an attempt to send it',
  labels: ['channel', 'outcome'],
  bounds: [5, 25, 100, 250, 1000, 5000, 60_000, 600_000],
});
export const alertBacklog = new Gauge({
  name: 'svc.alerts.dispatch_backlog_count',
  help: 'Alerts that wait for channels',
});
export const alertDeadLetters = new Gauge({
  name: 'svc.alerts.dispatch_dead_lettered_count',
  help: 'Dead letters of alert channels',
});

for (const one of [alertBacklog, alertDeadLetters]) one.cell().set(0);

export const CHANNEL_INSTRUMENTS = [
  alertsSucceeded,
  alertsFailed,
  alertsDeadLettered,
  alertsRateCapped,
  alertsDeferred,
  alertLatency,
  alertBacklog,
  alertDeadLetters,
];
