import type { Feature } from 'geojson';
import type { Collection } from '../../../core/catalog/collection.js';
import type { MapData } from '../../../core/catalog/page-data.js';
import { type Box, createBoxRing, unwrapped } from '../../../core/geometry/box.js';
import { html, type Markup } from '../../../core/values/html.js';
import { hasItems } from '../../../services/stac/footprints.js';
import {
  CARD_SCRIPTS,
  type CollectionEntry,
  collectionFinder,
  createCollectionEntry,
} from '../catalog/collections.js';
import type { Finder } from '../catalog/finder.js';
import { type HtmlPageRequest, locatePage } from '../crumbs.js';
import { apiStyles, page, renderSection } from '../layout.js';
import { linkList, type PageLink, representationLine } from '../links.js';
import { basemapData } from '../maps/basemap.js';
import { mergeBoxes } from '../maps/map-data.js';
import { MAP_SCRIPTS, mapFrame, mapHead } from '../maps/map-frame.js';
import { outlineStyle, stacTitle } from './model.js';

export interface CatalogPage {
  readonly title: string;
  readonly description: string;
  readonly finder: Finder;
  readonly links: readonly PageLink[];
}

/** Catalog of STAC: search, map of the extents, and the collections as cards. */
export function stacCatalogPage(
  x: HtmlPageRequest,
  { title, description, finder, links }: CatalogPage,
): string {
  const { baseUrl } = x;
  const shown = finder.hits.map(({ collection }) => collection);
  const entries = finder.hits.map(({ collection, name }) => ({
    ...createCollectionEntry(collection, name, baseUrl),
    title: stacTitle(collection),
    ...catalogLinks(collection, baseUrl),
  }));
  const body = html`<h1>${title}</h1>
<p class="lead">${description}</p>
${representationLine(links)}
<p class="actions"><a class="button primary" href="${`${baseUrl}/stac/search`}">Search items</a></p>
${extentMap(baseUrl, shown)}
<section class="part"><h2>Collections</h2>
${collectionFinder({ finder, entries, baseUrl, level: 3 })}</section>
${renderSection('Interface', linkList(interfaceLinks(baseUrl)))}`;
  return page({
    ...locatePage(x),
    title,
    body,
    head: html`${mapHead(baseUrl)}${apiStyles(baseUrl)}`,
    scripts: [...MAP_SCRIPTS, ...CARD_SCRIPTS],
    alternates: links,
  });
}

function catalogLinks(collection: Collection, baseUrl: string): Pick<CollectionEntry, 'href' | 'links'> {
  const href = `${baseUrl}/stac/collections/${encodeURIComponent(collection.id)}`;
  const items = { href: `${href}/items`, rel: 'items', title: 'Items' };
  return { href, links: hasItems(collection) ? [items] : [] };
}

function interfaceLinks(baseUrl: string): PageLink[] {
  const link = (path: string, title: string, type: string): PageLink => ({
    href: `${baseUrl}${path}`,
    rel: 'about',
    title,
    type,
  });
  return [
    link('/docs/stac', 'API reference', 'text/html'),
    link('/stac/openapi.json', 'OpenAPI document', 'application/json'),
    link('/stac/conformance', 'Conformance classes', 'text/html'),
    link('/stac/queryables', 'Properties for filters (queryables)', 'text/html'),
  ];
}

/** Map with the outlines of the extents. */
function extentMap(baseUrl: string, collections: readonly Collection[]): Markup | undefined {
  const placed = collections.filter(({ extent84 }) => extent84);
  if (placed.length === 0) return undefined;
  const data: MapData = {
    baseUrl,
    bounds: mergeBoxes(placed.map(({ extent84 }) => extent84!)) ?? null,
    layers: [],
    basemap: basemapData(baseUrl),
    features: {
      inline: placed.map(outline),
      title: 'Extents',
      style: outlineStyle(placed.length),
    },
  };
  return mapFrame({ data, label: 'Map of the extents of the collections' });
}

function outline(collection: Collection): Feature {
  const { id, extent84 } = collection;
  const title = stacTitle(collection);
  const geometry = { type: 'Polygon' as const, coordinates: [createBoxRing(unwrapped(extent84 as Box))] };
  return { type: 'Feature', properties: { title, id }, geometry };
}
