import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { AllowedHosts } from '../../workers/storage/remote/allowed-hosts.js';
import { WEBHOOK_LIMITS } from './limits.js';

const agents = {
  'http:': new HttpAgent({ keepAlive: true }),
  'https:': new HttpsAgent({ keepAlive: true }),
};

/** Maximum bytes of a response that are read, so that its connection can be reused. */
const MAX_READ = 65_536;

export interface Post {
  readonly url: URL;
  readonly method: string;
  readonly headers: Record<string, string | number>;
  readonly body: string;
  readonly allowed: AllowedHosts;
  readonly signal: AbortSignal;
}

/**
 * Sends a body. Rejects unless the response is 2xx in time. Redirects are not followed, because their targets are not
 * permitted.
 */
export function post({ url, method, headers, body, allowed, signal }: Post): Promise<void> {
  const secure = url.protocol === 'https:';
  const late = AbortSignal.timeout(WEBHOOK_LIMITS.webhookMs);
  return new Promise((resolve, reject) => {
    const call = (secure ? httpsRequest : httpRequest)(url, {
      method,
      agent: agents[secure ? 'https:' : 'http:'],
      lookup: allowed.lookupOf(url),
      headers,
      signal: AbortSignal.any([signal, late]),
    });
    call.on('error', (error) => reject(late.aborted ? new Error('no answer in time') : error));
    call.on('response', (response) => {
      const { statusCode = 0 } = response;
      const isAccepted = statusCode >= 200 && statusCode < 300;
      // The content of the response is ignored.
      if (Number(response.headers['content-length'] ?? Infinity) <= MAX_READ) response.resume();
      else response.destroy();
      response.on('error', () => {});
      if (isAccepted) resolve();
      else reject(new Error(`answered ${statusCode}`));
    });
    call.end(body);
  });
}
