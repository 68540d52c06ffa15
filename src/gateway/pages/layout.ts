import { html, Markup } from '../../core/values/html.js';
import { GRATICULE_MARK } from './brand.js';
import { anchor, type PageLink, safeHref } from './links.js';

/** One step of the path from the start page to a page. */
export interface Crumb {
  readonly title: string;
  readonly href: string;
}

/** The reader of a page, and the path of the page. */
export interface PageReader {
  /** Absent for a reader who is not signed in. */
  readonly name?: string;
  /** Path and query of the page on this site. The sign-in page returns there. */
  readonly here: string;
}

/** Data that the header of every page needs. */
export interface PageFrame {
  /** Public origin and path prefix, without a trailing slash. */
  readonly baseUrl: string;
  readonly reader: PageReader;
}

export interface LayoutOptions extends PageFrame {
  /** The page's only h1 is written by the body; this is the document title. */
  readonly title: string;
  /** Pages between the start page and this one; the start page itself is added. */
  readonly crumbs: readonly Crumb[];
  readonly body: Markup;
  /** Further markup for the head. */
  readonly head?: Markup;
  /** Names of module scripts below `assets/`. */
  readonly scripts?: readonly string[];
  /** Class of the body, for a page that is laid out in its own way. */
  readonly layout?: string;
  /** Other representations, announced in the head. */
  readonly alternates?: readonly PageLink[];
}

/**
 * Path prefix of the site: `` or `/prefix`. Assets are addressed by path, so that a page also works when a
 * proxy ends TLS without saying so and links still carry http.
 */
export function sitePath(baseUrl: string): string {
  return new URL(baseUrl).pathname.replace(/\/+$/, '');
}

export function assetUrl(baseUrl: string, name: string): string {
  return `${sitePath(baseUrl)}/assets/${name}`;
}

/** Style sheet of the pages of APIs, for the head of a page. */
export function apiStyles(baseUrl: string): Markup {
  return html`<link rel="stylesheet" href="${assetUrl(baseUrl, 'apis.css')}">\n`;
}

/** A whole HTML document: header with path, main, footer. Readable and usable without JavaScript. */
export function page(options: LayoutOptions): string {
  const { baseUrl, reader, title, crumbs, body } = options;
  const scripts = (options.scripts ?? []).map(
    (name) => html`<script type="module" src="${assetUrl(baseUrl, name)}"></script>\n`,
  );
  const document = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title === 'Graticule' ? title : `${title} · Graticule`}</title>
<link rel="icon" href="${assetUrl(baseUrl, 'mark.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${assetUrl(baseUrl, 'site.css')}">
${alternateLinks(options.alternates ?? [])}${options.head}${scripts}</head>
<body${options.layout ? html` class="${options.layout}"` : ''}>
<a class="skip" href="#main">Skip to content</a>
<header class="site-header">
${header({ baseUrl, reader }, crumbs)}
</header>
<main id="main" tabindex="-1">
${body}
</main>
<footer class="site-footer">
<p>${anchor(`${baseUrl}/`, 'Graticule')} serves these data by open OGC standards. ${anchor(`${baseUrl}/docs`, 'API reference')}</p>
</footer>
</body>
</html>
`;
  return document.text;
}

function header({ baseUrl, reader }: PageFrame, crumbs: readonly Crumb[]): Markup {
  const last = crumbs.length - 1;
  const steps = crumbs.map((crumb, index) =>
    index === last
      ? html`<li><a href="${safeHref(crumb.href)}" aria-current="page"><bdi>${crumb.title}</bdi></a></li>`
      : html`<li><a href="${safeHref(crumb.href)}"><bdi>${crumb.title}</bdi></a></li>`,
  );
  const path =
    crumbs.length > 0 ? html`<nav aria-label="Path"><ol class="crumbs">${steps}</ol></nav>` : undefined;
  return html`<a class="brand" href="${`${baseUrl}/`}">${GRATICULE_MARK}<span>Graticule</span></a>
${path}
<a class="manual-link" href="${`${baseUrl}/manual/`}">Manual</a>
${accountLink(baseUrl, reader)}`;
}

function accountLink(baseUrl: string, { name, here }: PageReader): Markup {
  if (name === undefined)
    return html`<a class="account" href="${`${baseUrl}/account/sign-in?to=${encodeURIComponent(here)}`}">Sign in</a>`;
  return html`<a class="account" href="${`${baseUrl}/account`}"><span class="unseen">Account of </span><bdi>${name}</bdi></a>`;
}

function alternateLinks(links: readonly PageLink[]): Markup[] {
  return links
    .filter((link) => link.rel === 'alternate' && link.type)
    .map((link) => html`<link rel="alternate" type="${link.type}" href="${safeHref(link.href)}">\n`);
}

/** A part of a page with a heading; nothing at all when it has no content. */
export function renderSection(
  title: string,
  content: Markup | readonly Markup[] | undefined,
): Markup | undefined {
  if (content === undefined || (!(content instanceof Markup) && content.length === 0)) return undefined;
  return html`<section class="part"><h2>${title}</h2>${content}</section>`;
}
