import { LIMITS } from '../../core/kit/limits.js';
import type { DeliveryRow, DeliveryStore, Settlement } from '../../stores/streams/deliveries.js';
import type { Notices } from '../notices/notices.js';
import * as metrics from '../telemetry/event-metrics.js';
import type { Log } from '../telemetry/log.js';
import type { DeliveryReceiver } from './sink.js';

/** Number of deliveries claimed together. After a crash, these can be sent a second time. */
const BATCH = 20;
/** Maximum milliseconds of a batch, because the lease must be valid until its last delivery. */
const BATCH_MS = 5000;
const FIRST_BACKOFF_MS = 1000;
const BACKOFF_FACTOR = 4;

export interface DeliveryOptions {
  name: string;
  /** Names this process. */
  instance: string;
  receiver: DeliveryReceiver;
  store: DeliveryStore;
  log: Log;
  notices: Notices;
  signal: AbortSignal;
  /** Milliseconds until the second attempt; each further wait is four times as long. */
  firstBackoffMs?: number;
}

/**
 * Sends the next deliveries of a receiver, one after another: no delivery overtakes one that must be retried.
 * Resolves with the milliseconds until the next delivery. Undefined if no delivery waits. `lost` if another process
 * has the lease.
 */
export async function deliverNext(options: DeliveryOptions): Promise<number | 'lost' | undefined> {
  const { name, instance, store } = options;
  const taken = await store.take(name, instance, BATCH);
  if (!taken) return 'lost';
  const { deliveries, dueMs } = taken;
  if (deliveries.length === 0) return dueMs === undefined ? undefined : Math.max(1, dueMs);
  return (await store.settle(name, instance, await send(deliveries, options))) ? 0 : 'lost';
}

async function send(deliveries: readonly DeliveryRow[], options: DeliveryOptions): Promise<Settlement> {
  const { receiver, signal } = options;
  const dispatched: number[] = [];
  const end = performance.now() + BATCH_MS;
  for (const delivery of deliveries) {
    if (performance.now() > end) break;
    try {
      await receiver.send(delivery.event_id, delivery.body, signal);
      metrics.sinkPublished.cell().inc();
      dispatched.push(delivery.id);
    } catch (error) {
      // The process stops, which is not a fault of the receiver.
      if (signal.aborted) return { dispatched };
      return { dispatched, failed: readFailure(delivery, String((error as Error).message), options) };
    }
  }
  return { dispatched };
}

function readFailure(
  { id, attempt, event_id }: DeliveryRow,
  error: string,
  { name, log, notices, firstBackoffMs = FIRST_BACKOFF_MS }: DeliveryOptions,
): Settlement['failed'] {
  metrics.sinkFailed.cell().inc();
  if (attempt + 1 < LIMITS.webhookAttempts)
    return { id, error, afterMs: firstBackoffMs * BACKOFF_FACTOR ** attempt };
  metrics.sinkDeadLettered.cell().inc();
  metrics.outboxDeadLettered.cell().inc();
  log.write('webhook.event.dropped', { Webhook: name, EventId: event_id, Error: error });
  const message = `An event was not delivered after ${LIMITS.webhookAttempts} attempts: ${error}`;
  notices.notify({ kind: 'delivery-failing', severity: 'error', subject: name, message });
  return { id, error, afterMs: undefined };
}
