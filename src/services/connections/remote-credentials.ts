import Type, { type Static } from 'typebox';
import { type ApiError, badMember } from '../../core/errors/errors.js';
import type { RemoteRequest } from '../../core/exchange/ingest.js';

/**
 * Credentials for another server, in requests of the management API. They are sent only to its origin, and are not
 * stored.
 */
export const CredentialsSchema = Type.Object({
  mode: Type.Optional(Type.Enum(['none', 'arcgis-token', 'token', 'basic', 'oauth'])),
  username: Type.Optional(Type.String({ maxLength: 256 })),
  password: Type.Optional(Type.String({ maxLength: 1024 })),
  token: Type.Optional(Type.String({ maxLength: 8192 })),
  tokenUrl: Type.Optional(Type.String()),
  referer: Type.Optional(Type.String({ maxLength: 1024 })),
  clientId: Type.Optional(Type.String()),
  clientSecret: Type.Optional(Type.String()),
});
export type RemoteCredentials = Static<typeof CredentialsSchema>;

/** A request for a URL with what its credentials add to it. Throws 400 for credentials that it cannot send. */
export function buildRemoteRequest(
  url: URL,
  credentials: RemoteCredentials,
  timeoutMs: number,
): RemoteRequest {
  const { mode, username, password, token, referer } = credentials;
  const headers: Record<string, string> =
    referer === undefined ? {} : { referer: printable('referer', referer) };
  if (mode === 'oauth')
    throw wrong('mode', 'must not be oauth, which is not supported. Send a token with the mode token');
  if (token !== undefined) {
    if (mode === 'arcgis-token') {
      const withToken = new URL(url);
      withToken.searchParams.set('token', token);
      return { url: withToken.href, timeoutMs, headers };
    }
    return {
      url: url.href,
      timeoutMs,
      headers: { ...headers, authorization: `Bearer ${printable('token', token)}` },
    };
  }
  if (username !== undefined) {
    if (mode === 'arcgis-token')
      throw wrong('token', 'is required. The server does not request tokens with a password');
    const pair = Buffer.from(`${username}:${password ?? ''}`).toString('base64');
    return { url: url.href, timeoutMs, headers: { ...headers, authorization: `Basic ${pair}` } };
  }
  return { url: url.href, timeoutMs, headers };
}

/** The text, if a header can contain it. */
function printable(name: string, text: string): string {
  if (!/^[\x20-\x7e]*$/.test(text)) throw wrong(name, 'must have only printable ASCII characters');
  return text;
}

function wrong(member: string, detail: string): ApiError {
  const name = `credentials.${member}`;
  return badMember(name, detail);
}
