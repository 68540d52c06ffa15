import MiniSearch from 'minisearch';
import { INDEX_OPTIONS, type Section, searchIndex } from '../manual/search.mjs';

/** Search of the manual: the index comes with the first use. Without this script the manual has everything but the search. */

/** Name of the file of the index, below the folder of this script. */
declare const SEARCH_INDEX: string;

const form = document.querySelector<HTMLFormElement>('[data-search]')!;
const field = form.querySelector('input')!;
const list = document.querySelector<HTMLElement>('[data-found]')!;
const status = document.querySelector<HTMLElement>('[data-found-status]')!;
const root = new URL('..', import.meta.url);
let index: Promise<MiniSearch<Section>> | undefined;

form.hidden = false;
form.addEventListener('submit', (event) => {
  event.preventDefault();
  void show().then(() => list.querySelector('a')?.click());
});
field.addEventListener('focus', () => void loadIndex().catch(() => undefined));
field.addEventListener('input', () => void show());
document.addEventListener('keydown', onKey);
document.addEventListener('click', ({ target }) => {
  if (!(target as Element).closest('.find')) close();
});
openQuery();
showPlace();

/** Scrolls a long table of contents to the entry of this page. */
function showPlace(): void {
  const place = document.querySelector<HTMLElement>('.contents [aria-current]');
  const contents = document.querySelector('.contents > ul');
  if (!place || !contents || contents.scrollHeight <= contents.clientHeight) return;
  const { top } = contents.getBoundingClientRect();
  contents.scrollTop = place.getBoundingClientRect().top - top - contents.clientHeight / 2;
}

/** `?q=words` opens a page with the results of a search. */
function openQuery(): void {
  const query = new URLSearchParams(location.search).get('q');
  if (!query) return;
  field.value = query;
  field.focus();
  void show();
}

function loadIndex(): Promise<MiniSearch<Section>> {
  index ??= fetchIndex();
  // After a lost connection the next search reads it again.
  index.catch(() => (index = undefined));
  return index;
}

async function fetchIndex(): Promise<MiniSearch<Section>> {
  const response = await fetch(new URL(SEARCH_INDEX, import.meta.url));
  if (!response.ok) throw new Error(`The search index cannot be read (${response.status}).`);
  return MiniSearch.loadJSON<Section>(await response.text(), INDEX_OPTIONS);
}

async function show(): Promise<void> {
  const query = field.value.trim();
  if (query === '') return close();
  try {
    const found = searchIndex(await loadIndex(), query);
    // Further letters were typed while the index came.
    if (query !== field.value.trim()) return;
    list.replaceChildren(found.length > 0 ? resultList(found) : message('No page has these words.'));
    status.textContent = found.length === 1 ? '1 result' : `${found.length} results`;
  } catch (error) {
    list.replaceChildren(message((error as Error).message));
  }
  list.hidden = false;
}

function resultList(found: readonly Section[]): HTMLElement {
  const items = document.createElement('ul');
  for (const { id, name, excerpt } of found) {
    const link = document.createElement('a');
    link.href = new URL(id, root).href;
    const title = document.createElement('strong');
    title.textContent = name;
    const text = document.createElement('span');
    text.textContent = excerpt;
    link.append(title, text);
    const item = document.createElement('li');
    item.append(link);
    items.append(item);
  }
  return items;
}

function message(text: string): HTMLElement {
  const paragraph = document.createElement('p');
  paragraph.textContent = text;
  return paragraph;
}

function close(): void {
  list.hidden = true;
  status.textContent = '';
}

/** `/` goes to the search, arrows walk through its results, Escape leaves it. */
function onKey(event: KeyboardEvent): void {
  const { key, target } = event;
  const isTyping = target instanceof HTMLInputElement;
  if (key === '/' && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    field.focus();
  } else if (key === 'Escape' && !list.hidden) {
    close();
    field.focus();
  } else if ((key === 'ArrowDown' || key === 'ArrowUp') && !list.hidden) {
    const stops = [field, ...list.querySelectorAll('a')];
    const at = stops.indexOf(document.activeElement as HTMLInputElement);
    const next = stops[at + (key === 'ArrowDown' ? 1 : -1)];
    if (at < 0 || !next) return;
    event.preventDefault();
    next.focus();
  }
}
