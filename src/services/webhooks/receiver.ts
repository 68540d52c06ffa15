import { ConfigError } from '../../core/config/config.js';
import type { Webhook } from '../../core/config/config-schema.js';
import { version } from '../../core/kit/version.js';
import type { AllowedHosts } from '../../workers/storage/remote/allowed-hosts.js';
import type { Sender } from '../deliveries/lane.js';
import type { Outcome } from '../deliveries/outcome.js';
import { post } from '../deliveries/post.js';
import { signBody } from '../deliveries/signature.js';

/** Number of events that can be sent a second time after a crash. */
export const EVENTS_AT_ONCE = 20;

/** Sends the events of a webhook to its URL. */
export class Receiver implements Sender {
  readonly batch = EVENTS_AT_ONCE;
  readonly #url: URL;
  readonly #secret: string;
  readonly #allowed: AllowedHosts;

  /** Throws `ConfigError` for a URL that is not allowed. */
  constructor({ name, url, secret }: Webhook, allowed: AllowedHosts) {
    if (!URL.canParse(url)) throw new ConfigError([`events.webhooks: the url of '${name}' must be a URL.`]);
    this.#url = new URL(url);
    this.#secret = secret;
    this.#allowed = allowed;
    const problem = allowed.problemOfReceiver(this.#url);
    if (problem !== undefined)
      throw new ConfigError([`events.webhooks: the url of '${name}' is not allowed: ${problem}.`]);
  }

  /** Sends one signed event. */
  send(eventId: string, body: string, signal: AbortSignal): Promise<Outcome> {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': `graticule/${version()}`,
      'idempotency-key': eventId,
      'x-svc-event-id': eventId,
      ...signBody(body, this.#secret),
    };
    return post({ url: this.#url, method: 'POST', headers, body, allowed: this.#allowed, signal });
  }
}
