import Type, { type Static } from 'typebox';
import { ApiError } from '../../../core/errors/errors.js';
import { HTML_FORMAT, JSON_FORMAT } from '../../../core/http/media.js';
import type { BodySpec, Operation, Principal } from '../../../core/http/operation.js';
import { defineOperation, formatActor } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import type { Bearers } from '../../../services/access/identity/bearers.js';
import { requireHeld } from '../../../services/access/permissions.js';
import { requireBound, requireTenantHolder } from '../../../services/access/rules/restrictions.js';
import type { RuleSet } from '../../../services/access/rules/rules.js';
import type { StoredUser } from '../../../stores/access/users.js';
import { auditNothing } from '../../../stores/audit/audit-scope.js';
import { endSessions, signOut } from '../../auth/sign-out.js';
import { requireRoles, roleLabels, UserSchema, userView } from '../user-views.js';
import { endedSession, sessionCookie } from './cookies.js';
import { ownOperations } from './own.js';
import { type AccountPageDeps, accountPages, replyWithAccountPage } from './pages.js';
import { createPrivateReply } from './reply.js';

/** Services for signing in, and for local users. */
export interface AccountDeps extends AccountPageDeps {
  readonly tokens: Pick<Bearers, 'find' | 'end'>;
  rules(): RuleSet;
}

const ACCOUNT = { surface: 'site', protocol: 'Site', tag: 'Account', formats: [] } as const;
const USERS = { ...ACCOUNT, permission: 'admin:users:write', audited: true } as const;

const Password = Type.String({ minLength: 1, maxLength: 256 });
const Claims = Type.Record(
  Type.String({ maxLength: 200 }),
  Type.Array(Type.String({ maxLength: 200 }), { maxItems: 100 }),
);
const Rights = {
  roles: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { maxItems: 100 })),
  claims: Type.Optional(Claims),
  tenantId: Type.Optional(Type.Union([Type.String({ minLength: 1, maxLength: 100 }), Type.Null()])),
};
const NewUser = Type.Object({
  name: Type.String({ pattern: '^[\\w.@+-]{1,100}$' }),
  displayName: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  email: Type.Optional(Type.Union([Type.String({ maxLength: 320 }), Type.Null()])),
  password: Type.Optional(Password),
  ...Rights,
});
const UserPatch = Type.Object({ ...Rights, isActive: Type.Optional(Type.Boolean()) });

const WhoAmI = Type.Object({
  isAuthenticated: Type.Boolean(),
  kind: Type.String(),
  id: Type.String(),
  name: Type.String(),
  roles: Type.Array(Type.String()),
  permissions: Type.Array(Type.String()),
});

const json = <S extends Parameters<typeof Type.Optional>[0]>(schema: S): BodySpec<S> => ({
  schema,
  mediaTypes: ['application/json'],
  required: true,
});

export function accountOperations(deps: AccountDeps): Operation[] {
  return [
    ...accountPages(deps),
    ...ownOperations(deps),
    whoAmI(deps),
    signIn(deps),
    signOutOperation(deps),
    ownPassword(deps),
    addUser(deps),
    changeUser(deps),
    userPassword(deps),
  ];
}

function whoAmI(deps: AccountDeps): Operation {
  return defineOperation({
    ...ACCOUNT,
    method: 'GET',
    permission: 'public',
    id: 'account.get',
    path: '/account',
    summary: 'Get the caller',
    description: 'As HTML: the page of the account, with password, sessions and keys.',
    formats: [JSON_FORMAT, HTML_FORMAT],
    params: {},
    responses: {
      200: {
        description: 'The caller.',
        content: { 'application/json': WhoAmI, 'text/html': Type.String() },
      },
      303: { description: 'HTML was requested, and the caller is not signed in.' },
    },
    run: (x) =>
      x.format === HTML_FORMAT
        ? replyWithAccountPage(x, deps)
        : createPrivateReply(200, callerView(x.principal)),
  });
}

function callerView({ kind, id, name, roles = [], permissions }: Principal) {
  return {
    isAuthenticated: kind !== 'anonymous',
    kind,
    id,
    name,
    roles: [...roles],
    permissions: [...permissions],
  };
}

function signIn({ users, sessions }: AccountDeps): Operation {
  return defineOperation({
    ...ACCOUNT,
    method: 'POST',
    permission: 'public',
    audited: true,
    id: 'account.signIn',
    path: '/account/sign-in',
    summary: 'Sign in with a password',
    description:
      'Starts a session of at most twelve hours and sets its cookie. An existing session of the request ends.',
    params: {},
    body: json(Type.Object({ name: Type.String({ maxLength: 200 }), password: Password })),
    responses: {
      204: { description: 'The session started; the response sets its cookie.' },
      401: { description: 'The name or the password is wrong.' },
      429: { description: 'Too many wrong passwords came from this address.' },
    },
    async run(x) {
      const user = await users.withPassword(x.body.name, x.body.password, x.clientAddress);
      if (!user) throw wrongPassword();
      await endSessions(x, sessions);
      const { secret, session } = await sessions.open({ user, userAgent: x.header('user-agent') });
      return { status: 204, headers: { 'set-cookie': sessionCookie(x.baseUrl, secret, session.expiresAt) } };
    },
  });
}

/** The challenge is not `Basic`: browsers would open a dialog for the password. */
function wrongPassword(): ApiError {
  const headers = { 'www-authenticate': 'Bearer realm="graticule"' };
  return new ApiError('unauthenticated', 'The user name or the password is wrong.', { headers });
}

function signOutOperation(deps: AccountDeps): Operation {
  return defineOperation({
    ...ACCOUNT,
    method: 'POST',
    permission: 'public',
    audited: true,
    id: 'account.signOut',
    path: '/account/sign-out',
    summary: 'Sign out',
    description: 'Ends the session or the bearer token that the request was made with.',
    params: {},
    takesToken: true,
    openQuery: true,
    responses: { 204: { description: 'The session ended.' } },
    async run(x) {
      const session = await signOut(x, deps);
      if (!session && x.principal.kind === 'anonymous') auditNothing();
      return { status: 204, headers: { 'set-cookie': endedSession(x.baseUrl) } };
    },
  });
}

function ownPassword({ users }: AccountDeps): Operation {
  return defineOperation({
    ...ACCOUNT,
    method: 'PUT',
    permission: 'authenticated',
    audited: true,
    id: 'account.setPassword',
    path: '/account/password',
    summary: 'Change the own password',
    description: 'Ends all other sessions of the user.',
    params: {},
    body: json(Type.Object({ current: Password, password: Password })),
    responses: {
      204: { description: 'The password was changed.' },
      403: { description: 'The caller is not a user, or the current password is wrong.' },
      429: { description: 'Too many wrong passwords came from this address.' },
    },
    async run({ body, principal, clientAddress }) {
      const user = principal.kind === 'user' ? await users.get(principal.id) : undefined;
      const found = user && (await users.withPassword(user.name, body.current, clientAddress));
      const isOwn = found?.id === principal.id;
      if (!isOwn)
        throw new ApiError(
          'forbidden',
          'The current password is wrong, or this user has no password on this server.',
        );
      await users.setPassword(principal.id, body.password, principal.sessionHash);
      return { status: 204 };
    },
  });
}

function addUser({ users, rules }: AccountDeps): Operation {
  return defineOperation({
    ...USERS,
    method: 'POST',
    repeatable: true,
    id: 'account.addUser',
    path: '/api/v1/users',
    summary: 'Add a user',
    params: {},
    body: json(NewUser),
    responses: {
      201: { description: 'The user.', content: { 'application/json': UserSchema } },
      409: { description: 'There is a user of that name already.' },
    },
    async run({ body, principal }) {
      requireRights(body, principal, rules());
      requireBound(principal, body, rules());
      const user = userView(await users.create(body, formatActor(principal)));
      return {
        ...createPrivateReply(201, user),
        headers: { location: `/api/v1/admin/users/${user.userId}` },
      };
    },
  });
}

const byId = { id: pathString('id', 'Id of the user.') };

function changeUser({ users, rules }: AccountDeps): Operation {
  const requireOver = overUsers({ users, rules });
  return defineOperation({
    ...USERS,
    method: 'PATCH',
    id: 'account.changeUser',
    path: '/api/v1/users/{id}',
    summary: 'Change the roles, claims or tenant of a user, or whether it may sign in',
    params: byId,
    body: json(UserPatch),
    responses: {
      200: { description: 'The user.', content: { 'application/json': UserSchema } },
      404: { description: 'The user does not exist.' },
    },
    async run({ params, body, principal }) {
      requireRights(body, principal, rules());
      const user = await requireOver(principal, params.id);
      requireBound(principal, { ...user, ...body }, rules());
      return createPrivateReply(200, userView(await users.change(params.id, body)));
    },
  });
}

function userPassword({ users, rules }: AccountDeps): Operation {
  const requireOver = overUsers({ users, rules });
  return defineOperation({
    ...USERS,
    method: 'PUT',
    id: 'account.setUserPassword',
    path: '/api/v1/users/{id}/password',
    summary: 'Set the password of a user',
    description: 'Ends all sessions of the user.',
    params: byId,
    body: json(Type.Object({ password: Password })),
    responses: {
      204: { description: 'The password was changed.' },
      404: { description: 'The user does not exist.' },
    },
    async run({ params, body, principal }) {
      await requireOver(principal, params.id);
      await users.setPassword(params.id, body.password);
      return { status: 204 };
    },
  });
}

/**
 * Throws `not-found` for a user of another tenant, and `forbidden` for one who can do more than the caller: anyone who sets
 * a password can sign in as its user.
 */
function overUsers({ users, rules }: Pick<AccountDeps, 'users' | 'rules'>) {
  return async (principal: Principal, id: string) => {
    const user = await users.get(id);
    requireTenantHolder(principal, user, 'user', id);
    requireHeld(principal, heldLabels(user));
    requireBound(principal, user, rules());
    return user;
  };
}

/** Callers may grant only what they hold: roles, claims that row policies compare, and a tenant. */
function requireRights(
  { roles = [], claims = {}, tenantId }: Static<typeof UserPatch>,
  principal: Principal,
  rules: RuleSet,
): void {
  requireRoles(roles, rules);
  requireHeld(principal, heldLabels({ roles, claims, tenantId: tenantId ?? null }));
}

/** Labels of all that a user is. */
function heldLabels({
  roles,
  claims,
  tenantId,
}: Pick<StoredUser, 'roles' | 'claims' | 'tenantId'>): string[] {
  const claimLabels = Object.entries(claims).flatMap(([type, values]) =>
    values.map((value) => `claim:${type}=${value}`),
  );
  return [...roleLabels(roles), ...claimLabels, ...(tenantId ? [`tenant:${tenantId}`] : [])];
}
