import Type from 'typebox';
import { ApiError, notFound } from '../../../core/errors/errors.js';
import { defineOperation, type Operation, type Principal } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import type { Sessions } from '../../../services/access/identity/sessions.js';
import type { UserKeys } from '../../../services/access/keys/user-keys.js';
import { ExpiresAt, parseKeyExpiry, Secret } from '../admin/key-schemas.js';
import { createPrivateReply } from './reply.js';
import { keyView, SessionSchema, sessionView, UserKeySchema } from './views.js';

/** Services for the sessions and keys of a user. */
export interface OwnDeps {
  readonly sessions: Sessions;
  readonly userKeys: UserKeys;
}

const OWN = {
  surface: 'site',
  protocol: 'Site',
  tag: 'Account',
  formats: [],
  permission: 'authenticated',
} as const;
const NOT_A_USER = { 403: { description: 'The caller is not a user who signed in.' } };

const NewKey = Type.Object({ name: Type.String({ minLength: 1, maxLength: 200 }), expiresAt: ExpiresAt });
const NewKeyAnswer = Type.Object({ userKey: UserKeySchema, key: Secret });

export function ownOperations(deps: OwnDeps): Operation[] {
  return [
    listSessions(deps),
    endOtherSessions(deps),
    endSession(deps),
    listKeys(deps),
    createKey(deps),
    deleteKey(deps),
  ];
}

/** Whether a caller is a user with a password or a session. A key or a token that was stolen must not make keys. */
export function isSignedIn({ kind, userKeyId, endsWith }: Principal): boolean {
  return kind === 'user' && userKeyId === undefined && endsWith === undefined;
}

/** Id of the user. Throws `forbidden` if the caller is not a user who signed in. */
function requireSignedIn(principal: Principal): string {
  if (isSignedIn(principal)) return principal.id;
  throw new ApiError(
    'forbidden',
    'Only a user who signed in has sessions and keys. Sign in with a password or a provider; keys and tokens are not enough.',
  );
}

function listSessions({ sessions }: OwnDeps): Operation {
  const Answer = Type.Object({ sessions: Type.Array(SessionSchema) });
  return defineOperation({
    ...OWN,
    method: 'GET',
    id: 'account.listSessions',
    path: '/account/sessions',
    summary: 'List the own sessions',
    params: {},
    responses: {
      200: { description: 'Open sessions, the last used first.', content: { 'application/json': Answer } },
      ...NOT_A_USER,
    },
    async run({ principal }) {
      const own = await sessions.list(requireSignedIn(principal));
      return createPrivateReply(200, { sessions: own.map((session) => sessionView(session, principal)) });
    },
  });
}

function endOtherSessions({ sessions }: OwnDeps): Operation {
  return defineOperation({
    ...OWN,
    method: 'DELETE',
    audited: true,
    id: 'account.endOtherSessions',
    path: '/account/sessions',
    summary: 'End all other sessions of the caller',
    params: {},
    responses: { 204: { description: 'The sessions ended.' }, ...NOT_A_USER },
    async run({ principal }) {
      await sessions.endOthers(requireSignedIn(principal), principal.sessionHash);
      return { status: 204 };
    },
  });
}

const sessionId = { id: pathString('id', 'Id of the session.') };

function endSession({ sessions }: OwnDeps): Operation {
  return defineOperation({
    ...OWN,
    method: 'DELETE',
    audited: true,
    id: 'account.endSession',
    path: '/account/sessions/{id}',
    summary: 'End an own session',
    params: sessionId,
    responses: {
      204: { description: 'The session ended.' },
      404: { description: 'The caller has no such session.' },
      ...NOT_A_USER,
    },
    async run({ params, principal }) {
      const userId = requireSignedIn(principal);
      const session = await sessions.find(params.id);
      if (session?.userId !== userId) throw notFound('session', params.id);
      await sessions.end(params.id);
      return { status: 204 };
    },
  });
}

function listKeys({ userKeys }: OwnDeps): Operation {
  const Answer = Type.Object({ keys: Type.Array(UserKeySchema) });
  return defineOperation({
    ...OWN,
    method: 'GET',
    id: 'account.listKeys',
    path: '/account/keys',
    summary: 'List the own keys',
    params: {},
    responses: {
      200: { description: 'Keys, the newest first.', content: { 'application/json': Answer } },
      ...NOT_A_USER,
    },
    async run({ principal }) {
      const own = await userKeys.list(requireSignedIn(principal));
      return createPrivateReply(200, { keys: own.map(keyView) });
    },
  });
}

function createKey({ userKeys }: OwnDeps): Operation {
  return defineOperation({
    ...OWN,
    method: 'POST',
    audited: true,
    id: 'account.createKey',
    path: '/account/keys',
    summary: 'Create an own key',
    description:
      'The key has the present rights of the caller in each request. Default of expiresAt: the key does not expire.',
    params: {},
    body: { schema: NewKey, mediaTypes: ['application/json'], required: true },
    responses: {
      201: {
        description: 'The key. Only this response contains it.',
        content: { 'application/json': NewKeyAnswer },
      },
      409: { description: 'The caller has 100 keys already.' },
      ...NOT_A_USER,
    },
    async run({ body, principal }) {
      const userId = requireSignedIn(principal);
      const expiresAt = parseKeyExpiry(body);
      const { key, secret } = await userKeys.create({ userId, name: body.name, expiresAt });
      return createPrivateReply(201, { userKey: keyView(key), key: secret });
    },
  });
}

const keyId = { id: pathString('id', 'Id of the key.') };

function deleteKey({ userKeys }: OwnDeps): Operation {
  return defineOperation({
    ...OWN,
    method: 'DELETE',
    audited: true,
    id: 'account.deleteKey',
    path: '/account/keys/{id}',
    summary: 'Delete an own key',
    params: keyId,
    responses: {
      204: { description: 'The key was deleted and is refused everywhere.' },
      404: { description: 'The caller has no such key.' },
      ...NOT_A_USER,
    },
    async run({ params, principal }) {
      await userKeys.remove(params.id, requireSignedIn(principal));
      return { status: 204 };
    },
  });
}
