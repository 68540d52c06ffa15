import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import { type Config, ConfigError } from '../../core/config/config.js';
import type { Webhook } from '../../core/config/config-schema.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { DeliveryStore } from '../../stores/streams/deliveries.js';
import { AllowedHosts } from '../../workers/storage/remote/allowed-hosts.js';
import { DeliveryDispatcher } from '../deliveries/dispatcher.js';
import type { Sender } from '../deliveries/lane.js';
import type { Schedule } from '../deliveries/schedule.js';
import type { Notices } from '../notices/notices.js';
import type { Feed } from '../streams/feed.js';
import type { Log } from '../telemetry/log.js';
import { PurgeReceiver } from './cdn/purge-receiver.js';
import { Purges } from './cdn/purges.js';
import { FeedCollector, type WebhookMatcher } from './collector.js';
import { EventMatcher } from './event-matcher.js';
import { createCountGauges, WEBHOOK_METER } from './meter.js';
import { Receiver } from './receiver.js';

export interface WebhooksOptions extends Schedule {
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
}

export interface Webhooks {
  /** Stops sending; what was not delivered is delivered after the next start. */
  close(): Promise<void>;
}

/** Name of the CDN among the receivers; no webhook can have it. */
export const CDN_LANE = ':cdn';

/**
 * Sends the events of the feed to the receivers of the configuration, and purges to the CDN. Throws `ConfigError` for a
 * receiver that is not allowed.
 */
export function startWebhooks(options: WebhooksOptions): Webhooks {
  const { webhooks, cdn, allow, pools, feed } = options;
  const allowed = new AllowedHosts(allow);
  const receivers: { name: string; sender: Sender; matcher: WebhookMatcher }[] = webhooks.map((webhook) => ({
    name: webhook.name,
    sender: new Receiver(webhook, allowed),
    matcher: new EventMatcher(webhook, pools),
  }));
  if (cdn && cdn.purge.url !== '')
    receivers.push({ name: CDN_LANE, sender: new PurgeReceiver(cdn, allowed), matcher: new Purges() });
  const names = receivers.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined)
    throw new ConfigError([`events.webhooks: the name '${twice}' is given twice. Use each name once.`]);
  const lanes = receivers.map(({ name, sender, matcher }) => ({
    ...{ name, sender, meter: WEBHOOK_METER },
    collector: new FeedCollector({ ...options, name, matcher }),
  }));
  const dispatcher = new DeliveryDispatcher({ ...options, counted: createCountGauges() }, lanes);
  const stop = feed.listen(() => dispatcher.wake());
  dispatcher.start();
  dispatcher.wake();
  return {
    async close() {
      stop();
      await dispatcher.close();
    },
  };
}
