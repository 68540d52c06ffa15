import { onThisOrigin } from '../page.js';
import { type LayerState, readPermalink, writePermalink } from './permalink.js';

interface Found {
  readonly total: number;
  readonly layers: readonly { id: string; title: string; source: string; kind: string }[];
}

/** Milliseconds without a key before a search is sent. */
const PAUSE = 200;

/** Layers of the viewer: lists, adds and removes them. */
export interface ViewerLayers {
  ids(): readonly string[];
  add(id: string): Promise<void> | void;
  remove(id: string): void;
}

/** Connects the search with which readers add collections to the map, and the buttons that remove them. */
export function connectLayerSearch(baseUrl: string, layers: ViewerLayers): void {
  for (const row of document.querySelectorAll<HTMLElement>('[data-layer-row]')) connectRemoval(row, layers);
  const form = document.querySelector<HTMLFormElement>('[data-layer-search]');
  const words = form?.querySelector<HTMLInputElement>('[data-search-words]');
  if (!form || !words) return;
  form.hidden = false;
  let asking = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const search = () => {
    asking.abort();
    asking = new AbortController();
    void suggest(form, words.value, baseUrl, layers, asking.signal);
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

/** Connects the remove button of a row, which removes its layer from the map. */
export function connectRemoval(row: HTMLElement, layers: ViewerLayers): void {
  const id = row.dataset.layerRow!;
  row.querySelector('[data-remove]')?.addEventListener('click', () => {
    const next = row.nextElementSibling ?? row.previousElementSibling;
    layers.remove(id);
    const result = document.querySelector<HTMLButtonElement>(`[data-result="${CSS.escape(id)}"]`);
    if (result) result.disabled = false;
    next?.querySelector<HTMLElement>('input')?.focus();
    markRemovable(layers);
  });
  markRemovable(layers);
}

/** A map without layers has no URL, so the last layer cannot be removed. */
function markRemovable(layers: ViewerLayers): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-remove]'))
    button.disabled = layers.ids().length < 2;
}

async function suggest(
  form: HTMLElement,
  words: string,
  baseUrl: string,
  present: ViewerLayers,
  signal: AbortSignal,
): Promise<void> {
  const url = `${baseUrl}/ogc/maps/viewer/layers?q=${encodeURIComponent(words)}`;
  try {
    const answer = await fetch(onThisOrigin(url, baseUrl), { signal });
    if (!answer.ok) throw new Error(`the search failed (${answer.status})`);
    const { total, layers } = (await answer.json()) as Found;
    const count = layers.length < total ? `${layers.length} of ${total}` : `${total}`;
    show(
      form,
      total === 0 ? 'No matches.' : `${count} found`,
      layers.map((layer) => entry(form, layer, present)),
    );
  } catch (error) {
    if (!signal.aborted) show(form, (error as Error).message, []);
  }
}

function show(form: HTMLElement, text: string, entries: readonly HTMLElement[]): void {
  form.querySelector('[data-search-count]')!.textContent = text;
  const results = form.querySelector<HTMLElement>('[data-search-results]')!;
  results.replaceChildren(...entries);
  // The list scrolls, and what is on the map already cannot have the focus: the keyboard scrolls the list itself.
  if (entries.length > 0) results.tabIndex = 0;
  else results.removeAttribute('tabindex');
}

function entry(
  form: HTMLElement,
  { id, title, source, kind }: Found['layers'][number],
  layers: ViewerLayers,
): HTMLElement {
  const item = document.createElement('li');
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'layer-result';
  button.dataset.result = id;
  button.append(part('bdi', title), part('small', `${kind} · ${source}`));
  button.disabled = layers.ids().includes(id);
  button.addEventListener('click', () => void addResult(form, button, title, () => layers.add(id)));
  item.append(button);
  return item;
}

async function addResult(
  form: HTMLElement,
  button: HTMLButtonElement,
  title: string,
  add: () => Promise<void> | void,
): Promise<void> {
  const status = form.querySelector('[data-search-count]')!;
  // A disabled button loses the focus, so it moves to the search field.
  form.querySelector<HTMLInputElement>('[data-search-words]')?.focus();
  button.disabled = true;
  try {
    await add();
    status.textContent = `${title} was added on top of the map.`;
  } catch (error) {
    button.disabled = false;
    status.textContent = (error as Error).message;
  }
}

function part(name: string, text: string): HTMLElement {
  const element = document.createElement(name);
  element.textContent = text;
  return element;
}

/** The same by loading the page again, for a browser without a map; what was switched off stays off. */
export function reloadingLayers(ids: readonly string[]): ViewerLayers {
  return {
    ids: () => ids,
    add: (id) => open([id, ...ids], id),
    remove: (id) => open(ids.filter((one) => one !== id)),
  };
}

function open(ids: readonly string[], added?: string): void {
  const link = readPermalink(location.hash);
  const present = link.layers?.filter(({ id }) => ids.includes(id)) ?? [];
  const first: LayerState[] = added === undefined ? [] : [{ id: added, opacity: 100 }];
  const layers = link.layers && [...first, ...present];
  const { view } = link;
  const hash = writePermalink({
    ...(view && { view }),
    ...(layers && { layers }),
    time: link.time,
    colors: link.colors?.filter(({ id }) => ids.includes(id)) ?? [],
  });
  location.assign(`${buildCollectionsQuery(ids)}${hash}`);
}

/** The part of the address that names the layers. */
export function buildCollectionsQuery(ids: readonly string[]): string {
  return `${location.pathname}?collections=${ids.map(encodeURIComponent).join(',')}`;
}
