import { ApiError, notFound } from '../../../core/errors/errors.js';
import { claimValues, type Principal } from '../../../core/http/operation.js';
import { buildLabelIdentity } from '../identity/identity.js';
import { isAdministrator } from './policy.js';
import type { RuleSet } from './rules.js';

/** What rules look at in the holder of a key, a user, a client or a certificate. */
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
 * A caller who is bound to a tenant, or limited by row policies or masks, gives and takes over only credentials that are
 * limited as well. Throws `forbidden` for others.
 */
export function requireBound(principal: Principal, holder: CredentialHolder, rules: RuleSet): void {
  requireTenant(principal, holder);
  // Neither row policies nor masks apply to administrators.
  if (isAdministrator(principal)) return;
  requireRoles(principal, holder, rules);
  for (const type of rules.claimTypes) requireClaims(principal, holder, type, rules);
}

/** Throws `forbidden` for a caller whom a tenant or a role limits: what it is about to make limits nobody. */
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
  // Another role with policies of its own could let more rows through.
  if (other !== undefined) throw forbidden(`The role '${other}' is not one of yours: ${own.join(', ')}.`);
}

/**
 * Fewer values of a claim let fewer rows through where a policy looks for any of them. Where it looks for the one value, or
 * has a filter of its own, they may let others through.
 */
function requireClaims(
  { claims: own = {}, roles = [] }: Principal,
  { claims = {} }: CredentialHolder,
  type: string,
  rules: RuleSet,
): void {
  const given = claimValues(claims, type);
  if (given.length === 0) return;
  // Users have names and ids of their own.
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
