import { hasCoverage } from '../../../core/catalog/abilities.js';
import type { Collection } from '../../../core/catalog/collection.js';
import type { MapData, MapLayerData } from '../../../core/catalog/page-data.js';
import { html, type Markup } from '../../../core/values/html.js';
import { type HtmlPageRequest, locatePage } from '../crumbs.js';
import { apiStyles, page, renderSection, sitePath } from '../layout.js';
import { anchor, linkList, type PageLink, representationLine, selectResourceLinks } from '../links.js';
import { basemapData } from '../maps/basemap.js';
import { mapLayer } from '../maps/map-data.js';
import { MAP_SCRIPTS, mapFrame, mapHead } from '../maps/map-frame.js';
import { shellWord } from '../snippets/snippet.js';
import { extentText, facts } from '../values.js';
import {
  type Asset,
  findThumbnail,
  formatSize,
  type ItemDocument,
  isPreviewable,
  itemBox,
  itemTime,
  itemTitle,
  OUTLINES,
  stacTitle,
  typeName,
} from './model.js';
import { describeBands, renderProperties } from './properties.js';

export interface StacItemPage {
  readonly item: ItemDocument;
  readonly collection: Collection;
}

/** Properties that the page shows elsewhere. */
const SHOWN = new Set(['title', 'description', 'datetime', 'start_datetime', 'end_datetime']);

/** One item: map with footprint and image, properties, assets, code. */
export function stacItemPage(x: HtmlPageRequest, { item, collection }: StacItemPage): string {
  const { baseUrl } = x;
  const self = `${baseUrl}${x.path}`;
  const title = itemTitle(item);
  const links: PageLink[] = [{ href: `${self}?f=json`, rel: 'alternate', type: 'application/geo+json' }];
  const { description } = item.properties;
  const body = html`<h1><bdi>${title}</bdi></h1>
${typeof description === 'string' ? html`<p class="lead"><bdi>${description}</bdi></p>` : undefined}
${representationLine(links)}
${itemMap(baseUrl, self, item, collection)}
${hasCoverage(collection) ? undefined : itemImage(baseUrl, item)}
${facts([
  ['Time', itemTime(item) ?? 'No time'],
  [
    'Collection',
    anchor(
      `${baseUrl}/stac/collections/${encodeURIComponent(collection.id)}`,
      html`<bdi>${stacTitle(collection)}</bdi>`,
    ),
  ],
  ['Id', html`<code>${item.id}</code>`],
  ['Extent', boxText(item)],
])}
${renderSection('Assets', assetList(baseUrl, item.assets ?? {}))}
${renderSection('Properties', renderProperties(item.properties, SHOWN))}
${renderSection('Use from code', codeSection(baseUrl, self, item))}
${renderSection('Links', linkList(namedLinks(item.links ?? [])))}`;
  return page({
    ...locatePage(x, { [collection.id]: stacTitle(collection), [item.id]: title }),
    title,
    body,
    head: html`${mapHead(baseUrl)}${apiStyles(baseUrl)}`,
    scripts: [...MAP_SCRIPTS, 'take.js'],
    alternates: links,
  });
}

function boxText(item: ItemDocument): string | undefined {
  const box = itemBox(item);
  return box && extentText(box);
}

const LINK_TITLES: Readonly<Record<string, string>> = {
  collection: 'Collection',
  parent: 'Parent',
  root: 'Catalog',
  via: 'Source of this item',
  derived_from: 'Derived from',
  license: 'Licence',
  related: 'Related',
  about: 'About',
};

/** Links with a title. Links to the item itself are omitted. */
export function namedLinks(links: readonly PageLink[]): PageLink[] {
  return selectResourceLinks(links).map((link) => ({
    ...link,
    title: link.title || LINK_TITLES[link.rel] || link.rel,
  }));
}

/** Image of an item whose raster is not on the map. */
function itemImage(baseUrl: string, item: ItemDocument): Markup | undefined {
  const path = findThumbnail(item, baseUrl, IMAGE_WIDTH);
  return path === undefined
    ? undefined
    : html`<p><img class="response-image" src="${path}" alt="${`Preview of ${itemTitle(item)}`}" loading="lazy"></p>`;
}

const IMAGE_WIDTH = 640;

function itemMap(baseUrl: string, self: string, item: ItemDocument, collection: Collection): Markup {
  const data: MapData = {
    baseUrl,
    bounds: itemBox(item) ?? null,
    layers: hasCoverage(collection) ? [imageLayer(baseUrl, item, collection)] : [],
    basemap: basemapData(baseUrl),
    features: {
      href: `${self}?f=json`,
      title: 'Footprint',
      style: OUTLINES,
    },
  };
  return mapFrame({ data, label: 'Map of the footprint and the image of the item' });
}

/** The raster of an item, at its time. */
function imageLayer(baseUrl: string, { properties }: ItemDocument, collection: Collection): MapLayerData {
  const layer = mapLayer(collection, baseUrl);
  const { datetime } = properties;
  if (typeof datetime !== 'string') return layer;
  return { ...layer, tiles: `${layer.tiles}?datetime=${encodeURIComponent(datetime)}` };
}

/** Assets with type, size, roles, bands, preview and download. */
export function assetList(baseUrl: string, assets: Readonly<Record<string, Asset>>): Markup | undefined {
  const entries = Object.entries(assets);
  if (entries.length === 0) return undefined;
  return html`<ul class="assets">${entries.map(([key, asset]) => assetEntry(baseUrl, key, asset))}</ul>`;
}

function assetEntry(baseUrl: string, key: string, asset: Asset): Markup {
  const { href, type, title, description, roles = [] } = asset;
  const size = asset['file:size'];
  const bands = describeBands(asset);
  const about = [typeName(type), typeof size === 'number' ? formatSize(size) : undefined].filter(Boolean);
  const isOwn = href.startsWith(`${baseUrl}/`);
  return html`<li class="asset"><h3><bdi>${title || key}</bdi> <code>${key}</code></h3>
<p class="badges">${roles.map((role) => html`<span class="badge">${role}</span> `)}</p>
${about.length > 0 ? html`<p>${about.join(', ')}</p>` : undefined}
${typeof description === 'string' ? html`<p class="muted">${description}</p>` : undefined}
${bands.length > 0 ? html`<details><summary>${bands.length === 1 ? '1 band' : `${bands.length} bands`}</summary><ol>${bands.map((band) => html`<li><bdi>${band}</bdi></li>`)}</ol></details>` : undefined}
${isPreviewable(asset, baseUrl) ? preview(baseUrl, key, asset) : undefined}
<p class="actions">${anchor(href, isOwn ? 'Download' : 'Open on the other server')}</p></li>`;
}

function preview(baseUrl: string, key: string, { href, title }: Asset): Markup {
  const path = `${sitePath(baseUrl)}${href.slice(baseUrl.length)}`;
  return html`<details><summary>Preview</summary><img class="response-image" src="${path}" alt="${`Preview of ${title || key}`}" loading="lazy"></details>`;
}

function codeSection(baseUrl: string, self: string, item: ItemDocument): Markup {
  const data = Object.entries(item.assets ?? {}).find(([, { roles }]) => roles?.includes('data'));
  const python = [
    'from pystac_client import Client',
    '',
    `catalog = Client.open(${JSON.stringify(`${baseUrl}/stac`)})`,
    `item = catalog.get_collection(${JSON.stringify(item.collection ?? '')}).get_item(${JSON.stringify(item.id)})`,
    ...(data ? [`print(item.assets[${JSON.stringify(data[0])}].href)`] : []),
  ].join('\n');
  const shell = [
    `curl ${shellWord(`${self}?f=json`)}`,
    ...(data && /tiff/.test(data[1].type ?? '') ? [`gdalinfo ${shellWord(`/vsicurl/${data[1].href}`)}`] : []),
  ].join('\n');
  return html`<div class="snippets">${codeBlock('Python (pystac-client)', python)}${codeBlock('Command line', shell)}</div>`;
}

export function codeBlock(title: string, code: string): Markup {
  return html`<details class="snippet"><summary>${title}</summary><div class="code"><pre tabindex="0" role="region" aria-label="${`Code for ${title}`}"><code>${code}</code></pre><button type="button" data-copy hidden>Copy</button></div></details>`;
}
