import { ConfigError } from '../../../core/config/config.js';
import { version } from '../../../core/kit/version.js';
import type { AllowedHosts } from '../../../workers/storage/remote/allowed-hosts.js';
import type { Sender } from '../../deliveries/lane.js';
import { type Outcome, refuseMessage } from '../../deliveries/outcome.js';
import { post } from '../../deliveries/post.js';
import { type AlertContent, readContent } from './content.js';

/** Request of a channel over HTTP. */
export interface ChannelRequest {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A target over HTTP. */
export interface HttpTarget {
  /** Path of the setting, for errors. */
  readonly setting: string;
  readonly url: string;
  readonly allowed: AllowedHosts;
  /** Messages that can be sent a second time after a crash. */
  readonly batch: number;
  /** Maximum bytes of a body. */
  readonly maxBytes: number;
  format(content: AlertContent): ChannelRequest;
}

/** The URL of a setting, if data can be sent to it. Throws `ConfigError`, without the URL, which can be a secret. */
export function readTarget(setting: string, url: string, allowed: AllowedHosts): URL {
  if (!URL.canParse(url)) throw new ConfigError([`${setting}: must be a URL.`]);
  const target = new URL(url);
  const problem = allowed.problemOfReceiver(target);
  if (problem !== undefined) throw new ConfigError([`${setting}: ${problem}.`]);
  return target;
}

/** Sends messages as requests over HTTP. */
export function createPoster({ setting, url, allowed, batch, maxBytes, format }: HttpTarget): Sender {
  const target = readTarget(setting, url, allowed);
  return {
    batch,
    async send(eventId: string, text: string, signal: AbortSignal): Promise<Outcome> {
      const { body, headers } = format(readContent(eventId, text));
      const bytes = Buffer.byteLength(body);
      if (bytes > maxBytes)
        return refuseMessage(`the message has ${bytes} bytes; the maximum is ${maxBytes}`);
      const all = { 'user-agent': `graticule/${version()}`, 'content-length': bytes, ...headers };
      return post({ url: target, method: 'POST', headers: all, body, allowed, signal });
    },
  };
}
