import { CHANNELS, type Channel } from '../../../core/alerts/alerts.js';
import type { AlertFrame } from '../../../core/cluster/notes.js';
import { type Config, ConfigError } from '../../../core/config/config.js';
import type { RateCap } from '../../../stores/streams/deliveries.js';
import { AllowedHosts } from '../../../workers/storage/remote/allowed-hosts.js';
import type { Sender } from '../../deliveries/lane.js';
import { createSns, createSqs } from './aws.js';
import { createMailer } from './email.js';
import { EVENT_BYTES, formatEventGrid } from './eventgrid.js';
import { formatEventHub } from './eventhub.js';
import { createPoster } from './json-post.js';
import { formatSlack } from './slack.js';
import { formatTeams, TEAMS_BYTES } from './teams.js';
import { formatWebhook } from './webhook.js';
import { createStreamSender } from './websocket.js';

type ChannelSettings = Config['alerts']['channels'];

/** A channel with a target. */
export interface ChannelTarget {
  readonly sender: Sender;
  readonly cap: RateCap;
}

const MINUTE_MS = 60_000;
/** Maximum bytes of a message of a webhook, of Slack and of an event hub. */
const WEBHOOK_BYTES = 1_048_576;
const SLACK_BYTES = 40_000;
const HUB_BYTES = 262_144;
/** Messages of channels whose receivers can drop repeated ones. After a crash, as many can be sent a second time. */
const BATCH = 10;
/** Characters of a secret of a webhook. */
const MIN_SECRET = 16;

/** The channels that the configuration gives a target. */
export function listConfigured(channels: ChannelSettings): Channel[] {
  const targets: Record<Channel, string> = {
    webhook: channels.webhook.url,
    websocket: 'subscribers',
    email: channels.email.to.length > 0 ? channels.email.server : '',
    digest: channels.digest.to.length > 0 ? channels.email.server : '',
    aws_sns: channels.aws_sns.topicArn,
    azure_eventgrid: channels.azure_eventgrid.url,
    slack: channels.slack.url,
    microsoft_teams: channels.microsoft_teams.url,
    aws_sqs: channels.aws_sqs.queueUrl,
    azure_eventhub: channels.azure_eventhub.url,
  };
  return CHANNELS.filter((channel) => targets[channel] !== '');
}

interface ChannelDeps {
  readonly allowed: AllowedHosts;
  publish(frame: AlertFrame): void;
}

/** Senders of all configured channels. Throws `ConfigError` for a wrong target. */
export function createChannels(
  { alerts, remote }: Pick<Config, 'alerts' | 'remote'>,
  publish: ChannelDeps['publish'],
): ReadonlyMap<Channel, ChannelTarget> {
  const { channels } = alerts;
  if (channels.email.server === '' && channels.email.to.length + channels.digest.to.length > 0)
    throw new ConfigError([
      'alerts.channels.email.server: is required for mails. Set it, or remove the recipients.',
    ]);
  const deps = { allowed: new AllowedHosts(remote.allow), publish };
  return new Map(
    listConfigured(channels).map((channel) => {
      const cap =
        channel === 'digest'
          ? { count: 1, periodMs: channels.digest.minutes * MINUTE_MS }
          : { count: channels[channel].ratePerMinute, periodMs: MINUTE_MS };
      return [channel, { sender: SENDERS[channel](channels, deps), cap }];
    }),
  );
}

const SENDERS: Record<Channel, (settings: ChannelSettings, deps: ChannelDeps) => Sender> = {
  webhook({ webhook: { url, secret } }, { allowed }) {
    if (secret.length < MIN_SECRET)
      throw new ConfigError([`alerts.channels.webhook.secret: must have at least ${MIN_SECRET} characters.`]);
    const target = { setting: 'alerts.channels.webhook.url', url, allowed, batch: BATCH };
    return createPoster({
      ...target,
      maxBytes: WEBHOOK_BYTES,
      format: (content) => formatWebhook(content, secret),
    });
  },
  websocket: (_settings, { publish }) => createStreamSender(publish),
  email: ({ email }, { allowed }) => createMailer(email, allowed),
  digest: ({ email, digest }, { allowed }) => createMailer({ ...email, to: digest.to }, allowed),
  aws_sns: ({ aws_sns }, { allowed }) => createSns(aws_sns, allowed),
  azure_eventgrid({ azure_eventgrid: { url, key } }, { allowed }) {
    requireSecret('alerts.channels.azure_eventgrid.key', key);
    const target = { setting: 'alerts.channels.azure_eventgrid.url', url, allowed, batch: BATCH };
    return createPoster({
      ...target,
      maxBytes: EVENT_BYTES,
      format: (content) => formatEventGrid(content, key),
    });
  },
  slack: ({ slack: { url } }, { allowed }) =>
    createPoster({
      ...{ setting: 'alerts.channels.slack.url', url, allowed, batch: 1 },
      ...{ maxBytes: SLACK_BYTES, format: formatSlack },
    }),
  microsoft_teams: ({ microsoft_teams: { url } }, { allowed }) =>
    createPoster({
      ...{ setting: 'alerts.channels.microsoft_teams.url', url, allowed, batch: 1 },
      ...{ maxBytes: TEAMS_BYTES, format: formatTeams },
    }),
  aws_sqs: ({ aws_sqs }, { allowed }) => createSqs(aws_sqs, allowed),
  azure_eventhub({ azure_eventhub: { url, keyName, key } }, { allowed }) {
    const setting = 'alerts.channels.azure_eventhub';
    requireSecret(`${setting}.keyName`, keyName);
    requireSecret(`${setting}.key`, key);
    const hub = url.replace(/\/+$/, '');
    return createPoster({
      ...{ setting: `${setting}.url`, url: `${hub}/messages`, allowed, batch: BATCH, maxBytes: HUB_BYTES },
      format: (content) => formatEventHub(content, { url: hub, keyName, key }),
    });
  },
};

function requireSecret(setting: string, value: string): void {
  if (value === '') throw new ConfigError([`${setting}: is required for this channel.`]);
}
