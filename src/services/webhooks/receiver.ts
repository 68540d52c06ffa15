import { createHmac } from 'node:crypto';
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { ConfigError, type Webhook } from '../../core/config.js';
import { LIMITS } from '../../core/limits.js';
import { version } from '../../core/version.js';
import type { AllowedHosts } from '../../workers/remote/allowed.js';

const agents = {
  'http:': new HttpAgent({ keepAlive: true }),
  'https:': new HttpsAgent({ keepAlive: true }),
};

/** Where the events of a webhook are sent. */
export class Receiver {
  readonly #url: URL;
  readonly #secret: string;
  readonly #allowed: AllowedHosts;

  /** Throws `ConfigError` for a URL that nothing may be sent to. */
  constructor({ name, url, secret }: Webhook, allowed: AllowedHosts) {
    if (!URL.canParse(url)) throw new ConfigError([`events.webhooks: the url of ${name} is no URL`]);
    this.#url = new URL(url);
    this.#secret = secret;
    this.#allowed = allowed;
    const problem = allowed.problemOfReceiver(this.#url);
    if (problem !== undefined) throw new ConfigError([`events.webhooks: the url of ${name}: ${problem}`]);
  }

  /**
   * Sends one event, signed. Rejects unless it is answered 2xx in time; redirections are not followed, because they lead
   * where nobody allowed to send.
   */
  send(eventId: string, body: string, signal: AbortSignal): Promise<void> {
    const url = this.#url;
    const secure = url.protocol === 'https:';
    const late = AbortSignal.timeout(LIMITS.webhookMs);
    return new Promise((resolve, reject) => {
      const call = (secure ? httpsRequest : httpRequest)(url, {
        method: 'POST',
        agent: agents[secure ? 'https:' : 'http:'],
        lookup: this.#allowed.lookup,
        headers: this.#headers(eventId, body),
        signal: AbortSignal.any([signal, late]),
      });
      call.on('error', (error) => reject(late.aborted ? new Error('no answer in time') : error));
      call.on('response', (response) => {
        const { statusCode = 0 } = response;
        const isAccepted = statusCode >= 200 && statusCode < 300;
        // What it says does not matter; a short answer is read, so that the connection can be used again.
        if (Number(response.headers['content-length'] ?? Infinity) <= MOST_READ) response.resume();
        else response.destroy();
        response.on('error', () => {});
        if (isAccepted) resolve();
        else reject(new Error(`answered ${statusCode}`));
      });
      call.end(body);
    });
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

const MOST_READ = 65_536;
