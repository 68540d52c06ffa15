/** Below this width the panel is a sheet at the foot of the page, closed at first. */
const NARROW = '(max-width: 45rem)';

/** Opens and closes the list of layers, and each layer's options. Escape closes what is open around the focus. */
export function connectPanel(): void {
  const panel = document.querySelector<HTMLElement>('[data-panel]');
  const toggle = panel?.querySelector<HTMLButtonElement>('[data-panel-toggle]');
  if (!panel || !toggle) return;
  const body = document.getElementById('layers');
  const open = (isOpen: boolean) => {
    toggle.setAttribute('aria-expanded', String(isOpen));
    if (body) body.hidden = !isOpen;
  };
  toggle.hidden = false;
  open(!matchMedia(NARROW).matches);
  matchMedia(NARROW).addEventListener('change', ({ matches }) => open(!matches));
  toggle.addEventListener('click', () => open(toggle.getAttribute('aria-expanded') !== 'true'));
  for (const button of panel.querySelectorAll<HTMLButtonElement>('[data-more]')) connectOptions(button);
  panel.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || event.defaultPrevented) return;
    toggle.focus();
    open(false);
  });
}

/** Opens and closes the options of a layer. */
export function connectOptions(button: HTMLButtonElement): void {
  const body = document.getElementById(button.getAttribute('aria-controls') ?? '');
  if (!body) return;
  const open = (isOpen: boolean) => {
    button.setAttribute('aria-expanded', String(isOpen));
    body.hidden = !isOpen;
  };
  button.hidden = false;
  button.addEventListener('click', () => open(body.hidden === true));
  button.closest('[data-layer-row]')?.addEventListener('keydown', (event) => {
    if ((event as KeyboardEvent).key !== 'Escape' || body.hidden) return;
    event.preventDefault();
    open(false);
    button.focus();
  });
}
