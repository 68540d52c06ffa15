import { html, type Markup } from '../../core/values/html.js';

/** A table that scrolls on its own when it is wider than the page. */
export function table(label: string, columns: readonly string[], rows: readonly Markup[]): Markup {
  return html`<div class="scroll" role="region" aria-label="${label}" tabindex="0"><table>
<thead><tr>${columns.map((name) => html`<th scope="col"><bdi>${name}</bdi></th>`)}</tr></thead>
<tbody>${rows}</tbody></table></div>`;
}

interface TableRow {
  /** Attributes of the row. */
  readonly attributes?: Markup;
  readonly cells: readonly (Markup | string)[];
}

interface TableColumns {
  readonly names: readonly string[];
  /** Index of the column with the names of the rows. */
  readonly head: number;
  /** Indexes of columns with numbers. */
  readonly numbers?: readonly number[];
}

/** A table whose rows are blocks in a narrow window. */
export function stackedTable(label: string, columns: TableColumns, rows: readonly TableRow[]): Markup {
  const { names, head, numbers = [] } = columns;
  const cell = (content: Markup | string, i: number) => {
    const attributes = html`data-label="${names[i]}"${numbers.includes(i) ? html` class="num"` : undefined}`;
    return i === head
      ? html`<th scope="row" ${attributes}>${content}</th>`
      : html`<td ${attributes}>${content}</td>`;
  };
  const body = rows.map(
    ({ attributes, cells }) =>
      html`<tr${attributes === undefined ? undefined : html` ${attributes}`}>${cells.map(cell)}</tr>`,
  );
  return html`<div class="stacked">${table(label, names, body)}</div>`;
}
