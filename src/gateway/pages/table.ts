import { html, type Markup } from '../../core/values/html.js';

/** A table that scrolls on its own when it is wider than the page. */
export function table(label: string, columns: readonly string[], rows: readonly Markup[]): Markup {
  return html`<div class="scroll" role="region" aria-label="${label}" tabindex="0"><table>
<thead><tr>${columns.map((name) => html`<th scope="col"><bdi>${name}</bdi></th>`)}</tr></thead>
<tbody>${rows}</tbody></table></div>`;
}
