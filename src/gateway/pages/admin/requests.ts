import { html, type Markup } from '../../../core/values/html.js';
import { renderSection } from '../layout.js';
import { anchor } from '../links.js';
import { formatCount, propertyValue, renderTime } from '../values.js';
import type { AdminPage } from './jobs.js';
import {
  formatDuration,
  renderListing,
  renderMissing,
  renderNote,
  renderRequestLink,
  renderStatus,
} from './observability-parts.js';

interface RecordedRequest {
  readonly requestId: string;
  readonly completedAt: string;
  readonly method: string;
  readonly path: string;
  readonly operation: string;
  readonly statusCode: number;
  readonly durationMs: number;
  readonly bytes: number;
  readonly actor: string;
  readonly longestStage: string | null;
  readonly stages: readonly {
    readonly stage: string;
    readonly durationMs: number;
    readonly place: string | null;
  }[];
  readonly tasks: readonly { readonly task: string; readonly count: number; readonly durationMs: number }[];
  readonly traceId: string | null;
  readonly instanceId: string;
}

/** Body of the page of the recent requests. */
export function renderRequestRecords({ document, baseUrl }: AdminPage): readonly (Markup | undefined)[] {
  const { requests, missingInstances } = document as {
    readonly requests: readonly RecordedRequest[];
    readonly missingInstances: readonly string[];
  };
  const rows = requests.map((one) => [
    ...[renderTime(one.completedAt, 'second'), formatDuration(one.durationMs), String(one.statusCode)],
    html`<div><bdi>${one.method} ${one.path}</bdi>${renderNote(one.operation)}</div>`,
    ...[propertyValue(one.longestStage), renderRequestLink(baseUrl, one.requestId)],
  ]);
  const columns = ['Time', 'Duration', 'Status', 'Request', 'Longest stage', 'Id'];
  return [
    renderMissing(missingInstances),
    rows.length === 0
      ? html`<p>There are no slow requests, and no requests of callers with a key.</p>`
      : renderListing('Requests', columns, rows, [1, 2]),
  ];
}

interface RequestDocument {
  readonly requestId: string;
  readonly requests: readonly RecordedRequest[];
  readonly slowStatements:
    | readonly {
        readonly executionTimeMs: number;
        readonly executedAt: string;
        readonly queryText?: string | null;
      }[]
    | null;
  readonly failures: readonly {
    readonly timestamp: string;
    readonly statusCode: number;
    readonly message: string;
  }[];
  readonly logLines: readonly {
    readonly timestamp: string;
    readonly level: string;
    readonly message: string;
  }[];
  readonly links: readonly { readonly label: string; readonly url: string }[];
  readonly missingInstances: readonly string[];
}

/** Body of the page of one request. */
export function renderRequestRecord({ document, baseUrl }: AdminPage): readonly (Markup | undefined)[] {
  const { requestId, requests, slowStatements, failures, logLines, links, missingInstances } =
    document as RequestDocument;
  return [
    html`<p class="lead"><code>${requestId}</code></p>`,
    renderMissing(missingInstances),
    ...requests.map(renderParts),
    slowStatements === null || slowStatements.length === 0
      ? undefined
      : renderSection(
          'Slow statements',
          renderListing(
            'Slow statements',
            ['Time', 'Duration', 'Statement'],
            slowStatements.map(({ executedAt, executionTimeMs, queryText }) => [
              ...[renderTime(executedAt, 'second'), formatDuration(executionTimeMs)],
              html`<code>${propertyValue(queryText)}</code>`,
            ]),
            [1],
          ),
        ),
    renderMessages(
      'Failures',
      failures.map((one) => ({ ...one, kind: String(one.statusCode) })),
    ),
    renderMessages(
      'Log lines',
      logLines.map((one) => ({ ...one, kind: renderStatus(one.level) })),
    ),
    html`<p class="actions">${links.map(({ url, label }) => html`${anchor(`${baseUrl}${url}&f=html`, label)} `)}</p>`,
  ];
}

function renderParts(one: RecordedRequest): Markup | undefined {
  const stages = one.stages.map(({ stage, durationMs, place }) => [
    ...[stage === one.longestStage ? html`<strong>${stage}</strong>` : stage],
    ...[formatDuration(durationMs), propertyValue(place)],
  ]);
  const about = html`<p><bdi>${one.method} ${one.path}</bdi>: ${one.statusCode}, ${formatDuration(one.durationMs)}, ${formatCount(one.bytes)} bytes, by <bdi>${one.actor}</bdi> at ${renderTime(one.completedAt, 'second')}, process ${one.instanceId}${one.traceId === null ? undefined : html`, trace <code>${one.traceId}</code>`}</p>`;
  const tasks = one.tasks.map(({ task, count, durationMs }) => [
    ...[task, formatCount(count), formatDuration(durationMs)],
  ]);
  return renderSection(
    'Durations',
    html`${about}${
      stages.length === 0
        ? html`<p>No worker processed the request.</p>`
        : renderListing('Stages', ['Stage', 'Duration', 'Place'], stages, [1])
    }${tasks.length === 0 ? undefined : renderListing('Tasks', ['Task', 'Number', 'Duration'], tasks, [1, 2])}`,
  );
}

function renderMessages(
  title: string,
  messages: readonly {
    readonly timestamp: string;
    readonly kind: Markup | string;
    readonly message: string;
  }[],
): Markup | undefined {
  if (messages.length === 0) return undefined;
  const rows = messages.map(({ timestamp, kind, message }) => [
    ...[renderTime(timestamp, 'second'), kind, html`<bdi>${message}</bdi>`],
  ]);
  return renderSection(title, renderListing(title, ['Time', 'Kind', 'Message'], rows));
}
