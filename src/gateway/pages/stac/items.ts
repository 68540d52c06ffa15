import type { MapData } from '../../../core/catalog/page-data.js';
import { html, type Markup } from '../../../core/values/html.js';
import { type HtmlPageRequest, locatePage } from '../crumbs.js';
import { apiStyles, page } from '../layout.js';
import { anchor, type PageLink, representationLine } from '../links.js';
import { basemapData } from '../maps/basemap.js';
import { mergeBoxes } from '../maps/map-data.js';
import { MAP_SCRIPTS, mapFrame, mapHead } from '../maps/map-frame.js';
import { pagingLinks } from '../page-links.js';
import { formatCount } from '../values.js';
import { findThumbnail, type ItemDocument, itemBox, itemTime, itemTitle, OUTLINES } from './model.js';

/** Items of a response, as a list with thumbnails and as footprints on a map. */

export interface ItemList {
  readonly items: readonly ItemDocument[];
  /** Number of matching items. Undefined if there are more than the server counts. */
  readonly matched: number | undefined;
  /** URL of the same items as GeoJSON. */
  readonly geoJsonHref: string;
}

/** Pixels of a thumbnail. */
const THUMBNAIL = 240;

export function itemList(baseUrl: string, items: readonly ItemDocument[], withCollection: boolean): Markup {
  return html`<ol class="stac-items">${items.map((item, i) => itemCard(baseUrl, item, i, withCollection))}</ol>`;
}

function itemCard(baseUrl: string, item: ItemDocument, index: number, withCollection: boolean): Markup {
  const thumbnail = findThumbnail(item, baseUrl, THUMBNAIL);
  const clouds = item.properties['eo:cloud_cover'];
  const assets = Object.keys(item.assets ?? {}).length;
  const facts = [
    itemTime(item) ?? 'No time',
    ...(typeof clouds === 'number' ? [`${Math.round(clouds * 10) / 10} % clouds`] : []),
    assets === 1 ? '1 asset' : `${assets} assets`,
  ];
  const collection = item.collection ?? '';
  const home = `${baseUrl}/stac/collections/${encodeURIComponent(collection)}`;
  return html`<li class="stac-item" data-row="${index}">
<div class="stac-thumbnail">${thumbnail ? html`<img src="${thumbnail}" alt="" loading="lazy" width="${THUMBNAIL}">` : html`<span class="muted">No image</span>`}</div>
<div><h3>${anchor(`${home}/items/${encodeURIComponent(item.id)}`, html`<bdi>${itemTitle(item)}</bdi>`)}</h3>
<p>${facts.join(' · ')}</p>${withCollection ? html`<p class="muted">Collection ${anchor(home, html`<bdi>${collection}</bdi>`)}</p>` : undefined}</div></li>`;
}

/** Map with the footprints of items. */
export function footprintMap(baseUrl: string, { items, geoJsonHref }: ItemList): Markup | undefined {
  const boxes = items.map(itemBox).filter((box) => box !== undefined);
  const data: MapData = {
    baseUrl,
    bounds: mergeBoxes(boxes) ?? null,
    layers: [],
    basemap: basemapData(baseUrl),
    features: items.length > 0 ? { href: geoJsonHref, title: 'Items', style: OUTLINES } : null,
  };
  return mapFrame({ data, label: 'Map of the footprints of the items' });
}

export interface ItemsPage extends ItemList {
  readonly title: string;
  readonly lead: string;
  readonly links: readonly PageLink[];
  readonly form: SearchForm;
  /** Title of the collection of all items, by its id. */
  readonly titles?: Readonly<Record<string, string>>;
}

interface SearchForm {
  readonly action: string;
  readonly values: URLSearchParams;
  /** Collections to select. Undefined for the items of one collection. */
  readonly collections: readonly { readonly id: string; readonly title: string }[] | undefined;
}

/** Search for items: form, map of footprints, and the items found. */
export function stacItemsPage(x: HtmlPageRequest, input: ItemsPage): string {
  const { title, lead, items, matched, links, form, titles } = input;
  const { baseUrl } = x;
  const total = matched === undefined ? 'Many items match' : countItems(matched);
  const body = html`<h1><bdi>${title}</bdi></h1>
<p class="lead">${lead}</p>
${representationLine(links)}
<div class="search-place">${searchForm(form)}${footprintMap(baseUrl, input)}</div>
<h2>Items</h2>
<p role="status">${total}${items.length > 0 && items.length !== matched ? `, ${formatCount(items.length)} of them on this page` : undefined}.</p>
${pagingLinks(links, 'Pages')}
${itemList(baseUrl, items, form.collections !== undefined)}
${items.length > 0 ? pagingLinks(links, 'Pages, below the list') : undefined}`;
  return page({
    ...locatePage(x, titles),
    title,
    body,
    head: html`${mapHead(baseUrl)}${apiStyles(baseUrl)}`,
    scripts: [...MAP_SCRIPTS, 'stac.js'],
    alternates: links,
  });
}

export function countItems(matched: number): string {
  return matched === 1 ? '1 item' : `${formatCount(matched)} items`;
}

/** Collections that the form lists with checkboxes. */
const MAX_BOXES = 24;

function searchForm({ action, values, collections }: SearchForm): Markup {
  const value = (name: string) => values.get(name) ?? '';
  return html`<form class="builder stac-search" method="get" action="${action}" data-stac-search>
${collections && collectionChoice(collections, values)}
<label><span>Bounding box</span><input name="bbox" value="${value('bbox')}" placeholder="west,south,east,north" autocomplete="off"></label>
<button type="button" data-draw-box="bbox" hidden>Draw the bounding box on the map</button>
<label><span>Time</span><input name="datetime" value="${value('datetime')}" placeholder="2026-01-01T00:00:00Z/.." autocomplete="off"></label>
<div class="stac-days" data-days hidden><label><span>From</span><input type="date" data-from></label><label><span>To</span><input type="date" data-to></label></div>
${collections ? advanced(value) : undefined}
<label><span>Items per page</span><select name="limit">${LIMITS.map((limit) => html`<option${String(limit) === (value('limit') || '10') ? html` selected` : ''}>${limit}</option>`)}</select></label>
<p><button type="submit" class="button primary">Search</button></p>
</form>`;
}

const LIMITS = [10, 25, 50, 100];

function advanced(value: (name: string) => string): Markup {
  const order = value('sortby');
  const option = (key: string, name: string) =>
    html`<option value="${key}"${key === order ? html` selected` : ''}>${name}</option>`;
  const isOpen = value('filter') !== '' || value('ids') !== '';
  return html`<label><span>Order</span><select name="sortby">${option('', 'As in the catalog')}${option('-datetime', 'Newest first')}${option('datetime', 'Oldest first')}</select></label>
<details${isOpen ? html` open` : ''}><summary>Filter by properties</summary><div class="builder-options">
<label><span>CQL2 filter</span><textarea name="filter" rows="2" spellcheck="false" placeholder="eo:cloud_cover &lt; 20">${value('filter')}</textarea></label>
<label><span>Ids of items</span><input name="ids" value="${value('ids')}" autocomplete="off"></label></div></details>`;
}

function collectionChoice(
  collections: readonly { readonly id: string; readonly title: string }[],
  values: URLSearchParams,
): Markup {
  const chosen = values.getAll('collections').flatMap((ids) => ids.split(','));
  if (collections.length > MAX_BOXES)
    return html`<label><span>Collections</span><input name="collections" value="${chosen.join(',')}" placeholder="Ids, separated by commas" list="stac-collections" autocomplete="off"></label>
<datalist id="stac-collections">${collections.map(({ id, title }) => html`<option value="${id}">${title}</option>`)}</datalist>`;
  return html`<fieldset><legend>Collections</legend><div class="stac-choice">${collections.map(
    ({ id, title }) =>
      html`<label><input type="checkbox" name="collections" value="${id}"${chosen.includes(id) ? html` checked` : ''}> <bdi>${title}</bdi></label>`,
  )}</div></fieldset>`;
}
