import type { CatalogSnapshot } from '../../../core/catalog/collection.js';
import { unreadLayer } from '../../../core/catalog/unread.js';
import { badParameter } from '../../../core/errors/errors.js';
import type { Box } from '../../../core/geometry/box.js';
import type { Crs } from '../../../core/geometry/crs.js';
import { JPEG_FORMAT, PNG_FORMAT, TIFF_FORMAT, WEBP_FORMAT } from '../../../core/http/media.js';
import { defineOperation, type Exchange, type Operation, type Reply } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { LEGEND_ZOOM } from '../../../core/maps/legend/entries.js';
import { escapeHtml } from '../../../core/values/html.js';
import { mapSettings } from '../../../services/catalog/layers/map-settings.js';
import { legendPng, listLegendLines } from '../../../services/maps/legend.js';
import type { MapWindow } from '../../../services/maps/window.js';
import { inSpan } from '../../../services/telemetry/spans.js';
import { drawLayers } from '../maps/map-export.js';
import { joinResults } from '../maps/map-features.js';
import { identified } from '../maps/map-identify.js';
import { type DrawnLayer, listMapLayers, type MapDeps, numberedLayers } from '../maps/map-layers.js';
import { type Members, readFlagMember, readTextMember, wholeNumber } from '../members.js';
import {
  crsNamed,
  parseOgcParameters,
  readOgcRequest,
  readPixelCount,
  requireFormat,
  xmlFailure,
  xmlReply,
} from './ogc-requests.js';
import {
  CAPABILITIES_TYPES,
  INFO_FORMATS,
  negotiateWmsVersion,
  WMS_FORMATS,
  type WmsVersion,
  wmsCapabilities,
  wmsException,
} from './wms-capabilities.js';

const MAX_TEXT = 8000;
const FORMATS = {
  'image/png': PNG_FORMAT,
  'image/jpeg': JPEG_FORMAT,
  'image/webp': WEBP_FORMAT,
  'image/tiff': TIFF_FORMAT,
};
/** Pixels around a place in which features count. */
const TOLERANCE = '3';

/** Map services as WMS 1.3.0 and 1.1.1; layers have their numbers as names. */
export function wmsOperation(deps: MapDeps): Operation {
  return defineOperation({
    surface: 'geoservices',
    protocol: 'MapServer',
    permission: 'public',
    method: 'GET',
    tag: 'MapServer',
    openQuery: true,
    takesToken: true,
    id: 'geoservices.wms',
    summary: 'A map service as WMS',
    path: '/rest/services/{serviceId}/MapServer/WMSServer',
    params: { serviceId: pathString('serviceId', 'Name of a service.') },
    responses: {
      200: { description: 'XML or an image', content: { 'text/xml': null, 'image/png': null } },
    },
    failure: xmlFailure('MapServer', 'wmsserver', wmsException),
    run(x): Reply | Promise<Reply> {
      const service = x.params.serviceId;
      const layers = listMapLayers(deps, x.principal, service);
      const pairs = parseOgcParameters(x.query);
      const name = readTextMember(pairs, 'SERVICE', 20) ?? 'WMS';
      if (name.toUpperCase() !== 'WMS')
        throw badParameter('SERVICE', `'${name}' is not the service at this URL. Use WMS`);
      const version = negotiateWmsVersion(pairs);
      switch (readOgcRequest(pairs, ['GetCapabilities', 'GetMap', 'GetFeatureInfo', 'GetLegendGraphic'])) {
        case 'GetCapabilities': {
          const address = `${x.baseUrl}${x.path}`;
          const document = wmsCapabilities({ name: service, address, layers }, version);
          return xmlReply(document, CAPABILITIES_TYPES[version]);
        }
        case 'GetMap':
          return map(x, deps, layers, pairs, version);
        case 'GetFeatureInfo':
          return inSpan(x.span, IDENTIFY_SPAN, () => featureInfo(x, deps, layers, pairs, version));
        case 'GetLegendGraphic':
          return legend(x, deps, layers, pairs);
      }
    },
  });
}

const IDENTIFY_SPAN = { name: 'svc.feature.identify', attributes: {} };

/** The lowest first. Throws 400 naming the parameter. */
function layersNamed(
  all: readonly DrawnLayer[],
  pairs: Members,
  name: string,
  catalog: CatalogSnapshot,
): DrawnLayer[] {
  const names = readTextMember(pairs, name, MAX_TEXT)?.split(',') ?? [];
  if (names.length === 0) throw badParameter(name, 'must name layers');
  if (names.length > LIMITS.collectionsPerRequest)
    throw badParameter(name, `must name at most ${LIMITS.collectionsPerRequest} layers`);
  return [...new Set(names)].map((one) => {
    const id = wholeNumber(name, one);
    return all.find(({ layerId }) => layerId === id) ?? noLayer(name, id, catalog);
  });
}

function noLayer(name: string, id: number, catalog: CatalogSnapshot): never {
  throw unreadLayer(catalog, id) ?? badParameter(name, `there is no layer ${id}`);
}

function requireDefaultStyles(pairs: Members, name: string): void {
  const styles = readTextMember(pairs, name, MAX_TEXT)?.split(',') ?? [];
  if (!styles.every((one) => one === '' || one === 'default'))
    throw badParameter(name, 'must be default, or empty');
}

function readWindow(layers: readonly DrawnLayer[], pairs: Members, version: WmsVersion): MapWindow {
  const { maxImageWidth, maxImageHeight } = mapSettings(layers[0]?.maps ?? {});
  const name = version === '1.3.0' ? 'CRS' : 'SRS';
  const crs = crsNamed(name, pairs[name]);
  const bbox = readBox(pairs, crs, version);
  const width = readPixelCount(pairs, 'WIDTH', [1, maxImageWidth]);
  return { bbox, crs, width, height: readPixelCount(pairs, 'HEIGHT', [1, maxImageHeight]) };
}

/** In the axis order of the CRS since 1.3.0. */
function readBox(pairs: Members, crs: Crs, version: WmsVersion): Box {
  const numbers = (readTextMember(pairs, 'BBOX', MAX_TEXT) ?? '')
    .split(',')
    .map((side) => (side.trim() ? Number(side) : NaN));
  if (numbers.length !== 4 || !numbers.every((side) => Math.abs(side) <= LIMITS.mapReach))
    throw badParameter('BBOX', 'must be minx,miny,maxx,maxy');
  const [a, b, c, d] = numbers as [number, number, number, number];
  const box: Box = version === '1.3.0' && crs.northFirst ? [b, a, d, c] : [a, b, c, d];
  if (!(box[0] < box[2] && box[1] < box[3]))
    throw badParameter('BBOX', 'must have a width and a height greater than 0');
  return box;
}

function map(
  x: Exchange,
  deps: MapDeps,
  all: readonly DrawnLayer[],
  pairs: Members,
  version: WmsVersion,
): Promise<Reply> | Reply {
  const layers = layersNamed(all, pairs, 'LAYERS', deps.visible(x.principal));
  requireDefaultStyles(pairs, 'STYLES');
  const color = readTextMember(pairs, 'BGCOLOR', 20);
  const [, hex] = /^0x([0-9a-f]{6})$/i.exec(color ?? '0xffffff') ?? [];
  if (hex === undefined) throw badParameter('BGCOLOR', 'must be 0xRRGGBB');
  const transparent = readFlagMember(pairs, 'TRANSPARENT', false);
  return drawLayers(x, deps, {
    layers: layers.reverse(),
    filters: new Map(),
    window: readWindow(layers, pairs, version),
    format: FORMATS[requireFormat(pairs, 'FORMAT', WMS_FORMATS) as keyof typeof FORMATS],
    dpi: 96,
    transparent,
    time: undefined,
    ...(transparent ? {} : { bgcolor: `#${hex}` }),
  });
}

async function featureInfo(
  x: Exchange,
  deps: MapDeps,
  all: readonly DrawnLayer[],
  pairs: Members,
  version: WmsVersion,
): Promise<Reply> {
  const layers = layersNamed(numberedLayers(all), pairs, 'QUERY_LAYERS', deps.visible(x.principal)).reverse();
  const format = requireFormat(pairs, 'INFO_FORMAT', INFO_FORMATS);
  const { bbox, crs, width, height } = readWindow(layers, pairs, version);
  const [column, row] = version === '1.3.0' ? ['I', 'J'] : ['X', 'Y'];
  const [i, j] = [
    readPixelCount(pairs, column!, [0, width - 1]),
    readPixelCount(pairs, row!, [0, height - 1]),
  ];
  const at = [
    bbox[0] + ((i + 0.5) / width) * (bbox[2] - bbox[0]),
    bbox[3] - ((j + 0.5) / height) * (bbox[3] - bbox[1]),
  ];
  const max = pairs['FEATURE_COUNT'] ? readPixelCount(pairs, 'FEATURE_COUNT', [1, 1000]) : 1;
  const results = await identified(
    x,
    deps,
    { layers, filters: new Map() },
    {
      geometry: at.join(),
      geometryType: 'esriGeometryPoint',
      sr: `${crs.epsg}`,
      tolerance: TOLERANCE,
      mapExtent: bbox.join(),
      imageDisplay: `${width},${height},96`,
      layers: 'all',
      returnGeometry: false,
    },
  );
  return infoReply(format, byLayer(JSON.parse(`[${joinResults(results)}]`), max));
}

/** A result, of which attributes are text. */
interface Result {
  readonly layerName: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** Limits the results to the requested number for each layer. */
function byLayer(results: readonly Result[], max: number): Result[] {
  const counts = new Map<string, number>();
  return results.filter(({ layerName }) => {
    const count = (counts.get(layerName) ?? 0) + 1;
    counts.set(layerName, count);
    return count <= max;
  });
}

function infoReply(mediaType: string, results: readonly Result[]): Reply {
  return { status: 200, mediaType, body: infoText(mediaType, results), cacheControl: 'no-cache' };
}

function infoText(mediaType: string, results: readonly Result[]): string {
  if (mediaType === 'application/json') {
    const features = results.map(({ layerName, attributes: properties }) => ({
      type: 'Feature',
      geometry: null,
      layerName,
      properties,
    }));
    return JSON.stringify({ type: 'FeatureCollection', features });
  }
  const isHtml = mediaType === 'text/html';
  const parts = results.map(({ layerName, attributes }) => {
    const rows = Object.entries(attributes);
    if (!isHtml) return [`${layerName}:`, ...rows.map(([name, value]) => `  ${name} = ${value}`)].join('\n');
    const cells = rows.map(
      ([name, value]) => `<tr><th>${escapeHtml(name)}</th><td>${escapeHtml(value)}</td></tr>`,
    );
    return `<h2>${escapeHtml(layerName)}</h2><table>${cells.join('')}</table>`;
  });
  return isHtml ? `<!doctype html><meta charset="utf-8">${parts.join('')}` : `${parts.join('\n')}\n`;
}

async function legend(
  x: Exchange,
  deps: MapDeps,
  all: readonly DrawnLayer[],
  pairs: Members,
): Promise<Reply> {
  const [layer, ...others] = layersNamed(all, pairs, 'LAYER', deps.visible(x.principal));
  if (others.length > 0) throw badParameter('LAYER', 'must name one layer');
  requireDefaultStyles(pairs, 'STYLE');
  requireFormat(pairs, 'FORMAT', ['image/png']);
  const body = await legendPng(x, deps.pools, listLegendLines(layer!), { zoom: LEGEND_ZOOM, scale: 1 });
  return { status: 200, mediaType: PNG_FORMAT.mediaType, body, cacheControl: 'no-cache' };
}
