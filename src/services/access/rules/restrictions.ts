import { ApiError, notFound } from '../../../core/errors/errors.js';
import { claimValues, type Principal } from '../../../core/http/operation.js';
import { buildLabelIdentity } from '../identity/identity.js';
import { isAdministrator } from './policy.js';
import type { RuleSet } from './rules.js';

/** Properties of a key, user, client or certificate that rules evaluate. */
export interface CredentialHolder {
  readonly roles?: readonly string[] | undefined;
  readonly claims?: Readonly<Record<string, readonly string[]>> | undefined;
  readonly tenantId?: string | null | undefined;
}

/** The holder of a credential with these labels. */
export function buildHolder(labels: readonly string[]): CredentialHolder {
  return buildLabelIdentity({ kind: 'api-key', id: '', name: '' }, labels);
}

/**
 * Checks the holder of a credential that the caller creates or takes. A caller of a tenant, or with row policies or
 * masks, can only use credentials with the same limits. Throws `forbidden` for other credentials.
 */
export function requireBound(principal: Principal, holder: CredentialHolder, rules: RuleSet): void {
  requireTenant(principal, holder);
  // Row policies and masks do not apply to administrators.
  if (isAdministrator(principal)) return;
  requireRoles(principal, holder, rules);
  for (const type of rules.claimTypes) requireClaims(principal, holder, type, rules);
}

/**
 * Throws `forbidden` for a caller with limits of a tenant or a role, because the new object would have no such
 * limits.
 */
export function requireUnbound(principal: Principal, rules: RuleSet): void {
  requireBound(principal, {}, rules);
}

/** Throws `forbidden` for a caller of a tenant: the operation is about more than what exists for the tenant. */
export function requireNoTenant({ tenantId }: Principal): void {
  if (tenantId === undefined) return;
  throw forbidden(`This operation covers the complete server. You belong to the tenant '${tenantId}'.`);
}

/** Whether a holder exists for a caller: callers of a tenant see only those of their tenant. */
export function isTenantHolder({ tenantId }: Principal, holder: Pick<CredentialHolder, 'tenantId'>): boolean {
  return tenantId === undefined || holder.tenantId === tenantId;
}

/** Throws `not-found` for a holder that does not exist for a caller. */
export function requireTenantHolder(
  principal: Principal,
  holder: Pick<CredentialHolder, 'tenantId'>,
  what: string,
  id: string,
): void {
  if (!isTenantHolder(principal, holder)) throw notFound(what, id);
}

function requireTenant(principal: Principal, holder: CredentialHolder): void {
  const { tenantId } = principal;
  if (isTenantHolder(principal, holder)) return;
  throw forbidden(`You belong to the tenant '${tenantId}', and so must the holder: tenant:${tenantId}.`);
}

function requireRoles(
  { roles: own = [] }: Principal,
  { roles = [] }: CredentialHolder,
  rules: RuleSet,
): void {
  const limiting = own.filter((role) => rules.limitingRoles.has(role));
  const missing = limiting.find((role) => !roles.includes(role));
  if (missing !== undefined)
    throw forbidden(
      `Policies of the role '${missing}' apply to you, and must apply to the holder: role:${missing}.`,
    );
  const other = limiting.length > 0 ? roles.find((role) => !own.includes(role)) : undefined;
  // Another role with separate policies could permit more rows.
  if (other !== undefined) throw forbidden(`The role '${other}' is not one of yours: ${own.join(', ')}.`);
}

/**
 * Checks the claim values of a holder. If a policy compares with any of several values, fewer values permit fewer
 * rows. If it requires exactly one value, or has a filter expression, fewer values can permit other rows.
 */
function requireClaims(
  { claims: own = {}, roles = [] }: Principal,
  { claims = {} }: CredentialHolder,
  type: string,
  rules: RuleSet,
): void {
  const given = claimValues(claims, type);
  if (given.length === 0) return;
  // Each user has a different name and id.
  if (OWN_CLAIMS.has(type)) return;
  const held = claimValues(own, type);
  const beyond = given.find((value) => !held.includes(value));
  const isLimited = held.length > 0 || roles.some((role) => rules.limitingRoles.has(role));
  if (beyond !== undefined && isLimited)
    throw forbidden(`The claim ${type}=${beyond} is not one of yours: ${held.join(', ') || 'none'}.`);
  if (rules.exactClaimTypes.has(type) && held.some((value) => !given.includes(value)))
    throw forbidden(`The claim ${type} must have all of your values: ${held.join(', ')}.`);
}

const OWN_CLAIMS: ReadonlySet<string> = new Set(['sub', 'name']);

const forbidden = (message: string) => new ApiError('forbidden', message);
