import { hasStoredTiles, hasVectorTiles } from '../../../core/catalog/abilities.js';
import type { Collection } from '../../../core/catalog/collection.js';
import type { Box } from '../../../core/geometry/box.js';
import { escapeHtml } from '../../../core/values/html.js';
import {
  findImageTileFormat,
  libraryUrl,
  literal,
  type Snippet,
  type SnippetSubject,
  STYLE_MARK,
  tilesUrl,
} from './snippet.js';

/** Whole pages for the map libraries of browsers. */
export function webSnippets(subject: SnippetSubject): Snippet[] {
  if (subject.collection.storageCrs.isPlane) return [];
  return [mapLibre(subject), openLayers(subject), leaflet(subject)].filter((one) => one !== undefined);
}

const INTRO = 'Save the code as an .html file and open it in a browser.';

function mapLibre(subject: SnippetSubject): Snippet {
  const { collection } = subject;
  const [west, south, east, north] = unrolled(collection);
  return {
    id: 'maplibre',
    title: 'MapLibre',
    intro: INTRO,
    language: 'html',
    code: htmlPage(collection.title, libraryUrl('maplibre-gl', 'maplibre-gl.css'), [
      '<script type="module">',
      `  import * as maplibregl from ${literal(libraryUrl('maplibre-gl', 'maplibre-gl.mjs'))};`,
      '  const map = new maplibregl.Map({',
      "    container: 'map',",
      `    style: ${style(subject)},`,
      `    bounds: [${[west, Math.max(south, -85), east, Math.min(north, 85)].join(', ')}],`,
      '  });',
      '  map.addControl(new maplibregl.NavigationControl());',
      '</script>',
    ]),
  };
}

/** The style of the collection, or one of its tiles in the colours that the reader chose. */
function style(subject: SnippetSubject): string {
  if (!subject.colors?.query) return literal(styleUrl(subject));
  const source = `{ type: 'raster', tileSize: 256, tiles: [${literal(tilesUrl(subject, 'png'))}] }`;
  return `{ version: 8, sources: { data: ${source} }, layers: [{ id: 'data', type: 'raster', source: 'data' }] }`;
}

function styleUrl({ baseUrl, collection }: SnippetSubject): string {
  if (hasStoredTiles(collection))
    return `${baseUrl}/ogc/maps/styles/default?f=mapbox&collections=${encodeURIComponent(collection.id)}`;
  return `${baseUrl}/ogc/maps/collections/${collection.layerId}/styles/${STYLE_MARK}?f=mapbox`;
}

function openLayers(subject: SnippetSubject): Snippet {
  const { collection } = subject;
  const layer = hasVectorTiles(collection)
    ? [
        '  const layer = new ol.layer.VectorTile({',
        '    source: new ol.source.VectorTile({',
        '      format: new ol.format.MVT(),',
        `      url: ${literal(tilesUrl(subject, 'mvt'))},`,
        '      maxZoom: 16,',
        '    }),',
        '  });',
      ]
    : [
        '  const layer = new ol.layer.Tile({',
        `    source: new ol.source.XYZ({ url: ${literal(tilesUrl(subject, findImageTileFormat(collection)!))} }),`,
        '  });',
      ];
  return {
    id: 'openlayers',
    title: 'OpenLayers',
    intro: INTRO,
    language: 'html',
    code: htmlPage(
      collection.title,
      `https://unpkg.com/${/ol@[\d.]+/.exec(libraryUrl('ol', ''))![0]}/ol.css`,
      [
        `<script src="${libraryUrl('ol', 'ol.js')}"></script>`,
        '<script>',
        ...layer,
        "  const map = new ol.Map({ target: 'map', layers: [layer] });",
        `  const extent = ol.proj.transformExtent([${mercatorBox(collection).join(', ')}], 'EPSG:4326', 'EPSG:3857');`,
        '  map.getView().fit(extent);',
        '</script>',
      ],
    ),
  };
}

function leaflet(subject: SnippetSubject): Snippet | undefined {
  const { collection } = subject;
  const format = findImageTileFormat(collection);
  if (format === undefined) return undefined;
  const [west, south, east, north] = mercatorBox(collection);
  return {
    id: 'leaflet',
    title: 'Leaflet',
    intro: INTRO,
    language: 'html',
    code: htmlPage(collection.title, libraryUrl('leaflet', 'leaflet.css'), [
      `<script src="${libraryUrl('leaflet', 'leaflet.js')}"></script>`,
      '<script>',
      "  const map = L.map('map');",
      `  L.tileLayer(${literal(tilesUrl(subject, format))}, { attribution: ${literal(escapeHtml(collection.title))} }).addTo(map);`,
      `  map.fitBounds([[${south}, ${west}], [${north}, ${east}]]);`,
      '</script>',
    ]),
  };
}

function htmlPage(title: string, styleSheet: string, body: readonly string[]): string {
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escapeHtml(title)}</title>`,
    `<link rel="stylesheet" href="${styleSheet}">`,
    '<style>html, body, #map { height: 100%; margin: 0 }</style>',
    '<div id="map"></div>',
    ...body,
    '</html>',
    '',
  ].join('\n');
}

/** Longitudes that increase from west to east, also across the antimeridian. */
function unrolled({ extent84 = [-180, -85, 180, 85] }: Collection): Box {
  const [west, south, east, north] = extent84;
  return [west, south, east < west ? east + 360 : east, north];
}

/** The part of the extent that Web Mercator can show. */
function mercatorBox(collection: Collection): Box {
  const [west, south, east, north] = unrolled(collection);
  return [west, Math.max(south, -85), east, Math.min(north, 85)];
}
