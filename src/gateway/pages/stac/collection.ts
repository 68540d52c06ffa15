import type { Collection } from '../../../core/catalog/collection.js';
import { html, type Markup } from '../../../core/values/html.js';
import { badgeLine, listBadges, whereabouts } from '../catalog/collections.js';
import { type HtmlPageRequest, locatePage } from '../crumbs.js';
import { apiStyles, page, renderSection } from '../layout.js';
import { anchor, linkList, type PageLink, representationLine } from '../links.js';
import { MAP_SCRIPTS, mapHead } from '../maps/map-frame.js';
import { extentText, facts, formatCount, propertyValue } from '../values.js';
import { assetList, codeBlock, namedLinks } from './item.js';
import { countItems, footprintMap, type ItemList, itemList } from './items.js';
import { type Asset, formatTime, itemBox } from './model.js';
import { renderProperties } from './properties.js';

/** Collection document of STAC as far as the page shows it. */
interface StacCollectionDocument {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly license: string;
  readonly keywords?: readonly string[];
  readonly providers?: readonly {
    readonly name?: string;
    readonly roles?: readonly string[];
    readonly url?: string;
  }[];
  readonly extent: {
    readonly spatial: { readonly bbox: readonly (readonly number[])[] };
    readonly temporal: { readonly interval: readonly (readonly (string | null)[])[] };
  };
  readonly summaries?: Readonly<Record<string, unknown>>;
  readonly links: readonly PageLink[];
  readonly assets: Readonly<Record<string, Asset>>;
}

export interface StacCollectionPage {
  readonly document: StacCollectionDocument;
  readonly collection: Collection;
  /** The first items. Undefined for a collection without items. */
  readonly list: ItemList | undefined;
}

/** A collection: map of footprints, first items with thumbnails, facts, assets. */
export function stacCollectionPage(
  x: HtmlPageRequest,
  { document, collection, list }: StacCollectionPage,
): string {
  const { baseUrl } = x;
  const self = `${baseUrl}/stac/collections/${encodeURIComponent(collection.id)}`;
  const { title, description } = document;
  const formats: PageLink[] = [{ href: `${self}?f=json`, rel: 'alternate', type: 'application/json' }];
  const links = namedLinks(
    document.links.filter(({ rel }) => rel !== 'items' && !rel.endsWith('/queryables')),
  );
  const body = html`<h1><bdi>${title}</bdi></h1>
${badgeLine([...listBadges(collection), ...(document.keywords ?? []).slice(0, 12)])}
${description && description !== title ? html`<p class="lead"><bdi>${description}</bdi></p>` : undefined}
${representationLine(formats)}
${list ? itemSection(baseUrl, self, list) : html`<p class="note">This collection has no items. ${anchor(whereabouts(collection, baseUrl).href, 'Data of the collection')}</p>`}
${renderSection('Facts', collectionFacts(document))}
${renderSection('Summaries', renderProperties(document.summaries ?? {}, BANDS))}
${renderSection('Assets', assetList(baseUrl, document.assets))}
${renderSection('Use from code', html`<div class="snippets">${codeBlock('Python (pystac-client)', python(baseUrl, collection.id))}${codeBlock('Command line', `curl '${self}/items?limit=10'`)}</div>`)}
${renderSection('Links', linkList([...links, { href: `${self}/queryables`, rel: 'about', title: 'Properties for filters (queryables)', type: 'application/schema+json' }]))}`;
  return page({
    ...locatePage(x, { [collection.id]: title }),
    title,
    body,
    head: html`${mapHead(baseUrl)}${apiStyles(baseUrl)}`,
    scripts: [...MAP_SCRIPTS, 'take.js'],
    alternates: formats,
  });
}

/** Bands are in the assets. */
const BANDS = new Set(['eo:bands', 'raster:bands', 'bands']);

function itemSection(baseUrl: string, self: string, list: ItemList): Markup {
  const { items, matched } = list;
  const count = matched === undefined ? 'Items' : countItems(matched);
  return html`${footprintMap(baseUrl, list)}
<section class="part"><h2>${count}</h2>
${itemList(baseUrl, items, false)}
${matched === items.length ? undefined : html`<p class="actions"><a class="button" href="${`${self}/items`}">All items</a> <a class="button" href="${`${baseUrl}/stac/search?collections=${encodeURIComponent(self.slice(self.lastIndexOf('/') + 1))}`}">Search in this collection</a></p>`}</section>`;
}

function collectionFacts({ id, license, providers = [], extent }: StacCollectionDocument): Markup {
  const [start = null, end = null] = extent.temporal.interval[0] ?? [];
  const time =
    start === null && end === null
      ? 'Unknown'
      : `${start ? formatTime(start) : '…'} to ${end ? formatTime(end) : 'now'}`;
  const box = itemBox({ id, properties: {}, bbox: extent.spatial.bbox[0] ?? [] });
  return facts([
    ['Id', html`<code>${id}</code>`],
    ['Time', time],
    ['Extent', box && extentText(box)],
    ['Licence', propertyValue(license)],
    [
      'Providers',
      html`${providers.map(
        ({ name = '', roles = [], url }, i) =>
          html`${i > 0 ? ', ' : ''}${url ? anchor(url, html`<bdi>${name}</bdi>`) : html`<bdi>${name}</bdi>`}${roles.length > 0 ? ` (${roles.join(', ')})` : ''}`,
      )}`,
    ],
    ['Extents', extent.spatial.bbox.length > 1 ? formatCount(extent.spatial.bbox.length) : undefined],
  ]);
}

function python(baseUrl: string, id: string): string {
  return `from pystac_client import Client

catalog = Client.open(${JSON.stringify(`${baseUrl}/stac`)})
for item in catalog.search(collections=[${JSON.stringify(id)}], max_items=10).items():
    print(item.id, item.datetime)`;
}
