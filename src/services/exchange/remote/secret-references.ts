import type { RemoteRequest } from '../../../core/exchange/ingest.js';
import { buildRemoteRequest, type RemoteCredentials } from '../../connections/remote-credentials.js';
import { secretAt } from '../../connections/secrets.js';

/** References to secrets. A job contains no secrets: it names their location, and reads them when it runs. */
export interface SecretReferences {
  mode?: 'none' | 'basic' | 'token' | 'arcgis-token' | undefined;
  username?: string | undefined;
  passwordReference?: string | undefined;
  tokenReference?: string | undefined;
  /** Id of the connection whose credentials these are. */
  connection?: string | undefined;
}

/** Source of secrets for running jobs. */
export interface SecretSource {
  /** References that may be followed. */
  readonly allowed: readonly string[];
  /** Credentials of a connection for its own server. Throws `unavailable` while there are none, and for a URL of another. */
  credentialsOf(connection: string, url: URL): Promise<RemoteCredentials>;
}

/** A request with the present secrets. */
export async function requestWith(
  url: URL,
  { mode, username, passwordReference, tokenReference, connection }: SecretReferences,
  requestMs: number,
  { allowed, credentialsOf }: SecretSource,
): Promise<RemoteRequest> {
  if (connection !== undefined)
    return buildRemoteRequest(url, await credentialsOf(connection, url), requestMs);
  if (mode === 'none') return buildRemoteRequest(url, {}, requestMs);
  const read = (reference: string | undefined) =>
    reference === undefined ? undefined : secretAt(reference, allowed);
  const [password, token] = await Promise.all([read(passwordReference), read(tokenReference)]);
  return token === undefined
    ? buildRemoteRequest(url, { mode, username, ...(password === undefined ? {} : { password }) }, requestMs)
    : buildRemoteRequest(url, { mode: mode ?? 'arcgis-token', token }, requestMs);
}
