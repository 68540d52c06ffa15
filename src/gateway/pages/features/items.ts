import type { VectorCollection } from '../../../core/catalog/collection.js';
import type { MapData } from '../../../core/catalog/page-data.js';
import type { RowsForm } from '../../../core/features/item-rows.js';
import { html, type Markup } from '../../../core/values/html.js';
import { type Crumb, type PageFrame, page } from '../layout.js';
import { type PageLink, representationLine, safeHref } from '../links.js';
import { basemapData } from '../maps/basemap.js';
import { pageStyle } from '../maps/map-data.js';
import { MAP_SCRIPTS, mapFrame, mapHead, mapPicture, planeFigure } from '../maps/map-frame.js';
import { pagingLinks } from '../page-links.js';
import { table } from '../table.js';
import { formatCount } from '../values.js';

export interface ItemsPageInput extends PageFrame {
  readonly crumbs: readonly Crumb[];
  readonly collection: VectorCollection;
  /** Number of features on the page. */
  readonly returned: number;
  /** The features as rows of a table (`itemRows`); their geometries are drawn by the script. */
  readonly rows: Markup;
  /** Links of the items document; `prev` and `next` are taken from them. */
  readonly links: readonly PageLink[];
  /** Exactly these features as GeoJSON in CRS84. */
  readonly geoJsonHref: string;
  /** URL of the items resource without query; a feature's page is below it. */
  readonly itemsHref: string;
  /** Features before the page; absent when it was reached by a link that counts none. */
  readonly offset: number | undefined;
  readonly limit: number;
  /** Unchanged text from the request, for the form. */
  readonly bbox?: string;
  readonly filter?: string;
  /** Further parameters that the form keeps. */
  readonly hidden?: readonly (readonly [name: string, value: string])[];
  /** Features that match in all, when it was counted. */
  readonly numberMatched?: number;
}

/** A page of features: map and table that point at each other, paging that works without scripts. */
export function renderItemsPage(input: ItemsPageInput): string {
  const { baseUrl, collection, returned, links } = input;
  const title = `${collection.title}: items`;
  const body = html`<h1><bdi>${collection.title}</bdi>: items</h1>
<p class="lead">${rangeText(input)}</p>
${representationLine(links)}
${itemsForm(input)}
${returned > 0 ? itemsMap(input) : undefined}
${pagingLinks(links, 'Pages')}
${returned > 0 ? itemsTable(input) : undefined}
${returned > 0 ? pagingLinks(links, 'Pages, below the table') : undefined}`;
  return page({ ...input, title, body, head: mapHead(baseUrl), scripts: MAP_SCRIPTS, alternates: links });
}

function rangeText({ returned, offset, numberMatched }: ItemsPageInput): string {
  const total = numberMatched === undefined ? '' : ` of ${formatCount(numberMatched)}`;
  if (returned > 0 && offset === undefined)
    return `${formatCount(returned)} features${total}. This page does not start at the beginning of the collection.`;
  if (returned === 0) {
    return offset
      ? `No features after number ${formatCount(offset)}${total && `; ${formatCount(numberMatched!)} in total`}.`
      : 'No features match.';
  }
  const before = offset ?? 0;
  return `Features ${formatCount(before + 1)} to ${formatCount(before + returned)}${total}.`;
}

function itemsForm({ itemsHref, limit, bbox, filter, hidden = [] }: ItemsPageInput): Markup {
  return html`<form class="filter" method="get" action="${safeHref(itemsHref)}">
<input type="hidden" name="f" value="html">${hidden.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<label>Filter <input name="filter" value="${filter ?? ''}" placeholder="name LIKE 'A%'" size="28" autocomplete="off" spellcheck="false"></label>
<label>Bounding box <input name="bbox" value="${bbox ?? ''}" placeholder="west,south,east,north" size="28" inputmode="text" autocomplete="off" data-bbox></label>
<label>Per page <input name="limit" type="number" min="1" max="2000" value="${limit}"></label>
<button type="submit">Show</button>
</form>`;
}

function itemsMap(input: ItemsPageInput): Markup {
  const { baseUrl, collection, geoJsonHref } = input;
  if (collection.storageCrs.isPlane) return planeFigure(baseUrl, collection);
  const data: MapData = {
    baseUrl,
    bounds: collection.extent84 ?? null,
    layers: [],
    basemap: basemapData(baseUrl),
    features: { href: geoJsonHref, title: collection.title, style: pageStyle(collection) },
  };
  return mapFrame({
    data,
    label: `Map of the features on this page`,
    picture: mapPicture(baseUrl, collection),
    printed: { baseUrl, collection },
  });
}

function itemsTable({ collection, rows }: ItemsPageInput): Markup {
  const names = collection.source.fields.map((field) => field.name);
  return html`<div class="items">${table('Features', ['id', ...names], [rows])}</div>`;
}

/** Options that turn the features of a collection into rows of its page. */
export function rowsForm({ source }: VectorCollection, itemsHref: string): RowsForm {
  const columns = source.fields.map(({ name, type }) => ({
    name,
    isNumber: type === 'integer' || type === 'number',
  }));
  return { kind: 'rows', columns, itemsHref: safeHref(itemsHref) };
}
