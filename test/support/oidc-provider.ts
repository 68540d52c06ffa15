import { createServer, type Server } from 'node:http';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
// The package has no types.
// @ts-expect-error
import Provider from 'oidc-provider';

/** An OpenID provider of its own, with a page to sign in on. */
export interface TestProvider {
  readonly issuer: string;
  /** Signs a token as the provider would. */
  token(claims: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
  /** Goes on with another key; tokens of the old one are not signed any more. */
  rotate(): Promise<void>;
  stop(): Promise<void>;
  start(): Promise<void>;
}

export interface ProviderSetup {
  readonly port: number;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: string;
  /** What it says of its user of a name. */
  claims(name: string): Record<string, unknown>;
}

async function newKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: crypto.randomUUID() };
}

export async function startProvider(setup: ProviderSetup): Promise<TestProvider> {
  const issuer = `http://127.0.0.1:${setup.port}`;
  let key = await newKey();
  let server: Server | undefined;
  const start = async () => {
    const provider = new Provider(issuer, {
      jwks: { keys: [key] },
      clients: [
        {
          client_id: setup.clientId,
          client_secret: setup.clientSecret,
          token_endpoint_auth_method: 'client_secret_post',
          redirect_uris: [setup.redirectUri],
          post_logout_redirect_uris: [`${new URL(setup.redirectUri).origin}/`],
        },
      ],
      claims: { openid: ['sub'], profile: ['name', 'preferred_username', 'roles'], email: ['email'] },
      conformIdTokenClaims: false,
      pkce: { required: () => true },
      features: { devInteractions: { enabled: true }, rpInitiatedLogout: { enabled: true } },
      cookies: { keys: ['secret of the test'] },
      findAccount: (_context: unknown, id: string) => ({
        accountId: id,
        claims: () => ({ sub: id, ...setup.claims(id) }),
      }),
    });
    server = createServer(provider.callback());
    await new Promise<void>((resolve) => server!.listen(setup.port, '127.0.0.1', resolve));
  };
  const stop = async () => {
    server?.closeAllConnections();
    await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)));
    server = undefined;
  };
  await start();
  return {
    issuer,
    start,
    stop,
    async token(claims, header = {}) {
      const { importJWK } = await import('jose');
      const now = Math.floor(Date.now() / 1000);
      return new SignJWT({ iss: issuer, aud: setup.clientId, iat: now, exp: now + 300, ...claims })
        .setProtectedHeader({ alg: 'RS256', kid: key.kid!, ...header } as never)
        .sign((await importJWK(key, 'RS256')) as never);
    },
    async rotate() {
      key = await newKey();
      await stop();
      await start();
    },
  };
}
