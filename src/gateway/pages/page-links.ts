import { html, type Markup } from '../../core/values/html.js';
import { findLink, type PageLink, safeHref } from './links.js';

/** Links to the previous and next page. Undefined for a document with one page. */
export function pagingLinks(links: readonly PageLink[], label: string): Markup | undefined {
  const previous = findLink(links, 'prev') ?? findLink(links, 'previous');
  const next = findLink(links, 'next');
  if (!previous && !next) return undefined;
  return html`<nav class="paging" aria-label="${label}">${step(previous, 'prev', '← Previous')}${step(next, 'next', 'Next →')}</nav>`;
}

function step(link: PageLink | undefined, rel: string, text: string): Markup {
  if (!link) return html`<span class="off">${text}</span>`;
  return html`<a class="button" rel="${rel}" href="${safeHref(link.href)}">${text}</a>`;
}
