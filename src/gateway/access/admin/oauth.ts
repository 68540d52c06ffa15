import Type, { type Static } from 'typebox';
import { problem, requireSound } from '../../../core/http/body-problems.js';
import { formatActor, type Principal } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import type { OAuthClients } from '../../../services/access/identity/oauth-clients.js';
import {
  GRANT_TYPES,
  type StoredClient,
  type StoredScope,
} from '../../../services/access/identity/oauth-clients.js';
import { keyStatus } from '../../../services/access/keys/api-keys.js';
import { requireHeld } from '../../../services/access/permissions.js';
import {
  buildHolder,
  isTenantHolder,
  requireBound,
  requireTenantHolder,
} from '../../../services/access/rules/restrictions.js';
import type { RuleSet } from '../../../services/access/rules/rules.js';
import type { ServicesOf } from '../../admin/deps.js';
import { listViews } from '../../admin/documents.js';
import { tagged } from '../../admin/entity-tags.js';
import {
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
  TimestampSchema,
  timestamp,
} from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody, resource, setting } from '../../admin/kit.js';
import { ExpiresAt, KeyStatus } from './key-schemas.js';

const SERVICES = ['identity', 'rules'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action, implement } = createRowBuilders(SERVICES);

const SCOPE_NAME = '^[\\x21\\x23-\\x5B\\x5D-\\x7E]{1,100}$';
const Names = Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: 200 });

const Client = Type.Object({
  id: Type.String({ format: 'uuid' }),
  clientId: Type.String(),
  name: Type.String(),
  clientType: Type.Enum(['confidential', 'public']),
  allowedGrantTypes: Names,
  allowedScopes: Names,
  redirectUris: Names,
  secretPrefix: OptionalStringSchema,
  status: KeyStatus,
  createdAt: TimestampSchema,
  createdBy: OptionalStringSchema,
  updatedAt: TimestampSchema,
  expiresAt: OptionalTimestampSchema,
  lastUsedAt: OptionalTimestampSchema,
});

const NewClient = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 200 }),
  clientType: Type.Optional(Type.Enum(['confidential', 'public'])),
  allowedGrantTypes: Type.Optional(Type.Union([Names, Type.Null()])),
  allowedScopes: Type.Optional(Type.Union([Names, Type.Null()])),
  redirectUris: Type.Optional(Type.Union([Names, Type.Null()])),
  expiresAt: ExpiresAt,
});

const IssuedClient = Type.Object({
  client: Client,
  clientSecret: Type.Union([Type.String(), Type.Null()], { description: 'It is shown this once.' }),
});

const Scope = Type.Object({
  scope: Type.String(),
  description: Type.String(),
  permissions: Names,
});

const ScopeDefinition = Type.Object({
  scope: Type.String({ pattern: SCOPE_NAME }),
  description: Type.Optional(Type.String({ maxLength: 1000 })),
  permissions: Names,
});

const byId = { id: pathString('id', 'Id of the client.') };

/** Clients registered to get tokens, and what their scopes allow. */
export const oauth = group(
  { tag: 'OAuth clients and scopes', scope: 'oauth', envelope: 'wrapped', isForTenants: true },
  [
    ...resource(
      '/oauth-clients/{id}',
      {
        list: 'List OAuth Clients',
        create: 'Register OAuth Client',
        get: 'Get OAuth Client',
        remove: 'Delete OAuth Client',
      },
      {
        list: implement({
          data: Type.Array(Client),
          async answer({ principal }, { identity: { clients } }) {
            const tenants = await loadTenants(clients);
            const own = clients
              .list()
              .then((all) => all.filter((one) => isTenantHolder(principal, tenants(one))));
            return listViews(own, clients.uses(), clientView);
          },
        }),
        create: implement({
          description: 'The grant type is client_credentials, of confidential clients.',
          body: jsonBody(NewClient),
          data: IssuedClient,
          status: 201,
          errors: [400],
          location: ({ client }: Static<typeof IssuedClient>) => `/oauth-clients/${client.id}`,
          async answer({ body, principal }, deps) {
            const { clients } = deps.identity;
            const about = await loadClient(body, deps);
            const labels = await clients.labelsOf(about.allowedScopes);
            requireHeld(principal, labels);
            requireBound(principal, buildHolder(labels), deps.rules.current);
            const { client, secret } = await clients.create(about, formatActor(principal));
            return tagged({ client: clientView(client), clientSecret: secret }, client.etag);
          },
        }),
        get: implement({
          params: byId,
          data: Client,
          errors: [404],
          async answer({ params: { id }, principal }, { identity: { clients } }) {
            return clientView(await clientFor(id, principal, clients), (await clients.uses()).get(id));
          },
        }),
        remove: implement({
          description:
            'The list still contains the client, as revoked. After the response, the server rejects its tokens.',
          params: byId,
          data: Client,
          errors: [404],
          async answer({ params: { id }, principal }, { identity: { clients } }) {
            const { body } = await clientFor(id, principal, clients);
            requireHeld(principal, await clients.labelsOf(body.allowedScopes));
            return clientView(
              await clients.revoke(id, formatActor(principal)),
              (await clients.uses()).get(id),
            );
          },
        }),
      },
    ),
    ...setting(
      '/oauth-scopes',
      { get: 'List OAuth Scopes', set: 'Define OAuth Scope' },
      {
        get: implement({
          data: Type.Array(Scope),
          answer: async ({ principal }, { identity }) =>
            (await identity.clients.scopes())
              .filter(({ body }) => isTenantHolder(principal, buildHolder(body.permissions)))
              .map(scopeView),
        }),
        set: implement({
          description:
            'Creates or replaces the scope. Existing tokens with the scope get its new permissions.',
          body: jsonBody(ScopeDefinition),
          data: Scope,
          errors: [400],
          async answer({ body, principal }, { identity, rules }) {
            const { scope, description = '', permissions: labels } = body;
            requireHeld(principal, labels);
            requireBound(principal, buildHolder(labels), rules.current);
            await requireClientsBound({ scope, labels }, principal, identity.clients, rules.current);
            const definition = { description, permissions: [...new Set(labels)] };
            return scopeView(await identity.clients.defineScope(scope, definition, formatActor(principal)));
          },
        }),
      },
    ),
    action('DELETE /oauth-scopes/{scope}', 'Delete OAuth Scope', {
      params: { scope: pathString('scope', 'Name of the scope.') },
      shownBy: '/oauth-scopes',
      data: Scope,
      errors: [404],
      async answer({ params: { scope }, principal }, { identity: { clients }, rules }) {
        const holder = buildHolder(await clients.labelsOf([scope]));
        requireTenantHolder(principal, holder, 'OAuth scope', scope);
        requireBound(principal, holder, rules.current);
        await requireClientsBound({ scope, labels: [] }, principal, clients, rules.current);
        return scopeView(await clients.removeScope(scope));
      },
    }),
  ],
);

/** Returns the owner of a client's permissions. The scopes of the client determine its tenant. */
async function loadTenants(clients: OAuthClients) {
  const labels = new Map((await clients.scopes()).map(({ id, body }) => [id, body.permissions]));
  return ({ body }: StoredClient) =>
    buildHolder(body.allowedScopes.flatMap((scope) => labels.get(scope) ?? []));
}

/** Throws `not-found`, also for a client of another tenant. */
async function clientFor(id: string, principal: Principal, clients: OAuthClients): Promise<StoredClient> {
  const client = await clients.get(id);
  requireTenantHolder(principal, (await loadTenants(clients))(client), 'OAuth client', id);
  return client;
}

async function loadClient(body: Static<typeof NewClient>, { identity }: Deps) {
  const { name, clientType = 'confidential', expiresAt } = body;
  const allowedScopes = [...new Set(body.allowedScopes ?? [])];
  const redirectUris = [...new Set(body.redirectUris ?? [])];
  const allowedGrantTypes = [
    ...new Set(body.allowedGrantTypes ?? (clientType === 'public' ? [] : GRANT_TYPES)),
  ];
  const scopes = new Set((await identity.clients.scopes()).map(({ id }) => id));
  const ends = expiresAt ? Date.parse(expiresAt) : null;
  requireSound([
    ...allowedScopes.map((one, n) =>
      scopes.has(one) ? undefined : problem(`allowedScopes/${n}`, 'must be a scope of this server'),
    ),
    ...allowedGrantTypes.map((one, n) => grantTypeProblem(one, n, clientType)),
    ...redirectUris.map((one, n) =>
      isRedirect(one)
        ? undefined
        : problem(
            `redirectUris/${n}`,
            'must be an https URL without a fragment, or an http URL of localhost',
          ),
    ),
    ends !== null && ends <= Date.now() ? problem('expiresAt', 'must be a time in the future') : undefined,
  ]);
  return { name, clientType, allowedGrantTypes, allowedScopes, redirectUris, expiresAt: ends };
}

function grantTypeProblem(type: string, n: number, clientType: string) {
  if (!(GRANT_TYPES as readonly string[]).includes(type))
    return problem(`allowedGrantTypes/${n}`, `must be ${GRANT_TYPES.join(' or ')}`);
  return clientType === 'public'
    ? problem(`allowedGrantTypes/${n}`, 'is only for confidential clients, which have a secret')
    : undefined;
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

function isRedirect(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, hash } = new URL(text);
  return hash === '' && (protocol === 'https:' || (protocol === 'http:' && LOOPBACK.has(hostname)));
}

function clientView(client: StoredClient, usedAt: number | null = null): Static<typeof Client> {
  const { id, etag, body, createdAt, createdBy, updatedAt } = client;
  const view = {
    id,
    clientId: id,
    name: body.name,
    clientType: body.clientType,
    allowedGrantTypes: [...body.allowedGrantTypes],
    allowedScopes: [...body.allowedScopes],
    redirectUris: [...body.redirectUris],
    secretPrefix: body.secretPrefix,
    status: keyStatus(body),
    createdAt: timestamp(createdAt),
    createdBy,
    updatedAt: timestamp(updatedAt),
    expiresAt: optionalTimestamp(body.expiresAt),
    lastUsedAt: optionalTimestamp(usedAt),
  };
  return tagged(view, etag);
}

function scopeView({ id, body }: StoredScope): Static<typeof Scope> {
  return { scope: id, description: body.description, permissions: [...body.permissions] };
}

/** Throws `forbidden` where a scope with these labels leaves a client less limited than the caller. */
async function requireClientsBound(
  { scope, labels }: { readonly scope: string; readonly labels: readonly string[] },
  principal: Principal,
  clients: OAuthClients,
  rules: RuleSet,
): Promise<void> {
  for (const { body } of await clients.list()) {
    if (!body.allowedScopes.includes(scope)) continue;
    const others = await clients.labelsOf(body.allowedScopes.filter((one) => one !== scope));
    requireBound(principal, buildHolder([...others, ...labels]), rules);
  }
}
