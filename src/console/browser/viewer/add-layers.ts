import { onThisOrigin } from '../page.js';
import { type LayerState, readPermalink, writePermalink } from './permalink.js';

interface Found {
  readonly total: number;
  readonly layers: readonly { id: string; title: string; source: string; kind: string }[];
}

/** Milliseconds without a key before a search is sent. */
const PAUSE = 200;

/** Lets readers add any collection to the map and remove those that are on it: the address names them all. */
export function connectLayerSearch(baseUrl: string, present: readonly string[]): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-remove]')) {
    const id = button.closest<HTMLElement>('[data-layer-row]')?.dataset.layerRow;
    // A map of nothing has no address.
    button.disabled = present.length < 2;
    button.addEventListener('click', () => open(present.filter((one) => one !== id)));
  }
  const form = document.querySelector<HTMLFormElement>('[data-layer-search]');
  const words = form?.querySelector<HTMLInputElement>('[data-search-words]');
  if (!form || !words) return;
  form.hidden = false;
  let asking = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const search = () => {
    asking.abort();
    asking = new AbortController();
    void suggest(form, words.value, baseUrl, present, asking.signal);
  };
  words.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(search, PAUSE);
  });
  words.addEventListener('focus', search, { once: true });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    search();
  });
  form.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    show(form, '', []);
  });
}

async function suggest(
  form: HTMLElement,
  words: string,
  baseUrl: string,
  present: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const url = `${baseUrl}/ogc/maps/viewer/layers?q=${encodeURIComponent(words)}`;
  try {
    const answer = await fetch(onThisOrigin(url, baseUrl), { signal });
    if (!answer.ok) throw new Error(`the search failed (${answer.status})`);
    const { total, layers } = (await answer.json()) as Found;
    const shown = layers.length < total ? `${layers.length} of ${total}` : `${total}`;
    show(
      form,
      total === 0 ? 'Nothing matches.' : `${shown} found`,
      layers.map((layer) => entry(layer, present)),
    );
  } catch (error) {
    if (!signal.aborted) show(form, (error as Error).message, []);
  }
}

function show(form: HTMLElement, text: string, entries: readonly HTMLElement[]): void {
  form.querySelector('[data-search-count]')!.textContent = text;
  form.querySelector('[data-search-results]')!.replaceChildren(...entries);
}

function entry(
  { id, title, source, kind }: Found['layers'][number],
  present: readonly string[],
): HTMLElement {
  const item = document.createElement('li');
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'layer-result';
  button.append(part('bdi', title), part('small', `${kind} · ${source}`));
  button.disabled = present.includes(id);
  button.addEventListener('click', () => open([id, ...present], id));
  item.append(button);
  return item;
}

function part(name: string, text: string): HTMLElement {
  const element = document.createElement(name);
  element.textContent = text;
  return element;
}

/** Opens the viewer at the same place with these collections; what was switched off stays off. */
function open(ids: readonly string[], added?: string): void {
  const link = readPermalink(location.hash);
  const kept = link.layers?.filter(({ id }) => ids.includes(id)) ?? [];
  const first: LayerState[] = added === undefined ? [] : [{ id: added, opacity: 100 }];
  const layers = link.layers && [...first, ...kept];
  const { view } = link;
  const hash = writePermalink({
    ...(view && { view }),
    ...(layers && { layers }),
    time: link.time,
  });
  location.assign(`${location.pathname}?collections=${ids.map(encodeURIComponent).join(',')}${hash}`);
}
