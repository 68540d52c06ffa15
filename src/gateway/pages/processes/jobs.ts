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
import { facts, renderTime, shortenText } from '../values.js';
import { formatMilliseconds } from './duration.js';

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

/** Names that the documents of jobs do not contain. */
export interface JobNames {
  /** Title of the process. */
  readonly title: string;
  /** Name of the caller who executed it. */
  readonly by: string;
}

export function jobsPage(
  x: HtmlPageRequest,
  { jobs, links }: { jobs: readonly StatusDocument[]; links: readonly PageLink[] },
  names: ReadonlyMap<string, JobNames>,
): string {
  const rows = jobs.map((job) => {
    const { title, by } = names.get(job.jobID)!;
    return html`<tr><td>${anchor(findLink(job.links, 'self')!.href, title)}</td>
<td>${job.status}</td><td>${job.progress} %</td><td>${renderTime(job.created, 'second')}</td><td>${formatDuration(job)}</td><td><bdi>${by}</bdi></td></tr>`;
  });
  const body = html`<h1>Jobs</h1>
<p class="lead">Executions of processes, newest first.</p>
${representationLine(links)}
${jobs.length === 0 ? html`<p>There are no jobs.</p>` : table('Jobs', ['Process', 'Status', 'Progress', 'Created', 'Duration', 'By'], rows)}`;
  return page({ ...locatePage(x), title: 'Jobs', body, alternates: links });
}

/** Content of a job's page in addition to its status. */
export interface JobPageParts extends JobNames {
  /** Inputs of the execution, shown only to the user who executed it. */
  readonly inputs: readonly { readonly title: string; readonly value: string }[];
  /** Body of the request that repeats the execution. */
  readonly body?: unknown;
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
  const { title, by, inputs } = parts;
  const processes = `${sitePath(baseUrl)}/ogc/processes`;
  const process = `${processes}/processes/${encodeURIComponent(processID)}`;
  const isActive = ACTIVE.includes(status);
  const job = `${sitePath(baseUrl)}${path}`;
  const data: JobData = {
    job,
    cancel: { path: job, method: 'DELETE' },
    retry: `${sitePath(baseUrl)}/api/v1/admin/jobs/${encodeURIComponent(jobID)}/retry`,
    isActive,
    jobs: `${processes}/jobs`,
    ...(parts.body === undefined ? {} : { repeat: { execution: `${process}/execution`, body: parts.body } }),
  };
  const drawn = parts.outputs.find(({ isDrawn }) => isDrawn);
  const body = html`<h1>${title}</h1>
<p class="lead" role="status" data-job-status>${status}</p>
${representationLine(links)}
<div data-job><script type="application/json" id="job-data">${scriptJson(data)}</script>
<p><progress max="100" value="${document.progress}" aria-label="Progress" data-job-progress></progress></p>
<p data-job-message>${document.message}</p>
<p role="alert" data-fault hidden></p>
<p class="actions">${actions(status, isActive)}${isActive ? undefined : repeatActions(process, parts.body)}</p></div>
${drawn ? resultMap(baseUrl, drawn) : undefined}
${renderSection('Results', outputList(parts.outputs))}
${renderSection('Inputs', inputTable(inputs))}
${facts([
  ['Process', html`<a href="${`${process}?f=html`}"><code>${processID}</code></a>`],
  ['Executed by', html`<bdi>${by}</bdi>`],
  ['Created', renderTime(document.created, 'second')],
  ['Duration', formatDuration(document)],
  ['Job', html`<code>${jobID}</code>`],
])}
${renderSection('Log', logTable(parts.log))}
${renderSection('Links', linkList(selectResourceLinks(links)))}`;
  const scripts = ['job.js', ...(drawn ? MAP_SCRIPTS : [])];
  const head = drawn ? { head: mapHead(baseUrl) } : {};
  return page({
    ...locatePage(x, { [jobID]: title }),
    title: `${title}: ${status}`,
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

/** Characters of a request that a link can carry. */
const MAX_LINK = 4000;

/** Buttons that start the same execution, or open the form with its inputs. The script shows them. */
function repeatActions(process: string, body: unknown): Markup | undefined {
  if (body === undefined) return undefined;
  const text = encodeURIComponent(JSON.stringify(body));
  return html`<button type="button" class="button" data-repeat hidden>Run again</button>
${text.length > MAX_LINK ? undefined : html`<a class="button" href="${`${process}?f=html#request=${text}`}">Change the inputs</a>`}`;
}

function inputTable(inputs: JobPageParts['inputs']): Markup | undefined {
  if (inputs.length === 0) return undefined;
  const rows = inputs.map(
    ({ title, value }) =>
      html`<tr><th scope="row"><bdi>${title}</bdi></th><td><bdi>${shortenText(value)}</bdi></td></tr>`,
  );
  return table('Inputs', ['Input', 'Value'], rows);
}

/** Time between start and end. Undefined for a job that has not ended. */
function formatDuration({
  started,
  finished,
}: Pick<StatusDocument, 'started' | 'finished'>): string | undefined {
  if (started === undefined || finished === undefined) return undefined;
  return formatMilliseconds(Date.parse(finished) - Date.parse(started));
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
