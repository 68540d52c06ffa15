import { isExactNumber } from '../../core/values/exact-number.js';
import { html, type Markup } from '../../core/values/html.js';
import { isJsonObject, stringifyExactly } from '../../core/values/json.js';
import { type Crumb, type PageFrame, page, renderSection } from './layout.js';
import { linkList, type PageLink, representationLine, selectResourceLinks } from './links.js';
import { table } from './table.js';
import { propertyValue, shortenText } from './values.js';

export interface DocumentPage extends PageFrame {
  readonly crumbs: readonly Crumb[];
  readonly title: string;
  readonly description?: string;
  /** Any JSON value. Its own `links` and the members named in `hidden` are not repeated. */
  readonly document: unknown;
  readonly links: readonly PageLink[];
  readonly hidden?: readonly string[];
}

/** Maximum number of values that are rendered one by one. All further values are shown as JSON text. */
const MAX_NODES = 2000;
const MAX_DEPTH = 10;
const MAX_JSON = 2_000;
const MAX_COLUMNS = 12;
/** Characters of the name of a table. */
const MAX_LABEL = 60;
/** Members or parts shown of one object or list. */
const MAX_PARTS = 500;

/** Any JSON document, readable: STAC catalogs and collections, tile matrix sets, schemas. */
export function renderDocumentPage(input: DocumentPage): string {
  const { title, description, document, links } = input;
  const hidden = new Set(['links', 'title', 'description', ...(input.hidden ?? [])]);
  const body = html`<h1><bdi>${title}</bdi></h1>
${description ? html`<p class="lead"><bdi>${description}</bdi></p>` : undefined}
${representationLine(links)}
${renderSection('Links', linkList(selectResourceLinks(links)))}
${renderSection('Document', new ValueRenderer().members(document, hidden))}`;
  return page({ ...input, body, alternates: links });
}

/** Draws nested values until its budget is used up, so that no document makes an endless page. */
class ValueRenderer {
  #left = MAX_NODES;
  #tables = 0;

  members(value: unknown, hidden: ReadonlySet<string> = new Set(), depth = 0): Markup | undefined {
    if (!isJsonObject(value)) return this.#value(value, depth);
    const entries = Object.entries(value).filter(
      ([name, member]) => !hidden.has(name) && member !== undefined,
    );
    if (entries.length === 0) return undefined;
    const rows = entries
      .slice(0, MAX_PARTS)
      .map(
        ([name, member]) =>
          html`<div><dt><bdi>${name}</bdi></dt><dd>${this.#member(name, member, depth + 1)}</dd></div>`,
      );
    return html`<dl class="${depth > 1 ? 'document deep' : 'document'}">${rows}</dl>${omitted(entries.length)}`;
  }

  #member(name: string, value: unknown, depth: number): Markup {
    if (name === 'links' && isLinks(value)) return linkList(value) ?? propertyValue(undefined);
    return this.#value(value, depth);
  }

  #value(value: unknown, depth: number): Markup {
    this.#left -= 1;
    if (typeof value !== 'object' || value === null || isExactNumber(value)) return propertyValue(value);
    if (depth >= MAX_DEPTH || this.#left <= 0) return asJson(value);
    if (!Array.isArray(value)) return this.members(value, undefined, depth) ?? propertyValue(undefined);
    return this.#array(value, depth);
  }

  #array(values: readonly unknown[], depth: number): Markup {
    if (values.length === 0) return propertyValue(undefined);
    const parts = values.slice(0, MAX_PARTS);
    const rest = omitted(values.length);
    if (parts.every(isNumber)) return html`<code>${parts.join(', ')}</code>${rest}`;
    const names = listColumns(parts);
    if (names) return html`${this.#table(parts as readonly Record<string, unknown>[], names)}${rest}`;
    return html`<ul class="plain">${parts.map((part) => html`<li>${this.#value(part, depth + 1)}</li>`)}</ul>${rest}`;
  }

  #table(values: readonly Record<string, unknown>[], names: readonly string[]): Markup {
    this.#left -= values.length * names.length;
    const rows = values.map((row) => html`<tr>${names.map((name) => tableCell(row[name]))}</tr>`);
    this.#tables += 1;
    return table(`List ${this.#tables}: ${shortenText(names.join(', '), MAX_LABEL)}`, names, rows);
  }
}

/** Text for the omitted values of a page. */
function omitted(total: number): Markup | undefined {
  return total > MAX_PARTS
    ? html`<p class="muted">… and ${total - MAX_PARTS} more in the JSON document</p>`
    : undefined;
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}

function isLinks(value: unknown): value is PageLink[] {
  return (
    Array.isArray(value) &&
    value.every((link) => isJsonObject(link) && typeof link.href === 'string' && typeof link.rel === 'string')
  );
}

/** Member names of a list of flat objects that are all alike: such a list reads best as a table. */
function listColumns(values: readonly unknown[]): string[] | undefined {
  const [first] = values;
  if (values.length < 2 || !isJsonObject(first)) return undefined;
  const names = Object.keys(first);
  const alike = (value: unknown) =>
    isJsonObject(value) && Object.keys(value).join() === names.join() && Object.values(value).every(isFlat);
  return names.length > 0 && names.length <= MAX_COLUMNS && values.every(alike) ? names : undefined;
}

function isFlat(value: unknown): boolean {
  return (
    typeof value !== 'object' ||
    value === null ||
    isExactNumber(value) ||
    (Array.isArray(value) && value.length <= 4 && value.every(isNumber))
  );
}

function tableCell(value: unknown): Markup {
  if (Array.isArray(value)) return html`<td class="num">${value.join(', ')}</td>`;
  return typeof value === 'number'
    ? html`<td class="num">${value}</td>`
    : html`<td>${propertyValue(value)}</td>`;
}

function asJson(value: object): Markup {
  return html`<code>${shortenText(stringifyExactly(value), MAX_JSON)}</code>`;
}
