import { PENDING_SECONDS } from '../../../services/access/oidc/sign-ins.js';
import { findCookie, PLAIN_COOKIE, SECURE_COOKIE } from '../../auth/credentials.js';

/**
 * `Set-Cookie` of a session (RFC 6265bis): no script reads it, and pages of other sites do not send it along with what
 * they change. `expiresAt` is in milliseconds since 1970.
 */
export function sessionCookie(baseUrl: string, secret: string, expiresAt: number): string {
  const age = Math.max(0, Math.floor((expiresAt - Date.now()) / 1000));
  return `${cookieName(baseUrl)}=${secret}; Max-Age=${age}; ${attributes(baseUrl)}`;
}

/** `Set-Cookie` that takes the session's cookie away. */
export function endedSession(baseUrl: string): string {
  return `${cookieName(baseUrl)}=; Max-Age=0; ${attributes(baseUrl)}`;
}

/** `Set-Cookie` for a sign-in at a provider that has started and will return to this server. */
export function pendingCookie(baseUrl: string, value: string): string {
  return `${pendingName(baseUrl)}=${value}; Max-Age=${PENDING_SECONDS}; ${attributes(baseUrl)}`;
}

/** `Set-Cookie` that takes it away. */
export function endedPending(baseUrl: string): string {
  return `${pendingName(baseUrl)}=; Max-Age=0; ${attributes(baseUrl)}`;
}

/** The sign-in that a browser has started, from its Cookie header. */
export function readPendingSignIn(baseUrl: string, header: string | undefined): string | undefined {
  return header === undefined ? undefined : findCookie(header, pendingName(baseUrl));
}

const pendingName = (baseUrl: string) => `${cookieName(baseUrl)}-sign-in`;

const isSecure = (baseUrl: string) => baseUrl.startsWith('https:');
const cookieName = (baseUrl: string) => (isSecure(baseUrl) ? SECURE_COOKIE : PLAIN_COOKIE);

function attributes(baseUrl: string): string {
  return `Path=/; HttpOnly; SameSite=Lax${isSecure(baseUrl) ? '; Secure' : ''}`;
}
