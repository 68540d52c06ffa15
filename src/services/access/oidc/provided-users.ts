import type { StoredUser } from '../../../stores/access/users.js';
import type { Users } from '../identity/users.js';
import type { RuleSet } from '../rules/rules.js';
import type { OidcProvider, StoredProvider } from './providers.js';

/** Claims of a provider about a user, by type. */
export type ProviderClaims = Readonly<Record<string, unknown>> & { readonly sub: string };

/** Claims that are about the token. */
const OF_TOKEN = new Set(
  'iss aud exp iat nbf jti azp nonce at_hash c_hash s_hash auth_time acr amr sid typ scope client_id'.split(
    ' ',
  ),
);
const MAX_TEXT = 200;
const MAX_VALUES = 100;
const MAX_CLAIMS = 100;
/** Characters that user names cannot contain. They are removed from names of providers. */
const NOT_OF_NAMES = /[^\w.@+-]/g;
const EMAIL = /^[^\s@<>"]{1,64}@[^\s@<>"]{1,255}$/;

/**
 * The user of this server for a user of a provider. Created at the first sign-in, and updated with the provider's
 * data.
 */
export async function providedUser(
  { id, body }: StoredProvider,
  claims: ProviderClaims,
  users: Users,
  rules: RuleSet,
): Promise<StoredUser> {
  const { sub } = claims;
  const email = findText(claims['email']);
  const name = findText(claims['preferred_username']) ?? email ?? sub;
  const typed = name.replace(NOT_OF_NAMES, '').slice(0, 100) || 'user';
  return users.provided({
    providerId: id,
    subject: sub,
    name: typed,
    displayName: findText(claims['name']) ?? typed,
    email: email !== undefined && EMAIL.test(email) ? email : null,
    roles: listRoles(body, claims, rules),
    tenantId: body.tenantClaim === null ? undefined : (readValues(at(claims, body.tenantClaim))[0] ?? null),
  });
}

/** Existing roles that result from the mapping. Undefined if the provider has no mapping. */
function listRoles({ roleClaim, roleMapping }: OidcProvider, claims: ProviderClaims, rules: RuleSet) {
  if (Object.keys(roleMapping).length === 0) return undefined;
  const roles = readValues(at(claims, roleClaim)).flatMap((value) =>
    Object.hasOwn(roleMapping, value) ? [roleMapping[value]!] : [],
  );
  return [...new Set(roles)].filter((role) => rules.role(role)).sort();
}

/** Claims that policies for rows may compare with: texts without control characters, bounded. */
export function filterClaims(claims: ProviderClaims): StoredUser['claims'] {
  const entries = Object.entries(claims)
    .filter(([type]) => !OF_TOKEN.has(type) && type.length <= MAX_TEXT)
    .map(([type, value]) => [type, readValues(value)] as const)
    .filter(([, values]) => values.length > 0);
  return Object.fromEntries(entries.slice(0, MAX_CLAIMS));
}

/** The value of a claim. A claim with dots in its name takes precedence over a path within objects. */
function at(claims: ProviderClaims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  return path.split('.').reduce<unknown>((value, name) => {
    const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, name);
    return isObject ? (value as Record<string, unknown>)[name] : undefined;
  }, claims);
}

function readValues(value: unknown): string[] {
  const values = Array.isArray(value) ? value.slice(0, MAX_VALUES) : [value];
  return values.map(findText).filter((text) => text !== undefined);
}

function findText(value: unknown): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return undefined;
  const text = String(value)
    .replace(/\p{Cc}|\p{Zl}|\p{Zp}/gu, ' ')
    .trim()
    .slice(0, MAX_TEXT);
  return text === '' ? undefined : text;
}
