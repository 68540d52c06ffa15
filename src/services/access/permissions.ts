import { ApiError } from '../../core/errors/errors.js';
import type { Principal } from '../../core/http/operation.js';

/**
 * Whether a principal has a permission. Labels are words joined by `:`. A grant covers a wanted label in these cases:
 * - It is `*`, or the same label.
 * - It ends in `:*`, and the wanted label starts with the words before the `*`: `admin:*` covers `admin:jobs:read`.
 * - It names the same verb (the last word) on an outer scope: `admin:read` covers `admin:jobs:read`.
 * - It ends in `write` and the wanted label ends in `read`, by the preceding rule: a right to change includes the
 *   right to read.
 * - It starts with the verb, like data grants, and names an outer resource: `write:parcels` covers `write:parcels/3`.
 */
export function permits(principal: Pick<Principal, 'permissions'>, label: string): boolean {
  return principal.permissions.some((grant) => isPermissionCovered(grant, label));
}

/** Throws `forbidden` for labels that the caller does not have. Otherwise a key could create a stronger key. */
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

/** A data grant for all layers of a service or for one layer, and the role, claim or tenant labels of a key. */
const DATA_GRANT = /^(read|write):[^\s:/]+(\/[^\s:/]+)?$/;
const IDENTITY = /^(role|tenant):[^\s:]{1,100}$|^claim:[\w.:/-]{1,200}=.{1,200}$/;

/** Whether a label to grant is valid, because a key with a misspelt label would have no effect. */
export function isGrant(label: string, permissions: Iterable<string>): boolean {
  if (label === '*' || DATA_GRANT.test(label) || IDENTITY.test(label)) return true;
  for (const permission of permissions) if (isPermissionCovered(label, permission)) return true;
  return false;
}
