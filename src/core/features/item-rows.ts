import { html, type Markup } from '../values/html.js';
import { propertyValue } from './property-value.js';

/** Features as rows of an HTML table. */
export interface RowsForm {
  readonly kind: 'rows';
  /** Columns after the id. */
  readonly columns: readonly { readonly name: string; readonly isNumber: boolean }[];
  /** URL of the items resource without query; a feature's page is below it. */
  readonly itemsHref: string;
}

/** A GeoJSON feature as far as a row shows it. */
export interface RowFeature {
  readonly id?: string | number;
  readonly properties: Readonly<Record<string, unknown>> | null;
}

/** Rows of a table, numbered from 0. Numbers can be `ExactNumber`s. */
export function itemRows(features: readonly RowFeature[], { columns, itemsHref }: RowsForm): string {
  const rows = features.map(({ id, properties }, index) => {
    const cells = columns.map(({ name, isNumber }) => cell(properties?.[name], isNumber));
    return html`<tr data-row="${index}"><th scope="row">${itemAnchor(id, itemsHref)}</th>${cells}</tr>\n`
      .text;
  });
  return rows.join('');
}

function cell(value: unknown, isNumber: boolean): Markup {
  return isNumber
    ? html`<td class="num">${propertyValue(value)}</td>`
    : html`<td>${propertyValue(value)}</td>`;
}

function itemAnchor(id: RowFeature['id'], itemsHref: string): Markup {
  if (id === undefined) return propertyValue(undefined);
  return html`<a href="${itemsHref}/${encodeURIComponent(id)}"><bdi>${id}</bdi></a>`;
}
