/**
 * Loads the part marked `data-NAME` of another page into `place`, which replaces its contents, and moves the focus
 * there. On an error, shows a message and returns undefined.
 */
export async function loadPart(
  place: HTMLElement,
  url: string,
  name: string,
): Promise<HTMLElement | undefined> {
  place.querySelector('[data-loaded]')?.remove();
  const loaded = document.createElement('div');
  loaded.dataset.loaded = '';
  const status = document.createElement('p');
  status.setAttribute('role', 'status');
  loaded.append(status);
  place.append(loaded);
  status.textContent = 'Loading the values …';
  try {
    const answer = await fetch(url, { headers: { accept: 'text/html' } });
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const part = page.querySelector<HTMLElement>(`[data-${name}]`);
    if (!part) {
      status.textContent =
        page.querySelector('main .lead')?.textContent ?? 'The values are not available at the moment.';
      return undefined;
    }
    part.tabIndex = -1;
    loaded.replaceChildren(part);
    part.focus({ preventScroll: true });
    return part;
  } catch {
    status.textContent = 'The values are not available at the moment.';
    return undefined;
  }
}
