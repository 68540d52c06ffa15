import { html, type Markup } from '../../../core/values/html.js';
import { PASSWORD_LENGTH } from '../../../services/access/identity/passwords.js';
import { type PageFrame, page, renderSection, sitePath } from '../layout.js';
import { table } from '../table.js';
import { facts, renderTime } from '../values.js';
import { ACCOUNT_SCRIPTS, renderField, renderPassword } from './sign-in.js';

/** A session of the reader. Times are ISO 8601. */
interface SessionEntry {
  readonly id: string;
  readonly userAgent: string | null;
  readonly provider: string | null;
  readonly createdAt: string;
  readonly lastUsedAt: string;
  readonly isCurrent: boolean;
}

/** A key of the reader. */
interface KeyEntry {
  readonly id: string;
  readonly name: string;
  readonly keyPrefix: string;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly lastUsedAt: string | null;
}

export interface AccountPage {
  readonly frame: PageFrame;
  readonly name: string;
  readonly roles: readonly string[];
  readonly tenant?: string | undefined;
  /** Name of the caller's credential, such as `an API key`. Undefined for a user. */
  readonly credential?: string | undefined;
  /** Absent for callers that are not users. */
  readonly user?: UserParts | undefined;
}

interface UserParts {
  readonly displayName: string;
  readonly email: string | null;
  readonly hasPassword: boolean;
  readonly hasSession: boolean;
  readonly sessions: readonly SessionEntry[];
  /** Absent if the caller may not manage keys: it used a key or a token. */
  readonly keys?: readonly KeyEntry[] | undefined;
}

/** Page of the caller: who it is, and for users password, sessions and keys. */
export function accountPage(input: AccountPage): string {
  const { frame, name, roles, tenant, credential, user } = input;
  const body = html`<div data-account="${sitePath(frame.baseUrl)}">
<h1>Account</h1>
<p class="lead">You are signed in as <bdi>${user?.displayName ?? name}</bdi>${credential === undefined ? undefined : html`, with ${credential}`}.</p>
<p role="alert" class="fault" data-fault hidden></p>
${facts([
  ['User name', html`<bdi>${name}</bdi>`],
  ['E-mail', user?.email ?? undefined],
  ['Roles', roles.length > 0 ? html`<bdi>${roles.join(', ')}</bdi>` : 'none'],
  ['Tenant', tenant],
])}
${user?.hasSession ? html`<p class="part"><button type="button" class="button" data-sign-out>Sign out</button></p>` : undefined}
${user?.hasPassword ? renderSection('Password', passwordForm()) : undefined}
${user ? renderSection('Sessions', sessionList(user.sessions)) : undefined}
${user?.keys ? renderSection('Keys', keyList(user.keys)) : undefined}
<noscript><p>Changes of the account require JavaScript.</p></noscript>
</div>`;
  return page({ ...frame, title: 'Account', crumbs: [], body, scripts: ACCOUNT_SCRIPTS });
}

function passwordForm(): Markup {
  const { least } = PASSWORD_LENGTH;
  return html`<form class="card-form" method="post" data-password>
${renderPassword({ name: 'current', label: 'Current password', autocomplete: 'current-password' })}
${renderPassword({ name: 'new', label: `New password, at least ${least} characters`, autocomplete: 'new-password', least })}
<p><button class="button">Change the password</button> <output role="status" data-changed></output></p>
<p class="hint">The new password ends your other sessions. Your keys stay valid.</p>
</form>`;
}

function sessionList(sessions: readonly SessionEntry[]): Markup {
  const rows = sessions.map(
    ({ id, userAgent, provider, createdAt, lastUsedAt, isCurrent }) =>
      html`<tr><td>${describeBrowser(userAgent)}</td><td><bdi>${provider ?? 'Password'}</bdi></td><td>${renderTime(createdAt, 'minute')}</td><td>${renderTime(lastUsedAt, 'minute')}</td>
<td>${isCurrent ? 'This session' : html`<button type="button" class="button" data-delete="sessions/${id}">End<span class="unseen"> the session of ${describeBrowser(userAgent)}</span></button>`}</td></tr>`,
  );
  const others = sessions.filter(({ isCurrent }) => !isCurrent).length;
  return html`<p>A session ends 12 hours after the sign-in, or after 2 hours without use.</p>
${table('Sessions', ['Browser', 'Signed in with', 'Since', 'Last used', 'Action'], rows)}
${others > 1 ? html`<p><button type="button" class="button" data-delete="sessions">End all other sessions</button></p>` : undefined}`;
}

/** Days that a new key is valid, in the order of the list. */
const DAYS = [30, 90, 365];

function keyList(keys: readonly KeyEntry[]): Markup {
  const rows = keys.map(
    ({ id, name, keyPrefix, createdAt, expiresAt, lastUsedAt }) =>
      html`<tr><td><bdi>${name}</bdi></td><td><code>${keyPrefix}…</code></td><td>${renderTime(createdAt, 'minute')}</td><td>${expiresAt === null ? 'never' : renderTime(expiresAt, 'minute')}</td><td>${lastUsedAt === null ? 'never' : renderTime(lastUsedAt, 'minute')}</td>
<td><button type="button" class="button" data-delete="keys/${id}">Delete<span class="unseen"> the key ${name}</span></button></td></tr>`,
  );
  const choices = DAYS.map((days) => html`<option value="${days}">${days} days</option>`);
  return html`<p>Programs such as QGIS, GDAL and scripts send a key instead of your password. A key always has your present rights.</p>
${rows.length > 0 ? table('Keys', ['Name', 'Key', 'Created', 'Expires', 'Last used', 'Action'], rows) : undefined}
<form class="card-form" method="post" data-new-key>
${renderField({ name: 'key-name', label: 'Name of the new key', autocomplete: 'off' })}
<p class="field"><label for="days">Valid for</label>
<select id="days" name="days">${choices}<option value="">No limit</option></select></p>
<p><button class="button">Create the key</button></p>
</form>
<div data-new-secret hidden>
<p>This is the new key. It is shown only this once.</p>
<p><output class="secret"><code data-secret></code></output> <button type="button" class="button" data-copy-secret>Copy</button></p>
</div>`;
}

const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\//, 'Firefox'],
  [/\bQGIS\//, 'QGIS'],
  [/Chrom(e|ium)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];

const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\b(iPhone|iPad)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
];

/** `Firefox on Linux`, or the first word of the header of a program. */
function describeBrowser(userAgent: string | null): string {
  if (!userAgent) return 'Unknown';
  const find = (names: typeof BROWSERS) => names.find(([pattern]) => pattern.test(userAgent))?.[1];
  const browser = find(BROWSERS) ?? userAgent.split(/[\s/(]/, 1)[0]!;
  const system = find(SYSTEMS);
  return system === undefined ? browser : `${browser} on ${system}`;
}
