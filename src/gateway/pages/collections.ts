import type { Collection } from '../../core/collection.js';
import { html, type Markup } from '../../core/html.js';
import type { Box } from '../../core/tasks.js';
import { extentPicture } from './extent-picture.js';
import { type Crumb, page } from './layout.js';
import { type Link, representationLine, resources, safeHref } from './links.js';
import { count, extentText, shortened } from './values.js';

/** A collection on a card. */
export interface CollectionEntry {
  readonly title: string;
  readonly description?: string;
  /** CRS84: west, south, east, north. */
  readonly extent84?: Box;
  /** What it is, in a few words each. */
  readonly badges: readonly string[];
  /** The collection's own page. */
  readonly href: string;
  /** What can be had of it: items, tiles, map, coverage. Self and alternate links are not shown. */
  readonly links: readonly Link[];
}

export interface CollectionsPage {
  readonly baseUrl: string;
  readonly crumbs: readonly Crumb[];
  readonly title?: string;
  readonly entries: readonly CollectionEntry[];
  readonly links: readonly Link[];
}

export function collectionsPage(input: CollectionsPage): string {
  const { entries, links, title = 'Collections' } = input;
  const body = html`<h1>${title}</h1>
<p class="lead">${entries.length === 0 ? 'Nothing is published here yet.' : collectionCount(entries.length)}</p>
${representationLine(links)}
${collectionCards(entries, input.baseUrl)}`;
  return page({ ...input, title, body, alternates: links });
}

function collectionCount(value: number): string {
  return value === 1 ? 'One collection is published.' : `${count(value)} collections are published.`;
}

/** Cards of collections; the heading level of each is 2 on list pages, 3 below a section heading. */
export function collectionCards(
  entries: readonly CollectionEntry[],
  baseUrl: string,
  level: 2 | 3 = 2,
): Markup | undefined {
  if (entries.length === 0) return undefined;
  return html`<ul class="cards">${entries.map((entry) => card(entry, baseUrl, level))}</ul>`;
}

function card(entry: CollectionEntry, baseUrl: string, level: 2 | 3): Markup {
  const { title, description, extent84 } = entry;
  const link = html`<a href="${safeHref(entry.href)}"><bdi>${title}</bdi></a>`;
  const shown = resources(entry.links).filter((own) => !own.templated && own.title);
  return html`<li class="card">
${extentPicture(extent84, baseUrl)}
<div class="card-text">${level === 2 ? html`<h2>${link}</h2>` : html`<h3>${link}</h3>`}
${badgeLine(entry.badges)}
${description && description !== title ? html`<p><bdi>${shortened(description, 240)}</bdi></p>` : undefined}
<p class="muted">${extent84 ? extentText(extent84) : 'No extent known'}</p>
${shown.length > 0 ? html`<ul class="inline">${shown.map(cardLink)}</ul>` : undefined}
</div></li>`;
}

function cardLink(link: Link): Markup {
  return html`<li><a href="${safeHref(link.href)}">${link.title}</a></li>`;
}

export function badgeLine(badges: readonly string[]): Markup | undefined {
  if (badges.length === 0) return undefined;
  return html`<p class="badges">${badges.map((text) => html`<span class="badge">${text}</span> `)}</p>`;
}

/** What a collection is, in a few words. */
export function badgesOf(collection: Collection): string[] {
  switch (collection.kind) {
    case 'vector':
      return [collection.source.geometryType, `${count(collection.featureCount)} features`];
    case 'raster':
      return [
        'Raster',
        `${collection.raster.width} × ${collection.raster.height}`,
        bandCount(collection.bands.length),
      ];
    case 'archive':
      return [
        'Tile archive',
        collection.format.toUpperCase(),
        `zoom ${collection.minZoom}–${collection.maxZoom}`,
      ];
  }
}

function bandCount(value: number): string {
  return value === 1 ? '1 band' : `${value} bands`;
}
