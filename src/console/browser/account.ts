import { localPath } from '../../core/files/local-path.js';

/** Signs in and out: by password, with a provider and back from it, and sets up the first administrator. */

const place = document.querySelector<HTMLElement>('[data-account]')!;
const root = place.dataset['account'] ?? '';
const admin = `${root}/api/v1/admin`;
const to = place.dataset['to'] ?? `${root}/`;
/** Key of the page to open after the return from a provider. */
const TO = 'graticule-to';

connect('[data-sign-in]', (fields) => signIn(fields['name']!, fields['password']!));
connect('[data-first]', setUp);
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
}

/** Shows what went wrong, where something did. */
async function attempt(work: () => Promise<void>): Promise<void> {
  const fault = place.querySelector<HTMLElement>('[data-fault]')!;
  fault.hidden = true;
  try {
    await work();
  } catch (error) {
    fault.textContent = (error as Error).message;
    fault.hidden = false;
  }
}

async function send(url: string, body: unknown, headers: Record<string, string> = {}): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
    body: JSON.stringify(body),
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
  await send(`${root}/api/v1/users`, user, { 'x-api-key': fields['key']! });
  await signIn(name, password);
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
