import { hasCoverage, isDrawable } from '../../../core/catalog/abilities.js';
import type { Collection, RasterCollection } from '../../../core/catalog/collection.js';
import type {
  CoverageData,
  LayerTime,
  MapData,
  MapLayerData,
  ViewerData,
  ViewerLayerData,
} from '../../../core/catalog/page-data.js';
import type { PopupTemplate } from '../../../core/features/popup.js';
import { legendEntries } from '../../../core/maps/legend/entries.js';
import { formatBandTitle } from '../../../core/maps/legend/raster-entries.js';
import type { ThematicClass } from '../../../core/rasters/rasters.js';
import { html, type Markup, scriptJson } from '../../../core/values/html.js';
import { whereabouts } from '../catalog/collections.js';
import { assetUrl, type PageFrame, page } from '../layout.js';
import { anchor } from '../links.js';
import { basemapData } from './basemap.js';
import { colorFields, describeLegend, hasColorChoice, legendUrl } from './color-form.js';
import { buildItemsUrl, buildViewerUrl, createMapLayers, mergeBoxes } from './map-data.js';
import { drawingChoice, layerSwatch, mapHead, titleWithSource } from './map-frame.js';

export interface ViewerPage extends PageFrame {
  /** Collections on the map, in no particular order. */
  readonly views: readonly ViewedCollection[];
  /** Labels that distinguish equal titles. */
  readonly titles: ReadonlyMap<Collection, string>;
  /** Collections that could be shown. */
  readonly published: number;
}

export interface ViewedCollection {
  readonly collection: Collection;
  /** Known instants of its data in RFC 3339, oldest first. The data is not read for them. */
  readonly instants: readonly string[];
  /** Property by which `datetime` selects. */
  readonly timeProperty: string | undefined;
  readonly popup: PopupTemplate | null;
}

/** A map of collections that fills the page: layers, legend, what is at a place, times. */
export function viewerPage(input: ViewerPage): string {
  const { baseUrl, reader, views, titles, published } = input;
  const collections = views.map(({ collection }) => collection);
  const layers = createMapLayers(collections, baseUrl);
  const data: MapData = {
    baseUrl,
    bounds: mergeBoxes(collections.flatMap(({ extent84 }) => (extent84 ? [extent84] : []))) ?? null,
    layers,
    basemap: basemapData(baseUrl),
    features: null,
  };
  const byId = new Map(views.map((one) => [one.collection.id, one]));
  const viewer: ViewerData = { baseUrl, layers: layers.map(({ id }) => viewerLayer(byId.get(id)!, baseUrl)) };
  const body = html`<h1 class="unseen">Map viewer</h1>
<div class="map viewer-map" data-map data-map-state="loading" role="region" aria-label="Map" aria-describedby="map-keys"><noscript><p class="map-note">The map requires JavaScript. The list links to the data.</p></noscript></div>
<p class="unseen" id="map-keys">Arrow keys move the map, plus and minus zoom, Enter inspects the centre, Escape closes the popup.</p>
<p class="map-message" role="status" hidden></p>
<p class="map-message" role="status" data-sample hidden></p>
${panel(layers, byId, { baseUrl, titles, published })}
${TIME_BAR}
<script type="application/json" id="map-data">${scriptJson(data)}</script>
<script type="application/json" id="viewer-data">${scriptJson(viewer)}</script>`;
  return page({
    baseUrl,
    reader,
    title: 'Map viewer',
    crumbs: [{ title: 'Map viewer', href: buildViewerUrl(baseUrl) }],
    body,
    layout: 'viewer-page',
    head: html`${mapHead(baseUrl)}<link rel="stylesheet" href="${assetUrl(baseUrl, 'viewer.css')}">\n`,
    scripts: ['viewer.js'],
  });
}

function viewerLayer(
  { collection, instants, timeProperty, popup }: ViewedCollection,
  baseUrl: string,
): ViewerLayerData {
  const { id, title, extent84 } = collection;
  const time = findTime(collection, instants, timeProperty, baseUrl);
  const coverage = hasCoverage(collection) ? buildCoverage(collection, baseUrl) : null;
  return { id, title, extent: extent84 ?? null, time, coverage, popup };
}

function buildCoverage(collection: RasterCollection, baseUrl: string): CoverageData {
  const { id, bands, raster } = collection;
  const [, south, , north] = raster.extent84;
  return {
    href: `${baseUrl}/ogc/coverages/collections/${encodeURIComponent(id)}/coverage`,
    pixel: (north - south) / raster.height,
    bands: bands.map((band) => ({
      name: formatBandTitle(collection, band),
      unit: band.unit || null,
      classes: band.classes ? nameClasses(band.classes) : null,
    })),
  };
}

function nameClasses(classes: readonly ThematicClass[]): Record<string, string> | null {
  const named = classes.filter(({ name, value }) => name !== String(value));
  return named.length === 0 ? null : Object.fromEntries(named.map(({ value, name }) => [value, name]));
}

function findTime(
  collection: Collection,
  instants: readonly string[],
  name: string | undefined,
  baseUrl: string,
): LayerTime | null {
  if (instants.length > 1) return { kind: 'instants', instants };
  return name === undefined ? null : { kind: 'property', name, items: buildItemsUrl(collection, baseUrl) };
}

interface PanelFacts {
  readonly baseUrl: string;
  readonly titles: ReadonlyMap<Collection, string>;
  readonly published: number;
}

function panel(
  layers: readonly MapLayerData[],
  byId: ReadonlyMap<string, ViewedCollection>,
  about: PanelFacts,
): Markup {
  const rows = layers.map((layer) => layerRow(layer, byId.get(layer.id)!.collection, about));
  const list =
    rows.length > 0
      ? html`<ul class="layers" data-layers>${rows}</ul>`
      : html`<p class="none">No published layer can be drawn.</p>`;
  return html`<section class="panel" data-panel aria-labelledby="layers-title">
<div class="panel-head"><h2 id="layers-title">Layers</h2><span class="panel-count" data-layer-count>${layers.length}</span>
<button type="button" class="panel-toggle" aria-expanded="true" aria-controls="layers" aria-label="Layers" data-panel-toggle hidden>${CHEVRON}</button></div>
<div id="layers" class="panel-body">${about.published > 1 ? ADD_LAYERS : undefined}${list}</div>
</section>`;
}

/** Finds further layers; needs the script. */
const ADD_LAYERS = html`<form class="layer-search" role="search" data-layer-search hidden>
<label><span class="unseen">Add layers</span><input type="search" placeholder="Add layers: name or attribute" maxlength="200" autocomplete="off" data-search-words></label>
<p class="layer-found" role="status" data-search-count></p>
<ul class="layer-results" data-search-results aria-label="Layers found"></ul>
</form>`;

/** One layer: its name and symbol are always visible. The other controls need the script and are behind a button. */
function layerRow(layer: MapLayerData, collection: Collection, about: PanelFacts): Markup {
  const { baseUrl, titles } = about;
  const { id, title } = layer;
  const body = `layer-${collection.layerId}`;
  const { href } = whereabouts(collection, baseUrl);
  return html`<li class="layer" data-layer-row="${id}">
<div class="layer-head"><label><input type="checkbox" checked hidden data-layer="${id}">${layerSwatch(layer)}${titleWithSource(title, titles.get(collection))}</label>
<button type="button" class="layer-more" aria-expanded="false" aria-controls="${body}" aria-label="Options of ${title}" data-more hidden>${CHEVRON}</button></div>
${legend(collection, baseUrl)}
<div id="${body}" class="layer-body" data-body hidden>
<label class="opacity"><span>Opacity</span><input type="range" min="0" max="100" step="5" value="100" data-opacity><output data-opacity-shown>100 %</output></label>
${drawingChoice(layer)}
${hasCoverage(collection) ? colorControls(collection) : undefined}<div class="layer-actions"><button type="button" data-zoom>Zoom to</button><button type="button" aria-label="Move ${title} up" title="Move up" data-up>${UP}</button><button type="button" aria-label="Move ${title} down" title="Move down" data-down>${DOWN}</button><button type="button" aria-label="Remove ${title}" data-remove>Remove</button>${anchor(href, 'About')}</div>
</div></li>`;
}

/** Bands and colours of a raster. */
function colorControls(collection: RasterCollection): Markup | undefined {
  if (!hasColorChoice(collection)) return undefined;
  return html`<form class="layer-colors" data-colors="${collection.id}" aria-label="Bands and colours of ${collection.title}">${colorFields(collection, { query: '', look: undefined })}<div class="layer-actions"><button type="submit">Show</button><button type="button" data-colors-reset hidden>Reset</button></div></form>
`;
}

/** A vector collection of one symbol has its legend in its row already. */
function legend(collection: Collection, baseUrl: string): Markup | undefined {
  if (hasCoverage(collection)) {
    const url = legendUrl(baseUrl, collection);
    return html`<p class="legend"><img src="${url}" alt="${describeLegend(collection)}" loading="lazy" data-colored="${url}"></p>`;
  }
  const labels = isDrawable(collection) ? legendEntries(collection).map(({ label }) => label) : [];
  if (labels.length < 2) return undefined;
  const source = `${baseUrl}/ogc/maps/collections/${collection.layerId}/legend?f=svg`;
  return html`<p class="legend"><img src="${source}" alt="${`Legend: ${labels.join(', ')}`}" loading="lazy"></p>`;
}

const CHEVRON = icon('M4 6.5l4 4 4-4');
const UP = icon('M8 13V3.5M4 7.5l4-4 4 4');
const DOWN = icon('M8 3v9.5M4 8.5l4 4 4-4');
const PLAY = icon('M5 3.2v9.6l8-4.8z');
const PAUSE = icon('M5 3.5v9M11 3.5v9');

function icon(path: string): Markup {
  return html`<svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false"><path d="${path}"/></svg>`;
}

/** Shown once a layer turns out to have times. */
const TIME_BAR = html`<section class="time" data-time aria-labelledby="time-title" hidden>
<h2 id="time-title" class="unseen">Time</h2>
<div class="time-buttons"><button type="button" aria-label="Earlier" title="Earlier" data-time-back>${icon('M10 3.5L5.5 8l4.5 4.5')}</button><button type="button" aria-pressed="false" aria-label="Play" title="Play" data-time-play><span class="when-still">${PLAY}</span><span class="when-playing">${PAUSE}</span></button><button type="button" aria-label="Later" title="Later" data-time-next>${icon('M6 3.5L10.5 8 6 12.5')}</button></div>
<div class="time-middle"><output class="time-shown" data-time-shown>All times</output>
<div class="time-sliders"><input type="range" min="0" value="0" step="1" aria-label="Start of the range" data-time-from hidden><input type="range" min="0" value="0" step="1" aria-label="Time" data-time-to></div>
<p class="time-ends" aria-hidden="true"><span data-time-first></span><span data-time-last></span></p></div>
<div class="time-options"><label><input type="checkbox" data-time-range> Range</label><button type="button" data-time-all>All times</button></div>
</section>`;
