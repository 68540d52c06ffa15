import { ApiError } from '../../../core/errors/errors.js';
import { findToken, isBasic } from '../../auth/credentials.js';
import { AUTHORIZATION, type HttpExchange, X_API_KEY, X_ESRI_AUTHORIZATION } from '../exchange.js';

/** What a request shows of who sends it, and whether another site made a browser send it. */

/** How credentials were presented. */
export type CredentialScheme = 'api-key' | 'bearer' | 'basic' | 'certificate';

/** The Authorization header, or what stands for it. */
export function readAuthorization(x: HttpExchange): string | undefined {
  const header = x.headerOf(AUTHORIZATION);
  return header === undefined || (isBasic(header) && isScript(x)) ? readBearer(x) : header;
}

/** Credentials that clients of some surfaces send in ways of their own, as an Authorization header. */
export function readBearer(x: HttpExchange): string | undefined {
  if (!x.operation.takesToken) return undefined;
  const token = findToken(x.headerOf(X_ESRI_AUTHORIZATION), x.query);
  return token === undefined ? undefined : `Bearer ${token}`;
}

/** Any page can load an answer as a script: it must hold nothing that the visitor's own cookies, certificates and Basic credentials open. */
export function isScript({ operation, query }: HttpExchange): boolean {
  return operation.present !== undefined && query.includes('callback=');
}

export function findScheme(x: HttpExchange): CredentialScheme {
  if (x.headerOf(X_API_KEY)) return 'api-key';
  return isBasic(x.headerOf(AUTHORIZATION)) ? 'basic' : 'bearer';
}

/**
 * Browsers send cookies and Basic credentials and show certificates with whatever any page asks for: with those nothing is
 * changed, and no connection is opened, at the behest of another site's page. Throws `forbidden`.
 */
export function requireSameOrigin(x: HttpExchange): void {
  const mayBeProgram = x.principal.kind === 'certificate' || isByBasic(x) || isByProgram(x);
  if (x.principal.sessionHash === undefined && !mayBeProgram) return;
  if (!x.hasBody && !x.upgradable) return;
  const site = x.header('sec-fetch-site');
  const origin = x.header('origin');
  // Programs with a certificate or a password say nothing of pages.
  if (mayBeProgram && site === undefined && origin === undefined) return;
  const isOwn =
    site === undefined ? origin === new URL(x.baseUrl).origin : site === 'same-origin' || site === 'none';
  if (!isOwn || (origin !== undefined && origin !== new URL(x.baseUrl).origin))
    throw new ApiError(
      'forbidden',
      'Origin: changes with cookies are only allowed from pages of this site. Send a token instead.',
    );
}

/** Whether a session may be that of a program: a browser sends the cookie for its own site alone, and names the page. */
const isByProgram = (x: HttpExchange) =>
  x.operation.takesSessionOfPrograms === true && x.header('referer') === undefined;

/** Whether a password in the header says who asks. */
const isByBasic = (x: HttpExchange) =>
  x.principal.kind !== 'anonymous' && !x.headerOf(X_API_KEY) && isBasic(x.headerOf(AUTHORIZATION));
