import type { CatalogSnapshot } from '../../core/collection.js';
import { type Config, ConfigError } from '../../core/config.js';
import type { Webhook } from '../../core/config-schema.js';
import type { Pools } from '../../core/tasks.js';
import type { DeliveryStore } from '../../stores/deliveries.js';
import { AllowedHosts } from '../../workers/remote/allowed.js';
import type { Alerts } from '../alerts.js';
import { PurgeReceiver } from '../cdn/purge-receiver.js';
import { Purges } from '../cdn/purges.js';
import type { Feed } from '../events/feed.js';
import * as metrics from '../telemetry/event-metrics.js';
import type { Log } from '../telemetry/log.js';
import { exception } from '../telemetry/log.js';
import { Matching } from './matching.js';
import { Receiver } from './receiver.js';
import { type Interest, type Receiving, Sink } from './sink.js';

export interface WebhooksOptions {
  webhooks: readonly Webhook[];
  /** Where the CDN before the server takes purges, and which header its tiles name their tags in. */
  cdn?: Config['cdn'];
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

/** How often receivers are looked after, and what waits is counted. */
const LOOK_MS = 3000;
/** Name of the CDN among the receivers; no webhook can have it. */
const CDN = ':cdn';

/** Sends the events of the feed to the receivers of the configuration, and purges to the CDN. Throws `ConfigError` for a wrong one. */
export function startWebhooks(options: WebhooksOptions): Webhooks {
  const { webhooks, cdn, allow, pools, feed, log, store } = options;
  const allowed = new AllowedHosts(allow);
  const receivers = webhooks.map((webhook) => ({
    name: webhook.name,
    receiver: new Receiver(webhook, allowed) as Receiving,
    interest: new Matching(webhook, pools) as Interest,
  }));
  if (cdn && cdn.purge.url !== '')
    receivers.push({ name: CDN, receiver: new PurgeReceiver(cdn, allowed), interest: new Purges() });
  const names = receivers.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new ConfigError([`events.webhooks: two are called ${twice}`]);
  const sinks = receivers.map((receiver) => new Sink({ ...options, ...receiver }));
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
  }, LOOK_MS).unref();
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
