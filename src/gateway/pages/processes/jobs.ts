import type { JobData, MapData } from '../../../core/catalog/page-data.js';
import { defaultStyle } from '../../../core/styles/default-style.js';
import { html, type Markup, scriptJson } from '../../../core/values/html.js';
import { locatePage } from '../crumbs.js';
import type { HtmlPageRequest } from '../index.js';
import { page, renderSection, sitePath } from '../layout.js';
import {
  anchor,
  findLink,
  linkList,
  type PageLink,
  representationLine,
  selectResourceLinks,
} from '../links.js';
import { basemapData } from '../maps/basemap.js';
import { MAP_SCRIPTS, mapFrame, mapHead } from '../maps/map-frame.js';
import { table } from '../table.js';
import { facts } from '../values.js';

/** Pages of jobs of processes, made from the documents that are their JSON representation. */

export interface StatusDocument {
  readonly processID: string;
  readonly jobID: string;
  readonly status: string;
  readonly message: string;
  readonly created: string;
  readonly started?: string;
  readonly finished?: string;
  readonly progress: number;
  readonly links: readonly PageLink[];
}

export function jobsPage(
  x: HtmlPageRequest,
  { jobs, links }: { jobs: readonly StatusDocument[]; links: readonly PageLink[] },
): string {
  const rows = jobs.map(
    (
      job,
    ) => html`<tr><td>${anchor(findLink(job.links, 'self')!.href, job.jobID)}</td><td><code>${job.processID}</code></td>
<td>${job.status}</td><td>${job.progress} %</td><td><time datetime="${job.created}">${job.created}</time></td></tr>`,
  );
  const body = html`<h1>Jobs</h1>
<p class="lead">Executions of processes, newest first.</p>
${representationLine(links)}
${jobs.length === 0 ? html`<p>There are no jobs.</p>` : table('Jobs', ['Job', 'Process', 'Status', 'Progress', 'Created'], rows)}`;
  return page({ ...locatePage(x), title: 'Jobs', body, alternates: links });
}

/** Content of a job's page in addition to its status. */
export interface JobPageParts {
  readonly log: readonly { readonly at: number; readonly level: string; readonly message: string }[];
  /** Outputs of a successful job, shown only to the user who executed it. */
  readonly outputs: readonly JobOutput[];
}

export interface JobOutput {
  readonly name: string;
  readonly href: string;
  readonly title: string;
  /** Whether the output is GeoJSON that a map can show. */
  readonly isDrawn: boolean;
}

const ACTIVE = ['accepted', 'running'];

/** A job: how it is, what it has said, what has come of it. A script brings the page up to date while the job runs. */
export function jobPage(x: HtmlPageRequest, document: StatusDocument, parts: JobPageParts): string {
  const { baseUrl, path } = x;
  const { processID, jobID, status, links } = document;
  const isActive = ACTIVE.includes(status);
  const job = `${sitePath(baseUrl)}${path}`;
  const data: JobData = {
    job,
    retry: `${sitePath(baseUrl)}/api/v1/admin/jobs/${encodeURIComponent(jobID)}/retry`,
    isActive,
  };
  const drawn = parts.outputs.find(({ isDrawn }) => isDrawn);
  const body = html`<h1>${processID}</h1>
<p class="lead" role="status" data-job-status>${status}</p>
${representationLine(links)}
<div data-job><script type="application/json" id="job-data">${scriptJson(data)}</script>
<p><progress max="100" value="${document.progress}" aria-label="Progress" data-job-progress></progress></p>
<p data-job-message>${document.message}</p>
<p role="alert" data-fault hidden></p>
<p>${actions(status, isActive)}</p></div>
${drawn ? resultMap(baseUrl, drawn) : undefined}
${renderSection('Results', outputList(parts.outputs))}
${facts([
  ['Job', jobID],
  ['Created', document.created],
  ['Started', document.started],
  ['Finished', document.finished],
])}
${renderSection('Log', logTable(parts.log))}
${renderSection('Links', linkList(selectResourceLinks(links)))}`;
  const scripts = ['job.js', ...(drawn ? MAP_SCRIPTS : [])];
  const title = `${processID}: ${status}`;
  const head = drawn ? { head: mapHead(baseUrl) } : {};
  return page({
    ...locatePage(x),
    title,
    body,
    scripts,
    alternates: links,
    ...head,
  });
}

/** Shown once the script can act on them. */
function actions(status: string, isActive: boolean): Markup | undefined {
  if (isActive) return html`<button type="button" class="button" data-dismiss hidden>Dismiss</button>`;
  if (status !== 'failed') return undefined;
  return html`<button type="button" class="button" data-retry hidden>Try again</button>`;
}

function outputList(outputs: readonly JobOutput[]): Markup | undefined {
  if (outputs.length === 0) return undefined;
  return html`<ul>${outputs.map(({ href, name, title }) => html`<li>${anchor(href, name)}: ${title}</li>`)}</ul>`;
}

function resultMap(baseUrl: string, { href, name }: JobOutput): Markup {
  const features = { href, title: name, style: defaultStyle('Geometry', name).layers };
  const data: MapData = { baseUrl, bounds: null, layers: [], basemap: basemapData(baseUrl), features };
  return mapFrame({ data, label: `Map of ${name}` });
}

function logTable(log: JobPageParts['log']): Markup | undefined {
  if (log.length === 0) return undefined;
  const rows = log.map(({ at, level, message }) => {
    const time = new Date(at).toISOString();
    return html`<tr><td><time datetime="${time}">${time.slice(11, 23)}</time></td><td>${level}</td><td><bdi>${message}</bdi></td></tr>`;
  });
  return table('Log', ['Time', 'Level', 'Messages'], rows);
}
