import type { RasterCollection } from '../../../core/catalog/collection.js';
import { badParameter } from '../../../core/errors/errors.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { Format } from '../../../core/http/media.js';
import type { Exchange, Operation, Reply } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import type { Resampling } from '../../../core/rasters/rasters.js';
import { styleLook } from '../../../core/styles/look.js';
import { timeRange } from '../../../services/geoservices/time.js';
import { drawMap } from '../../../services/maps/draw.js';
import type { MapWindow } from '../../../services/maps/window.js';
import { readCoverage } from '../../../services/rasters/read.js';
import { coverageReply } from '../../surface/coverage-reply.js';
import { mapReply } from '../../surface/map-reply.js';
import { common, readingOperation } from '../features/feature-server.js';
import { member } from '../features/query-members.js';
import { envelopeObject, layerCrs } from '../layer-documents.js';
import { exportAddress, MAP_EXPORT_FORMATS, NO_MAP_PARAMS } from '../maps/map-export.js';
import type { MapDeps } from '../maps/map-layers.js';
import { imageWindow, windowSettings } from '../maps/map-window.js';
import {
  type Members,
  readChoiceMember,
  readIntegerMember,
  readIntegersMember,
  readTextMember,
} from '../members.js';
import { IMAGE_FORMATS, imageBox } from './image-documents.js';
import { requireImage, ruled } from './image-layers.js';
import { jsonReply } from './in-band.js';
import { type ImageRendering, parseRenderingRule } from './rendering-rule.js';

const MAX_TEXT = 1000;

const params = {
  bbox: member('bbox', 'xmin,ymin,xmax,ymax. Default: the extent of the raster.'),
  bboxSR: member('bboxSR', 'Spatial reference of bbox. Default: that of the raster.'),
  size: member('size', 'width,height in pixels. Default: 400,400.'),
  imageSR: member('imageSR', 'Spatial reference of the image. Default: that of bbox.'),
  format: member(
    'format',
    `${IMAGE_FORMATS.join(', ')}. Default: jpgpng. tiff and lerc have the values themselves.`,
  ),
  bandIds: member('bandIds', 'Bands, counted from 0.'),
  noData: member('noData', 'Value that is transparent.'),
  interpolation: member('interpolation', 'Resampling method for tiff and lerc, such as RSP_NearestNeighbor.'),
  compressionTolerance: member('compressionTolerance', 'By how much values of lerc may be off. Default: 0.'),
  lercVersion: member('lercVersion', 'Version of LERC: 1 or 2. The server uses 1 if pixels have no value.'),
  compressionQuality: member('compressionQuality', 'Quality of jpg and webp, 1 to 100.'),
  time: member('time', 'Milliseconds since 1970, or start,end.'),
  mosaicRule: member('mosaicRule', 'esriMosaicNone or esriMosaicLockRaster, as JSON.'),
  renderingRule: member('renderingRule', 'Raster functions as JSON: Stretch, Colormap, NDVI and others.'),
};

/** Images and pixel values of image services. */
export function exportImageOperations(deps: MapDeps): Operation[] {
  return readingOperation({
    about: common('ImageServer', 'exportImage', 'ImageServer'),
    name: 'exportImage',
    params,
    path: '/rest/services/{serviceId}/ImageServer/exportImage',
    pathParams: { serviceId: pathString('serviceId', 'Identifier of a collection of rasters.') },
    summary: 'Export an image',
    run(x, { serviceId }, members) {
      const collection = requireImage(deps, x.principal, serviceId!);
      const request = imageRequest(collection, members);
      if (request.answer === 'image')
        return request.encoding ? values(x, deps, request) : draw(x, deps, request);
      const { bbox, crs, width, height } = request.window;
      const extent = envelopeObject(bbox, crs);
      return jsonReply({ href: exportAddress(x, members), width, height, extent, scale: 0 }, request.answer);
    },
  });
}

interface ImageRequest {
  readonly answer: 'image' | 'json' | 'pjson';
  readonly collection: RasterCollection;
  readonly window: MapWindow;
  readonly format: Format;
  /** Encoding of pixel values. */
  readonly encoding: 'geotiff' | 'lerc' | undefined;
  readonly tolerance: number;
  readonly lercVersion?: 1;
  readonly bands: number[] | undefined;
  readonly nodata: number | undefined;
  readonly resampling: Resampling | undefined;
  readonly quality: number | undefined;
  readonly datetime: ReturnType<typeof timeRange>;
  readonly rendering: ImageRendering;
}

const RESAMPLINGS = {
  RSP_NearestNeighbor: 'nearest',
  RSP_BilinearInterpolation: 'bilinear',
  RSP_CubicConvolution: 'cubic',
  RSP_Majority: 'mode',
} as const;

function imageRequest(collection: RasterCollection, members: Members): ImageRequest {
  const own = layerCrs(collection);
  const whole = imageBox(collection, own);
  const format = readChoiceMember(members, 'format', { values: IMAGE_FORMATS, fallback: 'jpgpng' });
  const names = Object.keys(RESAMPLINGS) as (keyof typeof RESAMPLINGS)[];
  const resampling = members['interpolation']
    ? RESAMPLINGS[readChoiceMember(members, 'interpolation', { values: names, fallback: names[0]! })]
    : undefined;
  const quality = readIntegerMember(members, 'compressionQuality');
  if (quality !== undefined && (quality < 1 || quality > 100))
    throw badParameter('compressionQuality', 'must be an integer from 1 to 100');
  const encoding = format === 'tiff' ? 'geotiff' : format === 'lerc' ? 'lerc' : undefined;
  const version = readChoiceMember(members, 'lercVersion', { values: ['1', '2'], fallback: '2' });
  const bands = listBands(collection, members);
  if (!encoding && bands !== undefined && bands.length !== 1 && bands.length !== 3)
    throw badParameter('bandIds', 'must be one band or three for an image');
  return {
    answer: readChoiceMember(members, 'f', { values: ['image', 'json', 'pjson'], fallback: 'image' }),
    collection: ruled(collection, members),
    window: imageWindow(members, { own, whole, settings: windowSettings(collection.maps) }),
    format: MAP_EXPORT_FORMATS[format === 'lerc' ? 'tiff' : format],
    tolerance: readDecimal(members, 'compressionTolerance') ?? 0,
    ...(version === '1' ? { lercVersion: 1 as const } : {}),
    encoding,
    bands,
    resampling,
    quality,
    nodata: readDecimal(members, 'noData'),
    datetime: timeRange(readTextMember(members, 'time', MAX_TEXT)),
    rendering: parseRenderingRule(collection, members),
  };
}

/** Counted from 1. */
function listBands({ bands }: RasterCollection, members: Members): number[] | undefined {
  const ids = readIntegersMember(members, 'bandIds', MAX_TEXT);
  if (ids?.some((id) => id >= bands.length))
    throw badParameter('bandIds', `must be bands from 0 to ${bands.length - 1}`);
  return ids?.map((id) => id + 1);
}

function readDecimal(members: Members, name: 'noData' | 'compressionTolerance'): number | undefined {
  const text = readTextMember(members, name, MAX_TEXT);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isFinite(value) || (name === 'compressionTolerance' && value < 0))
    throw badParameter(name, name === 'noData' ? 'must be one number' : 'must be a number of at least 0');
  return value;
}

async function draw(x: Exchange, deps: MapDeps, request: ImageRequest): Promise<Reply> {
  const { collection, window, format, bands, nodata, quality, datetime, rendering } = request;
  const { look, style } = rendering;
  if (style && (bands ?? nodata ?? Object.keys(look)[0]) !== undefined)
    throw badParameter(
      'renderingRule',
      'has a relief, which cannot be combined with bands, colours and values',
    );
  const shown = style ? { ...collection, style: { version: 0, layers: style } } : collection;
  const usual = { ...NO_MAP_PARAMS, quality, datetime, transparent: true, dpi: undefined };
  if (Object.keys(look).length === 0 && isInStyle(shown, bands, nodata))
    return mapReply(x, await drawMap(x, deps, [shown], usual, { window, format, nodata }));
  const query = {
    ...usual,
    ...look,
    ...(bands ? { bands } : {}),
    ...(nodata === undefined ? {} : { nodata }),
  };
  return mapReply(x, await drawMap(x, deps, [shown], query, { window, format }));
}

/**
 * Whether the style of the raster shows these bands and can omit a value. Other bands are drawn without a no-data
 * value.
 */
function isInStyle(
  { bands: all, style }: RasterCollection,
  bands: readonly number[] | undefined,
  nodata: number | undefined,
): boolean {
  const hasRelief = style.layers.some(({ type }) => type === 'hillshade');
  if (nodata !== undefined && hasRelief) return false;
  if (bands === undefined || (all.length === 1 && bands.length === 1)) return true;
  const looks = style.layers.map(styleLook);
  return !hasRelief && looks.length > 0 && looks.every((look) => look?.bands?.join() === bands.join());
}

/** The values of the window as a GeoTIFF or LERC. */
async function values(x: Exchange, { pools }: MapDeps, request: ImageRequest): Promise<Reply> {
  const { collection, window, bands, resampling, datetime, encoding, tolerance, lercVersion } = request;
  if (request.rendering.style ?? Object.keys(request.rendering.look)[0])
    throw badParameter('renderingRule', 'is only for images. tiff and lerc have the values of the raster');
  const { bbox, crs, width, height } = window;
  try {
    const { result } = await readCoverage(x, pools, collection, {
      datetime,
      place: { bbox, bboxCrs: crs },
      crs,
      bands,
      resampling,
      scaling: { size: [width, height] },
      isWhole: true,
      format: encoding!,
      tolerance,
      lercVersion,
    });
    return await coverageReply(result);
  } catch (error) {
    if (error instanceof TaskFailure && error.code === 'no-data')
      throw badParameter('bbox', 'must intersect the raster');
    throw error;
  }
}
