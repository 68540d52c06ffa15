import type { VectorCollection } from '../../../core/catalog/collection.js';
import type { MapData } from '../../../core/catalog/page-data.js';
import type { TimedCount } from '../../../core/features/features.js';
import type { RowsForm } from '../../../core/features/item-rows.js';
import type { Field } from '../../../core/sources/vector-source.js';
import { html, type Markup } from '../../../core/values/html.js';
import { type Crumb, type PageFrame, page, renderSection } from '../layout.js';
import { type PageLink, representationLine, safeHref } from '../links.js';
import { basemapData } from '../maps/basemap.js';
import { MAP_SCRIPTS, mapFrame, mapHead, mapPicture, planeFigure } from '../maps/map-frame.js';
import { getPageStyle } from '../maps/page-style.js';
import { pagingLinks } from '../page-links.js';
import { formatBytes, formatCount, shortenText } from '../values.js';
import {
  buildExportUrl,
  estimateSize,
  exportControl,
  listExportFormats,
  type SampleSizes,
} from './export-links.js';
import { filterForm } from './filter-builder.js';
import {
  columnChoice,
  columnHeads,
  exportQuery,
  pickParameters,
  selectionQuery,
  viewQuery,
} from './items-view.js';

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
  /** Columns after the id. */
  readonly fields: readonly Field[];
  /** Parameters of the request. */
  readonly query: URLSearchParams;
  /** Number of matching features. Absent if it is unknown. */
  readonly matched?: TimedCount | undefined;
  readonly sizes?: SampleSizes | undefined;
}

/** Parameters that the form has inputs for, or that give the position of the page. */
const FORM: ReadonlySet<string> = new Set(['f', 'bbox', 'filter', 'limit', 'offset', 'token', 'properties']);

/** A page of features: map and table that point at each other, paging that works without scripts. */
export function renderItemsPage(input: ItemsPageInput): string {
  const { baseUrl, collection, returned, links } = input;
  const title = `${collection.title}: items`;
  const body = html`<h1><bdi>${collection.title}</bdi>: items</h1>
<p class="lead">${rangeText(input)}</p>
${filterLine(input)}
${representationLine(links)}
<details class="fold"><summary>Filter and columns</summary>
${itemsForm(input)}
${builder(input)}
</details>
${returned > 0 ? itemsMap(input) : undefined}
${pagingLinks(links, 'Pages')}
${returned > 0 ? itemsTable(input) : undefined}
${returned > 0 ? pagingLinks(links, 'Pages, below the table') : undefined}
${returned > 0 ? downloads(input) : undefined}`;
  const scripts = [...MAP_SCRIPTS, 'filter.js'];
  return page({ ...input, title, body, head: mapHead(baseUrl), scripts, alternates: links });
}

/** Text of a number of matching features: `20,150`, `more than 100,000`. */
function matchedText({ matched }: Pick<ItemsPageInput, 'matched'>): string | undefined {
  if (!matched) return undefined;
  const { count, isExact } = matched;
  if (isExact) return formatCount(count);
  return count === 0 ? undefined : `more than ${formatCount(count)}`;
}

function rangeText(input: ItemsPageInput): string {
  const { returned, offset } = input;
  const matched = matchedText(input);
  const total = matched === undefined ? '' : ` of ${matched}`;
  if (returned > 0 && offset === undefined)
    return `${formatCount(returned)} features${total}. This page does not start at the beginning of the collection.`;
  if (returned === 0) {
    return offset
      ? `No features after number ${formatCount(offset)}${matched === undefined ? '' : `; ${matched} in total`}.`
      : 'No features match.';
  }
  const before = offset ?? 0;
  return `Features ${formatCount(before + 1)} to ${formatCount(before + returned)}${total}.`;
}

/** The filter that applies, and a link without it. */
function filterLine({ itemsHref, query }: ItemsPageInput): Markup | undefined {
  const filter = query.get('filter');
  if (!filter) return undefined;
  const without = pickParameters(query, (name) => !name.startsWith('filter') && !isPlace(name));
  return html`<p class="active-filter">Filter: <code>${shortenText(filter)}</code> <a href="${safeHref(`${itemsHref}?${without}`)}">Remove the filter</a></p>`;
}

const isPlace = (name: string) => name === 'offset' || name === 'token';

function builder({ baseUrl, collection, query, sizes }: ItemsPageInput): Markup {
  const state = {
    selection: selectionQuery(query),
    view: viewQuery(query),
    filter: query.get('filter') ?? undefined,
  };
  return html`<div data-filter-builder hidden><h2>Conditions</h2>${filterForm(baseUrl, collection, sizes, state)}</div>`;
}

/** All features that match, in each format, with estimates of their sizes. */
function downloads(input: ItemsPageInput): Markup | undefined {
  const { baseUrl, collection, query, sizes, matched } = input;
  const url = buildExportUrl(collection, baseUrl);
  const entries = listExportFormats(collection, sizes).map((format) => {
    const bytes = matched?.isExact ? estimateSize(format, matched.count) : undefined;
    const size = bytes === undefined ? undefined : html` about ${formatBytes(bytes)}`;
    const notes = format.notes.map((note) => html` <span class="muted">${note}</span>`);
    return html`<li>${exportControl(url, format, exportQuery(query))}${size}${notes}</li>`;
  });
  const count = matchedText(input);
  return renderSection(
    'Downloads',
    html`<p>All ${count === undefined ? '' : `${count} `}features that match, with the columns of this page:</p><ul class="downloads">${entries}</ul>`,
  );
}

function itemsForm({ itemsHref, limit, query, collection, fields }: ItemsPageInput): Markup {
  const hidden = [...query].filter(([name]) => !FORM.has(name));
  const bbox = query.get('bbox');
  const filter = query.get('filter');
  return html`<form class="filter" method="get" action="${safeHref(itemsHref)}">
<input type="hidden" name="f" value="html">${hidden.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<label>Filter in CQL2 <input name="filter" value="${filter ?? ''}" placeholder="name LIKE 'A%'" size="28" autocomplete="off" spellcheck="false"></label>
<label>Bounding box <input name="bbox" value="${bbox ?? ''}" placeholder="west,south,east,north" size="28" inputmode="text" autocomplete="off" data-bbox></label>
<label>Per page <input name="limit" type="number" min="1" max="2000" value="${limit}"></label>
${columnChoice(collection.source.fields, fields)}
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
    features: { href: geoJsonHref, title: collection.title, style: getPageStyle(collection) },
  };
  const frame = mapFrame({
    data,
    label: `Map of the features on this page`,
    picture: mapPicture(baseUrl, collection),
    printed: { baseUrl, collection },
  });
  // The script opens it in wide windows.
  return html`<details class="fold map-fold" data-map-fold><summary>Map</summary>${frame}</details>`;
}

function itemsTable({ collection, rows, fields, itemsHref, query }: ItemsPageInput): Markup {
  const heads = columnHeads(collection, fields, itemsHref, query);
  return html`<div class="items"><div class="scroll" role="region" aria-label="Features" tabindex="0"><table>
<thead><tr>${heads}</tr></thead>
<tbody>${rows}</tbody></table></div></div>`;
}

/** Options that turn features with these fields into rows of their page. */
export function rowsForm(fields: readonly Field[], itemsHref: string): RowsForm {
  const columns = fields.map(({ name, type }) => ({
    name,
    isNumber: type === 'integer' || type === 'number',
  }));
  return { kind: 'rows', columns, itemsHref: safeHref(itemsHref) };
}
