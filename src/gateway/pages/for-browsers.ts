import { LIMITS } from '../../core/kit/limits.js';
import { html } from '../../core/values/html.js';
import { adminFindingPage } from './admin/findings.js';
import { adminGovernancePage } from './admin/governance.js';
import { adminJobPage } from './admin/jobs.js';
import { adminObservabilityPage } from './admin/observability.js';
import { adminProposalPage } from './admin/proposals.js';
import { buildFrame, type HtmlPageRequest, locatePage } from './crumbs.js';
import { directoryLinks, findDirectoryLayerTitle } from './directory.js';
import { renderDocumentPage } from './document.js';
import { directoryCrumbs } from './geoservices/place.js';
import { page } from './layout.js';
import { anchor, type PageLink } from './links.js';
import { pageHeaders } from './security.js';
import { formatCount } from './values.js';

export { problemPage } from './problem.js';
export { pageHeaders };

/** A JSON response for a browser that requests HTML. */
export interface JsonPage extends HtmlPageRequest {
  /** Value of `f` that gives the JSON itself. */
  readonly format: string;
  readonly json: string;
}

/** A generic page for JSON: its members, its links, and a link to the JSON itself. */
export function jsonPage(x: JsonPage): string {
  const { baseUrl, path, query, format, json } = x;
  const href = `${baseUrl}${path}?${queryWith(query, format)}`;
  const own: PageLink = { href, rel: 'alternate', type: 'application/json' };
  if (json.length > LIMITS.loopBodyBytes) return longPage(x, href);
  const document = JSON.parse(json) as unknown;
  const parts = { ...x, document, json: own };
  const admin =
    adminJobPage(parts) ??
    adminObservabilityPage(parts) ??
    adminProposalPage(parts) ??
    adminFindingPage(parts) ??
    adminGovernancePage(parts);
  if (admin !== undefined) return admin;
  const { title, id, name, links, description } = record(document);
  return renderDocumentPage({
    ...locatePage(x),
    ...(isDirectory(path) ? { crumbs: directoryCrumbs(baseUrl, path) } : {}),
    title: findText(title) ?? findText(id) ?? findDirectoryLayerTitle(path, name) ?? formatName(path),
    description: findText(description),
    document,
    links: [
      own,
      ...(Array.isArray(links) ? links.filter(isLink) : []),
      ...directoryLinks(baseUrl, path, document),
    ],
  });
}

const isDirectory = (path: string) => path === '/rest/services' || path.startsWith('/rest/services/');

function queryWith(query: string, format: string): string {
  const others = query.split('&').filter((pair) => pair !== '' && !pair.startsWith('f='));
  return [...others, `f=${format}`].join('&');
}

/** A document that is longer than the event loop should parse. */
function longPage(x: JsonPage, href: string): string {
  const { baseUrl, path, json } = x;
  const body = html`<h1><bdi>${path}</bdi></h1>
<p class="lead">This document is large: ${formatCount(json.length / 1024)} kB of JSON.</p>
<ul class="links"><li>${anchor(href, 'Open the JSON document')}</li>
<li>${anchor(`${baseUrl}/docs`, 'API reference: every operation, to read and to try out')}</li></ul>`;
  return page({ ...buildFrame(x), title: path, crumbs: [], body });
}

/** `/stac/search` is called Search. */
function formatName(path: string): string {
  const last = path.split('/').filter(Boolean).at(-1) ?? path;
  return `${last.charAt(0).toUpperCase()}${last.slice(1).replaceAll('-', ' ')}`;
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function findText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function isLink(value: unknown): value is PageLink {
  const { href, rel } = record(value);
  return typeof href === 'string' && typeof rel === 'string';
}
