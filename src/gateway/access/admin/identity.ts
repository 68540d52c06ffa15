import { performance } from 'node:perf_hooks';
import Type from 'typebox';
import { notFound } from '../../../core/errors/errors.js';
import { pathString } from '../../../core/http/params.js';
import type { StoredProvider } from '../../../services/access/oidc/providers.js';
import { OptionalStringSchema } from '../../admin/envelope.js';
import { createRowBuilders, group } from '../../admin/kit.js';

const SERVICES = ['identity'] as const;
const { report } = createRowBuilders(SERVICES);

const TYPES = ['AzureAd', 'Google', 'Generic'] as const;
type IdentityType = (typeof TYPES)[number];

const Providers = Type.Object({
  enabled: Type.Boolean(),
  providers: Type.Array(
    Type.Object({
      type: Type.Enum([...TYPES]),
      displayName: Type.String(),
      enabled: Type.Boolean(),
      isConfigurationValid: Type.Boolean(),
      authority: OptionalStringSchema,
      callbackPath: OptionalStringSchema,
      scopes: Type.Array(Type.String()),
    }),
  ),
});

const Test = Type.Object({
  providerType: Type.String(),
  isReachable: Type.Boolean(),
  discoveryUrl: OptionalStringSchema,
  issuer: OptionalStringSchema,
  responseTimeMs: Type.Number(),
  errorMessage: OptionalStringSchema,
});

/** Configured identity providers, by their types. */
export const identity = group({ tag: 'Identity', scope: 'identity', envelope: 'wrapped' }, [
  report('GET /identity/providers', 'Get Identity Providers', {
    data: Providers,
    async answer(_x, { identity: { providers } }) {
      const all = await providers.list();
      return { enabled: all.some(({ body }) => body.enabled), providers: all.map(view) };
    },
  }),
  report('GET /identity/providers/{providerType}/test', 'Test Identity Provider Connectivity', {
    description: 'Requests the metadata of the first provider of the type.',
    params: { providerType: pathString('providerType', `${TYPES.join(', ')}, in any case.`) },
    data: Test,
    errors: [404],
    async answer({ params: { providerType } }, { identity: { providers } }) {
      const isOfType = (one: StoredProvider) => chooseType(one).toLowerCase() === providerType.toLowerCase();
      const provider = (await providers.list()).find(isOfType);
      if (!provider) throw notFound('identity provider', providerType);
      const start = performance.now();
      const { isReachable, discoveryUrl, issuer, message } = await providers.check(provider);
      return {
        providerType: chooseType(provider),
        isReachable,
        discoveryUrl,
        issuer: issuer ?? null,
        responseTimeMs: performance.now() - start,
        errorMessage: isReachable ? null : message,
      };
    },
  }),
]);

function view(provider: StoredProvider) {
  const { name, enabled, authority } = provider.body;
  return {
    type: chooseType(provider),
    displayName: name,
    enabled,
    isConfigurationValid: true,
    authority,
    callbackPath: '/account/callback',
    scopes: ['openid', 'profile', 'email'],
  };
}

function chooseType({ body }: StoredProvider): IdentityType {
  if (new URL(body.authority).hostname === 'accounts.google.com') return 'Google';
  return body.providerType === 'AzureAd' ? 'AzureAd' : 'Generic';
}
