import type { Collection } from '../../../core/catalog/collection.js';
import { html, type Markup } from '../../../core/values/html.js';
import type {
  CollectionKind,
  CollectionOrder,
  FoundCollection,
} from '../../../services/catalog/collection-search.js';
import { sitePath } from '../layout.js';
import { formatCount } from '../values.js';

/** Layouts for a list of collections on a page. */
export const VIEWS = ['cards', 'table'] as const;
export type ListLayout = (typeof VIEWS)[number];

/** A search for collections, and the page of results that is shown. */
export interface Finder {
  readonly search: {
    readonly q: string | undefined;
    readonly kind: CollectionKind | undefined;
    readonly place: string | undefined;
    readonly sort: CollectionOrder;
    readonly view: ListLayout;
  };
  /** False if no place has the requested name. */
  readonly placeIsKnown: boolean;
  /** All that could be found. */
  readonly published: readonly Collection[];
  readonly total: number;
  readonly hits: readonly FoundCollection[];
  readonly page: number;
  readonly last: number;
  /** Path of the page, without query. */
  readonly path: string;
}

const KIND_NAMES: Record<CollectionKind, string> = {
  point: 'Points',
  line: 'Lines',
  polygon: 'Polygons',
  vector: 'All features',
  raster: 'Rasters',
  tiles: 'Tile archives',
};

const ORDER_NAMES: Record<CollectionOrder, string> = {
  source: 'Source',
  title: 'Title',
  size: 'Size, largest first',
};

/** Lists shorter than this are read faster than they are searched. */
const SEARCHED_FROM = 8;

/** The search form; nothing where there is little to search. */
export function finderForm({ search, published, path }: Finder, baseUrl: string): Markup | undefined {
  if (published.length < SEARCHED_FROM) return undefined;
  const { q = '', kind, place = '', sort, view } = search;
  return html`<form class="finder" role="search" method="get" action="${`${sitePath(baseUrl)}${path}`}">
<input type="hidden" name="f" value="html">
<label class="finder-words"><span>Search</span><input type="search" name="q" value="${q}" placeholder="Name, attribute or source" maxlength="200" autocomplete="off"></label>
<label><span>Kind</span><select name="kind">${option('', 'Any', kind ?? '')}${Object.entries(KIND_NAMES).map(([value, name]) => option(value, name, kind ?? ''))}</select></label>
<label><span>Place</span><input name="place" value="${place}" placeholder="Country, region or w,s,e,n" maxlength="200" autocomplete="off"></label>
<label><span>Sort by</span><select name="sort">${Object.entries(ORDER_NAMES).map(([value, name]) => option(value, name, sort))}</select></label>
<label><span>Show as</span><select name="view">${option('cards', 'Cards with maps', view)}${option('table', 'Table', view)}</select></label>
<button class="finder-button" type="submit">Search</button>
</form>`;
}

function option(value: string, name: string, selected: string): Markup {
  return value === selected
    ? html`<option value="${value}" selected>${name}</option>`
    : html`<option value="${value}">${name}</option>`;
}

/** Text for the number of collections shown, and their total. */
export function finderCount(finder: Finder): string {
  const { total, hits, page, published, placeIsKnown, search, last } = finder;
  if (published.length === 0) return 'No data is published yet.';
  if (!placeIsKnown)
    return `No country or region is called ${search.place}. You can also enter west,south,east,north in degrees.`;
  if (total === 0) return `None of ${formatCount(published.length)} collections match.`;
  const isAll = total === published.length;
  const all = total === 1 ? 'One collection' : `${formatCount(total)} collections`;
  const what = isAll ? `${all}.` : `${all} of ${formatCount(published.length)} match.`;
  if (last === 1) return what;
  const first = Math.ceil((page - 1) * pageSize(finder)) + 1;
  return `${what.slice(0, -1)}; ${formatCount(first)} to ${formatCount(first + hits.length - 1)} on this page.`;
}

/** Every page but the last is full. */
function pageSize({ page, last, hits, total }: Finder): number {
  return page < last ? hits.length : (total - hits.length) / (last - 1);
}

/** Links to the pages before and after, and to the ends. */
export function finderPages(finder: Finder, baseUrl: string): Markup | undefined {
  const { page, last } = finder;
  if (last === 1) return undefined;
  const numbers = [...new Set([1, page - 1, page, page + 1, last])].filter((n) => n >= 1 && n <= last);
  const steps = numbers.map((n, i) => {
    const gap =
      i > 0 && n - numbers[i - 1]! > 1
        ? html`<li class="finder-number" aria-hidden="true">…</li>`
        : undefined;
    const link =
      n === page
        ? html`<a class="finder-number" href="${buildHref(finder, baseUrl, n)}" aria-current="page">${n}</a>`
        : html`<a class="finder-number" href="${buildHref(finder, baseUrl, n)}">${n}</a>`;
    return html`${gap}<li>${link}</li>`;
  });
  const next =
    page < last
      ? html`<a class="button" rel="next" href="${buildHref(finder, baseUrl, page + 1)}">Next →</a>`
      : undefined;
  const previous =
    page > 1
      ? html`<a class="button" rel="prev" href="${buildHref(finder, baseUrl, page - 1)}">← Previous</a>`
      : undefined;
  return html`<nav class="paging finder-pages" aria-label="Pages">${previous}<ol class="finder-numbers">${steps}</ol>${next}</nav>`;
}

function buildHref({ search, path }: Finder, baseUrl: string, page: number): string {
  const query = new URLSearchParams({ f: 'html' });
  const { q, kind, place } = search;
  const sort = search.sort === 'source' ? undefined : search.sort;
  const view = search.view === 'cards' ? undefined : search.view;
  for (const [name, value] of Object.entries({ q, kind, place, sort, view }))
    if (value !== undefined) query.set(name, value);
  if (page > 1) query.set('page', String(page));
  return `${sitePath(baseUrl)}${path}?${query}`;
}
