import Type from 'typebox';
import { defineOperation, type Operation, type Reply } from '../../../core/http/operation.js';
import { ALGORITHM, TOKEN_MS } from '../../../services/access/identity/signing-keys.js';
import { type OAuthDeps, type TokenRequest, tokenReply } from './token.js';

export type { OAuthDeps } from './token.js';

const OAUTH = { surface: 'site', protocol: 'Site', tag: 'Account', formats: [] } as const;
const PUBLIC = { ...OAUTH, permission: 'public' } as const;

const Field = Type.Optional(Type.String({ maxLength: 2000 }));
const TokenForm = Type.Object({
  grant_type: Field,
  scope: Field,
  client_id: Field,
  client_secret: Field,
});

/** Tokens for programs, and the keys with which others verify them. */
export function oauthOperations(deps: OAuthDeps): Operation[] {
  return [token(deps), keySet(deps), metadata(), rotate(deps)];
}

function token(deps: OAuthDeps): Operation {
  return defineOperation({
    ...PUBLIC,
    method: 'POST',
    audited: true,
    ownCredentials: true,
    id: 'oauth.token',
    path: '/oauth/token',
    summary: 'Get an access token for a client',
    description: 'The grant client_credentials of RFC 6749. Errors have the form of its section 5.2.',
    params: {},
    body: { schema: TokenForm, mediaTypes: ['application/x-www-form-urlencoded'], required: false },
    responses: {
      200: { description: 'The token.', content: { 'application/json': Type.Object({}) } },
      401: { description: 'The client or its secret is wrong.' },
      429: { description: 'Too many wrong secrets came from this address.' },
    },
    run: (x) => tokenReply(x, (x.body ?? {}) as TokenRequest, deps),
  });
}

function keySet({ signing }: OAuthDeps): Operation {
  return defineOperation({
    ...PUBLIC,
    method: 'GET',
    id: 'oauth.keys',
    path: '/.well-known/jwks.json',
    summary: 'Keys that access tokens are signed with',
    params: {},
    responses: { 200: { description: 'A JWK set (RFC 7517).', content: { 'application/json': null } } },
    run: async () => document(await signing.published()),
  });
}

function metadata(): Operation {
  return defineOperation({
    ...PUBLIC,
    method: 'GET',
    id: 'oauth.metadata',
    path: '/.well-known/oauth-authorization-server',
    summary: 'Metadata of the token endpoint',
    params: {},
    responses: { 200: { description: 'Metadata (RFC 8414).', content: { 'application/json': null } } },
    run: ({ baseUrl }) =>
      document({
        issuer: baseUrl,
        token_endpoint: `${baseUrl}/oauth/token`,
        jwks_uri: `${baseUrl}/.well-known/jwks.json`,
        grant_types_supported: ['client_credentials'],
        response_types_supported: [],
        token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
        access_token_signing_alg_values_supported: [ALGORITHM],
      }),
  });
}

function rotate({ signing }: OAuthDeps): Operation {
  return defineOperation({
    ...OAUTH,
    method: 'POST',
    permission: 'admin:oauth:write',
    audited: true,
    id: 'oauth.rotateKeys',
    path: '/api/v1/signing-keys',
    summary: 'Sign access tokens with a new key',
    description: `With withdraw, the server removes the previous keys immediately and rejects all existing tokens. Otherwise the previous keys remain, and existing tokens are valid for at most ${TOKEN_MS / 60_000} minutes.`,
    params: {},
    body: {
      schema: Type.Object({ withdraw: Type.Optional(Type.Boolean()) }),
      mediaTypes: ['application/json'],
      required: false,
    },
    responses: { 204: { description: 'The new key signs.' } },
    async run({ body }) {
      await signing.rotate((body as { withdraw?: boolean } | undefined)?.withdraw ?? false);
      return { status: 204 };
    },
  });
}

/** A key is published before it signs for longer than caches keep this document. */
function document(value: unknown): Reply {
  return {
    status: 200,
    mediaType: 'application/json',
    body: JSON.stringify(value),
    cacheControl: 'public, max-age=300',
  };
}
