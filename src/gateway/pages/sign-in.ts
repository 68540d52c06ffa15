import type { Principal } from '../../core/http/operation.js';
import { html, type Markup } from '../../core/values/html.js';
import { type PageFrame, page, sitePath } from './layout.js';

export interface SignInPage extends PageFrame {
  readonly principal: Principal;
  readonly providers: readonly { readonly key: string; readonly displayName: string }[];
  /** Local path that the browser goes to afterwards. */
  readonly to: string;
}

const SCRIPTS = ['account.js'];

/** Page with the signed-in user and the ways to sign in. */
export function signInPage(input: SignInPage): string {
  const { baseUrl, reader, principal, to } = input;
  const isKnown = principal.kind !== 'anonymous';
  const body = html`<div data-account="${sitePath(baseUrl)}" data-to="${to}">
<h1>${isKnown ? 'Account' : 'Sign in'}</h1>
<p role="alert" data-fault hidden></p>
${isKnown ? whoAmI(principal) : ways(input)}
<noscript><p>Signing in requires JavaScript.</p></noscript>
</div>`;
  return page({
    baseUrl,
    reader,
    title: isKnown ? 'Account' : 'Sign in',
    crumbs: [],
    body,
    scripts: SCRIPTS,
  });
}

function whoAmI({ name, roles = [], sessionHash }: Principal): Markup {
  const what = roles.length === 0 ? html`, without roles` : html`, as <bdi>${roles.join(', ')}</bdi>`;
  return html`<p class="lead">You are signed in: <bdi>${name}</bdi>${what}.</p>
${sessionHash === undefined ? undefined : html`<p><button type="button" class="button" data-sign-out>Sign out</button></p>`}`;
}

function ways({ providers }: SignInPage): Markup {
  const buttons = providers.map(
    ({ key, displayName }) =>
      html`<p><button type="button" class="button" data-provider="${key}">Sign in with <bdi>${displayName}</bdi></button></p>`,
  );
  return html`<form data-sign-in>
${field('name', 'User name', 'text', 'username')}
${field('password', 'Password', 'password', 'current-password')}
<p><button class="button primary">Sign in</button></p>
</form>
${buttons}
<details>
<summary>Set up the first administrator</summary>
<p>The server printed a key when it started for the first time. Use this key to set your user name and password.</p>
<form data-first>
${field('key', 'Administrator key', 'password', 'off')}
${field('first-name', 'User name', 'text', 'username')}
${field('first-password', 'New password, at least 12 characters', 'password', 'new-password')}
<p><button class="button">Create the administrator</button></p>
</form>
</details>`;
}

function field(name: string, label: string, type: string, complete: string): Markup {
  return html`<p><label for="${name}">${label}</label><br>
<input id="${name}" name="${name}" type="${type}" autocomplete="${complete}" required maxlength="256"></p>`;
}

/** Page for the return from an identity provider, shown until the browser is signed in. */
export function callbackPage({ baseUrl, reader }: PageFrame): string {
  const body = html`<div data-account="${sitePath(baseUrl)}" data-callback>
<h1>Signing in</h1>
<p role="alert" data-fault hidden></p>
<p><a href="${`${baseUrl}/account/sign-in`}">Sign in again</a></p>
<noscript><p>Signing in requires JavaScript.</p></noscript>
</div>`;
  return page({ baseUrl, reader, title: 'Signing in', crumbs: [], body, scripts: SCRIPTS });
}
