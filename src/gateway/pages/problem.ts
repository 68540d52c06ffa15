import type { FieldError } from '../../core/errors/errors.js';
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
  400: 'Change the address as the message says, and try again.',
  401: 'Sign in, or send an API key.',
  403: 'Ask who runs this server for access.',
  404: 'The address may be mistyped, or the data may not be published any more.',
  405: 'This address takes other requests than the one your browser sent.',
  406: 'Add f=json to the address to read what this address has.',
  429: 'Wait a moment, then reload the page.',
  500: 'Tell who runs this server the request id below.',
  501: 'This part of the interface is planned and not built yet.',
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
      html`<tr><th scope="row"><bdi>${error.name}</bdi></th><td><bdi>${error.detail}</bdi></td></tr>`,
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
