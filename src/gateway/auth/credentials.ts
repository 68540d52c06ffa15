import { ApiError } from '../../core/errors/errors.js';

export interface Credentials {
  /** Value of the X-API-Key header. */
  readonly apiKey?: string | undefined;
  /** Value of the Authorization header. */
  readonly authorization?: string | undefined;
  /** Value of the Cookie header. */
  readonly cookie?: string | undefined;
  /** Value of the query parameter embed_key, which images and tiles of pages can carry. */
  readonly embedKey?: string | undefined;
  /** IP address of the client, where a password is sent: wrong ones are counted by it. */
  readonly address?: string | undefined;
}

/** Credential of a caller. */
export type CallerCredential =
  | { readonly kind: 'key'; readonly secret: string }
  | { readonly kind: 'password'; readonly name: string; readonly secret: string }
  | { readonly kind: 'session'; readonly secret: string }
  | { readonly kind: 'token'; readonly secret: string };

/** Maximum length of a secret and of a token. */
const MAX_SECRET = 512;
const MAX_TOKEN = 8192;
/** A JWT in compact form (RFC 7519): its header is a JSON object. Keys have no dots. */
const TOKEN = /^eyJ[\w-]+\.[\w-]*\.[\w-]*$/;

/** Session cookies. Over HTTPS, browsers accept the first only from this host and send it only to this host. */
export const SECURE_COOKIE = '__Host-graticule';
export const PLAIN_COOKIE = 'graticule';

/**
 * Returns the credential of a request: X-API-Key, else `Authorization: Bearer <key or token>`, else Basic, else
 * embed_key, else the session cookie. Undefined without one. Throws `unauthenticated` for other Authorization
 * headers.
 */
export function presented({
  apiKey,
  authorization,
  cookie,
  embedKey,
}: Credentials): CallerCredential | undefined {
  const proof = apiKey
    ? ({ kind: 'key', secret: apiKey } as const)
    : authorization
      ? proofOfHeader(authorization)
      : embedKey
        ? ({ kind: 'key', secret: embedKey } as const)
        : cookie
          ? proofOfCookie(cookie)
          : undefined;
  if (proof && proof.secret.length > (proof.kind === 'token' ? MAX_TOKEN : MAX_SECRET))
    throw invalidCredentials();
  return proof;
}

function proofOfHeader(header: string): CallerCredential {
  const cut = header.indexOf(' ');
  const scheme = header.slice(0, Math.max(cut, 0)).toLowerCase();
  const value = header.slice(cut + 1).trim();
  if (scheme === 'bearer' && value) return { kind: TOKEN.test(value) ? 'token' : 'key', secret: value };
  if (scheme === 'basic' && value) return buildPassword(value);
  throw invalidCredentials();
}

function buildPassword(value: string): CallerCredential {
  const pair = Buffer.from(value, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  const secret = colon < 0 ? '' : pair.slice(colon + 1);
  if (secret === '') throw invalidCredentials();
  return { kind: 'password', name: pair.slice(0, colon), secret };
}

function proofOfCookie(header: string): CallerCredential | undefined {
  const secret = findCookie(header, SECURE_COOKIE) ?? findCookie(header, PLAIN_COOKIE);
  return secret === undefined ? undefined : { kind: 'session', secret };
}

/** Returns the value of a cookie (RFC 6265, 4.2); undefined without a cookie of that name. */
export function findCookie(header: string, name: string): string | undefined {
  for (const pair of header.split(';')) {
    const cut = pair.indexOf('=');
    if (cut > 0 && pair.slice(0, cut).trim() === name) return pair.slice(cut + 1).trim() || undefined;
  }
  return undefined;
}

/** Common error for unknown, revoked and expired secrets, so that the response does not reveal which it was. */
export class InvalidCredentials extends ApiError {
  constructor() {
    super('unauthenticated', 'The credentials are not valid.');
  }
}

export const invalidCredentials = (): ApiError => new InvalidCredentials();

/** Returns a key or token as GeoServices clients send it: in their header or as parameter `token`. */
export function findToken(header: string | undefined, query: string): string | undefined {
  const [, ofHeader] = /^bearer +(\S+)$/i.exec(header ?? '') ?? [];
  if (ofHeader !== undefined) return ofHeader;
  return query.includes('token=') ? new URLSearchParams(query).get('token') || undefined : undefined;
}

/** Whether credentials are Basic. A browser sends them automatically once it has them. */
export const isBasic = (header: string | undefined) => header !== undefined && /^basic /i.test(header);

/** The value of embed_key in a query. */
export function findEmbedKey(query: string): string | undefined {
  return query.includes('embed_key=') ? /(?:^|&)embed_key=([\w-]{1,200})(?:&|$)/.exec(query)?.[1] : undefined;
}
