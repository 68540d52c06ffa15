import type { StoredSession } from '../../../stores/access/sessions.js';
import type { SigningKeys } from './signing-keys.js';

/** A token for the user of a session, and its expiry in seconds since 1970. */
export async function signSessionToken(
  signing: Pick<SigningKeys, 'sign'>,
  session: Pick<StoredSession, 'hash' | 'userId' | 'expiresAt'>,
  { issuer, seconds }: { issuer: string; seconds: number },
): Promise<{ token: string; iat: number; exp: number }> {
  const iat = Math.floor(Date.now() / 1000);
  const exp = Math.min(iat + seconds, Math.floor(session.expiresAt / 1000));
  const claims = { iss: issuer, sub: session.userId, sid: session.hash, jti: crypto.randomUUID(), iat, exp };
  return { token: await signing.sign(claims), iat, exp };
}
