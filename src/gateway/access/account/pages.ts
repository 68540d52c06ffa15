import Type from 'typebox';
import { localPath } from '../../../core/files/local-path.js';
import { HTML_FORMAT } from '../../../core/http/media.js';
import { defineOperation, type Operation, type Reply } from '../../../core/http/operation.js';
import { defineTextParam } from '../../../core/http/params.js';
import { createHtmlReply } from '../../../core/http/reply.js';
import type { OidcProviders } from '../../../services/access/oidc/providers.js';
import { buildFrame } from '../../pages/crumbs.js';
import { sitePath } from '../../pages/layout.js';
import { pageHeaders } from '../../pages/security.js';
import { callbackPage, signInPage } from '../../pages/sign-in.js';

export interface AccountPageDeps {
  readonly providers: OidcProviders;
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

/** Pages to sign in with, and to come back to from a provider. */
export function accountPages({ providers }: AccountPageDeps): Operation[] {
  return [signIn(providers), callback()];
}

function signIn(providers: OidcProviders): Operation {
  return defineOperation({
    ...PAGE,
    id: 'account.signInPage',
    path: '/account/sign-in',
    summary: 'Page to sign in and out',
    params: {
      to: defineTextParam('to', { description: 'Local path to go to afterwards.' }, { maxLength: 2000 }),
    },
    responses: { 200: { description: 'The page.', content: HTML_ANSWER } },
    async run(x) {
      const { params, principal, baseUrl } = x;
      const enabled = (await providers.list()).filter(({ body }) => body.enabled);
      const page = signInPage({
        ...buildFrame(x),
        principal,
        to: localPath(params.to) ?? `${sitePath(baseUrl)}/`,
        providers: enabled.map(({ id, body }) => ({ key: id, displayName: body.name })),
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
    run: (x) => pageReply(callbackPage(buildFrame(x))),
  });
}

function pageReply(document: string): Reply {
  const headers = { ...pageHeaders(), 'referrer-policy': 'no-referrer' };
  return { ...createHtmlReply(document), headers, cacheControl: 'no-store' };
}
