import { sendJson } from '../request.js';

/** Approves or rejects the proposal of a page, follows its execution, and shows its evidence and seals. */

interface JwsDocument {
  readonly payload: string;
}

interface SealDocument {
  readonly approval: JwsDocument | null;
  readonly receipt: JwsDocument | null;
  readonly evidence: object | null;
}

const ACTIVE = ['Submitted', 'Executing', 'Reconciling'];
const LOOK_MS = 500;

const root = document.querySelector<HTMLElement>('[data-proposal]');
if (root) void start(root, root.dataset['proposal']!);

async function start(element: HTMLElement, path: string): Promise<void> {
  const approve = element.querySelector<HTMLButtonElement>('[data-approve]');
  const reject = element.querySelector<HTMLFormElement>('[data-reject]');
  if (approve) {
    approve.hidden = false;
    approve.addEventListener('click', async () => {
      approve.disabled = true;
      // Only the content on this page is approved.
      const etag = `"${element.dataset['proposalId']}"`;
      if (!(await decide(element, `${path}/approve`, undefined, etag))) approve.disabled = false;
    });
  }
  if (reject) {
    reject.hidden = false;
    reject.addEventListener('submit', (event) => {
      event.preventDefault();
      void decide(element, `${path}/reject`, { reason: new FormData(reject).get('reason') });
    });
  }
  await showSeals(path);
  if (element.dataset['active'] === 'yes') await follow(path);
}

/** Loads the page again after a decision. Returns false if the server refused it. */
async function decide(
  element: HTMLElement,
  path: string,
  body: object | undefined,
  etag?: string,
): Promise<boolean> {
  const result = await sendJson('POST', path, body, etag);
  if ('value' in result) {
    location.reload();
    return true;
  }
  const fault = element.querySelector<HTMLElement>('[data-fault]')!;
  fault.textContent = result.problem;
  fault.hidden = false;
  return false;
}

async function follow(path: string): Promise<void> {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    const one = await read<{ status: string }>(path);
    if (!one) continue;
    if (!ACTIVE.includes(one.status)) return location.reload();
    document.querySelector('[data-proposal-status]')!.textContent = one.status;
  }
}

async function showSeals(path: string): Promise<void> {
  const place = document.querySelector<HTMLElement>('[data-seals]');
  const seals = await read<SealDocument>(`${path}/seals`);
  if (!place || !seals) return;
  const parts: [string, object | null][] = [
    ['Evidence', seals.evidence],
    ['Approval', decode(seals.approval)],
    ['Receipt', decode(seals.receipt)],
  ];
  for (const [title, content] of parts) {
    if (!content) continue;
    const details = document.createElement('details');
    const summary = document.createElement('summary');
    summary.textContent = title;
    const text = document.createElement('pre');
    text.tabIndex = 0;
    text.setAttribute('role', 'region');
    text.setAttribute('aria-label', title);
    text.textContent = JSON.stringify(content, null, 2);
    const box = document.createElement('div');
    box.className = 'code';
    box.append(text);
    details.append(summary, box);
    details.open = title === 'Receipt';
    place.append(details);
    place.hidden = false;
  }
}

/** The content of a seal. The server has written it; `graticule proposal verify` checks the signature. */
function decode(seal: JwsDocument | null): object | null {
  if (!seal) return null;
  const bytes = Uint8Array.from(atob(seal.payload.replace(/-/g, '+').replace(/_/g, '/')), (c) =>
    c.charCodeAt(0),
  );
  return JSON.parse(new TextDecoder().decode(bytes)) as object;
}

/** Undefined if the server does not respond at the moment, or refuses. */
async function read<T>(path: string): Promise<T | undefined> {
  const result = await sendJson<T>('GET', path);
  return 'value' in result ? result.value : undefined;
}
