import { stringifyExactly } from '../core/values/json.js';
import { CommandError, EXIT_FAILED } from './command-error.js';

/** Address of a running server, and the credentials of the caller. */
export interface ServerTarget {
  url?: string;
  key?: string;
}

interface Problem {
  detail?: string;
}

/**
 * Sends a request to a running server, to a path or to a URL that it returned. Ends the command unless the response
 * is 2xx.
 */
export async function sendTo(
  { url = 'http://localhost:8080', key = process.env['SVC_ADMIN_KEY'] }: ServerTarget,
  path: string,
  {
    method = 'GET',
    body,
    accept = 'application/json',
  }: { method?: string; body?: object; accept?: string } = {},
): Promise<Response> {
  if (!key) throw new CommandError('--key: is required. Pass it, or set SVC_ADMIN_KEY in the environment.');
  const response = await fetch(url.replace(/\/$/, '') + path, {
    method,
    headers: { 'x-api-key': key, accept, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: stringifyExactly(body) } : {}),
  }).catch((error: Error) => {
    throw new CommandError(
      `${url}: the server does not respond (${(error.cause as Error | undefined)?.message ?? error.message}).`,
      EXIT_FAILED,
    );
  });
  if (response.ok) return response;
  throw new CommandError(problemText(response.status, (await response.json().catch(() => ({}))) as Problem));
}

function problemText(status: number, { detail }: Problem): string {
  return detail === undefined ? `The server returned ${status}.` : `The server returned ${status}. ${detail}`;
}
