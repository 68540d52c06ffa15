/** Controls for the snippets on a collection's page: copying, and choosing the style. */

for (const button of document.querySelectorAll<HTMLButtonElement>('[data-copy]')) connectCopy(button);
const choice = document.querySelector<HTMLElement>('[data-style-choice]');
if (choice) connectStyles(choice);
openNamed();
addEventListener('hashchange', openNamed);

function connectCopy(button: HTMLButtonElement): void {
  const code = button.parentElement?.querySelector('code');
  // Browsers offer the clipboard to secure pages and to localhost only; elsewhere the text is selected instead.
  if (!code) return;
  button.hidden = false;
  button.addEventListener('click', async () => {
    const copied = await copy(code);
    const label = copied ? 'Copied' : 'Selected: press Ctrl+C';
    button.textContent = label;
    setTimeout(() => (button.textContent = 'Copy'), 3000);
  });
}

async function copy(code: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(code.textContent ?? '');
    return true;
  } catch {
    getSelection()?.selectAllChildren(code);
    return false;
  }
}

function connectStyles(place: HTMLElement): void {
  place.hidden = false;
  const select = place.querySelector('select')!;
  const show = () => {
    for (const mark of document.querySelectorAll('[data-style]'))
      mark.textContent = encodeURIComponent(select.value);
  };
  select.addEventListener('change', show);
  show();
}

/** An address that ends in `#use-python` opens that snippet. */
function openNamed(): void {
  const named = location.hash ? document.getElementById(location.hash.slice(1)) : null;
  if (named instanceof HTMLDetailsElement) {
    named.open = true;
    named.scrollIntoView();
  }
}
