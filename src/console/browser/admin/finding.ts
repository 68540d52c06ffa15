/** Proposes the actions of findings, and shows the outcomes. */

import { sendJson } from '../request.js';

interface Outcome {
  readonly status: string;
  readonly proposalId: string | null;
  readonly message: string | null;
}

const TEXTS: Readonly<Record<string, string>> = {
  Executed: 'The policy of the rule approved the action.',
  ProposalCreated: 'The action is proposed. Another person must approve it.',
  Blocked: 'The action cannot be proposed now.',
  NotSupported: 'The server cannot remove the cause.',
};

for (const element of document.querySelectorAll<HTMLElement>('[data-finding]')) start(element);

function start(element: HTMLElement): void {
  const button = element.querySelector<HTMLButtonElement>('[data-propose]')!;
  button.hidden = false;
  button.addEventListener('click', async () => {
    button.disabled = true;
    const { text, proposalId } = await propose(element.dataset['finding']!);
    const place = element.querySelector<HTMLElement>('[data-outcome]')!;
    place.textContent = `${text} `;
    place.hidden = false;
    if (proposalId === null) {
      button.disabled = false;
      return;
    }
    const link = document.createElement('a');
    link.href = `${element.dataset['proposals']}/${proposalId}?f=html`;
    link.textContent = 'Show the proposal';
    place.append(link);
  });
}

async function propose(path: string): Promise<{ text: string; proposalId: string | null }> {
  const sent = await sendJson<Outcome>('POST', path);
  if (!('value' in sent)) return { text: sent.problem, proposalId: null };
  const { status, message, proposalId } = sent.value;
  return { text: [TEXTS[status] ?? status, message ?? ''].join(' ').trim(), proposalId };
}
