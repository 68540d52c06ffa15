import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import { type Config, ConfigError } from '../../core/config/config.js';
import type { Webhook } from '../../core/config/config-schema.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { DeliveryStore } from '../../stores/streams/deliveries.js';
import { AllowedHosts } from '../../workers/storage/remote/allowed-hosts.js';
import type { Notices } from '../notices/notices.js';
import type { Feed } from '../streams/feed.js';
import * as metrics from '../telemetry/event-metrics.js';
import type { Log } from '../telemetry/log.js';
import { exception } from '../telemetry/log.js';
import { PurgeReceiver } from './cdn/purge-receiver.js';
import { Purges } from './cdn/purges.js';
import { EventMatcher } from './event-matcher.js';
import { Receiver } from './receiver.js';
import { type DeliveryReceiver, Sink, type WebhookMatcher } from './sink.js';

export interface WebhooksOptions {
  webhooks: readonly Webhook[];
  /** Purge settings of the CDN in front of the server, and the header in which its tiles name their tags. */
  cdn?: Config['cdn'];
  /** Hosts that may be sent to though they are not public, or by plain HTTP. */
  allow: Config['remote']['allow'];
  pools: Pools;
  store: DeliveryStore;
  feed: Feed;
  log: Log;
  notices: Notices;
  /** Name of this process among the processes that share the state database. */
  instance: string;
  catalog(): CatalogSnapshot;
  /** See `DeliveryOptions`. */
  firstBackoffMs?: number;
}

export interface Webhooks {
  /** Stops sending; what was not delivered is delivered after the next start. */
  close(): Promise<void>;
}

/** Milliseconds between counts of waiting deliveries. */
const COUNT_MS = 500;
/** Name of the CDN among the receivers; no webhook can have it. */
const CDN = ':cdn';

/** Sends the events of the feed to the receivers of the configuration, and purges to the CDN. Throws `ConfigError` for a wrong one. */
export function startWebhooks(options: WebhooksOptions): Webhooks {
  const { webhooks, cdn, allow, pools, feed, store } = options;
  const allowed = new AllowedHosts(allow);
  const receivers = webhooks.map((webhook) => ({
    name: webhook.name,
    receiver: new Receiver(webhook, allowed) as DeliveryReceiver,
    interest: new EventMatcher(webhook, pools) as WebhookMatcher,
  }));
  if (cdn && cdn.purge.url !== '')
    receivers.push({ name: CDN, receiver: new PurgeReceiver(cdn, allowed), interest: new Purges() });
  const names = receivers.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined)
    throw new ConfigError([`events.webhooks: the name '${twice}' is given twice. Use each name once.`]);
  const counting = new DeliveryCounter(options, names, () => wake());
  const sinks = receivers.map(
    (receiver) => new Sink({ ...options, ...receiver, ran: () => counting.plan() }),
  );
  const wake = () => {
    for (const sink of sinks) sink.wake();
  };
  const stops = [feed.listen(wake), () => counting.close()];
  if (sinks.length > 0) stops.push(store.follow(() => counting.plan(true)));
  wake();
  return {
    async close() {
      for (const stop of stops) stop();
      await Promise.all(sinks.map((sink) => sink.close()));
    },
  };
}

/** Counts what waits for receivers, soon after it may have changed. */
class DeliveryCounter {
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  /** Whether other processes may have returned deliveries to the queue. */
  #isAsked = false;
  #oldest: number | undefined;

  constructor(
    private readonly options: Pick<WebhooksOptions, 'store' | 'log'>,
    private readonly names: readonly string[],
    /** Called if deliveries wait after other processes may have returned them to the queue. */
    private readonly wake: () => void,
  ) {
    metrics.outboxOldest.observe((gauge) => {
      gauge.cell().set(this.#oldest === undefined ? 0 : Math.max(0, Date.now() - this.#oldest) / 1000);
    });
  }

  plan(isAsked = false): void {
    this.#isAsked ||= isAsked;
    if (this.#closed) return;
    this.#timer ??= setTimeout(() => void this.#count(), COUNT_MS).unref();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  async #count(): Promise<void> {
    const isAsked = this.#isAsked;
    this.#isAsked = false;
    try {
      const { pending, dead, oldest } = await this.options.store.counts(this.names);
      metrics.outboxPending.cell().set(pending);
      metrics.outboxDead.cell().set(dead);
      this.#oldest = oldest;
      if (isAsked && pending > 0) this.wake();
    } catch (error) {
      this.options.log.write('webhook.deliveries.uncounted', exception(error));
    } finally {
      this.#timer = undefined;
      if (this.#isAsked) this.plan();
    }
  }
}
