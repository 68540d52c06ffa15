import { ApiError } from '../../core/errors.js';

export interface Credentials {
  /** Value of the X-API-Key header. */
  readonly apiKey?: string | undefined;
  /** Value of the Authorization header. */
  readonly authorization?: string | undefined;
}

/** Longest key that is looked at. */
const MAX_KEY = 512;

/**
 * The API key that a request carries: X-API-Key, else `Authorization: Bearer <key>`, else Basic with the key
 * as password (the user name is not looked at). Undefined when it carries none.
 * Throws `unauthenticated` for an Authorization header that is none of these.
 */
export function presentedKey({ apiKey, authorization }: Credentials): string | undefined {
  const key = apiKey || (authorization ? keyOfHeader(authorization) : undefined);
  if (key !== undefined && key.length > MAX_KEY) throw invalidCredentials();
  return key;
}

function keyOfHeader(header: string): string {
  const cut = header.indexOf(' ');
  const scheme = header.slice(0, Math.max(cut, 0)).toLowerCase();
  const value = header.slice(cut + 1).trim();
  if (scheme === 'bearer' && value) return value;
  if (scheme === 'basic' && value) return basicPassword(value);
  throw invalidCredentials();
}

function basicPassword(value: string): string {
  const pair = Buffer.from(value, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  const password = colon < 0 ? '' : pair.slice(colon + 1);
  if (password === '') throw invalidCredentials();
  return password;
}

/** One answer for unknown, revoked and expired keys: which it was is nobody's business. */
export function invalidCredentials(): ApiError {
  return new ApiError('unauthenticated', 'The credentials are not valid.');
}
