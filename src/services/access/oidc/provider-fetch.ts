import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { ACCESS_LIMITS } from '../../../core/access/limits.js';
import { ApiError } from '../../../core/errors/errors.js';
import type { AllowedHosts } from '../../../workers/storage/remote/allowed-hosts.js';

interface ProviderRequest {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: unknown;
}

/** Sends a request to a provider, in the form of the Fetch API. */
export type ProviderFetch = (url: string, options: ProviderRequest) => Promise<Response>;

/**
 * Fetch function for providers. Requests go only to hosts that `remote.allow` permits, follow no redirects, and are
 * limited in time and size. They reject with `unavailable` if there is no response, or its status is 500 or above.
 */
export function providerFetch(allowed: AllowedHosts): ProviderFetch {
  return async (text, { method, headers, body }) => {
    const url = new URL(text);
    const problem = allowed.problemOfReceiver(url);
    if (problem !== undefined) throw unreachable(problem);
    return ask(
      url,
      { method, headers },
      body === undefined || body === null ? undefined : String(body),
      allowed,
    );
  };
}

function ask(
  url: URL,
  options: { method: string; headers: Record<string, string> },
  body: string | undefined,
  allowed: AllowedHosts,
): Promise<Response> {
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const signal = AbortSignal.timeout(ACCESS_LIMITS.providerMs);
  return new Promise((resolve, reject) => {
    const fail = (cause: Error) => reject(unreachable(`${url.host} does not respond`, cause));
    const call = request(url, { ...options, lookup: allowed.lookupOf(url), signal });
    call.on('error', fail);
    call.on('response', (response) => {
      const parts: Buffer[] = [];
      let size = 0;
      response.on('data', (part: Buffer) => {
        size += part.byteLength;
        if (size > ACCESS_LIMITS.providerBytes) response.destroy(new Error('the answer is too large'));
        else parts.push(part);
      });
      response.on('error', fail);
      response.on('end', () => {
        const { statusCode = 500 } = response;
        if (statusCode >= 500) return reject(unreachable(`${url.host} answers ${statusCode}`));
        const type = response.headers['content-type'];
        resolve(
          new Response(statusCode === 204 ? null : Buffer.concat(parts), {
            status: statusCode,
            headers: type === undefined ? {} : { 'content-type': type },
          }),
        );
      });
    });
    call.end(body);
  });
}

function unreachable(why: string, cause?: Error): ApiError {
  return new ApiError('unavailable', `The provider cannot be reached: ${why}.`, { cause });
}
