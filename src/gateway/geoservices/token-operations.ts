import Type from 'typebox';
import { defineOperation, type Exchange, type Operation, type Reply } from '../../core/http/operation.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { Bearers } from '../../services/access/identity/bearers.js';
import { signSessionToken } from '../../services/access/identity/session-tokens.js';
import type { Sessions } from '../../services/access/identity/sessions.js';
import type { SigningKeys } from '../../services/access/identity/signing-keys.js';
import type { Users } from '../../services/access/identity/users.js';
import { common, documentFormat, FORM_TYPES, mergeParameters } from './features/feature-server.js';
import { jsonReply } from './images/in-band.js';
import { type Members, readTextMember, wholeNumber } from './members.js';

export interface TokenDeps {
  readonly users: Pick<Users, 'withPassword'>;
  readonly sessions: Pick<Sessions, 'open'>;
  readonly signing: Pick<SigningKeys, 'sign'>;
  readonly tokens: Pick<Bearers, 'find'>;
}

/** Path of the token operation. */
export const TOKEN_PATH = '/sharing/rest/generateToken';

/** Maximum lifetime of a token in minutes, and its default. */
export const TOKEN_MINUTES = LIMITS.clientTokenSeconds / 60;

/** Tokens for users with a password, as clients of GeoServices get them. */
export function tokenOperation(deps: TokenDeps): Operation {
  return defineOperation({
    ...common('Sharing', 'generateToken'),
    // The caller is not authenticated yet.
    ownCredentials: true,
    audited: true,
    method: 'POST',
    id: 'geoservices.generateToken',
    path: TOKEN_PATH,
    summary: 'A token for a user with a password',
    params: {},
    body: {
      schema: Type.Object({}),
      mediaTypes: FORM_TYPES,
      required: true,
    },
    run: (x) => tokenReply(x, deps),
  });
}

async function tokenReply(x: Exchange, deps: TokenDeps): Promise<Reply> {
  const { users, sessions, signing } = deps;
  // In an address the password would be read by whoever reads logs.
  const members = mergeParameters({ query: '', body: x.body });
  const format = documentFormat(members);
  const ssl = x.baseUrl.startsWith('https:');
  // A portal's token in exchange for one of a server of it: they are the same here.
  const before = readTextMember(members, 'token', 8192);
  const expires = before === undefined ? undefined : await findEnd(before, deps);
  if (expires !== undefined) return jsonReply({ token: before, expires, ssl }, format);
  const [name, password] = [
    readTextMember(members, 'username', 200),
    readTextMember(members, 'password', 2000),
  ];
  const user = name && password ? await users.withPassword(name, password, x.clientAddress) : undefined;
  if (!user) {
    const details = ['Invalid username or password.'];
    return jsonReply({ error: { code: 400, message: 'Unable to generate token.', details } }, format);
  }
  const { session } = await sessions.open({ user });
  const term = { issuer: x.baseUrl, seconds: readMinutes(members) * 60 };
  const { token, exp } = await signSessionToken(signing, session, term);
  return jsonReply({ token, expires: exp * 1000, ssl }, format);
}

/** Requested lifetime of the token in minutes, limited to the maximum lifetime of tokens. */
function readMinutes(members: Members): number {
  const text = readTextMember(members, 'expiration', 16);
  const minutes = text === undefined ? TOKEN_MINUTES : wholeNumber('expiration', text);
  return Math.min(TOKEN_MINUTES, Math.max(1, minutes));
}

/** Expiry of a token of this server in milliseconds since 1970; undefined if it is invalid. */
async function findEnd(token: string, { tokens }: TokenDeps): Promise<number | undefined> {
  const bearer = await tokens.find(token);
  return bearer && 'user' in bearer && bearer.session !== undefined ? bearer.expiresAt : undefined;
}
