import { createHmac } from 'node:crypto';
import { ConfigError } from '../../core/config/config.js';
import type { Webhook } from '../../core/config/config-schema.js';
import { version } from '../../core/kit/version.js';
import type { AllowedHosts } from '../../workers/storage/remote/allowed-hosts.js';
import { post } from './post.js';
import type { DeliveryReceiver } from './sink.js';

/** Sends the events of a webhook to its URL. */
export class Receiver implements DeliveryReceiver {
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

  /** Sends one signed event. Rejects unless the response is 2xx in time. */
  send(eventId: string, body: string, signal: AbortSignal): Promise<void> {
    const headers = this.#headers(eventId, body);
    return post({ url: this.#url, method: 'POST', headers, body, allowed: this.#allowed, signal });
  }

  #headers(eventId: string, body: string) {
    const time = Math.floor(Date.now() / 1000);
    return {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': `graticule/${version()}`,
      'idempotency-key': eventId,
      'x-svc-event-id': eventId,
      'x-svc-event-timestamp': String(time),
      'x-svc-signature': `sha256=${createHmac('sha256', this.#secret).update(`${time}.${body}`).digest('hex')}`,
    };
  }
}
