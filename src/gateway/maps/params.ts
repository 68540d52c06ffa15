import { Color } from '@maplibre/maplibre-gl-style-spec';
import type { MapSettings } from '../../core/catalog/layer-settings.js';
import { badParameter } from '../../core/errors/errors.js';
import {
  type Format,
  JPEG_FORMAT,
  PNG_FORMAT,
  TIFF_FORMAT,
  takesAny,
  WEBP_FORMAT,
} from '../../core/http/media.js';
import type { Exchange } from '../../core/http/operation.js';
import {
  bboxParam,
  datetimeParam,
  defineIntegerParam,
  definePositiveNumberParam,
  defineTextParam,
  flag,
  numberedCollectionParam,
} from '../../core/http/params.js';
import { LIMITS } from '../../core/kit/limits.js';
import { lookParams } from '../../core/rasters/look-params.js';
import { hexColor } from '../../core/styles/hex-color.js';
import { dpiToScaleFactor, PIXEL_MM } from '../../services/maps/request.js';
import { crsParam } from '../surface/crs-params.js';

/** Definitions that operations of maps share. */

export const MAPS_PATH = '/ogc/maps';
export const MAP_OPERATION = {
  surface: 'maps',
  protocol: 'OGC-Maps',
  permission: 'public',
  method: 'GET',
} as const;

export const IMAGES = [PNG_FORMAT, JPEG_FORMAT, TIFF_FORMAT, WEBP_FORMAT];
const side = { min: 1, max: LIMITS.mapSide, default: undefined };

/** Symbols are drawn at most that many times larger, or smaller, than in a map of such pixels. */
const MAX_SCALE = 8;
export const mapCollectionParam = numberedCollectionParam;

const TRANSPARENT = flag(
  'transparent',
  true,
  'Whether the background is transparent (PNG and WebP). The service may say otherwise where this is absent.',
);

export const mapQuery = {
  bbox: bboxParam,
  bboxCrs: crsParam('bbox-crs', 'CRS of the numbers in bbox.'),
  crs: crsParam('crs', 'CRS of the map.'),
  width: defineIntegerParam('width', side, { description: 'Width in pixels.' }),
  height: defineIntegerParam('height', side, { description: 'Height in pixels.' }),
  quality: defineIntegerParam(
    'quality',
    { min: 1, max: 100, default: undefined },
    { description: 'Quality of JPEG and WebP.' },
  ),
  datetime: datetimeParam,
  scaleDenominator: definePositiveNumberParam(
    'scale-denominator',
    'Scale of the map, which gives its size: not together with width or height.',
  ),
  mmPerPixel: scaled(
    'mm-per-pixel',
    `Millimetres of a pixel where the map is shown, ${PIXEL_MM} by default: symbols are as large in all.`,
    (mm) => PIXEL_MM / mm,
  ),
  dpi: scaled('dpi', 'The same as pixels per inch.', dpiToScaleFactor),
  scale: scaled('scale', 'The same as a factor: 2 for a display of twice the pixels.', (factor) => factor),
  ...lookParams,
  transparent: {
    ...TRANSPARENT,
    parse: (raw: string | undefined) => (raw === undefined ? undefined : TRANSPARENT.parse(raw)),
  },
  bgcolor: {
    ...defineTextParam('bgcolor', { description: 'Background as 0xRRGGBB, or the name of a CSS colour.' }),
    parse(raw: string | undefined) {
      if (raw === undefined) return undefined;
      const hex = /^(?:0x|#)?([0-9a-f]{6})$/i.exec(raw)?.[1];
      const color = hex === undefined ? namedColor(raw) : `#${hex.toLowerCase()}`;
      if (color === undefined)
        throw badParameter(
          'bgcolor',
          `'${raw.slice(0, 40)}' is not a colour. Use 0xRRGGBB or a CSS name such as white`,
        );
      return color;
    },
  },
};

/** `#rrggbb` of a colour name of CSS; undefined for other words. */
function namedColor(name: string): string | undefined {
  const color = /^[a-z]+$/i.test(name) ? Color.parse(name.toLowerCase()) : undefined;
  if (color?.a !== 1) return undefined;
  return hexColor([color.r, color.g, color.b].map((part) => Math.round(part * 255)));
}

const IMAGE_CONTENT = Object.fromEntries(IMAGES.map(({ mediaType }) => [mediaType, null]));

export const RESPONSES = {
  200: { description: 'Map', content: IMAGE_CONTENT },
  206: { description: 'Part of the map', content: IMAGE_CONTENT },
  400: { description: 'A parameter is invalid' },
  402: { description: 'The licence does not cover maps with datetime' },
  404: { description: 'The collection does not exist or cannot be drawn' },
  416: { description: 'The range is outside of the map' },
};

/** A parameter for the size of pixels. Its value is the factor by which symbols are enlarged, in pixels. */
function scaled(name: string, description: string, factorOf: (value: number) => number) {
  const param = definePositiveNumberParam(name, description);
  return {
    ...param,
    parse(raw: string | undefined) {
      const value = param.parse(raw);
      if (value === undefined) return undefined;
      const factor = factorOf(value);
      if (factor > MAX_SCALE || factor < 1 / MAX_SCALE)
        throw badParameter(name, `must scale symbols by at most ${MAX_SCALE} in either direction`);
      return factor;
    },
  };
}

const DEFAULT_FORMATS = { png: PNG_FORMAT, jpg: JPEG_FORMAT, webp: WEBP_FORMAT } as const;

/** The requested format, or the default of the service if the client accepts any format. */
export function mapFormat(x: Exchange, { defaultFormat }: Pick<MapSettings, 'defaultFormat'>): Format {
  const f = new URLSearchParams(x.query).get('f') ?? undefined;
  return takesAny(f, x.header('accept')) ? DEFAULT_FORMATS[defaultFormat] : x.format;
}
