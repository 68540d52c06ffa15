import { html, type Markup } from '../../core/html.js';
import { type Crumb, page, section } from './layout.js';
import { type Link, linkList, representationLine, resources } from './links.js';
import { propertyValue } from './values.js';

export interface DocumentPage {
  readonly baseUrl: string;
  readonly crumbs: readonly Crumb[];
  readonly title: string;
  readonly description?: string;
  /** Any JSON value. Its own `links` and the members named in `hidden` are not repeated. */
  readonly document: unknown;
  readonly links: readonly Link[];
  readonly hidden?: readonly string[];
}

/** Values drawn one by one; what lies beyond is shown as JSON text. */
const MAX_NODES = 2000;
const MAX_DEPTH = 10;
const MAX_JSON = 20_000;

/** Any JSON document, readable: STAC catalogs and collections, tile matrix sets, schemas. */
export function documentPage(input: DocumentPage): string {
  const { title, description, document, links } = input;
  const hidden = new Set(['links', 'title', 'description', ...(input.hidden ?? [])]);
  const body = html`<h1><bdi>${title}</bdi></h1>
${description ? html`<p class="lead"><bdi>${description}</bdi></p>` : undefined}
${representationLine(links)}
${section('Links', linkList(resources(links)))}
${section('Document', new Drawing().members(document, hidden))}`;
  return page({ ...input, body, alternates: links });
}

/** Draws nested values until its budget is used up, so that no document makes an endless page. */
class Drawing {
  #left = MAX_NODES;

  members(value: unknown, hidden: ReadonlySet<string> = new Set(), depth = 0): Markup | undefined {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return this.value(value, depth);
    const entries = Object.entries(value).filter(
      ([name, member]) => !hidden.has(name) && member !== undefined,
    );
    if (entries.length === 0) return undefined;
    return html`<dl class="document">${entries.map(([name, member]) => html`<div><dt><bdi>${name}</bdi></dt><dd>${this.value(member, depth + 1)}</dd></div>`)}</dl>`;
  }

  value(value: unknown, depth: number): Markup {
    this.#left -= 1;
    if (typeof value !== 'object' || value === null) return propertyValue(value);
    if (depth >= MAX_DEPTH || this.#left <= 0) return asJson(value);
    if (!Array.isArray(value)) return this.members(value, undefined, depth) ?? propertyValue(undefined);
    if (value.length === 0) return propertyValue(undefined);
    if (value.every((part) => typeof part === 'number')) return html`<code>${value.join(', ')}</code>`;
    return html`<ul class="plain">${value.map((part) => html`<li>${this.value(part, depth + 1)}</li>`)}</ul>`;
  }
}

function asJson(value: object): Markup {
  const text = JSON.stringify(value);
  return html`<code>${text.length > MAX_JSON ? `${text.slice(0, MAX_JSON)}…` : text}</code>`;
}
