import type { Collection, RasterCollection, VectorCollection } from '../../core/catalog/collection.js';
import type { TimedCount } from '../../core/features/features.js';
import type { StatisticsResult } from '../../core/features/field-statistics.js';
import type { RowFeature } from '../../core/features/item-rows.js';
import type { RasterLook } from '../../core/rasters/raster-look.js';
import type { Field } from '../../core/sources/vector-source.js';
import type { FoundCollection } from '../../services/catalog/collection-search.js';
import { mayChangeSources, maySeeSources } from '../../services/catalog/source-states.js';
import * as listPages from './catalog/collections.js';
import type { Finder } from './catalog/finder.js';
import * as landingPages from './catalog/landing-page.js';
import { type HtmlPageRequest, locatePage } from './crumbs.js';
import * as documentPages from './document.js';
import * as collectionPages from './features/collection.js';
import type { SampleSizes } from './features/export-links.js';
import * as itemPages from './features/item.js';
import * as itemsPages from './features/items.js';
import { renderStatisticsPage as pageOfStatistics } from './features/statistics.js';
import { findLink, type PageLink, representations } from './links.js';
import { readColorQuery } from './maps/color-form.js';
import { type PositionValues, renderPositionPage as pageOfPosition } from './maps/position.js';
import * as tilePages from './tiles/tile-sets.js';

export type { HtmlPageRequest };

/** Creates pages of the data surfaces from their JSON documents. */

export interface LandingPageDocument {
  readonly title: string;
  readonly description: string;
  readonly links: readonly PageLink[];
}

export function buildLandingPage(x: HtmlPageRequest, document: LandingPageDocument): string {
  return landingPages.renderLandingPage({
    ...locatePage(x),
    ...document,
  });
}

export interface ConformanceDocument {
  readonly conformsTo: readonly string[];
  readonly links?: readonly PageLink[];
}

export function buildConformancePage(x: HtmlPageRequest, document: ConformanceDocument): string {
  return landingPages.renderConformancePage({
    ...locatePage(x),
    ...document,
  });
}

/** Collection document (OGC 17-069r4, 7.13, and its relatives) as far as a card shows it. */
interface CardDocument {
  readonly id: string;
  readonly title: string;
  readonly description?: string;
  readonly itemType?: string;
  readonly extent?: { readonly spatial?: { readonly bbox?: readonly (readonly number[])[] } };
  readonly links: readonly PageLink[];
}

export interface CollectionsDocument {
  readonly collections: readonly CardDocument[];
  readonly links: readonly PageLink[];
}

/** `document` has the collections that `finder` shows, in its order. */
export function buildCollectionsPage(
  x: HtmlPageRequest,
  document: CollectionsDocument,
  finder: Finder,
): string {
  const entries = document.collections.map((collection, i) => buildEntry(x, collection, finder.hits[i]!));
  return listPages.renderCollectionsPage({
    ...locatePage(x),
    entries,
    finder,
    links: document.links,
  });
}

function buildEntry(
  x: HtmlPageRequest,
  { id, links }: CardDocument,
  { collection, name }: FoundCollection,
): listPages.CollectionEntry {
  const own = findLink(links, 'self', 'text/html') ?? findLink(links, 'alternate', 'text/html');
  const href = own?.href ?? `${x.baseUrl}${x.path.replace(/\/$/, '')}/${encodeURIComponent(id)}`;
  return { ...listPages.createCollectionEntry(collection, name, x.baseUrl), href };
}

export function buildCollectionPage(
  x: HtmlPageRequest,
  document: { readonly links: readonly PageLink[] },
  collection: Collection,
  { sizes, look }: { readonly sizes?: SampleSizes | undefined; readonly look?: RasterLook | undefined } = {},
): string {
  return collectionPages.renderCollectionPage({
    ...(sizes && { sizes }),
    colors: { query: readColorQuery(x.query, look), look },
    ...locatePage(x, buildTitle(collection)),
    collection,
    maySeeSources: maySeeSources(x.principal),
    mayChangeSources: mayChangeSources(x.principal),
    links: document.links,
  });
}

export const coveragePage = buildCollectionPage;

export interface FeaturesPage {
  readonly collection: VectorCollection;
  readonly links: readonly PageLink[];
  /** Number of matching features. Undefined if it is unknown. */
  readonly matched: TimedCount | undefined;
  /** Attributes that are shown. */
  readonly fields: readonly Field[];
  readonly sizes?: SampleSizes | undefined;
  readonly limit: number;
  readonly offset: number;
  /** Present if a token gives the position of the page. */
  readonly after?: unknown;
  readonly before?: unknown;
}

const buildItemsHref = ({ baseUrl, path }: HtmlPageRequest) => `${baseUrl}${path.replace(/\/$/, '')}`;

/** Options that turn the features of a page of items into the rows of its table. */
export const itemRowsForm = (x: HtmlPageRequest, fields: readonly Field[]) =>
  itemsPages.rowsForm(fields, buildItemsHref(x));

export function buildItemsPage(
  x: HtmlPageRequest,
  page: FeaturesPage,
  { returned, rows }: Pick<itemsPages.ItemsPageInput, 'returned' | 'rows'>,
): string {
  const { collection, links, matched, fields, sizes, limit, offset } = page;
  const itemsHref = buildItemsHref(x);
  const query = new URLSearchParams(x.query);
  return itemsPages.renderItemsPage({
    ...locatePage(x, buildTitle(collection)),
    collection,
    returned,
    rows,
    links,
    geoJsonHref: geoJsonHref(itemsHref, query, { limit, offset }),
    itemsHref,
    offset: page.after || page.before ? undefined : offset,
    limit,
    query,
    fields,
    matched,
    sizes,
  });
}

export function buildItemPage(
  x: HtmlPageRequest,
  collection: VectorCollection,
  feature: RowFeature & { readonly links?: readonly PageLink[] },
): string {
  return itemPages.renderItemPage({
    ...locatePage(x, buildTitle(collection)),
    collection,
    feature,
    links: feature.links ?? [],
    geoJsonHref: geoJsonHref(`${x.baseUrl}${x.path}`, new URLSearchParams(x.query), {}),
  });
}

export function buildStatisticsPage(
  x: HtmlPageRequest,
  collection: VectorCollection,
  document: StatisticsResult & { readonly links: readonly PageLink[] },
): string {
  return pageOfStatistics({
    ...locatePage(x, buildTitle(collection)),
    collection,
    statistics: document,
    links: document.links,
  });
}

export function buildPositionPage(
  x: HtmlPageRequest,
  collection: RasterCollection,
  values: PositionValues,
): string {
  return pageOfPosition({
    ...locatePage(x, buildTitle(collection)),
    collection,
    values,
    query: x.query,
  });
}

/** URL of the features on the page for its map: the same query, but always in CRS84, with separate paging. */
function geoJsonHref(
  href: string,
  query: URLSearchParams,
  paging: { limit?: number; offset?: number },
): string {
  const own = new URLSearchParams(query);
  own.delete('crs');
  own.set('f', 'json');
  if (paging.limit !== undefined) own.set('limit', String(paging.limit));
  if (paging.offset !== undefined) own.set('offset', String(paging.offset));
  return `${href}?${own}`;
}

/** Page of any other document. Lists of tile sets and of tile matrix sets have separate pages. */
export function buildDocumentPage(x: HtmlPageRequest, title: string, document: object): string {
  const { links = [], description, tilesets, tileMatrixSets } = document as DocumentMembers;
  const common = { ...locatePage(x), links: withJson(x, links) };
  if (tilesets) return tilePages.tileSetsPage({ ...common, title, tilesets });
  if (tileMatrixSets) return tilePages.tileMatrixSetsPage({ ...common, tileMatrixSets });
  return documentPages.renderDocumentPage({ ...common, title, description, document });
}

interface DocumentMembers {
  readonly links?: readonly PageLink[];
  readonly description?: string;
  readonly tilesets?: readonly tilePages.TileSetEntry[];
  readonly tileMatrixSets?: readonly tilePages.TileMatrixSetEntry[];
}

/** Documents that link no other format of themselves still have one. */
function withJson(x: HtmlPageRequest, links: readonly PageLink[]): readonly PageLink[] {
  if (representations(links).length > 0) return links;
  const query = new URLSearchParams(x.query);
  query.set('f', 'json');
  return [...links, { href: `${x.baseUrl}${x.path}?${query}`, rel: 'alternate', type: 'application/json' }];
}

function buildTitle(collection: Collection): Record<string, string> {
  return { [collection.id]: collection.title };
}
