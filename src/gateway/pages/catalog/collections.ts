import { byData, hasFeatures, isDrawable } from '../../../core/catalog/abilities.js';
import type { Collection } from '../../../core/catalog/collection.js';
import type { Box } from '../../../core/geometry/box.js';
import { html, type Markup } from '../../../core/values/html.js';
import type { SourceName } from '../../../services/catalog/source-names.js';
import { type Crumb, type PageFrame, page, sitePath } from '../layout.js';
import { type PageLink, representationLine, safeHref, selectResourceLinks } from '../links.js';
import { buildItemsUrl } from '../maps/map-data.js';
import { table } from '../table.js';
import { formatCount, shortenText } from '../values.js';
import { cardMapUrl } from './card-map.js';
import { extentPicture } from './extent-picture.js';
import { type Finder, finderCount, finderForm, finderPages } from './finder.js';

/** A collection on a card. */
export interface CollectionEntry {
  readonly title: string;
  readonly description?: string;
  readonly source: string;
  /** Heading that it stands under. */
  readonly group: string;
  /** CRS84: west, south, east, north. */
  readonly extent84?: Box | undefined;
  /** URL of a small map. */
  readonly mapUrl?: string | undefined;
  /** Description, in a few words each. */
  readonly badges: readonly string[];
  /** The collection's own page. */
  readonly href: string;
  /** Links to its items, tiles, map or coverage. Self and alternate links are not shown. */
  readonly links: readonly PageLink[];
}

export interface CollectionsPage extends PageFrame {
  readonly crumbs: readonly Crumb[];
  readonly title?: string;
  readonly entries: readonly CollectionEntry[];
  readonly finder: Finder;
  readonly links: readonly PageLink[];
}

export function renderCollectionsPage(input: CollectionsPage): string {
  const { links, finder, entries, title = 'Collections' } = input;
  const body = html`<h1>${title}</h1>
${representationLine(links)}
${collectionFinder({ finder, entries, baseUrl: input.baseUrl, level: 2 })}`;
  return page({ ...input, title, body, scripts: CARD_SCRIPTS, alternates: links });
}

/** Scripts of pages with cards. */
export const CARD_SCRIPTS = ['cards.js'] as const;

export interface CollectionFinder {
  readonly finder: Finder;
  readonly entries: readonly CollectionEntry[];
  readonly baseUrl: string;
  /** Heading level of the groups; cards have the next one. */
  readonly level: 2 | 3;
}

/** The search form, what it finds on cards, grouped where the order is by source, and the pages. */
export function collectionFinder({ finder, entries, baseUrl, level }: CollectionFinder): Markup {
  const groups = finder.search.sort === 'source' ? listGroups(entries) : [];
  const { search } = finder;
  const cards =
    search.view === 'table'
      ? collectionTable(entries)
      : groups.length > 1
        ? groups.map(([name, own]) =>
            formatGroup(name, collectionCards(own, baseUrl, level === 2 ? 3 : 4), level),
          )
        : collectionCards(entries, baseUrl, level);
  return html`${finderForm(finder, baseUrl)}
<p class="lead finder-count">${finderCount(finder)}</p>
${cards}
${finderPages(finder, baseUrl)}`;
}

function listGroups(entries: readonly CollectionEntry[]): [name: string, CollectionEntry[]][] {
  const groups = new Map<string, CollectionEntry[]>();
  for (const entry of entries) {
    const group = groups.get(entry.group);
    if (group) group.push(entry);
    else groups.set(entry.group, [entry]);
  }
  return [...groups];
}

function formatGroup(name: string, cards: Markup | undefined, level: 2 | 3): Markup {
  const heading = html`<bdi>${name || 'Single files'}</bdi>`;
  return html`<section class="group">${level === 2 ? html`<h2>${heading}</h2>` : html`<h3>${heading}</h3>`}${cards}</section>`;
}

/** A collection on a card, with its main links. */
export function createCollectionEntry(
  collection: Collection,
  name: SourceName,
  baseUrl: string,
): CollectionEntry {
  const { title, description, extent84 } = collection;
  const place = whereabouts(collection, baseUrl);
  const mapUrl = cardMapUrl(sitePath(baseUrl), collection);
  return { title, description, extent84, mapUrl, badges: listBadges(collection), ...name, ...place };
}

/** Links to a collection on the data interfaces. */
export function whereabouts(collection: Collection, baseUrl: string): { href: string; links: PageLink[] } {
  const { layerId } = collection;
  const tiles = { href: `${baseUrl}/ogc/tiles/collections/${layerId}`, rel: 'tiles', title: 'Tiles' };
  if (!isDrawable(collection)) return { href: tiles.href, links: [tiles] };
  const map = { href: `${baseUrl}/ogc/maps/collections/${layerId}/map`, rel: 'map', title: 'Map' };
  const id = encodeURIComponent(collection.id);
  if (hasFeatures(collection)) {
    const items = { href: buildItemsUrl(collection, baseUrl), rel: 'items', title: 'Items' };
    return { href: `${baseUrl}/ogc/features/collections/${id}`, links: [items, tiles, map] };
  }
  const href = `${baseUrl}/ogc/coverages/collections/${id}`;
  return { href, links: [{ href: `${href}/coverage`, rel: 'coverage', title: 'Coverage' }, tiles, map] };
}

/** Collections as rows of a table. */
function collectionTable(entries: readonly CollectionEntry[]): Markup | undefined {
  if (entries.length === 0) return undefined;
  const rows = entries.map(
    ({
      title,
      href,
      badges,
      source,
      links,
    }) => html`<tr><th scope="row"><a href="${safeHref(href)}"><bdi>${title}</bdi></a></th>
<td>${badges.join(', ')}</td><td><bdi>${source}</bdi></td><td><ul class="inline">${links.map(cardLink)}</ul></td></tr>`,
  );
  return table('Collections', ['Collection', 'Data', 'Source', 'Links'], rows);
}

/** Cards of collections. */
function collectionCards(
  entries: readonly CollectionEntry[],
  baseUrl: string,
  level: 2 | 3 | 4,
): Markup | undefined {
  if (entries.length === 0) return undefined;
  return html`<ul class="cards">${entries.map((entry) => card(entry, baseUrl, level))}</ul>`;
}

function card(entry: CollectionEntry, baseUrl: string, level: 2 | 3 | 4): Markup {
  const { title, description, extent84, source, group } = entry;
  const link = html`<a href="${safeHref(entry.href)}"><bdi>${title}</bdi></a>`;
  const heading =
    level === 2 ? html`<h2>${link}</h2>` : level === 3 ? html`<h3>${link}</h3>` : html`<h4>${link}</h4>`;
  const links = selectResourceLinks(entry.links).filter((own) => !own.templated && own.title);
  // The names of files that GDAL describes say nothing new.
  const origin = source === group ? undefined : html`<p class="source"><bdi>${source}</bdi></p>`;
  const map = entry.mapUrl === undefined ? undefined : html` data-card-map="${entry.mapUrl}"`;
  return html`<li class="card">
<div class="card-picture"${map}>${extentPicture(extent84, baseUrl)}</div>
<div class="card-text">${heading}
${badgeLine(entry.badges)}
${origin}
${description && description !== title ? html`<p><bdi>${shortenText(description, 160)}</bdi></p>` : undefined}
${extent84 ? undefined : html`<p class="muted">Unknown extent</p>`}
${links.length > 0 ? html`<ul class="inline">${links.map(cardLink)}</ul>` : undefined}
</div></li>`;
}

function cardLink(link: PageLink): Markup {
  return html`<li><a href="${safeHref(link.href)}">${link.title}</a></li>`;
}

export function badgeLine(badges: readonly string[]): Markup | undefined {
  if (badges.length === 0) return undefined;
  return html`<p class="badges">${badges.map((text) => html`<span class="badge">${text}</span> `)}</p>`;
}

/** Short labels that describe a collection. */
export function listBadges(collection: Collection): string[] {
  return byData(collection, {
    features: ({ source, featureCount }) => [
      source.geometryType,
      ...(featureCount === undefined
        ? []
        : [featureCount === 1 ? '1 feature' : `${formatCount(featureCount)} features`]),
    ],
    coverage: ({ raster, bands }) => [
      'Raster',
      `${raster.width} × ${raster.height}`,
      bandCount(bands.length),
    ],
    storedTiles: ({ format, minZoom, maxZoom }) => [
      'Tile archive',
      format.toUpperCase(),
      `zoom ${minZoom}–${maxZoom}`,
    ],
  });
}

function bandCount(value: number): string {
  return value === 1 ? '1 band' : `${value} bands`;
}
