import Type, { type Static } from 'typebox';
import { problem, requireSound } from '../../core/http/body-problems.js';
import type { RuleSet } from '../../services/access/rules/rules.js';
import type { StoredUser } from '../../stores/access/users.js';
import { OptionalStringSchema, TimestampSchema, timestamp } from '../admin/envelope.js';

/** A user as the wire has it. */
export const UserSchema = Type.Object({
  userId: Type.String(),
  displayName: Type.String(),
  email: OptionalStringSchema,
  roles: Type.Array(Type.String()),
  isActive: Type.Boolean(),
  provisioningSource: Type.Enum(['oidc', 'scim', 'manual']),
  providerId: OptionalStringSchema,
  createdAt: TimestampSchema,
  updatedAt: TimestampSchema,
});

/** Roles that a message lists. */
const MAX_NAMED = 20;

/** Throws 400 that names every role which does not exist. */
export function requireRoles(names: readonly string[], rules: RuleSet): void {
  const roles = rules.roleNames;
  const allowed = roles.slice(0, MAX_NAMED).join(', ') + (roles.length > MAX_NAMED ? ', …' : '');
  requireSound(
    names.map((name, n) =>
      roles.includes(name)
        ? undefined
        : problem(
            `roles/${n}`,
            `: there is no role '${name.slice(0, 100)}'. Use ${allowed}, or create the role with POST /api/v1/admin/roles first.`,
          ),
    ),
  );
}

export const roleLabels = (names: readonly string[]) => names.map((name) => `role:${name}`);

export function userView(user: StoredUser): Static<typeof UserSchema> {
  return {
    userId: user.id,
    displayName: user.displayName,
    email: user.email,
    roles: [...user.roles],
    isActive: user.isActive,
    provisioningSource: user.source,
    providerId: user.providerId,
    createdAt: timestamp(user.createdAt),
    updatedAt: timestamp(user.updatedAt),
  };
}
