import { html, type Markup } from '../../../core/values/html.js';
import { PASSWORD_LENGTH } from '../../../services/access/identity/passwords.js';
import { type PageFrame, page, sitePath } from '../layout.js';

export interface SignInPage {
  readonly frame: PageFrame;
  readonly providers: readonly { readonly key: string; readonly displayName: string }[];
  /** Local path that the browser goes to afterwards. */
  readonly to: string;
  /** Whether no user is an administrator yet. */
  readonly isFirst: boolean;
}

export const ACCOUNT_SCRIPTS = ['account.js'];

/**
 * Page with the ways to sign in. Its forms need the script, so their buttons are disabled without it. Until there is an administrator, it is also the page to
 * create one.
 */
export function signInPage({ frame, providers, to, isFirst }: SignInPage): string {
  const { baseUrl } = frame;
  const body = html`<div class="sign-in" data-account="${sitePath(baseUrl)}" data-to="${to}">
<h1>Sign in</h1>
<p role="alert" class="fault" data-fault hidden></p>
${isFirst ? firstAdministrator() : undefined}
${isFirst ? html`<h2>Sign in with a user name</h2>` : undefined}
<form method="post" data-sign-in>
${renderField({ name: 'name', label: 'User name', autocomplete: 'username' })}
${renderPassword({ name: 'password', label: 'Password', autocomplete: 'current-password' })}
<p><button class="button primary" disabled>Sign in</button></p>
</form>
${providers.map(
  ({ key, displayName }) =>
    html`<p><button type="button" class="button" data-provider="${key}">Sign in with <bdi>${displayName}</bdi></button></p>`,
)}
<noscript><p>Signing in requires JavaScript.</p></noscript>
</div>`;
  return page({ ...frame, title: 'Sign in', crumbs: [], body, scripts: ACCOUNT_SCRIPTS });
}

function firstAdministrator(): Markup {
  const { least } = PASSWORD_LENGTH;
  return html`<h2>Set up the first administrator</h2>
<p>This server has no administrator yet. Use the administrator key to set your user name and password: the value of <code>SVC_ADMIN_KEY</code>, or the key that the server printed when it started for the first time.</p>
<form method="post" data-first>
${renderPassword({ name: 'key', label: 'Administrator key', autocomplete: 'off' })}
${renderField({ name: 'first-name', label: 'User name', autocomplete: 'username' })}
${renderPassword({ name: 'first-password', label: `New password, at least ${least} characters`, autocomplete: 'new-password', least })}
<p><button class="button" disabled>Create the administrator</button></p>
</form>`;
}

interface Field {
  readonly name: string;
  readonly label: string;
  readonly autocomplete: string;
  /** Minimum characters. */
  readonly least?: number;
}

export function renderField({ name, label, autocomplete }: Field): Markup {
  return html`<p class="field"><label for="${name}">${label}</label>
<input id="${name}" name="${name}" autocomplete="${autocomplete}" required maxlength="256"></p>`;
}

/** A field that hides its text. The script shows the button that makes the text visible. */
export function renderPassword({ name, label, autocomplete, least }: Field): Markup {
  const minimum = least === undefined ? undefined : html` minlength="${least}"`;
  return html`<p class="field"><label for="${name}">${label}</label>
<span class="password"><input id="${name}" name="${name}" type="password" autocomplete="${autocomplete}" required${minimum} maxlength="256"><button type="button" class="button" aria-pressed="false" data-show="${name}" hidden>Show<span class="unseen"> ${label}</span></button></span></p>`;
}

/** Page for the return from an identity provider, shown until the browser is signed in. */
export function callbackPage(frame: PageFrame): string {
  const { baseUrl } = frame;
  const body = html`<div data-account="${sitePath(baseUrl)}" data-callback>
<h1>Signing in</h1>
<p role="alert" class="fault" data-fault hidden></p>
<p><a href="${`${baseUrl}/account/sign-in`}">Sign in again</a></p>
<noscript><p>Signing in requires JavaScript.</p></noscript>
</div>`;
  return page({ ...frame, title: 'Signing in', crumbs: [], body, scripts: ACCOUNT_SCRIPTS });
}
