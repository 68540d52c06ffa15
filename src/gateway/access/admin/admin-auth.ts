import Type from 'typebox';
import { CERTIFICATE_MODES } from '../../../core/access/client-certificates.js';
import { ACCESS_LIMITS } from '../../../core/access/limits.js';
import { ApiError } from '../../../core/errors/errors.js';
import type { Exchange } from '../../../core/http/operation.js';
import { defineTextParam, pathString } from '../../../core/http/params.js';
import type { CertificateTrust } from '../../../services/access/certificates/trust.js';
import { signSessionToken } from '../../../services/access/identity/session-tokens.js';
import type { ServicesOf } from '../../admin/deps.js';
import {
  OptionalStringSchema,
  OptionalTimestampSchema,
  TimestampSchema,
  timestamp,
} from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody } from '../../admin/kit.js';
import { endSessions, signOut } from '../../auth/sign-out.js';
import {
  endedPending,
  endedSession,
  pendingCookie,
  readPendingSignIn,
  sessionCookie,
} from '../account/cookies.js';

const SERVICES = ['certificates', 'identity'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action, report } = createRowBuilders(SERVICES);

const AccessToken = Type.Object({
  accessToken: Type.String(),
  tokenType: Type.Enum(['Bearer']),
  expiresIn: Type.Integer(),
  expiresAt: TimestampSchema,
});

const Names = Type.Array(Type.String());
const AuthConfig = Type.Object({
  oidcEnabled: Type.Boolean(),
  providers: Type.Array(Type.Object({ key: Type.String(), displayName: Type.String() })),
  clientCertificates: Type.Object({
    mode: Type.Enum([...CERTIFICATE_MODES]),
    environmentId: Type.String(),
    requiredForAdmin: Type.Boolean(),
    requiredForNative: Type.Boolean(),
    forwardedCertificateEnabled: Type.Boolean(),
    supportedTransports: Names,
    acceptedIssuerSubjects: Names,
    acceptedIssuerThumbprints: Names,
    expirationWarningThresholdDays: Type.Union([Type.Integer(), Type.Null()]),
  }),
});

const Session = Type.Object({
  isAuthenticated: Type.Boolean(),
  providerKey: OptionalStringSchema,
  expiresAt: OptionalTimestampSchema,
  claims: Type.Array(Type.Object({ type: Type.String(), value: Type.String() })),
});

const LogoutUrl = Type.Object({ logoutUrl: OptionalStringSchema });
const byKey = { providerKey: pathString('providerKey', 'Key of the provider, as auth/config lists it.') };

const Code = Type.Object({
  grantType: Type.Enum(['authorization_code']),
  code: Type.String({ minLength: 1, maxLength: 4096 }),
  state: Type.String({ minLength: 1, maxLength: 1000 }),
  iss: Type.Optional(Type.String({ maxLength: 2000 })),
});

/** Sign-in of operators at a provider, and tokens for signed-in users. */
export const adminAuth = group(
  { tag: 'Security and admin auth', scope: 'admin-auth', envelope: 'raw', isForTenants: true },
  [
    report('GET /auth/config', 'Get Admin Auth Configuration', {
      open: true,
      data: AuthConfig,
      async answer(_x, { identity, certificates }) {
        const enabled = (await identity.providers.list()).filter(({ body }) => body.enabled);
        return {
          oidcEnabled: enabled.length > 0,
          providers: enabled.map(({ id, body }) => ({ key: id, displayName: body.name })),
          clientCertificates: certificatesView(certificates),
        };
      },
    }),
    report('GET /auth/session', 'Get Admin Auth Session', {
      open: true,
      data: Session,
      answer: loadSession,
    }),
    action('POST /auth/bearer', 'Issue Console Operator Bearer', {
      description: 'A token for the user of the session that the cookie names. It ends with the session.',
      open: true,
      takesSessionOfPrograms: true,
      data: AccessToken,
      errors: [401, 503],
      async answer({ principal, baseUrl }, { identity: { sessions, signing } }) {
        const { sessionHash } = principal;
        const session = sessionHash === undefined ? undefined : await sessions.find(sessionHash);
        if (!session) throw new ApiError('unauthenticated', 'There is no session. Sign in first.');
        const term = { issuer: baseUrl, seconds: ACCESS_LIMITS.sessionTokenSeconds };
        const { token: accessToken, iat, exp } = await signSessionToken(signing, session, term);
        return { accessToken, tokenType: 'Bearer', expiresIn: exp - iat, expiresAt: timestamp(exp * 1000) };
      },
    }),
    action('POST /auth/logout', 'Logout Admin Auth Session', {
      description:
        'Ends the session or revokes the bearer token of the request. If the response contains a URL, opening it also signs out at the provider.',
      open: true,
      takesSessionOfPrograms: true,
      responses: { 200: { description: 'Signed out.', content: { 'application/json': LogoutUrl } } },
      errors: [503],
      async reply(x, { identity }) {
        const { baseUrl } = x;
        const { signIns } = identity;
        const session = await signOut(x, identity);
        const key = session?.providerKey ?? undefined;
        // The local session ends even if the provider does not respond.
        const logoutUrl = key === undefined ? undefined : await signIns.logoutUrl(key, baseUrl).catch(noUrl);
        return {
          status: 200,
          mediaType: 'application/json',
          cacheControl: 'no-store',
          body: JSON.stringify({ logoutUrl: logoutUrl ?? null }),
          headers: { 'set-cookie': endedSession(baseUrl) },
        };
      },
    }),
    action('POST /auth/providers/{providerKey}/authorize-url', 'Create Admin Auth Authorize Url', {
      description: 'The response sets a cookie that belongs to the URL and is valid for ten minutes.',
      open: true,
      params: byKey,
      body: jsonBody(Type.Object({}), false),
      responses: {
        200: {
          description: 'URL of the provider for the browser.',
          content: { 'application/json': Type.Object({ authorizeUrl: Type.String() }) },
        },
      },
      errors: [404, 503],
      async reply({ params, baseUrl }, { identity: { signIns } }) {
        const { authorizeUrl, pending } = await signIns.begin(params.providerKey, baseUrl);
        return {
          status: 200,
          mediaType: 'application/json',
          cacheControl: 'no-store',
          body: JSON.stringify({ authorizeUrl }),
          headers: { 'set-cookie': pendingCookie(baseUrl, pending) },
        };
      },
    }),
    action('POST /auth/providers/{providerKey}/token', 'Request Admin Auth Token', {
      description: 'Starts a session for a user whom the provider sent back. iss is the issuer (RFC 9207).',
      open: true,
      params: byKey,
      body: jsonBody(Code),
      responses: { 204: { description: 'The session started; the response sets its cookie.' } },
      errors: [400, 404, 503],
      async reply(x, { identity: { signIns, sessions } }) {
        const { params, body, baseUrl } = x;
        const { secret, session } = await signIns.finish(params.providerKey, body, {
          baseUrl,
          cookie: readPendingSignIn(baseUrl, x.header('cookie')),
          userAgent: x.header('user-agent'),
        });
        await endSessions(x, sessions);
        const cookies = [sessionCookie(baseUrl, secret, session.expiresAt), endedPending(baseUrl)];
        return { status: 204, headers: { 'set-cookie': cookies } };
      },
    }),
    report('GET /auth/providers/{providerKey}/logout-url', 'Get Admin Auth Logout Url', {
      open: true,
      params: {
        ...byKey,
        idTokenHint: defineTextParam(
          'idTokenHint',
          { description: 'The ID token of the session.' },
          { maxLength: 8192 },
        ),
      },
      data: LogoutUrl,
      errors: [404, 503],
      async answer({ params: { providerKey, idTokenHint }, baseUrl }, { identity: { signIns } }) {
        return { logoutUrl: (await signIns.logoutUrl(providerKey, baseUrl, idTokenHint)) ?? null };
      },
    }),
  ],
);

const noUrl = () => undefined;

async function loadSession({ principal }: Pick<Exchange, 'principal'>, { identity }: Deps) {
  const { sessionHash, claims = {} } = principal;
  const session = sessionHash === undefined ? undefined : await identity.sessions.find(sessionHash);
  return {
    isAuthenticated: principal.kind !== 'anonymous',
    providerKey: session?.providerKey ?? null,
    expiresAt: session ? timestamp(session.expiresAt) : null,
    claims: Object.entries(claims).flatMap(([type, values]) => values.map((value) => ({ type, value }))),
  };
}

/** Data that clients with certificates need before they connect. */
function certificatesView({ settings, current }: CertificateTrust) {
  const { mode, environmentId, header } = settings;
  const bodies = current.map(({ body }) => body);
  const isRequired = mode === 'RequiredForEnvironment';
  const days = bodies.map(({ expirationWarningThresholdDays }) => expirationWarningThresholdDays);
  return {
    mode,
    environmentId,
    requiredForAdmin: isRequired || mode === 'RequiredForAdmin',
    requiredForNative: isRequired || mode === 'RequiredForNative',
    forwardedCertificateEnabled: mode !== 'Disabled' && header !== '',
    supportedTransports: ['https'],
    acceptedIssuerSubjects: [...new Set(bodies.flatMap((one) => one.acceptedIssuerSubjects))],
    acceptedIssuerThumbprints: [...new Set(bodies.flatMap((one) => one.acceptedIssuerThumbprints))],
    expirationWarningThresholdDays: days.length === 0 ? null : Math.max(...days),
  };
}
