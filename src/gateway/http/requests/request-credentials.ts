import { ApiError } from '../../../core/errors/errors.js';
import { findToken, isBasic } from '../../auth/credentials.js';
import { AUTHORIZATION, type HttpExchange, X_API_KEY, X_ESRI_AUTHORIZATION } from '../exchange.js';

/** Credentials of a request, and whether another site made a browser send it. */

/** Form of the credentials. */
export type CredentialScheme = 'api-key' | 'bearer' | 'basic' | 'certificate';

/** Authorization header or its equivalent. */
export function readAuthorization(x: HttpExchange): string | undefined {
  const header = x.headerOf(AUTHORIZATION);
  return header === undefined || (isBasic(header) && isScript(x)) ? readBearer(x) : header;
}

/** Credentials in API-specific form, as an Authorization header. */
function readBearer(x: HttpExchange): string | undefined {
  if (!x.operation.takesToken) return undefined;
  const token = findToken(x.headerOf(X_ESRI_AUTHORIZATION), x.query);
  return token === undefined ? undefined : `Bearer ${token}`;
}

/**
 * Whether the response can be loaded as a script by any page. It must not contain data that requires cookies,
 * certificates or Basic credentials of the visitor.
 */
export function isScript({ operation, query }: HttpExchange): boolean {
  return operation.present !== undefined && query.includes('callback=');
}

export function findScheme(x: HttpExchange): CredentialScheme {
  if (x.headerOf(X_API_KEY)) return 'api-key';
  return isBasic(x.headerOf(AUTHORIZATION)) ? 'basic' : 'bearer';
}

/**
 * Throws `forbidden` if a page of another site can have caused the request. Browsers send cookies, Basic credentials
 * and certificates automatically, so such requests must not change data or open connections.
 */
export function requireSameOrigin(x: HttpExchange): void {
  const mayBeProgram = x.principal.kind === 'certificate' || isByBasic(x) || isByProgram(x);
  if (x.principal.sessionHash === undefined && !mayBeProgram) return;
  if (!x.hasBody && !x.upgradable) return;
  const site = x.header('sec-fetch-site');
  const origin = x.header('origin');
  // Programs with a certificate or a password send no page headers.
  if (mayBeProgram && site === undefined && origin === undefined) return;
  const isOwn =
    site === undefined ? origin === new URL(x.baseUrl).origin : site === 'same-origin' || site === 'none';
  if (!isOwn || (origin !== undefined && origin !== new URL(x.baseUrl).origin))
    throw new ApiError(
      'forbidden',
      'Origin: changes with cookies are only allowed from pages of this site. Send a token instead.',
    );
}

/** Whether a session can be of a program: a browser sends the cookie only to its site, and names the page. */
const isByProgram = (x: HttpExchange) =>
  x.operation.takesSessionOfPrograms === true && x.header('referer') === undefined;

/** Whether the caller is identified by a password in the header. */
const isByBasic = (x: HttpExchange) =>
  x.principal.kind !== 'anonymous' && !x.headerOf(X_API_KEY) && isBasic(x.headerOf(AUTHORIZATION));
