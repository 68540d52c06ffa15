import type { RemoteRequest } from '../../core/ingest.js';
import { secretAt } from '../connections/secrets.js';
import { requestOf } from '../remote-credentials.js';

/** Secrets stand in no job: it names where they are, and reads them when it runs. */
export interface SecretReferences {
  mode?: 'none' | 'basic' | 'token' | 'arcgis-token' | undefined;
  username?: string | undefined;
  passwordReference?: string | undefined;
  tokenReference?: string | undefined;
}

/** A request with the secrets that are there now. `allowed` are the references that may be followed. */
export async function requestWith(
  url: URL,
  { mode, username, passwordReference, tokenReference }: SecretReferences,
  requestMs: number,
  allowed: readonly string[],
): Promise<RemoteRequest> {
  if (mode === 'none') return requestOf(url, {}, requestMs);
  const read = (reference: string | undefined) =>
    reference === undefined ? undefined : secretAt(reference, allowed);
  const [password, token] = await Promise.all([read(passwordReference), read(tokenReference)]);
  return token === undefined
    ? requestOf(url, { mode, username, ...(password === undefined ? {} : { password }) }, requestMs)
    : requestOf(url, { mode: mode ?? 'arcgis-token', token }, requestMs);
}
