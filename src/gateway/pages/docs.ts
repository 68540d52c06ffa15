import type { DocsData } from '../../core/catalog/page-data.js';
import { html, type Markup, scriptJson } from '../../core/values/html.js';
import { assetUrl, type PageFrame, page } from './layout.js';
import { anchor, safeHref } from './links.js';

/** An API document (OpenAPI). `path` and `openapi` start with a slash. */
export interface InterfaceDocument {
  readonly surface: string;
  readonly title: string;
  readonly description: string;
  readonly openapi: string;
}

export interface DocsListPage extends PageFrame {
  readonly documents: readonly InterfaceDocument[];
}

export function docsListPage({ baseUrl, reader, documents }: DocsListPage): string {
  const body = html`<h1>API reference</h1>
<p class="lead">All operations with parameters and responses. You can also try them.</p>
<ul class="cards">${documents.map((document) => documentCard(document, baseUrl))}</ul>`;
  return page({ baseUrl, reader, title: 'API reference', crumbs: [docsCrumb(baseUrl)], body });
}

function documentCard({ surface, title, description, openapi }: InterfaceDocument, baseUrl: string): Markup {
  return html`<li class="card"><div class="card-text"><h2>${anchor(`${baseUrl}/docs/${surface}`, title)}</h2><p>${description}</p>
<ul class="inline"><li>${anchor(`${baseUrl}${openapi}`, 'OpenAPI (JSON)')}</li></ul></div></li>`;
}

export interface DocsViewerPage extends PageFrame {
  readonly document: InterfaceDocument;
}

/** Page that shows one API document. Without scripts it links to the document. */
export function docsViewerPage({ baseUrl, reader, document }: DocsViewerPage): string {
  const { surface, title, description, openapi } = document;
  const href = `${baseUrl}${openapi}`;
  const data: DocsData = { baseUrl, openapi: href };
  const body = html`<h1>${title}</h1>
<p class="lead">${description}</p>
<p><a href="${safeHref(href)}">OpenAPI document (JSON)</a></p>
<noscript><p class="map-note">The viewer requires JavaScript. The document above works without it.</p></noscript>
<div id="viewer" class="viewer"></div>
<script type="application/json" id="docs-data">${scriptJson(data)}</script>`;
  return page({
    baseUrl,
    reader,
    title,
    crumbs: [docsCrumb(baseUrl), { title, href: `${baseUrl}/docs/${surface}` }],
    body,
    head: html`<link rel="stylesheet" href="${assetUrl(baseUrl, 'swagger-ui.css')}">\n<script defer src="${assetUrl(baseUrl, 'swagger-ui-bundle.js')}"></script>\n`,
    scripts: ['docs.js'],
  });
}

function docsCrumb(baseUrl: string) {
  return { title: 'API reference', href: `${baseUrl}/docs` };
}
