import { sendJson } from '../request.js';

/** Buttons of the sources page that read a source again. */

const root = document.querySelector<HTMLElement>('[data-sources]');
const message = root?.querySelector<HTMLElement>('[data-status]');

for (const button of root?.querySelectorAll<HTMLButtonElement>('[data-retry]') ?? [])
  button.addEventListener('click', () => void readAgain(button));

async function readAgain(button: HTMLButtonElement): Promise<void> {
  button.disabled = true;
  report('The server reads the source.');
  const id = encodeURIComponent(button.dataset['retry']!);
  const url = `${root!.dataset['sources']}/api/v1/admin/sources/${id}/retry`;
  const result = await sendJson('POST', url);
  if ('value' in result) {
    location.reload();
    return;
  }
  button.disabled = false;
  report(result.problem);
}

function report(text: string): void {
  if (message) message.textContent = text;
}
