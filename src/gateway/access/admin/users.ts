import Type from 'typebox';
import { type Grant, listPermissionLabels } from '../../../core/access/access.js';
import type { Principal } from '../../../core/http/operation.js';
import { defineIntegerParam, defineTextParam, pathString } from '../../../core/http/params.js';
import type { Users } from '../../../services/access/identity/users.js';
import { requireHeld } from '../../../services/access/permissions.js';
import { requireBound, requireTenantHolder } from '../../../services/access/rules/restrictions.js';
import type { RuleSet } from '../../../services/access/rules/rules.js';
import type { StoredUser } from '../../../stores/access/users.js';
import { Acknowledgement, AcknowledgementSchema, TimestampSchema, timestamp } from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody, resource } from '../../admin/kit.js';
import { enumeration } from '../../admin/params.js';
import { GrantSchema, NAME_SCHEMA } from '../../admin/rule-schemas.js';
import { roleLabels, UserSchema, userView } from '../user-views.js';

const SERVICES = ['rules', 'users'] as const;
const { action, implement, report } = createRowBuilders(SERVICES);

const Roles = Type.Array(NAME_SCHEMA, { maxItems: 100 });

const EffectivePermissions = Type.Object({
  userId: Type.String(),
  roles: Type.Array(Type.String()),
  permissions: Type.Array(GrantSchema),
  resolvedAt: TimestampSchema,
});

const byId = { id: pathString('id', 'Id of the user.') };

/** Users and their roles. */
export const users = group({ tag: 'Users', scope: 'users', envelope: 'wrapped', isForTenants: true }, [
  ...resource(
    '/users/{id}',
    { list: 'List Users', get: 'Get User', remove: 'Deprovision User' },
    {
      list: implement({
        params: {
          source: enumeration(
            'source',
            ['oidc', 'scim', 'manual'] as const,
            'Where users come from. Default: anywhere.',
          ),
          role: defineTextParam(
            'role',
            { description: 'Name of a role that they have.' },
            { maxLength: 100 },
          ),
          active: enumeration('active', ['true', 'false'], 'Only users who may, or may not, sign in.'),
          offset: defineIntegerParam(
            'offset',
            { min: 0, max: 1_000_000_000, default: 0 },
            { description: 'Users to pass over.' },
          ),
          limit: defineIntegerParam(
            'limit',
            { min: 1, max: 1000, default: 100 },
            { description: 'Most users to list.' },
          ),
        },
        data: Type.Object({ users: Type.Array(UserSchema), totalCount: Type.Integer() }),
        errors: [400],
        async answer({ params: { active, role, source, offset, limit }, principal: { tenantId } }, deps) {
          const { users: found, total } = await deps.users.list({
            offset,
            limit,
            ...(source === undefined ? {} : { source }),
            ...(role === undefined ? {} : { role }),
            ...(tenantId === undefined ? {} : { tenantId }),
            ...(active === undefined ? {} : { active: active === 'true' }),
          });
          return { users: found.map(userView), totalCount: total };
        },
      }),
      get: implement({
        params: byId,
        data: UserSchema,
        errors: [404],
        answer: async ({ params, principal }, { users: all }) =>
          userView(await userFor(params.id, principal, all)),
      }),
      remove: implement({
        description: 'After the response, the user and all sessions of the user are deleted.',
        params: byId,
        data: AcknowledgementSchema,
        errors: [404],
        async answer({ params, principal }, { users: all, rules }) {
          const user = await userFor(params.id, principal, all);
          requireHeld(principal, labelsNow(user, rules.current));
          requireBound(principal, user, rules.current);
          await all.remove(params.id);
          return new Acknowledgement('The user is deprovisioned.');
        },
      }),
    },
  ),
  action('PUT /users/{id}/roles', 'Update User Roles', {
    description:
      'Replaces all roles. A role that does not exist yet gives no rights until it is created; naming it needs the permission *.',
    shownBy: '/users/{id}',
    params: byId,
    body: jsonBody(Type.Object({ roles: Roles })),
    data: UserSchema,
    errors: [400, 404],
    async answer({ params, body, principal }, { users: all, rules }) {
      const { current } = rules;
      const user = await userFor(params.id, principal, all);
      requireHeld(principal, [...labelsNow(user, current), ...roleLabels(body.roles)]);
      requireBound(principal, user, current);
      requireBound(principal, { ...user, roles: body.roles }, current);
      return userView(await all.change(params.id, { roles: [...new Set(body.roles)] }));
    },
  }),
  report('GET /users/{id}/effective-permissions', 'Get User Effective Permissions', {
    params: byId,
    data: EffectivePermissions,
    errors: [404],
    async answer({ params, principal }, { users: all, rules }) {
      const { id, roles } = await userFor(params.id, principal, all);
      const permissions = roles.flatMap((name): Grant[] => [
        ...(rules.current.role(name)?.permissions ?? []),
      ]);
      return { userId: id, roles: [...roles], permissions, resolvedAt: timestamp(Date.now()) };
    },
  }),
]);

/** Throws `not-found`, also for a user of another tenant. */
async function userFor(id: string, principal: Principal, all: Pick<Users, 'get'>): Promise<StoredUser> {
  const user = await all.get(id);
  requireTenantHolder(principal, user, 'user', id);
  return user;
}

/** Current permissions of a user: callers may revoke only permissions that they could grant. */
function labelsNow({ roles }: StoredUser, rules: RuleSet): string[] {
  return roles.flatMap((name) => (rules.role(name)?.permissions ?? []).flatMap(listPermissionLabels));
}
