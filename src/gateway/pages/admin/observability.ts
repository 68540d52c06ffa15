import { html, type Markup } from '../../../core/values/html.js';
import { buildFrame } from '../crumbs.js';
import { page, renderSection } from '../layout.js';
import { anchor, representationLine } from '../links.js';
import { formatCount, propertyValue, renderTime } from '../values.js';
import { GOVERNANCE_PAGES } from './governance.js';
import type { AdminPage } from './jobs.js';
import {
  formatDuration,
  REQUESTS_PATH,
  renderListing,
  renderMissing,
  renderNote,
  renderRequestLink,
  renderStatus,
} from './observability-parts.js';
import { renderRequestRecord, renderRequestRecords } from './requests.js';

/** Pages of the health, errors and events of the server, made from the documents of the management API. */

const BASE = '/api/v1/admin';
const HEALTH = `${BASE}/observability/ops-health`;
const EVENTS = `${BASE}/observability/events`;
const ERRORS = `${BASE}/observability/errors`;
const LOGS = `${BASE}/observability/logs`;
const SLOW = `${BASE}/performance/enhanced/database/slow-queries`;
const FINDINGS = `${BASE}/observability/findings`;
const SUMMARY = `${BASE}/performance/enhanced/summary`;

const TITLES: Readonly<Record<string, string>> = {
  [HEALTH]: 'Health of the server',
  [EVENTS]: 'Events',
  [ERRORS]: 'Errors',
  [LOGS]: 'Warnings and errors of the log',
  [SLOW]: 'Slow queries',
  [REQUESTS_PATH]: 'Recent requests',
};
const BODIES: Readonly<Record<string, (x: AdminPage) => readonly (Markup | undefined)[]>> = {
  [HEALTH]: (x) => healthBody(x.document as HealthDocument),
  [EVENTS]: eventsBody,
  [ERRORS]: errorsBody,
  [LOGS]: logsBody,
  [SLOW]: slowBody,
  [REQUESTS_PATH]: renderRequestRecords,
};

/** Path of the page about the health of the server. */
export const HEALTH_PATH = HEALTH;

/** The page of a document about the health of the server. Undefined for other documents. */
export function adminObservabilityPage(x: AdminPage): string | undefined {
  const { baseUrl, path } = x;
  const isRequest = path.startsWith(`${REQUESTS_PATH}/`);
  const title = isRequest ? 'Request' : TITLES[path];
  if (title === undefined) return undefined;
  const health = { title: TITLES[HEALTH]!, href: `${baseUrl}${HEALTH}` };
  const body = html`<h1>${title}</h1>
${representationLine([x.json])}
${isRequest ? renderRequestRecord(x) : BODIES[path]!(x)}
<nav class="part" aria-label="Other pages"><p class="actions">${listOthers(x)}</p></nav>`;
  return page({
    ...buildFrame(x),
    crumbs: path === HEALTH ? [health] : [health, { title, href: `${baseUrl}${path}` }],
    title,
    body,
    alternates: [x.json],
  });
}

/** Buttons that lead to the other pages. */
function listOthers({ baseUrl, path }: AdminPage): Markup[] {
  const others = [
    ...Object.entries(TITLES).filter(([href]) => href !== path),
    ...[
      [FINDINGS, 'Findings'] as const,
      [SUMMARY, 'Performance'] as const,
      ['/sources', 'Sources'] as const,
      [`${BASE}/jobs`, 'Jobs'] as const,
      ...GOVERNANCE_PAGES,
    ],
  ];
  return others.map(
    ([href, title]) =>
      html`<a class="button" href="${`${baseUrl}${href}${href.startsWith(BASE) ? '?f=html' : ''}`}">${title}</a> `,
  );
}

interface HealthDocument {
  readonly generatedAt: string;
  readonly overallStatus: string;
  readonly health: {
    readonly entries: readonly {
      readonly name: string;
      readonly status: string;
      readonly description: string | null;
    }[];
  };
  readonly servingLatency: {
    readonly windowSeconds: number;
    readonly protocols: readonly {
      readonly protocol: string;
      readonly requestCount: number;
      readonly errorCount: number;
      readonly p50Ms: number;
      readonly p95Ms: number;
      readonly p99Ms: number;
      readonly maxMs: number;
    }[];
  };
}

function healthBody({ overallStatus, generatedAt, health, servingLatency }: HealthDocument) {
  const entries = health.entries.map(({ name, status, description }) => [
    name,
    renderStatus(status),
    propertyValue(description),
  ]);
  const protocols = servingLatency.protocols.map(({ protocol, requestCount, errorCount, ...times }) => [
    ...[protocol, formatCount(requestCount), formatCount(errorCount)],
    ...[times.p50Ms, times.p95Ms, times.p99Ms, times.maxMs].map(formatDuration),
  ]);
  const columns = ['API', 'Requests', 'Errors', '50 %', '95 %', '99 %', 'Longest'];
  const minutes = Math.max(1, Math.round(servingLatency.windowSeconds / 60));
  return [
    html`<p class="lead">${renderStatus(overallStatus)} at ${renderTime(generatedAt, 'second')}</p>`,
    renderSection('Checks', renderListing('Checks', ['Check', 'Status', 'Description'], entries)),
    renderSection(
      `Response times of the last ${minutes} min`,
      protocols.length > 0
        ? renderListing('Response times', columns, protocols, [1, 2, 3, 4, 5, 6])
        : html`<p>There were no requests.</p>`,
    ),
  ];
}

interface EventsDocument {
  readonly items: readonly {
    readonly eventId: string;
    readonly kind: string;
    readonly severity: string;
    readonly title: string;
    readonly summary: string | null;
    readonly occurredAt: string;
    readonly actor: string | null;
    readonly requestId: string | null;
  }[];
  readonly sourceErrors: Readonly<Record<string, string>> | null;
}

const KINDS = ['alert', 'audit', 'job', 'release', 'syncConflict', 'log'];
const SEVERITIES = ['notice', 'warning', 'error', 'critical'];

function eventsBody(x: AdminPage) {
  const { items, sourceErrors } = x.document as EventsDocument;
  const asked = new URLSearchParams(x.query);
  const select = (name: string, label: string, values: readonly string[]) =>
    html`<label>${label} <select name="${name}"><option value="">All</option>${values.map(
      (one) =>
        html`<option value="${one}"${one === asked.get(name) ? html` selected` : undefined}>${one}</option>`,
    )}</select></label>`;
  const rows = items.map(({ kind, severity, title, summary, occurredAt, actor, requestId }) => [
    ...[renderTime(occurredAt, 'second'), kind, renderStatus(severity)],
    html`<div><bdi>${title}</bdi>${summary === null || summary === title ? undefined : renderNote(summary)}</div>`,
    ...[html`<bdi>${propertyValue(actor)}</bdi>`, renderEventsLink(x.baseUrl, requestId)],
  ]);
  return [
    html`<form class="filter" method="get">${select('kind', 'Kind', KINDS)} ${select('minSeverity', 'At least', SEVERITIES)} <label>Request <input name="requestId" value="${asked.get('requestId') ?? ''}" maxlength="128"></label> <button type="submit">Show</button></form>`,
    sourceErrors === null
      ? undefined
      : html`<div role="alert"><p>Some events are missing:</p><ul>${Object.entries(sourceErrors).map(
          ([kind, reason]) => html`<li>${kind}: <bdi>${reason}</bdi></li>`,
        )}</ul></div>`,
    rows.length === 0
      ? html`<p>There are no such events.</p>`
      : renderListing('Events', ['Time', 'Kind', 'Severity', 'Event', 'By', 'Request'], rows),
  ];
}

/** Link to the events of a request. The server can have forgotten its durations. */
function renderEventsLink(baseUrl: string, id: string | null): Markup {
  if (id === null || id === '-') return html`–`;
  return anchor(`${baseUrl}${EVENTS}?${new URLSearchParams({ requestId: id, f: 'html' })}`, id);
}

interface ErrorsDocument {
  readonly errors: readonly {
    readonly timestamp: string;
    readonly statusCode: number;
    readonly path: string;
    readonly message: string;
    readonly correlationId: string;
    readonly actor: string;
    readonly remoteIp: string;
  }[];
  readonly missingInstances: readonly string[];
}

function errorsBody({ document, baseUrl }: AdminPage) {
  const { errors, missingInstances } = document as ErrorsDocument;
  const rows = errors.map(({ timestamp, statusCode, path, message, correlationId, actor, remoteIp }) => [
    ...[renderTime(timestamp, 'second'), String(statusCode), html`<bdi>${path}</bdi>`],
    html`<bdi>${message}</bdi>`,
    html`<div><bdi>${actor}</bdi>${renderNote(remoteIp)}</div>`,
    renderRequestLink(baseUrl, correlationId),
  ]);
  return [
    renderMissing(missingInstances),
    rows.length === 0
      ? html`<p>No request failed.</p>`
      : renderListing('Errors', ['Time', 'Status', 'Path', 'Message', 'By', 'Request'], rows, [1]),
  ];
}

interface LogsDocument {
  readonly items: readonly {
    readonly timestamp: string;
    readonly level: string;
    readonly message: string;
    readonly path: string | null;
    readonly correlationId: string;
    readonly instanceId: string;
  }[];
  readonly missingInstances: readonly string[];
}

function logsBody({ document, baseUrl }: AdminPage) {
  const { items, missingInstances } = document as LogsDocument;
  const rows = items.map(({ timestamp, level, message, path, correlationId, instanceId }) => [
    ...[renderTime(timestamp, 'second'), renderStatus(level)],
    html`<div><bdi>${message}</bdi>${path === null ? undefined : renderNote(path)}</div>`,
    ...[instanceId, renderRequestLink(baseUrl, correlationId)],
  ]);
  return [
    renderMissing(missingInstances),
    rows.length === 0
      ? html`<p>The log has no warnings and no errors.</p>`
      : renderListing('Log', ['Time', 'Level', 'Message', 'Process', 'Request'], rows),
  ];
}

interface SlowDocument {
  readonly slowQueries: readonly {
    readonly queryType: string;
    readonly executionTimeMs: number;
    readonly executedAt: string;
    readonly failed: boolean;
    readonly rowCount?: number | null;
    readonly queryText?: string | null;
    readonly correlationId: string;
  }[];
}

function slowBody({ document, baseUrl }: AdminPage) {
  const { slowQueries } = document as SlowDocument;
  const rows = slowQueries.map(
    ({ queryType, executionTimeMs, executedAt, failed, rowCount, queryText, correlationId }) => [
      ...[renderTime(executedAt, 'second'), formatDuration(executionTimeMs)],
      html`<div><code>${propertyValue(queryText)}</code>${failed ? html`<br><strong>failed</strong>` : undefined}</div>`,
      ...[queryType, propertyValue(rowCount), renderRequestLink(baseUrl, correlationId)],
    ],
  );
  return rows.length === 0
    ? [html`<p>No query was slow.</p>`]
    : [
        html`<p class="lead">Statements without their values.</p>`,
        renderListing(
          'Slow queries',
          ['Time', 'Duration', 'Statement', 'Kind', 'Rows', 'Request'],
          rows,
          [1, 4],
        ),
      ];
}
