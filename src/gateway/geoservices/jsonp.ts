import type { Exchange, Reply } from '../../core/http/operation.js';
import { jsonReply } from './images/in-band.js';

/** A name of a function, or of a member of an object. */
const NAME = /^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*){0,8}$/;
const LONGEST = 128;

/**
 * Wraps the JSON of a GET response in a call of the function named by `callback`, for pages that load it as a script.
 */
export function withCallback({ query }: Pick<Exchange, 'query'>, reply: Reply): Reply {
  const name = findCallback(query);
  if (name === undefined || reply.mediaType !== 'application/json') return reply;
  if (name.length > LONGEST || !NAME.test(name)) {
    const message = 'callback: must be the name of a function';
    return jsonReply({ error: { code: 400, message, details: [message] } });
  }
  const { body, encoding, constant } = reply;
  if (encoding !== undefined || constant !== undefined) return reply;
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) return reply;
  const json = typeof body === 'string' ? body : Buffer.from(body).toString();
  return {
    ...reply,
    mediaType: 'text/javascript',
    headers: { ...reply.headers, 'x-content-type-options': 'nosniff' },
    // The comment keeps the name from being the first bytes of a file of another kind.
    body: `/**/${name}(${json.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')});`,
  };
}

/** The value of `callback` in a query. */
function findCallback(query: string): string | undefined {
  return query.includes('callback=') ? (new URLSearchParams(query).get('callback') ?? undefined) : undefined;
}
