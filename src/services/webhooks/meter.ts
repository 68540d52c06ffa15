import type { DeliveryCounts } from '../../stores/streams/deliveries.js';
import type { LaneMeter } from '../deliveries/lane.js';
import * as metrics from '../telemetry/event-metrics.js';

/** Counts of the receivers of events. */
export const WEBHOOK_METER: LaneMeter = {
  sent: (_ageMs, deliveries) => metrics.sinkPublished.cell().inc(deliveries),
  failed: () => metrics.sinkFailed.cell().inc(),
  dead(deliveries) {
    metrics.sinkDeadLettered.cell().inc(deliveries);
    metrics.outboxDeadLettered.cell().inc(deliveries);
  },
  joined() {},
  deferred() {},
};

/** Sets the gauges of the outbox. Returns a function for new counts. */
export function createCountGauges(): (counts: DeliveryCounts) => void {
  let first: number | undefined;
  metrics.outboxOldest.observe((gauge) => {
    gauge.cell().set(first === undefined ? 0 : Math.max(0, Date.now() - first) / 1000);
  });
  return ({ pending, dead, oldest }) => {
    metrics.outboxPending.cell().set(pending);
    metrics.outboxDead.cell().set(dead);
    first = oldest;
  };
}
