import { basename } from 'node:path';
import { isPath } from '../../../core/sources/sources.js';
import { html, type Markup } from '../../../core/values/html.js';
import type { SourceState } from '../../../services/catalog/source-states.js';
import { type PageFrame, page, sitePath } from '../layout.js';
import { formatCount } from '../values.js';

/** Sources on one page. */
const PAGE_SIZE = 200;
/** Sources that the start page lists. */
const BANNER_SIZE = 50;

const FILTERS = {
  problems: 'Refused and warnings',
  refused: 'Refused',
  warning: 'Warnings',
  published: 'Published',
  all: 'All',
} as const;
type Filter = keyof typeof FILTERS;

export interface SourcesPage extends PageFrame {
  readonly sources: readonly SourceState[];
  readonly state: string | undefined;
  readonly q: string | undefined;
  readonly page: number;
  readonly mayRetry: boolean;
}

/** Numbers of refused sources and warnings on the start page, with the first of them by folder. */
export function sourcesBanner(problems: readonly SourceState[], baseUrl: string): Markup | undefined {
  if (problems.length === 0) return undefined;
  const shown = problems.slice(0, BANNER_SIZE);
  const rest = problems.length - shown.length;
  return html`<section class="sources-banner" aria-labelledby="sources-banner">
<h2 id="sources-banner">${countText(problems)}</h2>
<details><summary>Reasons and remedies</summary>
${folderList(shown, 3)}
${rest > 0 ? html`<p class="muted">… and ${formatCount(rest)} more</p>` : undefined}
</details>
<p><a href="${`${baseUrl}/sources`}">All sources and their states</a></p>
</section>`;
}

function countText(problems: readonly SourceState[]): string {
  const refused = problems.filter(({ state }) => state === 'refused').length;
  const warnings = problems.length - refused;
  const parts = [
    ...(refused > 0
      ? [`${formatCount(refused)} ${refused === 1 ? 'source is' : 'sources are'} not published`]
      : []),
    ...(warnings > 0
      ? [
          `${formatCount(warnings)} ${warnings === 1 ? 'collection has a warning' : 'collections have warnings'}`,
        ]
      : []),
  ];
  return parts.join(', ');
}

/** List of sources with their states, by folder. */
export function sourcesPage({
  baseUrl,
  reader,
  sources,
  state,
  q,
  page: number,
  mayRetry,
}: SourcesPage): string {
  const filter: Filter =
    state !== undefined && Object.hasOwn(FILTERS, state) ? (state as Filter) : 'problems';
  const text = q?.trim().toLowerCase() ?? '';
  const hits = sources.filter((one) => matches(one, filter) && contains(one, text));
  const first = (number - 1) * PAGE_SIZE;
  const shown = hits.slice(first, first + PAGE_SIZE);
  const body = html`<div data-sources="${sitePath(baseUrl)}">
<h1>Sources</h1>
<p class="lead">Files and tables that this server reads. ${countText(sources.filter((one) => matches(one, 'problems'))) || 'All of them are published without warnings'}.</p>
<form class="sources-filter" method="get">
<p><label for="state">State</label> <select id="state" name="state">${Object.entries(FILTERS).map(([name, label]) => html`<option value="${name}"${name === filter ? html` selected` : ''}>${label}</option>`)}</select></p>
<p><label for="q">Text in path, layer or reason</label> <input id="q" name="q" type="search" value="${q ?? ''}" maxlength="512"></p>
<p><button class="button">Show</button></p>
</form>
<p role="status" data-status>${formatCount(hits.length)} ${hits.length === 1 ? 'source' : 'sources'}</p>
${folderList(shown, 2, { baseUrl, mayRetry })}
${pageLinks(hits.length, number, filter, q, baseUrl)}
</div>`;
  return page({
    baseUrl,
    reader,
    title: 'Sources',
    crumbs: [{ title: 'Sources', href: `${baseUrl}/sources` }],
    body,
    scripts: ['sources.js'],
  });
}

function matches({ state }: SourceState, filter: Filter): boolean {
  if (filter === 'all') return true;
  return filter === 'problems' ? state !== 'published' : state === filter;
}

function contains({ source, layer, reason }: SourceState, text: string): boolean {
  return text === '' || [source, layer, reason].some((one) => one?.toLowerCase().includes(text));
}

interface ItemOptions {
  readonly baseUrl: string;
  readonly mayRetry: boolean;
}

function folderList(sources: readonly SourceState[], level: 2 | 3, options?: ItemOptions): Markup[] {
  const folders = new Map<string, SourceState[]>();
  for (const one of sources) {
    const own = folders.get(one.folder);
    if (own) own.push(one);
    else folders.set(one.folder, [one]);
  }
  return [...folders].map(([folder, own]) => {
    const heading = html`<bdi>${folder}</bdi>`;
    return html`<section class="source-folder">${level === 2 ? html`<h2>${heading}</h2>` : html`<h3>${heading}</h3>`}
<ul class="plain source-list">${own.map((one) => sourceItem(one, options))}</ul></section>`;
  });
}

const STATE_LABELS = { published: 'published', warning: 'warning', refused: 'not published' } as const;

function sourceItem(one: SourceState, options: ItemOptions | undefined): Markup {
  const { source, layer, state, collections, reason, remedy } = one;
  const name = isPath(source) ? basename(source) : source;
  const links =
    options && state !== 'refused'
      ? collections.map(
          ({ layerId, title }) =>
            html` <a href="${`${options.baseUrl}/ogc/tiles/collections/${layerId}?f=html`}"><bdi>${title}</bdi></a>`,
        )
      : undefined;
  const retry = options?.mayRetry
    ? html` <button type="button" class="button" data-retry="${one.id}" aria-label="${`Read again: ${name}`}">Read again</button>`
    : undefined;
  const since = options
    ? html`<p class="muted">since ${new Date(one.seenSince).toISOString().slice(0, 16).replace('T', ' ')} UTC</p>`
    : undefined;
  const choose =
    options?.mayRetry && needsCrs(one)
      ? html` <a class="button" href="${`${options.baseUrl}/sources/${one.id}/crs`}" aria-label="${`Choose the CRS: ${name}`}">Choose the CRS</a>`
      : undefined;
  return html`<li class="source" data-state="${state}"><p><strong><bdi>${name}</bdi></strong>${layer === undefined ? undefined : html` (<bdi>${layer}</bdi>)`} <span class="badge">${STATE_LABELS[state]}</span>${links}${retry}${choose}</p>
${reason === undefined ? undefined : html`<p><bdi>${reason}</bdi></p>`}
${remedy === undefined ? undefined : html`<p class="remedy"><bdi>${remedy}</bdi></p>`}${since}</li>`;
}

/** Whether the data declares no CRS. */
function needsCrs({ assumedCrs, source, state, reason }: SourceState): boolean {
  if (assumedCrs) return true;
  return state === 'refused' && isPath(source) && /no coordinate reference system/.test(reason ?? '');
}

function pageLinks(
  total: number,
  number: number,
  filter: Filter,
  q: string | undefined,
  baseUrl: string,
): Markup | undefined {
  if (total <= PAGE_SIZE) return undefined;
  const url = (n: number) =>
    `${baseUrl}/sources?${new URLSearchParams({ state: filter, ...(q ? { q } : {}), page: String(n) })}`;
  const previous = number > 1 ? html`<a rel="prev" href="${url(number - 1)}">Previous</a> ` : undefined;
  const next =
    number * PAGE_SIZE < total ? html`<a rel="next" href="${url(number + 1)}">Next</a>` : undefined;
  return html`<nav aria-label="Pages">${previous}${next}</nav>`;
}
