import { randomUUID } from 'node:crypto';
import Type, { type Static } from 'typebox';
import {
  BUILT_IN_ROLES,
  type BuiltInRole,
  type Grant,
  isDataOperation,
  listPermissionLabels,
  type Role,
} from '../../../core/access/access.js';
import { notFound } from '../../../core/errors/errors.js';
import { problem, refuse, requireSound } from '../../../core/http/body-problems.js';
import { type Exchange, formatActor, type Principal } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { isGrant, requireHeld } from '../../../services/access/permissions.js';
import { RULE_KINDS } from '../../../services/access/rules/rules.js';
import type { StoredDocument } from '../../../stores/state/documents.js';
import { readIfMatch } from '../../admin/conditional.js';
import type { ServicesOf } from '../../admin/deps.js';
import { sameState, tagged } from '../../admin/entity-tags.js';
import {
  Acknowledgement,
  AcknowledgementSchema,
  OptionalStringSchema,
  TimestampSchema,
  timestamp,
} from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody, resource, setting } from '../../admin/kit.js';
import { ANONYMOUS_ROLE } from '../../admin/rule-checks.js';
import { DESCRIPTION, GrantSchema, NAME_SCHEMA } from '../../admin/rule-schemas.js';

const SERVICES = ['permissions', 'settle', 'state'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { implement } = createRowBuilders(SERVICES);

const RoleSchema = Type.Object({
  roleId: Type.String({ format: 'uuid' }),
  name: Type.String(),
  description: OptionalStringSchema,
  isBuiltIn: Type.Boolean(),
  permissions: Type.Array(GrantSchema),
  createdAt: TimestampSchema,
  updatedAt: TimestampSchema,
});
type RoleView = Static<typeof RoleSchema>;

/** Free text without control characters. */
const RoleName = { ...NAME_SCHEMA, pattern: '^[^\\p{Cc}]+$' };
const byId = { id: pathString('id', 'Id of the role.') };
const KIND = RULE_KINDS.role;

/** Roles and what they may do. */
export const roles = group({ tag: 'Roles', scope: 'roles', envelope: 'wrapped' }, [
  ...resource(
    '/roles/{id}',
    {
      list: 'List Roles',
      create: 'Create Role',
      get: 'Get Role',
      update: 'Update Role',
      remove: 'Delete Role',
    },
    {
      list: implement({
        data: Type.Array(RoleSchema),
        answer: async (_x, { state }) => [
          ...BUILT_IN_ROLES.map(builtInView),
          ...(await state.documents.list<Role>(KIND)).map(view),
        ],
      }),
      create: implement({
        body: jsonBody(Type.Object({ name: RoleName, description: DESCRIPTION })),
        data: RoleSchema,
        status: 201,
        errors: [400, 409],
        location: ({ roleId }: RoleView) => `/roles/${roleId}`,
        async answer({ body: { name, description = null }, principal }, deps) {
          await requireFree(name, undefined, deps);
          const role = { name, description, permissions: [] } satisfies Role;
          const stored = await openRules(deps).create(KIND, randomUUID(), role, formatActor(principal));
          await deps.settle();
          return view(stored);
        },
      }),
      get: implement({
        params: byId,
        data: RoleSchema,
        errors: [404],
        answer: ({ params }, deps) => loadRole(params.id, deps),
      }),
      update: implement({
        description: 'A new name makes another role. Users and policies keep the previous name.',
        params: byId,
        body: jsonBody(Type.Object({ name: Type.Optional(RoleName), description: DESCRIPTION })),
        data: RoleSchema,
        errors: [400, 404, 409, 412],
        async answer(x, deps) {
          const { name, description } = x.body;
          if (name !== undefined) await requireFree(name, x.params.id, deps);
          const change = (role: Role): Role => ({
            ...role,
            ...(name === undefined ? {} : { name }),
            ...(description === undefined ? {} : { description }),
          });
          if (name !== undefined) await requireOver(x, deps);
          return view(await changeRole(x, deps, change));
        },
      }),
      remove: implement({
        params: byId,
        data: AcknowledgementSchema,
        errors: [404, 412],
        async answer(x, deps) {
          await requireOver(x, deps);
          if (!(await openRules(deps).remove(KIND, x.params.id, readIfMatch(x))))
            throw notFound(KIND, x.params.id);
          await deps.settle();
          return new Acknowledgement('The role is deleted.');
        },
      }),
    },
  ),
  ...setting(
    '/roles/{id}/permissions',
    { get: 'Get Role Permissions', set: 'Set Role Permissions' },
    {
      get: implement({
        params: byId,
        data: Type.Array(GrantSchema),
        errors: [404],
        answer: async ({ params }, deps) => listGrants(await loadRole(params.id, deps)),
      }),
      set: implement({
        description: 'Replaces all grants. An unknown operation has no effect.',
        params: byId,
        body: jsonBody(Type.Object({ permissions: Type.Array(GrantSchema, { maxItems: 500 }) })),
        data: Type.Array(GrantSchema),
        errors: [400, 404, 412],
        async answer(x, deps) {
          const { permissions } = x.body;
          requireSound(permissions.map((grant, n) => grantProblem(grant, n, deps)));
          requireHeld(x.principal, permissions.flatMap(listPermissionLabels));
          await requireOver(x, deps);
          const changed = await changeRole(x, deps, (role) => ({ ...role, permissions }));
          return listGrants(view(changed));
        },
      }),
    },
  ),
]);

/**
 * Throws `forbidden` for a role with permissions that the caller lacks: under a new name it would be assigned to
 * other users, and callers may revoke only what they could grant.
 */
async function requireOver(
  { params, principal }: { readonly params: { readonly id: string }; readonly principal: Principal },
  deps: Deps,
): Promise<void> {
  const { permissions } = await loadRole(params.id, deps);
  requireHeld(principal, permissions.flatMap(listPermissionLabels));
}

async function changeRole(
  x: Pick<Exchange, 'header' | 'principal'> & { readonly params: { readonly id: string } },
  deps: Deps,
  change: (role: Role) => Role,
): Promise<StoredDocument<Role>> {
  const changed = await openRules(deps).update(
    KIND,
    x.params.id,
    formatActor(x.principal),
    change,
    readIfMatch(x),
  );
  await deps.settle();
  return changed;
}

const openRules = ({ state }: Deps) => state.documents.announcing('access');

async function loadRole(id: string, { state }: Deps): Promise<RoleView> {
  const builtIn = BUILT_IN_ROLES.find((role) => role.id === id);
  if (builtIn) return builtInView(builtIn);
  const stored = await state.documents.get<Role>(KIND, id);
  if (!stored) throw notFound(KIND, id);
  return view(stored);
}

async function requireFree(name: string, id: string | undefined, { state }: Deps): Promise<void> {
  const stored = await state.documents.list<Role>(KIND);
  const isTaken =
    name === ANONYMOUS_ROLE ||
    BUILT_IN_ROLES.some((role) => role.name === name) ||
    stored.some((role) => role.body.name === name && role.id !== id);
  if (isTaken) refuse(problem('name', 'is the name of another role. Choose another name'));
}

function grantProblem({ service, layer, operation }: Grant, n: number, { permissions }: Deps) {
  if (operation === '*' || isDataOperation(operation)) return undefined;
  const isNarrow = service !== '*' || layer !== '*';
  // It would grant more than it says.
  return isNarrow && isGrant(operation, permissions())
    ? problem(
        `permissions/${n}`,
        'must have * as service and layer, because its permission is for the management API',
      )
    : undefined;
}

/** The grants of a role change with the role. */
const listGrants = (role: RoleView): RoleView['permissions'] => sameState([...role.permissions], role);

function view({ id, etag, body, createdAt, updatedAt }: StoredDocument<Role>): RoleView {
  const { name, description, permissions } = body;
  const role = {
    roleId: id,
    name,
    description,
    isBuiltIn: false,
    permissions: [...permissions],
    createdAt: timestamp(createdAt),
    updatedAt: timestamp(updatedAt),
  };
  return tagged(role, etag);
}

function builtInView({ id, name, description, permissions }: BuiltInRole): RoleView {
  const since = timestamp(0);
  return {
    roleId: id,
    name,
    description,
    isBuiltIn: true,
    permissions: [...permissions],
    createdAt: since,
    updatedAt: since,
  };
}
