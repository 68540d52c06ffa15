import { CAPACITY_STATES, DEPLOYMENT_ROLES } from '../../../core/licensing/capacity.js';
import { html, type Markup } from '../../../core/values/html.js';
import { renderSeverity } from '../alerts/parts.js';
import { buildFrame } from '../crumbs.js';
import { page, renderSection } from '../layout.js';
import { anchor, representationLine } from '../links.js';
import { stackedTable } from '../table.js';
import { facts, formatCount, propertyValue, renderTime } from '../values.js';
import type { AdminPage } from './jobs.js';

/** Pages of the licence and of compliance, made from the documents of the management API. */

const BASE = '/api/v1/admin';
const LICENCE = `${BASE}/license`;
const CAPACITY = `${BASE}/license/capacity`;
const COMPLIANCE = `${BASE}/compliance/dashboard`;
const REPORT = `${BASE}/compliance/report`;

const TITLES: Readonly<Record<string, string>> = {
  [COMPLIANCE]: 'Compliance',
  [LICENCE]: 'Licence',
  [CAPACITY]: 'Capacity of the licence',
};
const BODIES: Readonly<Record<string, (x: AdminPage) => readonly (Markup | undefined)[]>> = {
  [COMPLIANCE]: complianceBody,
  [LICENCE]: licenceBody,
  [CAPACITY]: capacityBody,
};

/** Links of these pages: paths and titles. */
export const GOVERNANCE_PAGES: readonly (readonly [path: string, title: string])[] = Object.entries(TITLES);

/** The page of a document about licence or compliance. Undefined for other documents, and for errors. */
export function adminGovernancePage(x: AdminPage): string | undefined {
  const { baseUrl, path } = x;
  const title = TITLES[path];
  if (title === undefined || (x.document as { success?: boolean }).success !== true) return undefined;
  const others = GOVERNANCE_PAGES.filter(([href]) => href !== path).map(
    ([href, name]) => html`<a class="button" href="${`${baseUrl}${href}?f=html`}">${name}</a> `,
  );
  const body = html`<h1>${title}</h1>
${representationLine([x.json])}
${BODIES[path]!(x)}
<nav class="part" aria-label="Other pages"><p class="actions">${others}</p></nav>`;
  const crumbs = [{ title, href: `${baseUrl}${path}` }];
  return page({ ...buildFrame(x), crumbs, title, body, alternates: [x.json] });
}

/** The data of the envelope. */
const readData = <T>({ document }: AdminPage) => (document as { data: T }).data;

const SEVERITIES: Readonly<Record<string, string>> = {
  ...{ NotImplemented: 'critical', PartiallyImplemented: 'warning', Unknown: 'warning' },
  ...{ MissingFile: 'critical', Malformed: 'critical', UnknownKey: 'critical', InvalidSignature: 'critical' },
  ...{ Expired: 'critical', GraceExpired: 'critical', Grace: 'warning', Burst: 'warning' },
  ...{ ApproachingBand: 'warning', Surge: 'warning' },
};
/** `PartiallyImplemented`: Partially implemented. */
const formatWords = (name: string) => {
  const words = name.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
};
const badge = (status: string) => renderSeverity(SEVERITIES[status] ?? 'info', formatWords(status));

interface LicenceDocument {
  readonly edition: string;
  readonly validationState: string;
  readonly licenseId: string | null;
  readonly licensedTo: string | null;
  readonly issuedAt: string | null;
  readonly expiresAt: string | null;
  readonly daysUntilExpiry: number | null;
  readonly expiryWarning: boolean;
  readonly entitlements: readonly { key: string; name: string; isActive: boolean }[];
}

function licenceBody(x: AdminPage): readonly (Markup | undefined)[] {
  const licence = readData<LicenceDocument>(x);
  const { entitlements, daysUntilExpiry, expiryWarning, issuedAt, expiresAt } = licence;
  const rows = entitlements.map(({ key, name, isActive }) => ({
    cells: [name, html`<code>${key}</code>`, isActive ? 'yes' : 'no'],
  }));
  return [
    html`<p class="lead">${badge(licence.validationState)} Edition: ${licence.edition}</p>`,
    expiryWarning
      ? html`<p role="alert">The licence ends in ${formatCount(daysUntilExpiry ?? 0)} days. Install a new one in time.</p>`
      : undefined,
    facts([
      ['Licence', licence.licenseId ?? undefined],
      ['Licensed to', licence.licensedTo === null ? undefined : html`<bdi>${licence.licensedTo}</bdi>`],
      ['Issued', issuedAt === null ? undefined : renderTime(issuedAt, 'minute')],
      ['Ends', expiresAt === null ? undefined : renderTime(expiresAt, 'minute')],
    ]),
    renderSection(
      'Entitlements',
      stackedTable('Entitlements', { names: ['Entitlement', 'Key', 'Included'], head: 0 }, rows),
    ),
  ];
}

interface CapacityDocument {
  readonly state: number;
  readonly localDeploymentRole: number;
  readonly currentServingUnits: number;
  readonly p95ServingUnits: number;
  readonly localServingUnits: number;
  readonly burstCeilingServingUnits: number | null;
  readonly graceExpiresAt: string | null;
  readonly liveInstanceCount: number;
  readonly productionInstanceCount: number;
  readonly messages: readonly string[];
  readonly surge: { readonly isActive: boolean; readonly usedDaysThisYear: number };
  readonly terms: { readonly maxSustainedServingUnits: number; readonly surgeAllowance: string } | null;
}

function capacityBody(x: AdminPage): readonly (Markup | undefined)[] {
  const one = readData<CapacityDocument>(x);
  const { terms, surge, graceExpiresAt, messages } = one;
  return [
    html`<p class="lead">${badge(CAPACITY_STATES[one.state]!)} A serving unit is a CPU that a production server can use.</p>`,
    messages.length === 0
      ? undefined
      : html`<ul>${messages.map((message) => html`<li>${message}</li>`)}</ul>`,
    facts([
      ['Units in use', one.currentServingUnits],
      ['95th percentile of 30 days', one.p95ServingUnits],
      ['Licensed units', terms?.maxSustainedServingUnits],
      ['Burst ceiling', one.burstCeilingServingUnits ?? undefined],
      ['Grace period ends', graceExpiresAt === null ? undefined : renderTime(graceExpiresAt, 'minute')],
      ['Units of this server', one.localServingUnits],
      ['Role of this server', DEPLOYMENT_ROLES[one.localDeploymentRole]],
      ['Processes', `${one.liveInstanceCount}, of which ${one.productionInstanceCount} are production`],
      ['Surge mode', surge.isActive ? 'on' : 'off'],
      ['Days with surge mode this year', surge.usedDaysThisYear.toFixed(1)],
      ['Allowance', terms?.surgeAllowance],
    ]),
  ];
}

interface ComplianceDocument {
  readonly generatedAt: string;
  readonly summary: Readonly<Record<string, number>> & { readonly readinessPercent: number };
  readonly controls: readonly {
    readonly controlId: string;
    readonly title: string;
    readonly description: string;
    readonly framework: string;
    readonly status: string;
    readonly gaps: readonly string[];
    readonly evidence: readonly {
      readonly claim: string;
      readonly detail: string;
      readonly source: string;
      readonly status: string;
    }[];
  }[];
}

const FRAMEWORK_NAMES: Readonly<Record<string, string>> = { Soc2: 'SOC 2', FedRamp: 'FedRAMP' };

function complianceBody(x: AdminPage): readonly (Markup | undefined)[] {
  const { generatedAt, summary, controls } = readData<ComplianceDocument>(x);
  const report = (format: string, text: string) =>
    anchor(`${x.baseUrl}${REPORT}?format=${format}`, html`${text}`);
  return [
    html`<p class="lead">${summary.readinessPercent} % of the applicable controls are implemented, at ${renderTime(generatedAt, 'second')}. Partially implemented controls count half.</p>`,
    html`<p>${report('pdf', 'Report as PDF')} · ${report('csv', 'Report as CSV')}</p>`,
    facts([
      ['Implemented', summary['implemented']],
      ['Partially implemented', summary['partiallyImplemented']],
      ['Not implemented', summary['notImplemented']],
      ['Unknown', summary['unknown']],
      ['Not applicable', summary['notApplicable']],
    ]),
    ...Object.entries(FRAMEWORK_NAMES).map(([framework, name]) =>
      renderSection(
        name,
        stackedTable(
          name,
          { names: ['Control', 'Status', 'Gaps', 'Evidence'], head: 0 },
          controls
            .filter((one) => one.framework === framework)
            .map((one) => ({
              cells: [
                html`${one.controlId} ${one.title}`,
                badge(one.status),
                one.status === 'NotApplicable'
                  ? html`${one.description}`
                  : one.gaps.length === 0
                    ? propertyValue(null)
                    : html`<ul>${one.gaps.map((gap) => html`<li><bdi>${gap}</bdi></li>`)}</ul>`,
                renderEvidence(one.evidence),
              ],
            })),
        ),
      ),
    ),
  ];
}

function renderEvidence(evidence: ComplianceDocument['controls'][number]['evidence']): Markup {
  if (evidence.length === 0) return propertyValue(null);
  const items = evidence.map(
    ({ claim, detail, source, status }) =>
      html`<li>${formatWords(status)}: ${claim} <bdi>${detail}</bdi> <span class="muted">${source}</span></li>`,
  );
  return html`<details><summary>${formatCount(evidence.length)} facts</summary><ul>${items}</ul></details>`;
}
