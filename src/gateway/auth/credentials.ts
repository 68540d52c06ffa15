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

/** What a caller shows of itself. */
export type CallerCredential =
  | { readonly kind: 'key'; readonly secret: string }
  | { readonly kind: 'password'; readonly name: string; readonly secret: string }
  | { readonly kind: 'session'; readonly secret: string }
  | { readonly kind: 'token'; readonly secret: string };

/** Longest secret, and longest token, that is looked at. */
const MAX_SECRET = 512;
const MAX_TOKEN = 8192;
/** A JWT in compact form (RFC 7519): its header is a JSON object. Keys have no dots. */
const TOKEN = /^eyJ[\w-]+\.[\w-]*\.[\w-]*$/;

/** Cookies of sessions: over HTTPS browsers take the first from this very host alone, and send it nowhere else. */
export const SECURE_COOKIE = '__Host-graticule';
export const PLAIN_COOKIE = 'graticule';

/**
 * What a request carries: X-API-Key, else `Authorization: Bearer <key or token>`, else Basic, else embed_key, else the cookie
 * of a session.
 * Undefined when it carries none. Throws `unauthenticated` for an Authorization header that is none of these.
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

/** The value of a cookie (RFC 6265, 4.2); undefined when the header has none of that name. */
export function findCookie(header: string, name: string): string | undefined {
  for (const pair of header.split(';')) {
    const cut = pair.indexOf('=');
    if (cut > 0 && pair.slice(0, cut).trim() === name) return pair.slice(cut + 1).trim() || undefined;
  }
  return undefined;
}

/** One answer for unknown, revoked and expired secrets: which it was is nobody's business. */
export class InvalidCredentials extends ApiError {
  constructor() {
    super('unauthenticated', 'The credentials are not valid.');
  }
}

export const invalidCredentials = (): ApiError => new InvalidCredentials();

/** A key or a token as clients of GeoServices send it: in a header of their own, or as the parameter `token`. */
export function findToken(header: string | undefined, query: string): string | undefined {
  const [, ofHeader] = /^bearer +(\S+)$/i.exec(header ?? '') ?? [];
  if (ofHeader !== undefined) return ofHeader;
  return query.includes('token=') ? new URLSearchParams(query).get('token') || undefined : undefined;
}

/** A browser sends Basic credentials along by itself, once it has them. */
export const isBasic = (header: string | undefined) => header !== undefined && /^basic /i.test(header);

/** The value of embed_key in a query. */
export function findEmbedKey(query: string): string | undefined {
  return query.includes('embed_key=') ? /(?:^|&)embed_key=([\w-]{1,200})(?:&|$)/.exec(query)?.[1] : undefined;
}
