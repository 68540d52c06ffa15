import { hasFeatures } from '../../../core/catalog/abilities.js';
import type { Collection } from '../../../core/catalog/collection.js';
import type { MapData } from '../../../core/catalog/page-data.js';
import { html, type Markup } from '../../../core/values/html.js';
import { qualifiers } from '../../../services/catalog/source-names.js';
import type { SourceState } from '../../../services/catalog/source-states.js';
import { HEALTH_PATH } from '../admin/observability.js';
import { PROPOSALS_PATH } from '../admin/proposals.js';
import { type PageFrame, page, renderSection } from '../layout.js';
import { anchor, type PageLink } from '../links.js';
import { basemapData } from '../maps/basemap.js';
import { selectInitialCollections } from '../maps/initial-collections.js';
import { buildViewerUrl, createMapLayers, mergeBoxes } from '../maps/map-data.js';
import { MAP_SCRIPTS, mapFrame, mapHead } from '../maps/map-frame.js';
import { formatCount } from '../values.js';
import { CARD_SCRIPTS, collectionFinder, createCollectionEntry } from './collections.js';
import type { Finder } from './finder.js';
import { sourcesBanner } from './sources.js';

/** An interface of the server, as the start page lists it. `path` starts with a slash. */
export interface SurfaceEntry {
  readonly title: string;
  readonly path: string;
  readonly description: string;
}

export interface HomePage extends PageFrame {
  readonly version: string;
  readonly surfaces: readonly SurfaceEntry[];
  readonly collections: readonly Collection[];
  /** The list of them. */
  readonly finder: Finder;
  readonly links: readonly PageLink[];
  /** Refused sources and sources with warnings that the caller may see. */
  readonly problems?: readonly SourceState[];
  /** Whether the caller can open the page of alerts. */
  readonly hasAlerts?: boolean;
}

/** The start page: some of the published data on one map, all interfaces, and all collections. */
export function homePage(input: HomePage): string {
  const { baseUrl, collections, finder, surfaces, version, links } = input;
  const entries = finder.hits.map(({ collection, name }) => createCollectionEntry(collection, name, baseUrl));
  const body = html`<h1>Maps and data, ready to use</h1>
<p class="lead">${leadText(collections.length)}</p>
${sourcesBanner(input.problems ?? [], baseUrl)}
${collections.length > 0 ? entrances(input) : undefined}
${collections.length > 0 ? homeMap(input) : undefined}
${collections.length > 0 ? renderSection('Collections', collectionFinder({ finder, entries, baseUrl, level: 3 })) : undefined}
${renderSection('Interfaces', surfaceCards(surfaces, baseUrl))}
<p class="part muted">Graticule ${version}</p>`;
  return page({
    baseUrl,
    reader: input.reader,
    title: 'Graticule',
    crumbs: [],
    body,
    head: mapHead(baseUrl),
    scripts: [...MAP_SCRIPTS, ...CARD_SCRIPTS],
    alternates: links,
  });
}

function entrances({ baseUrl, collections, hasAlerts = false }: HomePage): Markup {
  const live = collections.some(hasFeatures)
    ? html` <a class="button" href="${`${baseUrl}/live`}">Live changes</a>`
    : undefined;
  const alerts = hasAlerts
    ? html` <a class="button" href="${`${baseUrl}/alerts`}">Alerts</a> <a class="button" href="${`${baseUrl}${HEALTH_PATH}?f=html`}">Health</a> <a class="button" href="${`${baseUrl}${PROPOSALS_PATH}?f=html`}">Proposals</a>`
    : undefined;
  return html`<p class="actions"><a class="button primary" href="${buildViewerUrl(baseUrl)}">Open the map viewer</a>${live}${alerts}</p>`;
}

function leadText(total: number): string {
  if (total === 0)
    return 'No data is published yet. Start the server with a folder of data, or import a file.';
  const what = total === 1 ? 'one collection' : `${formatCount(total)} collections`;
  return `This server publishes ${what} through open standards: as features, vector tiles, map images or coverages.`;
}

function homeMap({ baseUrl, collections }: HomePage): Markup {
  const first = selectInitialCollections(collections);
  const layers = createMapLayers(first, baseUrl);
  const data: MapData = {
    baseUrl,
    bounds: mergeBoxes(first.map((c) => c.extent84).filter((box) => box !== undefined)) ?? null,
    layers,
    basemap: basemapData(baseUrl),
    features: null,
  };
  const ids = first.map(({ layerId }) => layerId).join(',');
  const picture = `${baseUrl}/ogc/maps/map?f=png&collections=${ids}&width=1024&height=512`;
  return mapFrame({
    data,
    label: first.length < collections.length ? 'Map of some of the collections' : 'Map of all collections',
    picture,
    switcher: true,
    titles: qualifiers(collections),
    large: true,
  });
}

function surfaceCards(surfaces: readonly SurfaceEntry[], baseUrl: string): Markup {
  const cards = surfaces.map(
    ({ title, path, description }) =>
      html`<li class="card"><div class="card-text"><h3>${anchor(`${baseUrl}${path}`, title)}</h3><p>${description}</p><p><code>${path}</code></p></div></li>`,
  );
  return html`<ul class="cards">${cards}</ul>`;
}
