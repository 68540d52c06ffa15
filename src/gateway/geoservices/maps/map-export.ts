import { hasCoverage } from '../../../core/catalog/abilities.js';
import type { CatalogSnapshot } from '../../../core/catalog/collection.js';
import { badParameter } from '../../../core/errors/errors.js';
import { type Format, JPEG_FORMAT, PNG_FORMAT, TIFF_FORMAT, WEBP_FORMAT } from '../../../core/http/media.js';
import type { Exchange, Operation, Reply } from '../../../core/http/operation.js';
import { pathString, type TimeRange } from '../../../core/http/params.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { describeCrs } from '../../../native/index.js';
import { timeRange } from '../../../services/geoservices/time.js';
import { drawMap } from '../../../services/maps/draw.js';
import type { MapRequest } from '../../../services/maps/request.js';
import type { MapWindow } from '../../../services/maps/window.js';
import { blankImage } from '../../../services/tiles/blank.js';
import { mapReply } from '../../surface/map-reply.js';
import { common, readingOperation } from '../features/feature-server.js';
import { member } from '../features/query-members.js';
import { jsonReply } from '../images/in-band.js';
import { envelopeObject, extentIn } from '../layer-documents.js';
import {
  type Members,
  readChoiceMember,
  readFlagMember,
  readIntegerMember,
  readTextMember,
} from '../members.js';
import { type MapChoice, mapChoice } from './map-choice.js';
import { MAP_SERVER_FORMATS } from './map-documents.js';
import { type DrawnLayer, listMapLayers, type MapDeps } from './map-layers.js';
import { imageWindow, MAP_CRS, windowSettings } from './map-window.js';
import { resolutionToScale } from './tile-info.js';

const MAX_TEXT = 200;
const DPI = 96;
const MAX_DPI = 768;

export const MAP_EXPORT_FORMATS: Readonly<Record<(typeof MAP_SERVER_FORMATS)[number], Format>> = {
  png: PNG_FORMAT,
  png8: PNG_FORMAT,
  png24: PNG_FORMAT,
  png32: PNG_FORMAT,
  jpg: JPEG_FORMAT,
  jpgpng: PNG_FORMAT,
  webp: WEBP_FORMAT,
  tiff: TIFF_FORMAT,
};

const params = {
  bbox: member('bbox', 'xmin,ymin,xmax,ymax. Default: the extent of all layers.'),
  bboxSR: member('bboxSR', 'Spatial reference of bbox. Default: Web Mercator.'),
  size: member('size', 'width,height in pixels. Default: the default size of the service, else 400,400.'),
  imageSR: member('imageSR', 'Spatial reference of the image. Default: that of bbox.'),
  format: member(
    'format',
    `${MAP_SERVER_FORMATS.join(', ')}. Default: the format of the service, which is png without a setting.`,
  ),
  layers: member('layers', 'show:, hide:, include: or exclude:, followed by layer numbers.'),
  layerDefs: member('layerDefs', 'SQL conditions by layer number, such as {"0":"a > 1"}.'),
  time: member('time', 'Milliseconds since 1970, or start,end.'),
  transparent: member('transparent', 'Default: false.'),
  dpi: member('dpi', `Default: ${DPI}, ${MAX_DPI} at most.`),
  dynamicLayers: member('dynamicLayers', 'Layers with their own conditions and styles, as JSON.'),
};

/** Unsupported parameters that would change the image. */
const UNSUPPORTED = ['rotation', 'layerTimeOptions', 'mapScale', 'gdbVersion', 'clipping', 'mapRangeValues'];

/** Maps of the layers of a service. */
export function exportOperations(deps: MapDeps): Operation[] {
  return readingOperation({
    about: common('MapServer', 'export', 'MapServer'),
    name: 'mapExport',
    params,
    path: '/rest/services/{serviceId}/MapServer/export',
    pathParams: { serviceId: pathString('serviceId', 'Name of a service.') },
    summary: 'A map of a service',
    run(x, { serviceId }, members) {
      const all = listMapLayers(deps, x.principal, serviceId!);
      requireSupported(members);
      const request = exportRequest(all, members, deps.visible(x.principal));
      if (request.answer === 'image') return drawLayers(x, deps, request);
      return jsonReply(buildDocument(x, request, members), request.answer);
    },
  });
}

interface ExportRequest extends LayerMapRequest {
  readonly answer: 'image' | 'json' | 'pjson';
}

export interface LayerMapRequest extends MapChoice {
  readonly window: MapWindow;
  readonly format: Format;
  readonly dpi: number;
  readonly transparent: boolean;
  readonly bgcolor?: string;
  readonly time: TimeRange | undefined;
}

function requireSupported(members: Members): void {
  const says = (name: string) => !['', '0', '{}', undefined, null].includes(members[name] as string);
  const name = UNSUPPORTED.find(says);
  if (name !== undefined) throw badParameter(name, 'is not supported');
}

function exportRequest(
  all: readonly DrawnLayer[],
  members: Members,
  catalog: CatalogSnapshot,
): ExportRequest {
  const extent = extentIn(all, MAP_CRS);
  const maps = all.at(-1)?.maps;
  const format = readChoiceMember(members, 'format', {
    values: MAP_SERVER_FORMATS,
    fallback: maps?.defaultFormat ?? 'png',
  });
  const dpi = readIntegerMember(members, 'dpi') ?? DPI;
  if (dpi < 1 || dpi > MAX_DPI) throw badParameter('dpi', `must be from 1 to ${MAX_DPI}`);
  return {
    ...mapChoice(all, members, catalog),
    answer: readChoiceMember(members, 'f', { values: ['image', 'json', 'pjson'], fallback: 'image' }),
    window: imageWindow(members, {
      own: MAP_CRS,
      settings: windowSettings(maps),
      whole: extent ? [extent.xmin!, extent.ymin!, extent.xmax!, extent.ymax!] : undefined,
    }),
    format: MAP_EXPORT_FORMATS[format],
    dpi,
    transparent: readFlagMember(members, 'transparent', maps?.defaultTransparent ?? false),
    time: timeRange(readTextMember(members, 'time', MAX_TEXT)),
  };
}

/** Parameters of OGC API Maps, which do not exist here, without values. */
export const NO_MAP_PARAMS = {
  bbox: undefined,
  bboxCrs: undefined,
  crs: undefined,
  width: undefined,
  height: undefined,
  scaleDenominator: undefined,
  mmPerPixel: undefined,
  scale: undefined,
  quality: undefined,
  datetime: undefined,
  bgcolor: undefined,
  expression: undefined,
  rescale: undefined,
  colormap: undefined,
  bands: undefined,
  nodata: undefined,
};

/** Draws an image of layers, given top layer first. */
export async function drawLayers(x: Exchange, deps: MapDeps, drawing: LayerMapRequest): Promise<Reply> {
  const { layers, filters, window, format, dpi, transparent, bgcolor, time } = drawing;
  const blank = layers.length === 0 && blankImage(format, window.width, window.height);
  if (blank) return { status: 200, mediaType: format.mediaType, body: blank, cacheControl: 'no-cache' };
  // Features are narrowed by their filters.
  const datetime = layers.some(hasCoverage) ? time : undefined;
  const query: MapRequest = { ...NO_MAP_PARAMS, transparent, bgcolor, datetime, dpi: dpi / DPI };
  return mapReply(x, await drawMap(x, deps, [...layers].reverse(), query, { window, format, filters }));
}

/** URL and extent of the image, which the client then loads. */
function buildDocument(x: Exchange, { window, dpi }: ExportRequest, members: Members) {
  const { bbox, crs, width, height } = window;
  const metres = ((bbox[2] - bbox[0]) / width) * describeCrs(crs.proj).metresPerUnit;
  return {
    href: exportAddress(x, members),
    width,
    height,
    extent: envelopeObject(bbox, crs),
    scale: resolutionToScale(metres, dpi),
  };
}

/** URL of the same image. */
export function exportAddress(x: Exchange, members: Members): string {
  const query = new URLSearchParams();
  // The token is omitted, because URLs are logged. Clients that load the image send their own credentials.
  const { token: _, ...shown } = members;
  for (const [name, value] of Object.entries({ ...shown, f: 'image' }))
    query.set(name, typeof value === 'string' ? value : JSON.stringify(value));
  const address = `${x.path}?${query}`;
  if (address.length > LIMITS.urlBytes)
    throw badParameter('f', 'must be image, because the URL of the image would be too long');
  return `${x.baseUrl}${address}`;
}
