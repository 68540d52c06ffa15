import { localPath } from '../../core/files/local-path.js';

/** Signs in and out, sets up the first administrator, and changes the password, sessions and keys of a user. */

const place = document.querySelector<HTMLElement>('[data-account]')!;
const root = place.dataset['account'] ?? '';
const admin = `${root}/api/v1/admin`;
const to = place.dataset['to'] ?? `${root}/`;
/** Key of the page to open after the return from a provider. */
const TO = 'graticule-to';

connect('[data-sign-in]', (fields) => signIn(fields['name']!, fields['password']!));
connect('[data-first]', setUp);
connect('[data-password]', changePassword);
connect('[data-new-key]', createKey);
for (const button of place.querySelectorAll<HTMLButtonElement>('[data-show]')) offerToShow(button);
for (const button of place.querySelectorAll<HTMLButtonElement>('[data-delete]'))
  button.addEventListener('click', () => attempt(() => remove(button.dataset['delete']!)));
place.querySelector('[data-copy-secret]')?.addEventListener('click', () => attempt(copySecret));
for (const button of place.querySelectorAll<HTMLButtonElement>('[data-provider]'))
  button.addEventListener('click', () => attempt(() => authorize(button.dataset['provider']!)));
place.querySelector('[data-sign-out]')?.addEventListener('click', () => attempt(signOut));
if (place.dataset['callback'] !== undefined) void attempt(comeBack);

function connect(selector: string, submit: (fields: Record<string, string>) => Promise<void>): void {
  const form = place.querySelector<HTMLFormElement>(selector);
  form?.addEventListener('submit', (event) => {
    event.preventDefault();
    const fields = Object.fromEntries(new FormData(form)) as Record<string, string>;
    void attempt(() => submit(fields));
  });
  for (const button of form?.querySelectorAll('button') ?? []) button.disabled = false;
}

/** Shows the message of an error. */
async function attempt(work: () => Promise<void>): Promise<void> {
  const fault = place.querySelector<HTMLElement>('[data-fault]')!;
  fault.hidden = true;
  try {
    await work();
  } catch (error) {
    fault.textContent = (error as Error).message;
    fault.hidden = false;
    fault.scrollIntoView({ block: 'nearest' });
  }
}

interface SendOptions {
  readonly method?: 'POST' | 'PUT' | 'DELETE';
  readonly headers?: Record<string, string>;
}

/** Default method: POST. */
async function send(
  url: string,
  body?: unknown,
  { method = 'POST', headers = {} }: SendOptions = {},
): Promise<unknown> {
  const json: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
  const response = await fetch(url, {
    method,
    headers: { ...json, accept: 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const answer = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  if (!response.ok) throw new Error(String(answer['detail'] ?? response.statusText));
  return answer;
}

async function signIn(name: string, password: string): Promise<void> {
  await send(`${root}/account/sign-in`, { name, password });
  location.assign(to);
}

async function setUp(fields: Record<string, string>): Promise<void> {
  const [name, password] = [fields['first-name']!, fields['first-password']!];
  const user = { name, password, roles: ['administrator'] };
  await send(`${root}/api/v1/users`, user, { headers: { 'x-api-key': fields['key']! } });
  await signIn(name, password);
}

async function changePassword({ current, new: password }: Record<string, string>): Promise<void> {
  const form = place.querySelector<HTMLFormElement>('[data-password]')!;
  const output = form.querySelector<HTMLOutputElement>('[data-changed]')!;
  output.textContent = '';
  await send(`${root}/account/password`, { current, password }, { method: 'PUT' });
  form.reset();
  output.textContent = 'The password was changed.';
}

/** Deletes a key or ends a session, and shows the rest. */
async function remove(what: string): Promise<void> {
  await send(`${root}/account/${what}`, undefined, { method: 'DELETE' });
  location.reload();
}

const DAY_MS = 86_400_000;

/** The key stays on the page until the next visit; the list shows it from then on. */
async function createKey({ 'key-name': name, days }: Record<string, string>): Promise<void> {
  const expiresAt = days === '' ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString();
  const { key } = (await send(`${root}/account/keys`, { name, expiresAt })) as { key: string };
  place.querySelector<HTMLFormElement>('[data-new-key]')!.reset();
  place.querySelector('[data-secret]')!.textContent = key;
  const part = place.querySelector<HTMLElement>('[data-new-secret]')!;
  part.hidden = false;
  part.querySelector<HTMLButtonElement>('[data-copy-secret]')!.focus();
}

async function copySecret(): Promise<void> {
  await navigator.clipboard.writeText(place.querySelector('[data-secret]')!.textContent!);
  place.querySelector('[data-copy-secret]')!.textContent = 'Copied';
}

/** Shows a button that makes the text of a password field visible, and hides it again. */
function offerToShow(button: HTMLButtonElement): void {
  const field = place.querySelector<HTMLInputElement>(`#${button.dataset['show']!}`)!;
  button.hidden = false;
  button.addEventListener('click', () => {
    const isShown = field.type === 'password';
    field.type = isShown ? 'text' : 'password';
    button.setAttribute('aria-pressed', String(isShown));
  });
}

async function authorize(provider: string): Promise<void> {
  const url = `${admin}/auth/providers/${encodeURIComponent(provider)}/authorize-url`;
  const { authorizeUrl } = (await send(url, {})) as { authorizeUrl: string };
  sessionStorage.setItem(TO, to);
  location.assign(authorizeUrl);
}

async function comeBack(): Promise<void> {
  const answer = new URLSearchParams(location.search);
  // Removes the code from the history and the address bar.
  history.replaceState(null, '', location.pathname);
  const [state, code, iss] = ['state', 'code', 'iss'].map((name) => answer.get(name));
  if (!state || !code) throw new Error('The provider did not let you in.');
  const [provider] = state.split('.');
  const body = { grantType: 'authorization_code', code, state, ...(iss ? { iss } : {}) };
  await send(`${admin}/auth/providers/${encodeURIComponent(provider!)}/token`, body);
  const stored = sessionStorage.getItem(TO) ?? undefined;
  sessionStorage.removeItem(TO);
  location.replace(localPath(stored) ?? `${root}/`);
}

async function signOut(): Promise<void> {
  const { logoutUrl } = (await send(`${admin}/auth/logout`, {})) as { logoutUrl: string | null };
  location.assign(logoutUrl ?? `${root}/`);
}
