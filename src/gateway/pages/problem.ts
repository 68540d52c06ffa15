import type { ErrorLink } from '../../core/errors/errors.js';
import { describeName, type FieldError, formatDetail } from '../../core/errors/field-errors.js';
import { errorHelpUrl } from '../../core/errors/help-url.js';
import { html, type Markup } from '../../core/values/html.js';
import { READER_EXPORTS_PATH } from '../../services/exchange/exports/reader-exports.js';
import { buildFrame, type HtmlPageRequest } from './crumbs.js';
import { page, renderSection } from './layout.js';
import { anchor } from './links.js';
import { table } from './table.js';
import { facts } from './values.js';

/** Data for the page of an error. */
export interface ProblemPage extends HtmlPageRequest {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly code: string;
  readonly correlationId: string;
  readonly errors?: readonly FieldError[];
  /** Other resources with the requested data. */
  readonly links?: readonly ErrorLink[] | undefined;
}

/** Advice for errors that the reader can do something about. */
const ADVICE: Readonly<Record<number, string>> = {
  400: 'Change the URL as described, and try again.',
  401: 'Sign in, or send an API key.',
  403: 'Contact the operator of this server to get access.',
  404: 'Check the URL. The data can also have been removed.',
  405: 'This URL does not support the request that your browser sent.',
  406: 'Add f=json to the URL to see the content of this URL.',
  429: 'Wait a moment, then reload the page.',
  500: 'Send the request id below to the operator of this server.',
  501: 'This operation is not available in this version.',
  503: 'Wait a moment, then reload the page.',
};

/** Link to the sign-in page for a caller without permission. After signing in, the browser returns here. */
function signInLink(x: ProblemPage): Markup | undefined {
  const { baseUrl, status } = x;
  const { reader } = buildFrame(x);
  if ((status !== 401 && status !== 403) || reader.name !== undefined) return undefined;
  const href = `${baseUrl}/account/sign-in?to=${encodeURIComponent(reader.here)}`;
  return html`<p><a class="button primary" href="${href}">Sign in</a></p>`;
}

/** An error as a page: what is wrong, what to do, where to go. */
export function problemPage(problem: ProblemPage): string {
  const { baseUrl, path, status, title, detail, code, correlationId, errors = [], links = [] } = problem;
  const advice = ADVICE[status];
  const rows = errors.map(
    (error) =>
      html`<tr><th scope="row"><bdi>${describeName(error.name)}</bdi></th><td><bdi>${formatDetail(error)}</bdi></td></tr>`,
  );
  const body = html`<h1>${title}</h1>
<p class="lead"><bdi>${detail}</bdi></p>
${detail.includes(READER_EXPORTS_PATH) ? html`<p>${anchor(`${baseUrl}${READER_EXPORTS_PATH}?f=html`, 'Your exports')}</p>` : undefined}
${links.length > 0 ? html`<ul class="links">${links.map((link) => html`<li>${anchor(baseUrl + link.path, link.title)}</li>`)}</ul>` : undefined}
${advice === undefined || links.length > 0 ? undefined : html`<p>${advice}</p>`}
${signInLink(problem)}
${renderSection('Problem', rows.length > 0 ? table('Problem', ['Parameter or member', 'Message'], rows) : undefined)}
${renderSection(
  'Next steps',
  html`<ul class="links"><li>${anchor(errorHelpUrl(baseUrl, code), 'Manual: this error, and what to do')}</li>
<li>${anchor(`${baseUrl}/`, 'Start page: all APIs and collections')}</li>
<li>${anchor(`${baseUrl}/docs`, 'API reference: every operation and its parameters')}</li></ul>`,
)}
${renderSection(
  'For a report',
  facts([
    ['Status', `${status} ${code}`],
    ['Address', html`<code>${path}</code>`],
    ['Request id', html`<code>${correlationId}</code>`],
  ]),
)}`;
  return page({ ...buildFrame(problem), title, crumbs: [], body });
}
