import { html, type Markup } from '../../../core/values/html.js';
import { buildFrame } from '../crumbs.js';
import { page, renderSection, sitePath } from '../layout.js';
import { linkList, type PageLink, representationLine } from '../links.js';
import { stackedTable } from '../table.js';
import { facts, propertyValue, renderTime } from '../values.js';
import type { AdminPage } from './jobs.js';

/** Pages of proposals, made from the documents of the management API. */

interface ProposalSummaryDocument {
  readonly proposalId: string;
  readonly kind: string;
  readonly status: string;
  readonly riskLevel: string;
  readonly summary: string;
  readonly actionDiscriminator: string | null;
  readonly findingId: string | null;
  readonly autonomyRule: string | null;
  readonly requestedBy: string | null;
  readonly requestedByAgent: string | null;
  readonly createdAt: string;
}

interface ProposalDocument extends ProposalSummaryDocument {
  readonly diff: readonly string[];
  readonly dryRun: readonly string[];
  readonly warnings: readonly string[];
  readonly blockingReasons: readonly string[];
  readonly executionOperationId: string | null;
  readonly resolvedBy: string | null;
  readonly resolvedAt: string | null;
  readonly resolutionReason: string | null;
}

/** Path of the page of proposals. */
export const PROPOSALS_PATH = '/api/v1/admin/proposals';
const ITEM = /^\/api\/v1\/admin\/proposals\/[0-9a-f]{64}$/;
const TITLE = 'Proposals';
const STATUS_FILTERS = [
  ...['AwaitingApproval', 'Submitted', 'Executing', 'Reconciling'],
  ...['Succeeded', 'Failed', 'Rejected', 'RolledBack'],
];

/** The page of a document of proposals. Undefined for other documents. */
export function adminProposalPage(x: AdminPage): string | undefined {
  if (x.path === PROPOSALS_PATH) return proposalList(x);
  return ITEM.test(x.path) ? proposalPage(x) : undefined;
}

const crumb = (baseUrl: string) => ({ title: TITLE, href: `${baseUrl}${PROPOSALS_PATH}` });

function proposalList(x: AdminPage): string {
  const { baseUrl, query } = x;
  const { proposals } = x.document as { proposals: readonly ProposalSummaryDocument[] };
  const status = new URLSearchParams(query).get('status') ?? '';
  const columns = { names: ['Action', 'Status', 'Risk', 'Proposed by', 'Created'], head: 0 };
  const rows = proposals.map((one) => ({
    cells: [
      html`<a href="${`${baseUrl}${PROPOSALS_PATH}/${one.proposalId}`}"><bdi>${one.summary}</bdi></a>`,
      ...[one.status, one.riskLevel],
      html`<bdi>${propertyValue(one.requestedBy)}</bdi>`,
      renderTime(one.createdAt, 'second'),
    ],
  }));
  const body = html`<h1>${TITLE}</h1>
<p class="lead">Actions that one person proposes and another approves, newest first.</p>
${representationLine([x.json])}
<form class="filter" method="get"><label>Status <select name="status"><option value="">All</option>${STATUS_FILTERS.map(
    (one) => html`<option value="${one}"${one === status ? html` selected` : undefined}>${one}</option>`,
  )}</select></label><button type="submit">Show</button></form>
${rows.length === 0 ? html`<p>There are no proposals.</p>` : stackedTable(TITLE, columns, rows)}`;
  return page({
    ...buildFrame(x),
    crumbs: [crumb(baseUrl)],
    title: TITLE,
    body,
    alternates: [x.json],
  });
}

function proposalPage(x: AdminPage): string {
  const { baseUrl } = x;
  const one = x.document as ProposalDocument;
  const path = `${sitePath(baseUrl)}${PROPOSALS_PATH}/${one.proposalId}`;
  const isWaiting = one.status === 'AwaitingApproval';
  const isActive = ['Submitted', 'Executing', 'Reconciling'].includes(one.status);
  const body = html`<h1><bdi>${one.summary}</bdi></h1>
<p class="lead" role="status" data-proposal-status>${one.status}</p>
${representationLine([x.json])}
<div data-proposal="${path}" data-proposal-id="${one.proposalId}" data-active="${isActive ? 'yes' : 'no'}">
<p role="alert" data-fault hidden></p>
${isWaiting ? renderDecision() : undefined}</div>
${renderSection('Blocking reasons', renderLines(one.blockingReasons))}
${renderSection('Changes', renderLines(one.diff))}
${renderSection('Dry run', renderLines(one.dryRun))}
${renderSection('Warnings', renderLines(one.warnings))}
${facts([
  ['Action', html`<code>${one.actionDiscriminator ?? ''}</code>`],
  ['Kind', one.kind],
  ['Risk', one.riskLevel],
  ['Proposed by', one.requestedBy ?? undefined],
  ['Agent', one.requestedByAgent ?? undefined],
  ['Created', renderTime(one.createdAt, 'second')],
  ['Finding', one.findingId ?? undefined],
  ['Policy', one.autonomyRule ?? undefined],
  ['Decided by', one.resolvedBy ?? undefined],
  ['Decided', one.resolvedAt === null ? undefined : renderTime(one.resolvedAt, 'second')],
  ['Reason', one.resolutionReason ?? undefined],
  ['Proposal', html`<code class="long">${one.proposalId}</code>`],
])}
<section class="part" data-seals hidden><h2>Evidence and seals</h2></section>
${renderSection('Links', linkList(listLinks(one, baseUrl)))}`;
  return page({
    ...buildFrame(x),
    crumbs: [crumb(baseUrl), { title: one.summary, href: `${baseUrl}${PROPOSALS_PATH}/${one.proposalId}` }],
    title: `${one.summary} ${one.status}`,
    body,
    scripts: ['proposal.js'],
    alternates: [x.json],
  });
}

/** Buttons that the script shows. */
function renderDecision(): Markup {
  return html`<p class="actions"><button type="button" class="button" data-approve hidden>Approve and execute</button></p>
<form class="filter" data-reject hidden><label>Reason <input name="reason" maxlength="2000" required></label><button type="submit">Reject</button></form>`;
}

function renderLines(lines: readonly string[]): Markup | undefined {
  if (lines.length === 0) return undefined;
  return html`<ul class="plain">${lines.map((line) => html`<li><bdi>${line}</bdi></li>`)}</ul>`;
}

function listLinks({ proposalId, executionOperationId: job }: ProposalDocument, baseUrl: string): PageLink[] {
  const seals: PageLink = {
    href: `${baseUrl}${PROPOSALS_PATH}/${proposalId}/seals?f=json`,
    ...{ rel: 'related', type: 'application/json', title: 'Seals, for graticule proposal verify' },
  };
  if (job === null) return [seals];
  const href = `${baseUrl}/api/v1/admin/jobs/${job}`;
  return [seals, { href, rel: 'related', type: 'text/html', title: 'Job that executes the proposal' }];
}
