import { Counter, Gauge } from './instruments.js';

/** Instruments of the evaluation of alerts. */

export const eventsEmitted = new Counter({
  name: 'svc.alerts.events_emitted_total',
  help: 'Alert events that rules triggered',
  labels: ['trigger'],
});
export const dispatchesEnqueued = new Counter({
  name: 'svc.alerts.dispatches_enqueued_total',
  help: 'Messages about alerts that were enqueued for a channel',
  labels: ['channel'],
});
export const deliveriesSuppressed = new Counter({
  name: 'svc.alerts.deliveries_suppressed_total',
  help: 'Messages about alerts that were not sent, because the feature cools down or an operator suppressed it',
  labels: ['channel'],
});
export const evaluationNoLeader = new Gauge({
  name: 'svc.alerts.evaluation_no_leader',
  help: '1 while no process evaluates the rules of alerts, although there are some',
});
evaluationNoLeader.cell().set(0);

export const ALERT_INSTRUMENTS = [
  eventsEmitted,
  dispatchesEnqueued,
  deliveriesSuppressed,
  evaluationNoLeader,
];
