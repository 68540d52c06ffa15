import { plainFields } from '../../../core/access/field-masks.js';
import type { VectorCollection } from '../../../core/catalog/collection.js';
import type { Field, FieldType } from '../../../core/sources/vector-source.js';
import { html, type Markup } from '../../../core/values/html.js';
import { safeHref } from '../links.js';

/** Parameters for the position of a page of items, and its format. */
const PLACE = ['f', 'offset', 'token'];
/** Parameters that change the view of items, and do not select features. */
const VIEW = ['limit', 'sortby', 'properties', 'crs', 'csv-formulas'];
/** Parameters of a filter. */
const FILTER = ['filter', 'filter-lang', 'filter-crs'];

/** Query string with the parameters of a page that `keeps` selects. */
export function pickParameters(query: URLSearchParams, keeps: (name: string) => boolean): string {
  return `${new URLSearchParams([...query].filter(([name]) => keeps(name)))}`;
}

/** Parameters that select features, without the filter. */
export const selectionQuery = (query: URLSearchParams): string =>
  pickParameters(query, (name) => ![...PLACE, ...VIEW, ...FILTER].includes(name));

/** Parameters of the view of items. */
export const viewQuery = (query: URLSearchParams): string =>
  pickParameters(query, (name) => VIEW.includes(name));

/** Parameters of an export of everything that the page selects, with its columns. */
export const exportQuery = (query: URLSearchParams): string =>
  pickParameters(query, (name) => name === 'properties' || ![...PLACE, ...VIEW].includes(name));

/** Field and direction that a page is sorted by. Undefined if it is not sorted by one field. */
function readSort(query: URLSearchParams): { name: string; descending: boolean } | undefined {
  const [, sign, name, word] = /^([+ -]?)([^,]+?)(?: +(asc|desc))?$/i.exec(query.get('sortby') ?? '') ?? [];
  if (name === undefined) return undefined;
  return { name, descending: sign === '-' || word?.toLowerCase() === 'desc' };
}

const UNSORTED: ReadonlySet<string> = new Set(['json', 'array', 'binary']);

/** Heads of the columns. Each links the page sorted by its column: ascending, then descending, then by id. */
export function columnHeads(
  { source }: VectorCollection,
  fields: readonly Field[],
  itemsHref: string,
  query: URLSearchParams,
): Markup[] {
  const sort = readSort(query);
  const others = pickParameters(query, (name) => name !== 'sortby' && !PLACE.includes(name));
  const plain = new Set(plainFields(fields).map(({ name }) => name));
  const href = (sortby: string | undefined) => {
    const parts = ['f=html', others, sortby === undefined ? '' : `sortby=${encodeURIComponent(sortby)}`];
    return safeHref(`${itemsHref}?${parts.filter(Boolean).join('&')}`);
  };
  const head = (name: string, title: string, isSortable: boolean, type?: FieldType): Markup => {
    const place = type === 'integer' || type === 'number' ? html` class="num"` : undefined;
    if (!isSortable) return html`<th scope="col"${place}><bdi>${title}</bdi></th>`;
    const own = sort?.name === name ? sort : undefined;
    const next = own === undefined ? name : own.descending ? undefined : `-${name}`;
    const order = own && (own.descending ? 'descending' : 'ascending');
    return html`<th scope="col"${place}${order ? html` aria-sort="${order}"` : undefined}><a class="sort" href="${href(next)}" rel="nofollow"><bdi>${title}</bdi></a></th>`;
  };
  return [
    head(source.idColumn, 'Feature id', !fields.some(({ name }) => name === source.idColumn)),
    ...fields.map(({ name, type }) => head(name, name, plain.has(name) && !UNSORTED.has(type), type)),
  ];
}

/** Checkboxes for the columns. None checked means all. */
export function columnChoice(all: readonly Field[], shown: readonly Field[]): Markup | undefined {
  if (all.length < 2) return undefined;
  const names = new Set(shown.length === all.length ? [] : shown.map(({ name }) => name));
  const boxes = all.map(
    ({ name }) =>
      html`<label class="column"><input type="checkbox" name="properties" value="${name}"${names.has(name) ? html` checked` : undefined}> <bdi>${name}</bdi></label> `,
  );
  return html`<fieldset class="columns"><legend>Columns (default: all)</legend>${boxes}</fieldset>`;
}
