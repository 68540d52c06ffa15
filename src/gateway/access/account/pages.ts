import Type from 'typebox';
import { localPath } from '../../../core/files/local-path.js';
import { HTML_FORMAT } from '../../../core/http/media.js';
import { defineOperation, type Exchange, type Operation, type Reply } from '../../../core/http/operation.js';
import { defineTextParam } from '../../../core/http/params.js';
import { createHtmlReply } from '../../../core/http/reply.js';
import type { Sessions } from '../../../services/access/identity/sessions.js';
import type { Users } from '../../../services/access/identity/users.js';
import type { UserKeys } from '../../../services/access/keys/user-keys.js';
import type { OidcProviders } from '../../../services/access/oidc/providers.js';
import { accountPage } from '../../pages/access/account.js';
import { callbackPage, signInPage } from '../../pages/access/sign-in.js';
import { buildFrame } from '../../pages/crumbs.js';
import { sitePath } from '../../pages/layout.js';
import { pageHeaders } from '../../pages/security.js';
import { isSignedIn } from './own.js';
import { keyView, sessionView } from './views.js';

export interface AccountPageDeps {
  readonly providers: OidcProviders;
  readonly users: Users;
  readonly sessions: Sessions;
  readonly userKeys: UserKeys;
}

const PAGE = {
  surface: 'site',
  protocol: 'Site',
  tag: 'Account',
  method: 'GET',
  permission: 'public',
  formats: [HTML_FORMAT],
  openQuery: true,
} as const;
const HTML_ANSWER = { 'text/html': Type.String() };
const SIGN_IN = '/account/sign-in';

/** Pages to sign in with, and to come back to from a provider. */
export function accountPages(deps: AccountPageDeps): Operation[] {
  return [signIn(deps), callback()];
}

function signIn({ providers, users }: AccountPageDeps): Operation {
  return defineOperation({
    ...PAGE,
    id: 'account.signInPage',
    path: SIGN_IN,
    summary: 'Show the page to sign in',
    description: 'Redirects callers who are signed in to their account.',
    params: {
      to: defineTextParam('to', { description: 'Local path to go to afterwards.' }, { maxLength: 2000 }),
    },
    responses: {
      200: { description: 'The page.', content: HTML_ANSWER },
      303: { description: 'The caller is signed in.' },
    },
    async run(x) {
      const root = sitePath(x.baseUrl);
      if (x.principal.kind !== 'anonymous') return redirect(`${root}/account`);
      const enabled = (await providers.list()).filter(({ body }) => body.enabled);
      const to = localPath(x.params.to) ?? `${root}/`;
      const page = signInPage({
        frame: { ...buildFrame(x), reader: { here: to } },
        to,
        providers: enabled.map(({ id, body }) => ({ key: id, displayName: body.name })),
        isFirst: !(await users.hasAdministrator()),
      });
      return pageReply(page);
    },
  });
}

/** Only the browser uses the code: the page does not show, store or forward any part of the URL. */
function callback(): Operation {
  return defineOperation({
    ...PAGE,
    id: 'account.callback',
    path: '/account/callback',
    summary: 'Page that providers send browsers back to',
    params: {},
    responses: { 200: { description: 'The page.', content: HTML_ANSWER } },
    run: (x) => pageReply(callbackPage({ ...buildFrame(x), reader: { here: `${sitePath(x.baseUrl)}/` } })),
  });
}

/** Names of credentials, by the kind of the caller. */
const CREDENTIALS: Readonly<Record<string, string>> = {
  'api-key': 'an API key',
  'oauth-client': 'a token of an OAuth client',
  'embed-key': 'an embed key',
  certificate: 'a client certificate',
};

/** The page of the caller. Readers who are not signed in go to the page to sign in. */
export async function replyWithAccountPage(x: Exchange, deps: AccountPageDeps): Promise<Reply> {
  const { principal } = x;
  const { kind, name, roles = [], tenantId: tenant } = principal;
  if (kind === 'anonymous') {
    const root = sitePath(x.baseUrl);
    return redirect(`${root}${SIGN_IN}?to=${encodeURIComponent(`${root}/account`)}`);
  }
  const user = kind === 'user' ? await loadUserParts(x, deps) : undefined;
  const credential = CREDENTIALS[kind];
  return pageReply(accountPage({ frame: buildFrame(x), name, roles, tenant, credential, user }));
}

async function loadUserParts({ principal }: Exchange, { users, sessions, userKeys }: AccountPageDeps) {
  const { displayName, email, passwordHash } = await users.get(principal.id);
  const own = await sessions.list(principal.id);
  return {
    displayName,
    email,
    hasPassword: passwordHash !== null,
    hasSession: principal.sessionHash !== undefined,
    sessions: own.map((session) => sessionView(session, principal)),
    keys: isSignedIn(principal) ? (await userKeys.list(principal.id)).map(keyView) : undefined,
  };
}

function redirect(location: string): Reply {
  return { status: 303, headers: { location }, cacheControl: 'no-store' };
}

function pageReply(document: string): Reply {
  const headers = { ...pageHeaders(), 'referrer-policy': 'no-referrer' };
  return { ...createHtmlReply(document), headers, cacheControl: 'no-store' };
}
