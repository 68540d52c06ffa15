import type {
  DeliveryStore,
  FailedDelivery,
  Settlement,
  TakenDeliveries,
  TakenDelivery,
} from '../../stores/streams/deliveries.js';
import type { DeliveryLaneOptions } from './lane.js';
import { type Outcome, type Retry, retry } from './outcome.js';
import { CIRCUIT_FAILURES, planRetry } from './schedule.js';

/** Maximum milliseconds of a batch, because the lease must be valid until its last delivery. */
const BATCH_MS = 5000;

export interface SendOptions extends DeliveryLaneOptions {
  /** Names this process. */
  instance: string;
  store: DeliveryStore;
  signal: AbortSignal;
}

/** One message. It has several deliveries if the rate cap joined them. */
interface Message {
  readonly eventId: string;
  readonly body: string;
  readonly parts: readonly TakenDelivery[];
}

/**
 * Sends the next deliveries of a lane, one after another: no delivery overtakes one that must be retried. Resolves with
 * the milliseconds until the next delivery. Undefined if no delivery waits. `lost` if another process has the lease.
 */
export async function sendNext(options: SendOptions): Promise<number | 'lost' | undefined> {
  const { name, instance, store, sender, cap, meter } = options;
  const taken = await store.take(name, instance, {
    limit: sender.batch,
    probesAfter: CIRCUIT_FAILURES,
    cap,
  });
  if (!taken) return 'lost';
  const { deliveries, dueMs } = taken;
  if (deliveries.length === 0) return dueMs === undefined ? undefined : Math.max(1, dueMs);
  const settlement = await sendAll(taken, options);
  const { isHeld, deadLettered } = await store.settle(name, instance, settlement);
  for (const { event_id, error } of deadLettered) reportDead(options, event_id, error ?? '');
  if (settlement.isJoined && settlement.dispatched.length > 0) meter.joined(taken.joined ?? 0);
  return isHeld ? 0 : 'lost';
}

async function sendAll(taken: TakenDeliveries, options: SendOptions): Promise<Settlement> {
  const { signal, cap, meter } = options;
  const dispatched: number[] = [];
  const refused: { id: number; error: string }[] = [];
  const isJoined = taken.joined !== undefined;
  const result = { dispatched, refused, isJoined, cap };
  const begun = performance.now();
  for (const message of listMessages(taken, options)) {
    if (performance.now() - begun > BATCH_MS) break;
    const outcome = await attempt(message, options);
    // The process stops, which is not a fault of the receiver.
    if (outcome.kind !== 'accepted' && signal.aborted) return result;
    const first = message.parts[0]!;
    const age = first.age_ms + performance.now() - begun;
    if (outcome.kind === 'accepted') {
      meter.sent(age, taken.joined ?? 1);
      dispatched.push(...message.parts.map(({ id }) => id));
    } else if (outcome.kind === 'refused') {
      meter.failed(age, false);
      refused.push({ id: first.id, error: outcome.error });
      reportDead(options, message.eventId, outcome.error, taken.joined);
    } else {
      const failures = dispatched.length + refused.length > 0 ? 0 : taken.failures;
      return { ...result, failed: readFailure(first, outcome, { taken, failures, age }, options) };
    }
  }
  return result;
}

function listMessages({ deliveries, joined }: TakenDeliveries, { join }: SendOptions): Message[] {
  if (joined === undefined || !join)
    return deliveries.map((one) => ({ eventId: one.event_id, body: one.body, parts: [one] }));
  const bodies = deliveries.map(({ body }) => body);
  const eventId = `joined-${deliveries[0]!.id}-${joined}`;
  return [{ eventId, body: join(bodies, joined, eventId), parts: deliveries }];
}

/** Ends with the lane, also if the sender does not. */
async function attempt({ eventId, body }: Message, { sender, signal }: SendOptions): Promise<Outcome> {
  let stop = () => {};
  const stopped = new Promise<Outcome>((resolve) => {
    stop = () => resolve(retry('interrupted'));
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    signal.throwIfAborted();
    return await Promise.race([sender.send(eventId, body, signal), stopped]);
  } catch (error) {
    return retry(String((error as Error).message));
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function readFailure(
  { id }: TakenDelivery,
  { error, afterMs, isAnswer }: Retry,
  { taken, failures, age }: { taken: TakenDeliveries; failures: number; age: number },
  options: SendOptions,
): FailedDelivery {
  const { meter, log, name, failing } = options;
  meter.failed(age, true);
  if (afterMs !== undefined)
    return { id, error, afterMs, isAttempt: taken.isTrial ?? false, failures, opensAfterMs: 0 };
  const plan = planRetry(failures + 1, options);
  if (plan.opensAfterMs > 0) {
    meter.deferred();
    if (failures + 1 === CIRCUIT_FAILURES)
      log.write('delivery.deferred', { Receiver: name, Failures: failures + 1, Error: error });
    failing(`The receiver failed ${failures + 1} times in a row; the server retries: ${error}`);
  }
  return { id, error, isAttempt: isAnswer || (taken.isTrial ?? false), failures: failures + 1, ...plan };
}

function reportDead(
  { name, log, meter, failing }: SendOptions,
  eventId: string,
  error: string,
  count = 1,
): void {
  meter.dead(count);
  log.write('webhook.event.dropped', { Webhook: name, EventId: eventId, Error: error });
  failing(`A delivery became a dead letter: ${error}`);
}
