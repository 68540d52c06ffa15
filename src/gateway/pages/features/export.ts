import type { VectorCollection } from '../../../core/catalog/collection.js';
import type { JobData } from '../../../core/catalog/page-data.js';
import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import { html, scriptJson } from '../../../core/values/html.js';
import { buildFrame, locatePage } from '../crumbs.js';
import type { HtmlPageRequest } from '../index.js';
import { page, renderSection, sitePath } from '../layout.js';
import { anchor, findLink, type PageLink, representationLine, safeHref } from '../links.js';
import { table } from '../table.js';
import { facts, formatBytes, formatCount, renderTime } from '../values.js';
import { FORMAT_TITLES } from './export-formats.js';

/** Status of an export job, as its document has it. */
export interface ExportDocument {
  readonly id: string;
  readonly collection: string;
  readonly format: keyof typeof FORMAT_TITLES;
  readonly status: string;
  readonly message: string;
  readonly progress: number;
  readonly created: string;
  readonly expires?: string;
  readonly features?: number;
  readonly bytes?: number;
  readonly warnings: readonly string[];
  readonly links: readonly PageLink[];
}

/** The page of an export job: progress, then the download. A script reloads it at the end; without one, readers do. */
export function renderExportPage(
  x: HtmlPageRequest,
  collection: VectorCollection,
  document: ExportDocument,
): string {
  const { status, message, progress, warnings, links } = document;
  const title = `${collection.title}: ${FORMAT_TITLES[document.format]} export`;
  const isActive = status === 'accepted' || status === 'running';
  const job = `${sitePath(x.baseUrl)}${x.path}`;
  const data: JobData = { job, cancel: { path: job, method: 'DELETE' }, retry: '', isActive, jobs: '' };
  const file = findLink(links, 'enclosure');
  const again = findLink(links, 'collection')!;
  const body = html`<h1><bdi>${title}</bdi></h1>
<p class="lead" role="status" data-job-status>${status}</p>
<div data-job><script type="application/json" id="job-data">${scriptJson(data)}</script>
<p><progress max="100" value="${progress}" aria-label="Progress" data-job-progress></progress></p>
<p data-job-message>${message}</p>
<p role="alert" data-fault hidden></p>
<p class="actions">${file ? html`<a class="button" href="${safeHref(file.href)}" download>Download ${file.title}</a> ` : undefined}${isActive || file ? html`<button type="button" class="button" data-dismiss hidden>${isActive ? 'Cancel' : 'Delete the file'}</button> ` : undefined}<a class="button" href="${safeHref(`${again.href}?f=html`)}">Back to <bdi>${collection.title}</bdi></a></p>
${isActive ? html`<noscript><p>Reload this page to see the progress.</p></noscript>` : undefined}</div>
${facts([
  ['Format', FORMAT_TITLES[document.format]],
  ['Features', document.features === undefined ? undefined : formatCount(document.features)],
  ['Size', document.bytes === undefined ? undefined : formatBytes(document.bytes)],
  ['Created', renderTime(document.created, 'second')],
  ['Available until', document.expires === undefined ? undefined : renderTime(document.expires, 'minute')],
])}
${renderSection('Warnings', warnings.length === 0 ? undefined : html`<ul>${warnings.map((one) => html`<li><bdi>${one}</bdi></li>`)}</ul>`)}`;
  const { baseUrl, query, principal } = x;
  const above = { baseUrl, query, principal, path: x.path.replace(/\/export\/[^/]*$/, '') };
  const { crumbs } = locatePage(above, { [collection.id]: collection.title });
  const own = { title: `${FORMAT_TITLES[document.format]} export`, href: `${baseUrl}${x.path}` };
  return page({ ...buildFrame(x), crumbs: [...crumbs, own], title, body, scripts: ['job.js'] });
}

/** The exports of a reader, each with a link to its page, which downloads or deletes the file. */
export function renderExportsPage(
  x: HtmlPageRequest,
  exports: readonly ExportDocument[],
  titles: ReadonlyMap<string, string>,
  links: readonly PageLink[],
): string {
  const { readerFiles, readerExportsPerCaller, readerFileMs } = EXCHANGE_LIMITS;
  const rows = exports.map((one) => {
    const { collection, format, status, created, expires, bytes } = one;
    const name = `${titles.get(collection) ?? collection}: ${FORMAT_TITLES[format]}`;
    return html`<tr><td>${anchor(findLink(one.links, 'self')!.href, name)}</td><td>${status}</td>
<td>${bytes === undefined ? undefined : formatBytes(bytes)}</td><td>${renderTime(created, 'second')}</td>
<td>${expires === undefined ? undefined : renderTime(expires, 'minute')}</td></tr>`;
  });
  const body = html`<h1>Exports</h1>
<p class="lead">Your export jobs that run or have a file, newest first. To cancel an export or delete its file, open its page.</p>
<p>You can have ${readerFiles} files, and ${readerExportsPerCaller} jobs that run at the same time. The server deletes a file after ${readerFileMs / 3_600_000} hours.${x.principal.kind === 'anonymous' ? ' You are not signed in: this page lists the exports that this browser started.' : ''}</p>
${representationLine(links)}
${exports.length === 0 ? html`<p>There are no exports.</p>` : table('Exports', ['Export', 'Status', 'Size', 'Created', 'Available until'], rows)}`;
  return page({ ...locatePage(x), title: 'Exports', body, alternates: links });
}
