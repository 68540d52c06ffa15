import { isExactNumber } from '../values/exact-number.js';
import { html, type Markup } from '../values/html.js';
import { stringifyExactly } from '../values/json.js';

/** Values of features as HTML pages show them. Text from data is isolated (`bdi`): its direction changes nothing around it. */

const MAX_TEXT = 400;
const NONE = html`<span class="none">–</span>`;

/** A property value of a feature: links for web addresses, code for structures. */
export function propertyValue(value: unknown): Markup {
  if (value === null || value === undefined || value === '') return NONE;
  if (typeof value === 'number' || typeof value === 'bigint') return html`${String(value)}`;
  if (isExactNumber(value)) return html`${String(value)}`;
  if (typeof value === 'boolean') return html`${value ? 'true' : 'false'}`;
  if (typeof value !== 'string') return html`<code>${shortenText(stringifyExactly(value))}</code>`;
  // A browser cannot open a URI template.
  if (/^https?:\/\/\S*\{\S*\}/i.test(value)) return html`<code>${shortenText(value)}</code>`;
  if (/^https?:\/\/[^\s<>"']+$/i.test(value)) {
    return html`<a href="${value}" rel="noopener noreferrer nofollow">${shortenText(value)}</a>`;
  }
  return html`<bdi>${shortenText(value)}</bdi>`;
}

export function shortenText(text: string, length = MAX_TEXT): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}
