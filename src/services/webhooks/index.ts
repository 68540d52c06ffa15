import type { CatalogSnapshot } from '../../core/collection.js';
import { type Config, ConfigError, type Webhook } from '../../core/config.js';
import type { Pools } from '../../core/tasks.js';
import type { DeliveryStore } from '../../stores/deliveries.js';
import { AllowedHosts } from '../../workers/remote/allowed.js';
import type { Alerts } from '../alerts.js';
import type { Feed } from '../events/feed.js';
import * as metrics from '../telemetry/event-metrics.js';
import type { Log } from '../telemetry/log.js';
import { exception } from '../telemetry/log.js';
import { Matching } from './matching.js';
import { Receiver } from './receiver.js';
import { Sink } from './sink.js';

export interface WebhooksOptions {
  webhooks: readonly Webhook[];
  /** Hosts that may be sent to though they are not public, or by plain HTTP. */
  allow: Config['remote']['allow'];
  pools: Pools;
  store: DeliveryStore;
  feed: Feed;
  log: Log;
  alerts: Alerts;
  /** Names this process among those that share the state database. */
  instance: string;
  catalog(): CatalogSnapshot;
  /** See `DeliveryOptions`. */
  firstBackoffMs?: number;
}

export interface Webhooks {
  /** Stops sending; what was not delivered is delivered after the next start. */
  close(): Promise<void>;
}

const COUNT_MS = 5000;

/** Sends the events of the feed to the receivers of the configuration. Throws `ConfigError` for a wrong one. */
export function startWebhooks(options: WebhooksOptions): Webhooks {
  const { webhooks, allow, pools, feed, log, store } = options;
  const allowed = new AllowedHosts(allow);
  const names = webhooks.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new ConfigError([`events.webhooks: two are called ${twice}`]);
  const sinks = webhooks.map(
    (webhook) =>
      new Sink({
        ...options,
        name: webhook.name,
        receiver: new Receiver(webhook, allowed),
        matching: new Matching(webhook, pools),
      }),
  );
  const stop = feed.listen(() => {
    for (const sink of sinks) sink.wake();
  });
  const count = () =>
    store
      .counts(names)
      .then(show, (error: unknown) => log.write('webhook.deliveries.uncounted', exception(error)));
  const timer = setInterval(() => {
    for (const sink of sinks) sink.wake();
    void count();
  }, COUNT_MS).unref();
  if (sinks.length === 0) clearInterval(timer);
  else void count();
  for (const sink of sinks) sink.wake();
  return {
    async close() {
      clearInterval(timer);
      stop();
      await Promise.all(sinks.map((sink) => sink.close()));
    },
  };
}

function show({ pending, dead, oldest }: Awaited<ReturnType<DeliveryStore['counts']>>): void {
  metrics.outboxPending.cell().set(pending);
  metrics.outboxDead.cell().set(dead);
  metrics.outboxOldest.cell().set(oldest === undefined ? 0 : Math.max(0, Date.now() - oldest) / 1000);
}
