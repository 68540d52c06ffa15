import type { Exchange } from '../../core/http/operation.js';
import type { Bearers } from '../../services/access/identity/bearers.js';
import { type Sessions, sessionHash } from '../../services/access/identity/sessions.js';
import type { StoredSession } from '../../stores/access/sessions.js';
import { findCookie, findToken, PLAIN_COOKIE, SECURE_COOKIE } from './credentials.js';

export interface SignOutDeps {
  readonly sessions: Pick<Sessions, 'find' | 'end'>;
  readonly tokens: Pick<Bearers, 'end'>;
}

type Request = Pick<Exchange, 'header' | 'principal' | 'query'>;

/** Ends what a request was made with: its session, and its bearer token in any of the ways to send it. */
export async function signOut(x: Request, deps: SignOutDeps): Promise<StoredSession | undefined> {
  const authorization = x.header('authorization');
  const token = findToken(authorization, '') ?? findToken(x.header('x-esri-authorization'), x.query);
  const { sessionHash: own } = x.principal;
  const session = own === undefined ? undefined : await deps.sessions.find(own);
  if (own !== undefined) await deps.sessions.end(own);
  // A page of another site can have a browser send the cookie, but no header.
  if (authorization !== undefined) await endSessions(x, deps.sessions);
  if (token !== undefined) await deps.tokens.end(token);
  return session;
}

/**
 * Ends the sessions whose cookies a sign-in request contains, so that an earlier or planted cookie is no longer
 * valid.
 */
export async function endSessions(
  x: Pick<Exchange, 'header'>,
  sessions: Pick<Sessions, 'end'>,
): Promise<void> {
  const cookies = x.header('cookie') ?? '';
  for (const name of [SECURE_COOKIE, PLAIN_COOKIE]) {
    const secret = findCookie(cookies, name);
    if (secret !== undefined) await sessions.end(sessionHash(secret));
  }
}
