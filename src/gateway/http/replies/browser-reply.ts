import type { ApiError } from '../../../core/errors/errors.js';
import { contentTag } from '../../../core/http/content-tag.js';
import { asksForHtml } from '../../../core/http/media.js';
import type { Reply } from '../../../core/http/operation.js';
import { ACCEPT, type HttpExchange } from '../exchange.js';

/** Properties of the request that every page needs. */
type PageRequest = Pick<HttpExchange, 'baseUrl' | 'path' | 'query' | 'principal'>;

/** HTML pages that browsers receive instead of raw JSON. */
export interface BrowserPages {
  readonly headers: Readonly<Record<string, string>>;
  problemPage(
    problem: PageRequest & {
      status: number;
      title: string;
      detail: string;
      code: string;
      correlationId: string;
      errors?: ApiError['errors'];
      links?: ApiError['links'];
    },
  ): string;
  jsonPage(document: PageRequest & { format: string; json: string }): string;
}

const HTML = 'text/html; charset=utf-8';

/** For `Basic`, a browser would ask for a password before it shows the page, which links to the sign-in page. */
const PAGE_CHALLENGE = { 'www-authenticate': 'Bearer realm="graticule"' };

/** Renders an error as a page, for clients that prefer HTML. */
export function browserProblem(x: HttpExchange, error: ApiError, reply: Reply, pages: BrowserPages): Reply {
  const challenge = error.status === 401 ? PAGE_CHALLENGE : {};
  if (!wantsErrorPage(x))
    return isOwnScript(x) ? { ...reply, headers: { ...reply.headers, ...challenge } } : reply;
  const { baseUrl, path, query, principal, correlationId } = x;
  const { status, title, message: detail, code, errors, links } = error;
  const about = {
    baseUrl,
    path,
    query,
    principal,
    status,
    title,
    detail,
    code,
    correlationId,
    errors,
    links,
  };
  return {
    ...reply,
    status,
    mediaType: HTML,
    headers: { ...reply.headers, ...challenge, ...pages.headers },
    body: pages.problemPage(about),
  };
}

/** Whether a client prefers HTML and names no other format. */
export function wantsErrorPage(x: HttpExchange): boolean {
  if (!asksForHtml(x.headerOf(ACCEPT))) return false;
  return !OTHER_DOCUMENT.test(x.query);
}

/** Query parameters that name another format. */
const OTHER_DOCUMENT = /(?:^|&)(?:f=(?:p?json|geojson|pbf|xml)(?:&|$)|callback=|exceptions=)/i;

/**
 * Whether the request comes from a script of a page of this server. The script itself shows that the user must sign
 * in, so the browser must not prompt for a password.
 */
function isOwnScript(x: HttpExchange): boolean {
  return x.header('sec-fetch-site') === 'same-origin' && x.header('sec-fetch-dest') === 'empty';
}

/**
 * Renders a JSON response as a page if the client prefers HTML. Tiles and streams are returned after the first check.
 */
export function browserReply(x: HttpExchange, reply: Reply, pages: BrowserPages): Reply {
  const { body, constant, mediaType } = reply;
  if (constant !== undefined && typeof body !== 'string') return reply;
  if (reply.status !== 200 || x.hasBody || mediaType === undefined || !/[/+]json\b/.test(mediaType))
    return reply;
  if (!wantsPage(x)) return reply;
  if (reply.encoding !== undefined || (typeof body !== 'string' && !(body instanceof Uint8Array)))
    return reply;
  const { baseUrl, path, query, principal } = x;
  const format = x.operation.formats.length > 0 ? x.format.name : 'json';
  const json = typeof body === 'string' ? body : Buffer.from(body).toString();
  const page = pages.jsonPage({ baseUrl, path, query, principal, format, json });
  return {
    status: 200,
    mediaType: HTML,
    headers: { ...reply.headers, ...pages.headers },
    body: page,
    etag: contentTag(page),
    cacheControl: reply.cacheControl ?? 'no-cache',
    ...(reply.sent ? { sent: reply.sent } : {}),
  };
}

/** Whether the client asks for HTML: by `f=html`, or by a preference for HTML without `f`. */
function wantsPage(x: HttpExchange): boolean {
  const [, f] = /(?:^|&)f=([^&]*)/.exec(x.query) ?? [];
  return f === undefined ? asksForHtml(x.headerOf(ACCEPT)) : f === 'html';
}
