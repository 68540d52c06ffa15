import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { AllowedHosts } from '../../workers/storage/remote/allowed-hosts.js';
import { DELIVERY_LIMITS } from './limits.js';
import { type Outcome, readStatus, retry } from './outcome.js';

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
 * Sends a body. A 2xx response in time accepts it. Redirects are not followed, because their targets are not permitted.
 */
export function post({ url, method, headers, body, allowed, signal }: Post): Promise<Outcome> {
  const problem = allowed.problemOfReceiver(url);
  if (problem !== undefined) return Promise.resolve(retry(problem));
  const secure = url.protocol === 'https:';
  const late = AbortSignal.timeout(DELIVERY_LIMITS.attemptMs);
  return new Promise((resolve) => {
    const call = (secure ? httpsRequest : httpRequest)(url, {
      method,
      agent: agents[secure ? 'https:' : 'http:'],
      lookup: allowed.lookupOf(url),
      headers,
      signal: AbortSignal.any([signal, late]),
    });
    call.on('error', (error) => resolve(retry(late.aborted ? 'no answer in time' : error.message)));
    call.on('response', (response) => {
      const { statusCode = 0, headers: answered } = response;
      // The content of the response is ignored.
      if (Number(answered['content-length'] ?? Infinity) <= MAX_READ) response.resume();
      else response.destroy();
      response.on('error', () => {});
      resolve(readStatus(statusCode, answered['retry-after']));
    });
    call.end(body);
  });
}
