import { describeName, type FieldError, formatDetail } from '../../core/errors/field-errors.js';
import { html, type Markup } from '../../core/values/html.js';
import { page, renderSection } from './layout.js';
import { anchor } from './links.js';
import { table } from './table.js';
import { facts } from './values.js';

/** What a page tells of an error. */
export interface ProblemPage {
  readonly baseUrl: string;
  readonly path: string;
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly code: string;
  readonly correlationId: string;
  readonly errors?: readonly FieldError[];
}

/** What to do about an error, where there is something to do. */
const ADVICE: Readonly<Record<number, string>> = {
  400: 'Change the URL as the message says, and retry.',
  401: 'Sign in, or send an API key.',
  403: 'Request access from the operator of this server.',
  404: 'The URL may be mistyped, or the data may no longer be published.',
  405: 'This URL does not support the method that your browser sent.',
  406: 'Add f=json to the URL to read the JSON document.',
  429: 'Wait a moment, then reload the page.',
  500: 'Report the request id below to the operator of this server.',
  501: 'This operation is planned and not built yet.',
  503: 'Wait a moment, then reload the page.',
};

/** Who is not let in may be so as somebody else; afterwards the browser comes back. */
function signInLink({ baseUrl, path, status }: ProblemPage): Markup | undefined {
  if (status !== 401 && status !== 403) return undefined;
  const to = encodeURIComponent(new URL(baseUrl).pathname.replace(/\/+$/, '') + path);
  return html`<li>${anchor(`${baseUrl}/account/sign-in?to=${to}`, 'Sign in')}</li>`;
}

/** An error as a page: what is wrong, what to do, where to go. */
export function problemPage(problem: ProblemPage): string {
  const { baseUrl, path, status, title, detail, code, correlationId, errors = [] } = problem;
  const advice = ADVICE[status];
  const rows = errors.map(
    (error) =>
      html`<tr><th scope="row"><bdi>${describeName(error.name)}</bdi></th><td><bdi>${formatDetail(error)}</bdi></td></tr>`,
  );
  const body = html`<h1>${title}</h1>
<p class="lead"><bdi>${detail}</bdi></p>
${advice === undefined ? undefined : html`<p>${advice}</p>`}
${renderSection('What is wrong', rows.length > 0 ? table('What is wrong', ['Parameter or member', 'Message'], rows) : undefined)}
${renderSection(
  'Where to go from here',
  html`<ul class="links">${signInLink(problem)}<li>${anchor(`${baseUrl}/`, 'Start page: all interfaces and collections')}</li>
<li>${anchor(`${baseUrl}/docs`, 'Interface documents: every operation and its parameters')}</li></ul>`,
)}
${renderSection(
  'For a report',
  facts([
    ['Status', `${status} ${code}`],
    ['Address', html`<code>${path}</code>`],
    ['Request id', html`<code>${correlationId}</code>`],
  ]),
)}`;
  return page({ baseUrl, title, crumbs: [], body });
}
