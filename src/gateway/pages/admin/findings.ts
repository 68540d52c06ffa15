import { html, type Markup } from '../../../core/values/html.js';
import { renderSeverity } from '../alerts/parts.js';
import { buildFrame } from '../crumbs.js';
import { page, renderSection, sitePath } from '../layout.js';
import { representationLine } from '../links.js';
import { facts, renderTime } from '../values.js';
import type { AdminPage } from './jobs.js';
import { HEALTH_PATH } from './observability.js';
import { PROPOSALS_PATH } from './proposals.js';

/** Pages of findings, made from the documents of the management API. */

interface FindingDocument {
  readonly id: string;
  readonly rule: string;
  readonly severity: string;
  readonly title: string;
  readonly explanation: string;
  readonly detectedAt: string;
  readonly evidenceRefs: readonly string[];
  readonly recommendedAction: {
    readonly kind: string;
    readonly summary: string;
    readonly reason: string;
    readonly autoSafe: boolean;
    readonly blastRadius: number;
  } | null;
}

interface FindingDetailDocument extends FindingDocument {
  readonly facts: Readonly<Record<string, unknown>>;
  readonly notes: readonly {
    readonly at: string;
    readonly author: string;
    readonly agent: string | null;
    readonly text: string;
  }[];
}

/** Path of the page of findings. */
const FINDINGS_PATH = '/api/v1/admin/observability/findings';
const ITEM = /^\/api\/v1\/admin\/observability\/findings\/[a-z0-9-]+$/;
const TITLE = 'Findings';

/** The page of a document of findings. Undefined for other documents. */
export function adminFindingPage(x: AdminPage): string | undefined {
  if (x.path === FINDINGS_PATH) return findingList(x);
  return ITEM.test(x.path) ? findingPage(x) : undefined;
}

const listCrumbs = (baseUrl: string) => [
  { title: 'Health of the server', href: `${baseUrl}${HEALTH_PATH}` },
  { title: TITLE, href: `${baseUrl}${FINDINGS_PATH}` },
];

function findingList(x: AdminPage): string {
  const { baseUrl } = x;
  const { findings, generatedAt } = x.document as {
    findings: readonly FindingDocument[];
    generatedAt: string;
  };
  const body = html`<h1>${TITLE}</h1>
<p class="lead">Problems on all servers, as of ${renderTime(generatedAt, 'second')}, most severe first.</p>
${representationLine([x.json])}
${findings.length === 0 ? html`<p>There are no findings.</p>` : findings.map((one) => renderFinding(one, baseUrl))}
<nav class="part" aria-label="Other pages"><p class="actions">
<a class="button" href="${`${baseUrl}${PROPOSALS_PATH}?f=html`}">Proposals</a>
<a class="button" href="${`${baseUrl}${HEALTH_PATH}?f=html`}">Health of the server</a></p></nav>`;
  return page({
    ...buildFrame(x),
    crumbs: listCrumbs(baseUrl),
    title: TITLE,
    body,
    scripts: ['finding.js'],
    alternates: [x.json],
  });
}

function renderFinding(one: FindingDocument, baseUrl: string): Markup {
  return html`<section class="part" aria-labelledby="${one.id}"><h2 id="${one.id}"><a href="${`${baseUrl}${FINDINGS_PATH}/${one.id}?f=html`}"><bdi>${one.title}</bdi></a></h2>
<p>${renderSeverity(one.severity.toLowerCase(), one.severity)} since ${renderTime(one.detectedAt, 'second')}, rule ${one.rule}</p>
<p><bdi>${one.explanation}</bdi></p>
${renderAction(one, baseUrl)}</section>`;
}

/** The button is shown by the script. */
function renderAction(
  { id, title, recommendedAction: action }: FindingDocument,
  baseUrl: string,
): Markup | undefined {
  if (!action) return undefined;
  const path = `${sitePath(baseUrl)}${FINDINGS_PATH}/${id}/propose`;
  return html`<div data-finding="${path}" data-proposals="${`${sitePath(baseUrl)}${PROPOSALS_PATH}`}"><p><bdi>${action.summary}</bdi>. ${action.reason}</p>
<p class="actions"><button type="button" class="button" data-propose hidden>Propose this<span class="unseen">: ${title}</span></button></p>
<p role="status" data-outcome hidden></p></div>`;
}

function findingPage(x: AdminPage): string {
  const { baseUrl } = x;
  const one = x.document as FindingDetailDocument;
  const action = one.recommendedAction;
  const body = html`<h1><bdi>${one.title}</bdi></h1>
<p class="lead">${renderSeverity(one.severity.toLowerCase(), one.severity)} since ${renderTime(one.detectedAt, 'second')}</p>
${representationLine([x.json])}
<p><bdi>${one.explanation}</bdi></p>
${renderAction(one, baseUrl)}
${facts([
  ['Rule', one.rule],
  ['Evidence', html`<bdi>${one.evidenceRefs.join(', ')}</bdi>`],
  ['Action', action ? action.kind : 'None: the server cannot remove the cause.'],
  ['Changes', action ? String(action.blastRadius) : undefined],
  ['Policies can take it', action ? (action.autoSafe ? 'yes' : 'no') : undefined],
])}
${renderSection('Facts', html`<div class="code"><pre tabindex="0" role="region" aria-label="Facts"><code>${JSON.stringify(one.facts, null, 2)}</code></pre></div>`)}
${renderNotes(one)}`;
  return page({
    ...buildFrame(x),
    crumbs: [...listCrumbs(baseUrl), { title: one.title, href: `${baseUrl}${FINDINGS_PATH}/${one.id}` }],
    title: one.title,
    body,
    scripts: ['finding.js'],
    alternates: [x.json],
  });
}

function renderNotes({ notes }: FindingDetailDocument): Markup | undefined {
  if (notes.length === 0) return undefined;
  const items = notes.map(
    ({ at, author, agent, text }) =>
      html`<p><bdi>${agent === null ? author : `${agent} for ${author}`}</bdi>, ${renderTime(at, 'second')}</p><blockquote><bdi>${text}</bdi></blockquote>`,
  );
  return renderSection('Notes', html`<p>Notes are diagnoses. They change nothing.</p>${items}`);
}
