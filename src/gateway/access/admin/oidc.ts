import Type, { type Static } from 'typebox';
import { listPermissionLabels } from '../../../core/access/access.js';
import { type BodyProblem, problem, requireSound } from '../../../core/http/body-problems.js';
import { formatActor, type Principal } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import {
  type OidcProvider,
  PROVIDER_TYPES,
  type ProviderCheck,
  type StoredProvider,
} from '../../../services/access/oidc/providers.js';
import { requireHeld } from '../../../services/access/permissions.js';
import { requireUnbound } from '../../../services/access/rules/restrictions.js';
import type { RuleSet } from '../../../services/access/rules/rules.js';
import { readIfMatch } from '../../admin/conditional.js';
import type { ServicesOf } from '../../admin/deps.js';
import { listViews } from '../../admin/documents.js';
import { tagged } from '../../admin/entity-tags.js';
import {
  Acknowledgement,
  AcknowledgementSchema,
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
  TimestampSchema,
  timestamp,
} from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody, resource } from '../../admin/kit.js';

const SERVICES = ['identity', 'rules'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action, implement } = createRowBuilders(SERVICES);

const Text = Type.String({ minLength: 1, maxLength: 200 });
const RoleMapping = Type.Record(Type.String({ minLength: 1, maxLength: 200 }), Text, { maxProperties: 200 });

const Provider = Type.Object({
  providerId: Type.String(),
  name: Type.String(),
  providerType: Type.Enum([...PROVIDER_TYPES]),
  authority: Type.String(),
  clientId: Type.String(),
  enabled: Type.Boolean(),
  isHealthy: Type.Boolean(),
  lastHealthCheck: OptionalTimestampSchema,
  roleClaim: Type.String(),
  roleMapping: Type.Record(Type.String(), Type.String()),
  tenantClaim: OptionalStringSchema,
  createdAt: TimestampSchema,
  updatedAt: TimestampSchema,
});

const Ours = {
  roleClaim: Type.Optional(Text),
  roleMapping: Type.Optional(RoleMapping),
  tenantClaim: Type.Optional(Type.Union([Text, Type.Null()])),
};
const Address = Type.String({ minLength: 1, maxLength: 2000 });
const Secret = Type.Optional(Type.Union([Type.String({ maxLength: 2000 }), Type.Null()]));

const NewProvider = Type.Object({
  name: Text,
  providerType: Type.Enum([...PROVIDER_TYPES]),
  authority: Address,
  clientId: Text,
  clientSecret: Secret,
  enabled: Type.Optional(Type.Boolean()),
  ...Ours,
});
const ProviderPatch = Type.Object({
  name: Type.Optional(Text),
  authority: Type.Optional(Address),
  clientId: Type.Optional(Text),
  clientSecret: Secret,
  enabled: Type.Optional(Type.Boolean()),
  ...Ours,
});

const byId = { id: pathString('id', 'Id of the provider.') };

/** OpenID Connect providers. */
export const oidc = group({ tag: 'OIDC providers', scope: 'oidc', envelope: 'wrapped' }, [
  ...resource(
    '/oidc/providers/{id}',
    {
      list: 'List OIDC Providers',
      create: 'Create OIDC Provider',
      get: 'Get OIDC Provider',
      update: 'Update OIDC Provider',
      remove: 'Delete OIDC Provider',
    },
    {
      list: implement({
        data: Type.Array(Provider),
        answer: (_x, { identity: { providers } }) => listViews(providers.list(), providers.checks(), view),
      }),
      create: implement({
        body: jsonBody(NewProvider),
        data: Provider,
        status: 201,
        errors: [400],
        location: ({ providerId }: Static<typeof Provider>) => `/oidc/providers/${providerId}`,
        async answer({ body, principal }, deps) {
          const { providers } = deps.identity;
          const provider = changed(BLANK, body, deps);
          requireRights(provider, principal, deps.rules.current);
          return view(await providers.create(provider, formatActor(principal)));
        },
      }),
      get: implement({
        params: byId,
        data: Provider,
        errors: [404],
        async answer({ params: { id } }, { identity: { providers } }) {
          return view(await providers.get(id), (await providers.checks()).get(id));
        },
      }),
      update: implement({
        params: byId,
        body: jsonBody(ProviderPatch),
        data: Provider,
        errors: [400, 404, 412],
        async answer(x, deps) {
          const { providers } = deps.identity;
          const change = (before: OidcProvider) => {
            const after = changed(before, x.body, deps);
            for (const one of [before, after]) requireRights(one, x.principal, deps.rules.current);
            return after;
          };
          const { id } = x.params;
          const stored = await providers.update(id, formatActor(x.principal), change, readIfMatch(x));
          return view(stored, (await providers.checks()).get(id));
        },
      }),
      remove: implement({
        description: 'Sessions and tokens of the provider end; its users stay.',
        params: byId,
        data: AcknowledgementSchema,
        errors: [404, 412],
        async answer(x, { identity }) {
          await identity.providers.remove(x.params.id, readIfMatch(x));
          return new Acknowledgement('The provider is deleted.');
        },
      }),
    },
  ),
  action('POST /oidc/providers/{id}/test', 'Test OIDC Provider Connection', {
    params: byId,
    data: Type.Object({
      providerId: Type.String(),
      isReachable: Type.Boolean(),
      message: Type.String(),
      testedAt: TimestampSchema,
    }),
    errors: [404],
    async answer({ params: { id } }, { identity: { providers } }) {
      const { isReachable, message, testedAt } = await providers.check(await providers.get(id));
      return { providerId: id, isReachable, message, testedAt: timestamp(testedAt) };
    },
  }),
]);

const BLANK: OidcProvider = {
  name: '',
  providerType: 'Generic',
  authority: '',
  clientId: '',
  clientSecret: null,
  enabled: true,
  roleClaim: 'roles',
  roleMapping: {},
  tenantClaim: null,
};

/** Throws 400 with the name of the invalid member. */
function changed(
  before: OidcProvider,
  { clientSecret, ...members }: Static<typeof ProviderPatch>,
  { identity }: Deps,
): OidcProvider {
  const after: OidcProvider = {
    ...before,
    ...members,
    ...(clientSecret === undefined
      ? {}
      : { clientSecret: clientSecret && identity.providers.seal(clientSecret) }),
  };
  requireSound([authorityProblem(after.authority)]);
  return after;
}

function authorityProblem(authority: string): BodyProblem | undefined {
  const url = URL.canParse(authority) ? new URL(authority) : undefined;
  const isAddress = url && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '';
  return isAddress && url.username === '' && url.password === ''
    ? undefined
    : problem('authority', 'must be an http or https URL without credentials, query and fragment');
}

/**
 * A caller who configures a provider determines the roles, claims and tenant of its users, and callers may grant only
 * what they hold.
 */
function requireRights(
  { roleMapping, tenantClaim }: OidcProvider,
  principal: Principal,
  rules: RuleSet,
): void {
  const roles = Object.values(roleMapping).map((name) => rules.role(name));
  requireHeld(principal, [
    // A role that is made later may have any permission.
    ...roles.flatMap((role) => (role ? role.permissions.flatMap(listPermissionLabels) : ['*'])),
    'claim:*',
    ...(tenantClaim === null ? [] : ['tenant:*']),
  ]);
  // Its users have what the provider says of them.
  requireUnbound(principal, rules);
}

function view({ id, etag: tag, body, createdAt, updatedAt }: StoredProvider, check?: ProviderCheck) {
  const { clientSecret: _, roleMapping, ...members } = body;
  const data: Static<typeof Provider> = {
    providerId: id,
    ...members,
    roleMapping: { ...roleMapping },
    isHealthy: check?.isReachable ?? false,
    lastHealthCheck: optionalTimestamp(check?.testedAt ?? null),
    createdAt: timestamp(createdAt),
    updatedAt: timestamp(updatedAt),
  };
  return tagged(data, tag);
}
