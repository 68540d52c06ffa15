import type { Exchange, Reply } from '../../../core/http/operation.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { OAuthClients, StoredClient } from '../../../services/access/identity/oauth-clients.js';
import type { SigningKeys } from '../../../services/access/identity/signing-keys.js';

export interface OAuthDeps {
  readonly clients: OAuthClients;
  readonly signing: SigningKeys;
}

/** Fields of a token request (RFC 6749, 4.4.2 and 2.3.1). */
export interface TokenRequest {
  readonly grant_type?: string;
  readonly scope?: string;
  readonly client_id?: string;
  readonly client_secret?: string;
}

type TokenError =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_scope'
  | 'unauthorized_client'
  | 'unsupported_grant_type';

const GRANT = 'client_credentials';

/** Replies to a token request. */
export async function tokenReply(
  x: Pick<Exchange, 'header' | 'baseUrl' | 'clientAddress'>,
  request: TokenRequest,
  deps: OAuthDeps,
): Promise<Reply> {
  const credentials = readCredentials(x.header('authorization'), request);
  if (credentials === 'both')
    return refusal(
      'invalid_request',
      'client_secret: is in the Authorization header and in the body. Send it once.',
    );
  const { clients } = deps;
  const client =
    credentials && (await clients.withSecret(credentials.id, credentials.secret, x.clientAddress));
  if (!client) return refusal('invalid_client', 'The client or its secret is wrong.');
  const { grant_type: grant } = request;
  if (grant === undefined) return refusal('invalid_request', `grant_type: is required. Use ${GRANT}.`);
  if (grant !== GRANT) return refusal('unsupported_grant_type', `grant_type: must be ${GRANT}.`);
  if (!client.body.allowedGrantTypes.includes(GRANT))
    return refusal('unauthorized_client', `The client may not use ${GRANT}.`);
  const scopes = listScopes(client, request.scope);
  if (!scopes) return refusal('invalid_scope', 'The client may not have one of the scopes.');
  return grantReply(x.baseUrl, client, scopes, deps);
}

async function grantReply(
  issuer: string,
  client: StoredClient,
  scopes: readonly string[],
  { clients, signing }: OAuthDeps,
): Promise<Reply> {
  const now = Math.floor(Date.now() / 1000);
  const scope = scopes.join(' ');
  const token = await signing.sign({
    iss: issuer,
    sub: client.id,
    client_id: client.id,
    scope,
    jti: crypto.randomUUID(),
    iat: now,
    exp: now + LIMITS.clientTokenSeconds,
  });
  await clients.used(client.id);
  return reply(200, {
    access_token: token,
    token_type: 'Bearer',
    expires_in: LIMITS.clientTokenSeconds,
    scope,
  });
}

/** Scopes of the request, or all that the client may have; undefined when it may not have one of them. */
function listScopes({ body }: StoredClient, scope: string | undefined): readonly string[] | undefined {
  const scopes = [...new Set((scope ?? '').split(' ').filter(Boolean))];
  if (scopes.length === 0) return body.allowedScopes;
  return scopes.every((one) => body.allowedScopes.includes(one)) ? scopes : undefined;
}

/** By `client_secret_basic` or `client_secret_post`; a client that uses both is refused. */
function readCredentials(
  authorization: string | undefined,
  { client_id: id, client_secret: secret }: TokenRequest,
): { id: string; secret: string } | 'both' | undefined {
  if (authorization === undefined)
    return id !== undefined && secret !== undefined ? { id, secret } : undefined;
  if (secret !== undefined) return 'both';
  return parseBasic(authorization);
}

/** Name and secret are form-encoded within Basic (RFC 6749, 2.3.1). */
function parseBasic(authorization: string): { id: string; secret: string } | undefined {
  const [, value] = /^basic +(\S+)$/i.exec(authorization) ?? [];
  const pair = Buffer.from(value ?? '', 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  if (colon < 0) return undefined;
  return { id: formDecoded(pair.slice(0, colon)), secret: formDecoded(pair.slice(colon + 1)) };
}

function formDecoded(text: string): string {
  return new URLSearchParams(`v=${text.replaceAll('&', '%26')}`).get('v') ?? '';
}

function refusal(error: TokenError, description: string): Reply {
  const isUnknown = error === 'invalid_client';
  const answer = reply(isUnknown ? 401 : 400, { error, error_description: description });
  return isUnknown
    ? { ...answer, headers: { ...answer.headers, 'www-authenticate': 'Basic realm="graticule"' } }
    : answer;
}

function reply(status: number, document: unknown): Reply {
  return {
    status,
    mediaType: 'application/json',
    body: JSON.stringify(document),
    cacheControl: 'no-store',
    headers: { pragma: 'no-cache' },
  };
}
