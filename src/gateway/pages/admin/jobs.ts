import type { JobData } from '../../../core/catalog/page-data.js';
import { html, type Markup, scriptJson } from '../../../core/values/html.js';
import { buildFrame, type HtmlPageRequest } from '../crumbs.js';
import { page, renderSection, sitePath } from '../layout.js';
import { anchor, linkList, type PageLink, representationLine } from '../links.js';
import { formatMilliseconds } from '../processes/duration.js';
import { table } from '../table.js';
import { facts, formatCount, propertyValue, renderTime } from '../values.js';

/** Pages of all jobs of the server, made from the documents of the management API. */

interface JobSummary {
  readonly jobId: string;
  readonly kind: string;
  readonly status: string;
  readonly workloadName: string;
  readonly requestedBy: string | null;
  readonly percentComplete: number | null;
  readonly attemptCount: number;
  readonly maxAttempts: number;
  readonly durationMs: number | null;
  readonly createdAt: string;
  readonly resourceRefs: readonly string[];
}

interface JobDetail extends JobSummary {
  readonly actions: readonly {
    readonly name: string;
    readonly allowed: boolean;
    readonly disabledReason?: string;
  }[];
  readonly stages: readonly {
    readonly name: string;
    readonly status: string;
    readonly startedAt: string;
    readonly completedAt: string | null;
  }[];
  readonly failure: { readonly message: string } | null;
  readonly warnings: readonly string[];
}

interface LogLine {
  readonly timestamp: string;
  readonly level: string;
  readonly message: string;
  readonly phase: string | null;
}

export interface AdminPage extends HtmlPageRequest {
  readonly document: unknown;
  /** The same document as JSON. */
  readonly json: PageLink;
}

const JOBS = '/api/v1/admin/jobs';
const PAGES: readonly (readonly [RegExp, (x: AdminPage) => string])[] = [
  [/^\/api\/v1\/admin\/jobs$/, jobList],
  [/^\/api\/v1\/admin\/jobs\/[^/]+$/, jobPage],
  [/^\/api\/v1\/admin\/jobs\/[^/]+\/logs$/, logPage],
];

/** The page of a document of jobs. Undefined for other documents. */
export function adminJobPage(x: AdminPage): string | undefined {
  return PAGES.find(([pattern]) => pattern.test(x.path))?.[1](x);
}

const STATES = ['Queued', 'Running', 'Succeeded', 'Failed', 'Cancelled'];

function jobList(x: AdminPage): string {
  const { items, nextCursor } = x.document as { items: JobSummary[]; nextCursor?: string };
  const { baseUrl, query } = x;
  const state = new URLSearchParams(query).get('status') ?? '';
  const rows = items.map(
    (job) =>
      html`<tr><th scope="row"><a href="${`${baseUrl}${JOBS}/${job.jobId}`}">${job.workloadName}</a></th><td>${formatResources(job)}</td>
<td>${job.status}</td><td class="num">${formatProgress(job)}</td><td>${renderTime(job.createdAt, 'second')}</td><td>${propertyValue(formatDuration(job))}</td><td><bdi>${propertyValue(job.requestedBy)}</bdi></td></tr>`,
  );
  const next = new URLSearchParams(query);
  next.set('cursor', nextCursor ?? '');
  next.set('f', 'html');
  const body = html`<h1>Jobs of the server</h1>
<p class="lead">Processes, imports, exports and tile jobs, newest first.</p>
${representationLine([x.json])}
<form class="filter" method="get"><label>State <select name="status"><option value="">All</option>${STATES.map(
    (one) => html`<option value="${one}"${one === state ? html` selected` : undefined}>${one}</option>`,
  )}</select></label><button type="submit">Show</button></form>
${items.length === 0 ? html`<p>There are no jobs.</p>` : table('Jobs of the server', ['Job', 'Data', 'State', 'Progress', 'Created', 'Duration', 'By'], rows)}
${nextCursor === undefined ? undefined : html`<p class="paging">${anchor(`${baseUrl}${JOBS}?${next}`, 'Older jobs')}</p>`}`;
  return page({
    ...buildFrame(x),
    crumbs: [crumb(baseUrl)],
    title: 'Jobs of the server',
    body,
    alternates: [x.json],
  });
}

const crumb = (baseUrl: string) => ({ title: 'Jobs of the server', href: `${baseUrl}${JOBS}` });

function jobPage(x: AdminPage): string {
  const { baseUrl } = x;
  const job = x.document as JobDetail;
  const { workloadName: title, status } = job;
  const path = `${sitePath(baseUrl)}${JOBS}/${job.jobId}`;
  const data: JobData = {
    job: path,
    cancel: { path: `${path}/cancel`, method: 'POST' },
    retry: `${path}/retry`,
    isActive: status === 'Queued' || status === 'Running',
    jobs: `${sitePath(baseUrl)}${JOBS}`,
  };
  const stages = job.stages.map(
    ({ name, status: state, startedAt, completedAt }) =>
      html`<tr><th scope="row">${name}</th><td>${state}</td><td>${renderTime(startedAt, 'second')}</td><td>${propertyValue(completedAt === null ? null : formatMilliseconds(Date.parse(completedAt) - Date.parse(startedAt)))}</td></tr>`,
  );
  const body = html`<h1>${title}</h1>
<p class="lead" role="status" data-job-status>${status}</p>
${representationLine([x.json])}
<div data-job><script type="application/json" id="job-data">${scriptJson(data)}</script>
<p><progress max="100" value="${job.percentComplete ?? 0}" aria-label="Progress" data-job-progress></progress></p>
<p data-job-message>${job.failure?.message ?? ''}</p>
<p role="alert" data-fault hidden></p>
<p class="actions">${job.actions.map(action)}</p></div>
${renderSection('Warnings', job.warnings.length > 0 ? html`<ul>${job.warnings.map((text) => html`<li><bdi>${text}</bdi></li>`)}</ul>` : undefined)}
${facts([
  ['Data', formatResources(job)],
  ['Requested by', job.requestedBy ?? undefined],
  ['Created', renderTime(job.createdAt, 'second')],
  ['Duration', formatDuration(job)],
  ['Attempts', `${formatCount(job.attemptCount)} of at most ${formatCount(job.maxAttempts)}`],
  ['Job', html`<code>${job.jobId}</code>`],
])}
${renderSection('Steps', stages.length > 0 ? table('Steps', ['Step', 'State', 'Started', 'Duration'], stages) : undefined)}
${renderSection('Links', linkList(jobLinks(job, baseUrl)))}`;
  const crumbs = [crumb(baseUrl), { title, href: `${baseUrl}${JOBS}/${job.jobId}` }];
  return page({
    ...buildFrame(x),
    crumbs,
    title: `${title}: ${status}`,
    body,
    scripts: ['job.js'],
    alternates: [x.json],
  });
}

/** Buttons that the script shows, and the reasons of impossible actions. */
function action({ name, allowed, disabledReason }: JobDetail['actions'][number]): Markup | undefined {
  const isCancel = name === 'cancel';
  if (allowed && isCancel)
    return html`<button type="button" class="button" data-dismiss hidden>Cancel</button> `;
  if (allowed) return html`<button type="button" class="button" data-retry hidden>Run again</button> `;
  return isCancel ? undefined : html`<span class="muted">Run again: ${disabledReason}</span>`;
}

function jobLinks({ jobId, resourceRefs }: JobSummary, baseUrl: string): PageLink[] {
  const type = 'text/html';
  const isProcess = resourceRefs.some((one) => one.startsWith('process:'));
  return [
    { href: `${baseUrl}${JOBS}/${jobId}/logs`, rel: 'related', type, title: 'Log' },
    { href: `${baseUrl}${JOBS}/${jobId}/artifacts`, rel: 'related', type, title: 'Files' },
    ...(isProcess
      ? [
          {
            href: `${baseUrl}/ogc/processes/jobs/${jobId}`,
            rel: 'related',
            type,
            title: 'Inputs and results',
          },
        ]
      : []),
  ];
}

function logPage(x: AdminPage): string {
  const { baseUrl, path } = x;
  const { jobId, items } = x.document as { jobId: string; items: readonly LogLine[] };
  const rows = items.map(
    ({ timestamp, level, message, phase }) =>
      html`<tr><td>${renderTime(timestamp, 'second')}</td><td>${level}</td><td>${propertyValue(phase)}</td><td><bdi>${message}</bdi></td></tr>`,
  );
  const body = html`<h1>Log of the job</h1>
${representationLine([x.json])}
${rows.length === 0 ? html`<p>The log is empty.</p>` : table('Log', ['Time', 'Level', 'Step', 'Message'], rows)}`;
  const job = { title: 'Job', href: `${baseUrl}${JOBS}/${jobId}` };
  const crumbs = [crumb(baseUrl), job, { title: 'Log', href: `${baseUrl}${path}` }];
  return page({ ...buildFrame(x), crumbs, title: 'Log of the job', body, alternates: [x.json] });
}

/** Collections and processes of a job: `trees`, `geometry.buffer`. */
function formatResources({ resourceRefs }: JobSummary): Markup {
  const names = resourceRefs
    .filter((one) => !one.startsWith('caller:'))
    .map((one) => one.slice(one.indexOf(':') + 1));
  return html`<bdi>${propertyValue(names.join(', '))}</bdi>`;
}

function formatProgress({ percentComplete }: JobSummary): string {
  return percentComplete === null ? '–' : `${Math.round(percentComplete)} %`;
}

function formatDuration({ durationMs }: JobSummary): string | undefined {
  return durationMs === null ? undefined : formatMilliseconds(durationMs);
}
