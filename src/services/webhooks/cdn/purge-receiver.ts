import { setTimeout as pause } from 'node:timers/promises';
import { type Config, ConfigError } from '../../../core/config/config.js';
import { version } from '../../../core/kit/version.js';
import type { AllowedHosts } from '../../../workers/storage/remote/allowed-hosts.js';
import type { Sender } from '../../deliveries/lane.js';
import { ACCEPTED, type Outcome } from '../../deliveries/outcome.js';
import { post } from '../../deliveries/post.js';
import { joinTags } from '../../tiles/cache/tags.js';
import { EVENTS_AT_ONCE } from '../receiver.js';
import type { Purge } from './purges.js';

/** Maximum tags in one request: a limit of common networks. */
const TAGS_AT_ONCE = 30;
/**
 * Milliseconds after an edit before a purge. All servers apply an edit within a second. After an earlier purge, the
 * network could fetch an old tile again.
 */
const SETTLE_MS = 1000;

/** Sends purges to a CDN. */
export class PurgeReceiver implements Sender {
  readonly batch = EVENTS_AT_ONCE;
  readonly #url: URL;
  readonly #settings: Config['cdn'];
  readonly #allowed: AllowedHosts;

  /** Throws `ConfigError` for a URL that is not allowed. */
  constructor(settings: Config['cdn'], allowed: AllowedHosts) {
    const { url } = settings.purge;
    if (!URL.canParse(url)) throw new ConfigError(['cdn.purge.url: must be a URL.']);
    this.#url = new URL(url);
    this.#settings = settings;
    this.#allowed = allowed;
    const problem = allowed.problemOfReceiver(this.#url);
    if (problem !== undefined) throw new ConfigError([`cdn.purge.url: ${problem}.`]);
  }

  /** After a failed request all requests are repeated, which is harmless. */
  async send(_eventId: string, body: string, signal: AbortSignal): Promise<Outcome> {
    const { tags, time } = JSON.parse(body) as Purge;
    await pause(Math.min(SETTLE_MS, Math.max(0, time + SETTLE_MS - Date.now())), undefined, { signal });
    for (let i = 0; i < tags.length; i += TAGS_AT_ONCE) {
      const outcome = await this.#purge(tags.slice(i, i + TAGS_AT_ONCE), signal);
      if (outcome.kind !== 'accepted') return outcome;
    }
    return ACCEPTED;
  }

  #purge(tags: readonly string[], signal: AbortSignal): Promise<Outcome> {
    const { header, method, credential } = this.#settings.purge;
    const body = header === '' ? JSON.stringify({ tags }) : '';
    const [name, ...value] = credential.split(':');
    const headers = {
      'user-agent': `graticule/${version()}`,
      'content-length': Buffer.byteLength(body),
      ...(header === '' ? { 'content-type': 'application/json' } : { [header]: joinTags(header, tags) }),
      ...(credential === '' ? {} : { [name!.trim()]: value.join(':').trim() }),
    };
    return post({ url: this.#url, method, headers, body, allowed: this.#allowed, signal });
  }
}
