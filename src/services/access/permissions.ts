import { ApiError } from '../../core/errors/errors.js';
import type { Principal } from '../../core/http/operation.js';

/**
 * Whether a principal holds a permission. Labels are words joined by `:`; a grant covers a wanted label when
 * - it is `*`, or the same label;
 * - it ends in `:*` and the wanted label begins with what is before the `*`: `admin:*` covers `admin:jobs:read`;
 * - it names the same verb (the last word) on an outer scope: `admin:read` covers `admin:jobs:read`;
 * - it ends in `write` where the wanted label ends in `read`, by the rule above: who may change may look;
 * - it begins with the verb, as data grants do, and names an outer resource: `write:parcels` covers
 *   `write:parcels/3`.
 */
export function permits(principal: Pick<Principal, 'permissions'>, label: string): boolean {
  return principal.permissions.some((grant) => isPermissionCovered(grant, label));
}

/** Throws `forbidden`: nobody gives away what they do not hold, as a key could otherwise make itself a stronger one. */
export function requireHeld(principal: Pick<Principal, 'permissions'>, labels: readonly string[]): void {
  const beyond = labels.find((label) => !permits(principal, label));
  if (beyond !== undefined)
    throw new ApiError(
      'forbidden',
      `permissions: '${beyond}' cannot be granted, because the caller does not have it.`,
    );
}

export function isPermissionCovered(grant: string, permission: string): boolean {
  if (grant === '*' || grant === permission) return true;
  if (grant.endsWith(':*')) return permission.startsWith(grant.slice(0, -1));
  if (permission.startsWith(`${grant}/`)) return true;
  const grantParts = split(grant);
  const parts = split(permission);
  if (grantParts.scope === '') return false;
  const verb = grantParts.verb === parts.verb || (grantParts.verb === 'write' && parts.verb === 'read');
  return verb && (parts.scope === grantParts.scope || parts.scope.startsWith(`${grantParts.scope}:`));
}

function split(label: string): { scope: string; verb: string } {
  const cut = label.lastIndexOf(':');
  return { scope: label.slice(0, Math.max(cut, 0)), verb: label.slice(cut + 1) };
}

/** A grant on data, of all layers of a service or of one; a role, a claim or a tenant that a key stands for. */
const DATA_GRANT = /^(read|write):[^\s:/]+(\/[^\s:/]+)?$/;
const IDENTITY = /^(role|tenant):[^\s:]{1,100}$|^claim:[\w.:/-]{1,200}=.{1,200}$/;

/** Whether a label that is to be granted means anything: a typing error would make a key that can do nothing. */
export function isGrant(label: string, permissions: Iterable<string>): boolean {
  if (label === '*' || DATA_GRANT.test(label) || IDENTITY.test(label)) return true;
  for (const permission of permissions) if (isPermissionCovered(label, permission)) return true;
  return false;
}
