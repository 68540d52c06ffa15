import { findAttribution, isDrawable } from '../../../core/catalog/abilities.js';
import type { Collection } from '../../../core/catalog/collection.js';
import type { MapData, MapLayerData, PointDrawing } from '../../../core/catalog/page-data.js';
import { html, type Markup, scriptJson } from '../../../core/values/html.js';
import { assetUrl } from '../layout.js';
import { type PageColors, withColors } from './color-form.js';
import { legendColor } from './map-data.js';

export interface MapFrame {
  readonly data: MapData;
  /** Describes the map for screen readers. */
  readonly label: string;
  /** Image shown where there is no JavaScript or no WebGL. */
  readonly picture?: string;
  /** Shows a checkbox per layer. */
  readonly switcher?: boolean;
  /** Labels that distinguish equal titles. */
  readonly titles?: ReadonlyMap<Collection, string> | undefined;
  readonly large?: boolean;
  /** Caption of a printed map. */
  readonly printed?: PrintedCaption;
}

interface PrintedCaption {
  readonly baseUrl: string;
  readonly collection: Collection;
  readonly colors?: PageColors | undefined;
}

export const MAP_SCRIPTS = ['map.js'] as const;

/** Style sheet of the map library; pages with a map put it in their head. */
export function mapHead(baseUrl: string): Markup {
  return html`<link rel="stylesheet" href="${assetUrl(baseUrl, 'maplibre-gl.css')}">\n`;
}

/**
 * The container of a map, and its content without a map. The script sets `data-map-state` to `loading`, `ready`,
 * `idle` (everything drawn) or `failed`.
 */
export function mapFrame(frame: MapFrame): Markup {
  const { data, label, picture } = frame;
  const fallback = picture
    ? html`<img class="map-picture" src="${picture}" alt="${label}">`
    : html`<p class="map-note">The map requires JavaScript.</p>`;
  return html`<figure class="${frame.large ? 'map-figure map-large' : 'map-figure'}">
<div class="map" data-map data-map-state="loading" data-picture="${picture ?? ''}" role="region" aria-label="${label}"><noscript>${fallback}</noscript></div>
<p class="map-message" role="status" hidden></p>
<p class="map-message" role="status" data-sample hidden></p>
${frame.switcher ? undefined : data.layers.map((layer) => drawingChoice(layer, 'switcher'))}
${frame.switcher ? layerSwitcher(frame) : undefined}
${frame.printed ? printedCaption(frame.printed) : undefined}
<script type="application/json" id="map-data">${scriptJson(data)}</script>
</figure>`;
}

/** Choice between cells and points for a layer of many points; needs the script. */
export function drawingChoice(layer: MapLayerData, style = 'drawn-as'): Markup | undefined {
  if (layer.kind !== 'vector' || !layer.cells) return undefined;
  const { id, title, cells } = layer;
  const box = (value: PointDrawing, label: string) =>
    html`<label><input type="radio" name="drawn-${id}" value="${value}"${cells.preferred === value ? html` checked` : undefined}> ${label}</label> `;
  return html`<fieldset class="${style}" data-drawn-as="${id}" hidden><legend>Draw <bdi>${title}</bdi> as</legend>${box('cells', 'Cells with the number of points')}${box('points', 'Points')}<ul class="cell-colors" aria-label="Points of a cell" data-cell-colors></ul></fieldset>`;
}

/** Legend and source, for paper only: the screen has the page around the map. */
function printedCaption({ baseUrl, collection, colors }: PrintedCaption): Markup {
  const legend = `${baseUrl}/ogc/maps/collections/${collection.layerId}/legend?f=svg`;
  const credit = withoutMarkup(findAttribution(collection));
  return html`<figcaption class="print-only">${
    !isDrawable(collection)
      ? undefined
      : html`<img class="legend" src="${withColors(legend, colors)}" alt="Legend" data-colored="${legend}">`
  }<p><bdi>${collection.title}</bdi>${credit ? html`. ${credit}` : undefined}. Served by Graticule, ${baseUrl}</p></figcaption>`;
}

function withoutMarkup(text: string | undefined): string | undefined {
  return text?.replace(/<[^>]*>/g, '').trim() || undefined;
}

function layerSwitcher({ data: { layers }, titles = new Map() }: MapFrame): Markup | undefined {
  if (layers.length === 0) return undefined;
  const sources = new Map([...titles].map(([{ id }, source]) => [id, source]));
  const entries = layers.map((layer) => switcherEntry(layer, sources.get(layer.id)));
  return html`<fieldset class="switcher"><legend>Layers</legend><ul>${entries}</ul></fieldset>`;
}

/** The checkbox appears once the script can act on it; until then the entry is a legend. */
function switcherEntry(layer: MapLayerData, source: string | undefined): Markup {
  return html`<li><label><input type="checkbox" checked hidden data-layer="${layer.id}">${layerSwatch(layer)}${titleWithSource(layer.title, source)}</label>${drawingChoice(layer)}</li>`;
}

/** A title, and where equal ones come from. */
export function titleWithSource(title: string, source: string | undefined): Markup {
  const behind = source === undefined ? undefined : html` <bdi class="layer-source">${source}</bdi>`;
  return html`<span class="layer-name"><bdi>${title}</bdi>${behind}</span>`;
}

/** A small swatch with the symbol of a layer. */
export function layerSwatch(layer: MapLayerData): Markup {
  const shape = layer.kind === 'raster' ? 'raster' : layer.geometry;
  return html`<svg class="swatch" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true" focusable="false">${swatchShape(shape, legendColor(layer))}</svg>`;
}

function swatchShape(shape: string, color: string | undefined): Markup {
  switch (shape) {
    case 'point':
      return html`<circle cx="8" cy="8" r="5" fill="${color}"/>`;
    case 'line':
      return html`<path d="M1 12L6 5l4 5 5-7" fill="none" stroke="${color}" stroke-width="2"/>`;
    case 'raster':
      return html`<path d="M1 1h7v7H1zM8 8h7v7H8z" fill="currentColor" opacity=".75"/><path d="M8 1h7v7H8zM1 8h7v7H1z" fill="currentColor" opacity=".3"/>`;
    default:
      return html`<rect x="1.5" y="1.5" width="13" height="13" rx="2" fill="${color}" fill-opacity=".45" stroke="${color}"/>`;
  }
}

/** Map of a collection without a known position on Earth, drawn in its own plane. */
export function planeFigure(baseUrl: string, collection: Collection, colors?: PageColors): Markup {
  const map = `${baseUrl}/ogc/maps/collections/${collection.layerId}/map?f=png&width=${PICTURE_WIDTH}`;
  const picture = withColors(map, colors);
  return html`<figure class="map-figure plane"><img class="map-picture" src="${picture}" alt="Map of ${collection.title} in its own plane">
<figcaption>Drawn in a local CRS; the position on Earth is unknown.</figcaption></figure>`;
}

const PICTURE_WIDTH = 1024;

/** A rendered map of a collection for readers without scripts. Its height follows from its extent. */
export function mapPicture(baseUrl: string, collection: Collection, colors?: PageColors): string | undefined {
  const box = collection.extent84;
  if (!box || !isDrawable(collection)) return undefined;
  const middle = ((box[1] + box[3]) / 2) * (Math.PI / 180);
  const width = (box[0] > box[2] ? box[2] + 360 - box[0] : box[2] - box[0]) * Math.max(0.2, Math.cos(middle));
  const ratio = width > 0 ? (box[3] - box[1]) / width : 1;
  const height = Math.round(PICTURE_WIDTH * Math.min(1, Math.max(0.25, ratio)));
  const map = `${baseUrl}/ogc/maps/collections/${collection.layerId}/map?f=png&crs=CRS84`;
  return withColors(`${map}&width=${PICTURE_WIDTH}&height=${height}`, colors);
}
