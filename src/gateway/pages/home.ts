import type { Collection } from '../../core/collection.js';
import { html, type Markup } from '../../core/html.js';
import { basemapData } from './basemap.js';
import { badgesOf, type CollectionEntry, collectionCards } from './collections.js';
import { page, section } from './layout.js';
import { anchor, type Link } from './links.js';
import { itemsUrl, mapLayers, unionOf, viewerUrl } from './map-data.js';
import { MAP_SCRIPTS, mapFrame, mapHead } from './map-frame.js';
import type { MapData } from './page-data.js';

/** An interface of the server, as the start page lists it. `path` starts with a slash. */
export interface SurfaceEntry {
  readonly title: string;
  readonly path: string;
  readonly description: string;
}

export interface HomePage {
  readonly baseUrl: string;
  readonly version: string;
  readonly surfaces: readonly SurfaceEntry[];
  readonly collections: readonly Collection[];
  readonly links: readonly Link[];
}

/** Layers of the start page's map; further ones are on their own pages. */
const MAP_LAYERS = 24;

/** The start page: everything published on one map, every interface, every collection. */
export function homePage(input: HomePage): string {
  const { baseUrl, collections, surfaces, version, links } = input;
  const body = html`<h1>Maps and data, ready to use</h1>
<p class="lead">${leadText(collections.length)}</p>
${collections.length > 0 ? entrances(input) : undefined}
${collections.length > 0 ? homeMap(input) : undefined}
${section('Interfaces', surfaceCards(surfaces, baseUrl))}
${section(
  'Collections',
  collectionCards(
    collections.map((c) => homeEntry(c, baseUrl)),
    baseUrl,
    3,
  ),
)}
<p class="part muted">Graticule ${version}</p>`;
  return page({
    baseUrl,
    title: 'Graticule',
    crumbs: [],
    body,
    head: mapHead(baseUrl),
    scripts: MAP_SCRIPTS,
    alternates: links,
  });
}

function entrances({ baseUrl, collections }: HomePage): Markup {
  const live = collections.some(({ kind }) => kind === 'vector')
    ? html` <a class="button" href="${`${baseUrl}/live`}">See changes as they come</a>`
    : undefined;
  return html`<p><a class="button primary" href="${viewerUrl(baseUrl)}">Open the map viewer</a>${live}</p>`;
}

function leadText(total: number): string {
  if (total === 0)
    return 'Nothing is published yet. Start the server with a folder of data, or import a file.';
  const what = total === 1 ? 'One collection' : `${total} collections`;
  return `${what}, each as features, vector tiles, map images or coverages, by open standards.`;
}

function homeMap({ baseUrl, collections }: HomePage): Markup {
  const layers = mapLayers(collections, baseUrl).slice(0, MAP_LAYERS);
  const data: MapData = {
    baseUrl,
    bounds: unionOf(collections.map((c) => c.extent84).filter((box) => box !== undefined)) ?? null,
    layers,
    basemap: basemapData(baseUrl),
    features: null,
  };
  const picture = `${baseUrl}/ogc/maps/map?f=png&width=1024&height=512`;
  return mapFrame({ data, label: 'Map of all published layers', picture, switcher: true, large: true });
}

function surfaceCards(surfaces: readonly SurfaceEntry[], baseUrl: string): Markup {
  const cards = surfaces.map(
    ({ title, path, description }) =>
      html`<li class="card"><div class="card-text"><h3>${anchor(`${baseUrl}${path}`, title)}</h3><p>${description}</p><p><code>${path}</code></p></div></li>`,
  );
  return html`<ul class="cards">${cards}</ul>`;
}

/** A collection on a card of the start page. */
export function homeEntry(collection: Collection, baseUrl: string): CollectionEntry {
  const { title, description, extent84 } = collection;
  return { title, description, extent84, badges: badgesOf(collection), ...whereabouts(collection, baseUrl) };
}

/** Where a collection is found on the data interfaces. */
function whereabouts(collection: Collection, baseUrl: string): { href: string; links: Link[] } {
  const { kind, layerId } = collection;
  const tiles = { href: `${baseUrl}/ogc/tiles/collections/${layerId}`, rel: 'tiles', title: 'Tiles' };
  if (kind === 'archive') return { href: tiles.href, links: [tiles] };
  const map = { href: `${baseUrl}/ogc/maps/collections/${layerId}/map`, rel: 'map', title: 'Map' };
  const id = encodeURIComponent(collection.id);
  if (kind === 'vector') {
    const items = { href: itemsUrl(collection, baseUrl), rel: 'items', title: 'Items' };
    return { href: `${baseUrl}/ogc/features/collections/${id}`, links: [items, tiles, map] };
  }
  const href = `${baseUrl}/ogc/coverages/collections/${id}`;
  return { href, links: [{ href: `${href}/coverage`, rel: 'coverage', title: 'Coverage' }, tiles, map] };
}
