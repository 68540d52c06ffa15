import { html, type Markup } from '../../core/values/html.js';

/** A link object as OGC API Common and STAC write it. */
export interface PageLink {
  readonly href: string;
  readonly rel: string;
  readonly type?: string;
  readonly title?: string;
  readonly hreflang?: string;
  /** The href is a URI template: it is shown, not linked. */
  readonly templated?: boolean;
}

/** Relations of a document to itself: they lead to other representations, not to other resources. */
const OWN_RELATIONS = new Set(['self', 'alternate']);
const PAGING_RELATIONS = new Set(['next', 'prev', 'previous', 'first', 'last']);

/** Characters that browsers ignore when they read a scheme, so that `java\tscript:` is recognised. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is searched for
const IGNORED_IN_SCHEME = /[\u0000-\u0020\u007f]/g;

/** The href when it is relative or http(s); `#` for any other scheme, which could run script. */
export function safeHref(href: string): string {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(href.replace(IGNORED_IN_SCHEME, ''))?.[1]?.toLowerCase();
  return scheme === undefined || scheme === 'http' || scheme === 'https' ? href : '#';
}

export function anchor(href: string, text: string | Markup): Markup {
  return html`<a href="${safeHref(href)}">${text}</a>`;
}

/** The first link of a relation, and of a media type when one is given (parameters are ignored). */
export function findLink(links: readonly PageLink[], rel: string, type?: string): PageLink | undefined {
  return links.find((link) => link.rel === rel && (type === undefined || essence(link.type) === type));
}

/** Links to other resources; those to other representations of the same one are `representations`. */
export function selectResourceLinks(links: readonly PageLink[]): PageLink[] {
  return links.filter((link) => !OWN_RELATIONS.has(link.rel) && !PAGING_RELATIONS.has(link.rel));
}

/** This resource in other formats. */
export function representations(links: readonly PageLink[]): PageLink[] {
  return links.filter((link) => link.rel === 'alternate' && essence(link.type) !== 'text/html');
}

/** A list of links with their media types; empty markup when there are none. */
export function linkList(links: readonly PageLink[]): Markup | undefined {
  if (links.length === 0) return undefined;
  // A resource may be linked by several relations, or by several methods: readers see one.
  const entries = new Map(links.map((link) => [`${link.href} ${essence(link.type)}`, link]));
  return html`<ul class="links">${[...entries.values()].map(linkEntry)}</ul>`;
}

function linkEntry(link: PageLink): Markup {
  const label = link.title || relationName(link.rel);
  const target = link.templated
    ? html`<span>${label}</span> <code class="template">${link.href}</code>`
    : html`<a href="${safeHref(link.href)}"${relAttribute(link.rel)}>${label}</a>`;
  return html`<li>${target}${link.type ? html` <span class="type">${essence(link.type)}</span>` : ''}</li>`;
}

/** Browsers use only registered relation names, so relation URIs are omitted. */
function relAttribute(rel: string): Markup | undefined {
  return /^[a-z-]{1,40}$/.test(rel) ? html` rel="${rel}"` : undefined;
}

const RELATION_NAMES: Record<string, string> = {
  conformance: 'Conformance',
  data: 'Collections',
  parent: 'Parent',
  root: 'Root',
  search: 'Search',
  'service-desc': 'API definition',
  'service-doc': 'API reference',
};

/** `http://www.opengis.net/def/rel/ogc/1.0/tilesets-vector` reads as `Tilesets vector`. */
function relationName(rel: string): string {
  const last =
    rel
      .replace(/^\[ogc-rel:|\]$/g, '')
      .split(/[/#]/)
      .pop() || rel;
  if (Object.hasOwn(RELATION_NAMES, last)) return RELATION_NAMES[last]!;
  return `${last.charAt(0).toUpperCase()}${last.slice(1).replace(/-/g, ' ')}`;
}

function essence(type: string | undefined): string {
  return (type ?? '').split(';')[0]!.trim().toLowerCase();
}

/** `Formats: JSON, ...` line under a page title. */
export function representationLine(links: readonly PageLink[]): Markup | undefined {
  const others = representations(links);
  if (others.length === 0) return undefined;
  const items = others.map(
    (link) => html`<li><a href="${safeHref(link.href)}" rel="alternate">${formatName(link)}</a></li>`,
  );
  return html`<nav class="formats" aria-label="Other formats"><ul>${items}</ul></nav>`;
}

const FORMAT_NAMES: Record<string, string> = {
  'application/json': 'JSON',
  'application/geo+json': 'GeoJSON',
  'application/schema+json': 'JSON Schema',
  'application/gml+xml': 'GML',
  'application/xml': 'XML',
  'text/csv': 'CSV',
};

function formatName(link: PageLink): string {
  return FORMAT_NAMES[essence(link.type)] ?? link.title ?? essence(link.type);
}
