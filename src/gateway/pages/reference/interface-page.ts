import { html, type Markup } from '../../../core/values/html.js';
import { apiStyles, type Crumb, type PageFrame, page } from '../layout.js';
import { anchor } from '../links.js';
import { formatCount } from '../values.js';
import type { ApiOperation, InterfaceDocument, ReferenceDocument } from './documents.js';

/** Tags of an API with more operations than this are folded. */
const MAX_OPEN = 60;

export const UNBUILT = 'Not available in this version';

export interface DocsListPage extends PageFrame {
  readonly documents: readonly InterfaceDocument[];
  /** Words of the search in all APIs. */
  readonly q: string | undefined;
  /** APIs whose operations the reader can see. */
  readonly readable: readonly ReferenceDocument[];
}

/** List of the APIs, and search in all of them. */
export function docsListPage({ baseUrl, reader, documents, q, readable }: DocsListPage): string {
  const hits = q?.trim() ? readable.map((one) => findOperations(one, q)) : undefined;
  const body = html`<h1>API reference</h1>
<p class="lead">All operations with parameters and responses. You can send requests from the pages.</p>
${searchForm(`${baseUrl}/docs`, q, 'Search all APIs')}
${hits ? renderHits(baseUrl, hits) : html`<ul class="cards">${documents.map((document) => documentCard(document, baseUrl, readable))}</ul>`}`;
  return page({
    baseUrl,
    reader,
    title: 'API reference',
    crumbs: [docsCrumb(baseUrl)],
    body,
    head: apiStyles(baseUrl),
  });
}

function documentCard(
  { surface, title, description, openapi }: InterfaceDocument,
  baseUrl: string,
  readable: readonly ReferenceDocument[],
): Markup {
  const count = readable.find((one) => one.surface === surface)?.operations.length;
  return html`<li class="card"><div class="card-text"><h2>${anchor(`${baseUrl}/docs/${surface}`, title)}</h2><p>${description}</p>
<ul class="inline"><li>${count === undefined ? 'Sign in to see it' : countOperations(count)}</li>${openapi && count !== undefined ? html`<li>${anchor(`${baseUrl}${openapi}`, 'OpenAPI (JSON)')}</li>` : undefined}</ul></div></li>`;
}

const countOperations = (count: number) => (count === 1 ? '1 operation' : `${formatCount(count)} operations`);

/** Operations that contain all words in their path, name, summary, tag or description. */
function findOperations(document: ReferenceDocument, q: string): ReferenceDocument {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = ({ id, path, method, summary, tag, description = '', parameters }: ApiOperation) => {
    const names = parameters.map(({ name }) => name).join(' ');
    const text = `${method} ${path} ${id} ${summary} ${tag} ${description} ${names}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  return { ...document, operations: document.operations.filter(matches) };
}

function renderHits(baseUrl: string, hits: readonly ReferenceDocument[]): Markup {
  const found = hits.filter(({ operations }) => operations.length > 0);
  const total = found.reduce((sum, { operations }) => sum + operations.length, 0);
  return html`<p role="status">${countOperations(total)} found</p>
${found.map(
  (one) =>
    html`<section class="part"><h2>${anchor(`${baseUrl}/docs/${one.surface}`, one.title)}</h2>${operationList(baseUrl, one.surface, one.operations)}</section>`,
)}`;
}

export interface InterfacePage extends PageFrame {
  readonly document: ReferenceDocument;
  readonly q: string | undefined;
}

/** Operations of one API by tag, with a search. */
export function interfacePage({ baseUrl, reader, document, q }: InterfacePage): string {
  const { surface, title, description, openapi, operations } = document;
  const here = `${baseUrl}/docs/${surface}`;
  const found = q?.trim() ? findOperations(document, q).operations : operations;
  const missing = found.filter(({ isBuilt }) => !isBuilt).length;
  const isOpen = found.length <= MAX_OPEN;
  const body = html`<h1>${title}</h1>
<p class="lead">${description}</p>
${openapi ? html`<p>${anchor(`${baseUrl}${openapi}`, 'OpenAPI document (JSON)')}</p>` : undefined}
${searchForm(here, q, 'Search')}
<p role="status">${countOperations(found.length)}${missing > 0 ? `, ${formatCount(missing)} of them not available in this version` : undefined}</p>
${groupByTag(found).map(([tag, own]) => tagGroup(baseUrl, surface, tag, own, isOpen))}`;
  return page({
    baseUrl,
    reader,
    title,
    crumbs: [docsCrumb(baseUrl), { title, href: here }],
    body,
    head: apiStyles(baseUrl),
  });
}

function tagGroup(
  baseUrl: string,
  surface: string,
  tag: string,
  operations: readonly ApiOperation[],
  isOpen: boolean,
): Markup {
  const missing = operations.filter(({ isBuilt }) => !isBuilt).length;
  const note = missing > 0 ? `, ${formatCount(missing)} not available` : '';
  return html`<details class="${missing === operations.length ? 'snippet tag-group unbuilt' : 'snippet tag-group'}"${isOpen ? html` open` : ''}><summary><h2 class="tag-title">${tag}</h2> <span class="muted">${countOperations(operations.length)}${note}</span></summary>
${operationList(baseUrl, surface, operations)}</details>`;
}

function groupByTag(operations: readonly ApiOperation[]): [tag: string, own: ApiOperation[]][] {
  const tags = new Map<string, ApiOperation[]>();
  for (const operation of operations) {
    const own = tags.get(operation.tag);
    if (own) own.push(operation);
    else tags.set(operation.tag, [operation]);
  }
  return [...tags];
}

function operationList(baseUrl: string, surface: string, operations: readonly ApiOperation[]): Markup {
  return html`<ul class="operations">${operations.map(
    ({ id, method, path, summary, isBuilt }) =>
      html`<li class="${isBuilt ? 'operation' : 'operation unbuilt'}">${methodBadge(method)} <span class="operation-text">${anchor(`${baseUrl}/docs/${surface}/${encodeURIComponent(id)}`, html`${summary}`)}${isBuilt ? undefined : html` <span class="badge">${UNBUILT}</span>`}<br><code>${path}</code></span></li>`,
  )}</ul>`;
}

export function methodBadge(method: string): Markup {
  return html`<span class="method" data-method="${method}">${method}</span>`;
}

function searchForm(action: string, q: string | undefined, label: string): Markup {
  return html`<form class="filter" method="get" action="${action}" role="search">
<label><span>${label}</span><input type="search" name="q" value="${q ?? ''}" maxlength="200" size="40"></label>
<button type="submit">Search</button></form>`;
}

export function docsCrumb(baseUrl: string): Crumb {
  return { title: 'API reference', href: `${baseUrl}/docs` };
}
