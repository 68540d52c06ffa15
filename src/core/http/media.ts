import { ApiError, badParameter } from '../errors/errors.js';
import { shorten } from '../errors/field-errors.js';
import { listNames } from '../errors/near-names.js';

/** Representation of a resource, selected by `f=name` or by one of its media types in Accept. */
export interface Format {
  /** Value of the `f` parameter. */
  readonly name: string;
  /** Media type of the response. */
  readonly mediaType: string;
  /** Further names that `f` accepts. */
  readonly aliases?: readonly string[];
  /** Further media types that Accept may name. */
  readonly accepts?: readonly string[];
}

export const JSON_FORMAT: Format = { name: 'json', mediaType: 'application/json' };
export const HTML_FORMAT: Format = { name: 'html', mediaType: 'text/html; charset=utf-8' };
export const XML_FORMAT: Format = { name: 'xml', mediaType: 'application/xml', accepts: ['text/xml'] };
export const GEOJSON_FORMAT: Format = {
  name: 'json',
  aliases: ['geojson'],
  mediaType: 'application/geo+json',
  accepts: ['application/json'],
};
export const SCHEMA_FORMAT: Format = {
  name: 'json',
  aliases: ['schemajson', 'schema+json'],
  mediaType: 'application/schema+json',
  accepts: ['application/json'],
};
export const MVT_FORMAT: Format = {
  name: 'mvt',
  mediaType: 'application/vnd.mapbox-vector-tile',
  accepts: ['application/x-protobuf'],
};
/** MapLibre Tile. */
export const MLT_FORMAT: Format = { name: 'mlt', mediaType: 'application/vnd.maplibre-tile' };
export const PNG_FORMAT: Format = { name: 'png', mediaType: 'image/png', aliases: ['image/png'] };
export const JPEG_FORMAT: Format = { name: 'jpeg', mediaType: 'image/jpeg', aliases: ['jpg'] };
export const WEBP_FORMAT: Format = { name: 'webp', mediaType: 'image/webp' };

/** Encodings of vector tiles: what one shows, the other does. */
export const VECTOR_FORMATS: readonly Format[] = [MVT_FORMAT, MLT_FORMAT];
export const isVectorFormat = (format: Format) => VECTOR_FORMATS.includes(format);
export const SVG_FORMAT: Format = { name: 'svg', mediaType: 'image/svg+xml' };
export const TILEJSON_FORMAT: Format = { name: 'tilejson', mediaType: 'application/vnd.mapbox.tile+json' };
export const MAPBOX_STYLE_FORMAT: Format = {
  name: 'mapbox',
  mediaType: 'application/vnd.mapbox.style+json',
  accepts: ['application/json'],
};
export const SLD_FORMAT: Format = {
  name: 'sld11',
  mediaType: 'application/vnd.ogc.sld+xml;version=1.1',
  aliases: ['sld'],
  accepts: ['application/xml', 'text/xml'],
};
/** Georeferenced image (GeoTIFF). */
export const TIFF_FORMAT: Format = {
  name: 'tiff',
  mediaType: 'image/tiff; application=geotiff',
  aliases: ['tif', 'geotiff', 'image/tiff'],
};
export const GEOTIFF_FORMAT: Format = {
  name: 'geotiff',
  mediaType: 'image/tiff; application=geotiff',
  aliases: ['tiff', 'tif', 'image/tiff'],
  accepts: ['image/tiff'],
};

/** Media type of a link to this representation, without parameters for text encoding. */
export function linkType({ mediaType }: Format): string {
  return mediaType.replace(/; *(charset|header)=[^;]*/g, '');
}

/**
 * Selects the format of a response: `f` overrides Accept (OGC API Common, 7.5). Without Accept, or with `*`, the
 * first format is used. Throws 400 for an unknown `f`, and 406 if Accept matches no format.
 */
export function negotiate(
  f: string | undefined,
  accept: string | undefined,
  formats: readonly Format[],
  parameter = 'f',
): Format {
  const first = formats[0]!;
  if (takesAny(f, accept)) return first;
  if (f !== undefined) return formatByName(f, formats);
  const best = bestAccepted(accept!, formats);
  if (!best) {
    throw new ApiError(
      'not-acceptable',
      `Accept: '${shorten(accept!)}' matches none of the available formats. Use ${listNames(formats.map((o) => essence(o.mediaType)))}, or the parameter ${parameter}.`,
    );
  }
  return best;
}

/** Whether a client leaves the choice of a format to the server. */
export function takesAny(f: string | undefined, accept: string | undefined): boolean {
  return f === undefined && (!accept || accept === '*/*');
}

const HTML_OR_JSON = [JSON_FORMAT, HTML_FORMAT];

/** Whether a client wants HTML rather than JSON, as browsers do that open an address. */
export function asksForHtml(accept: string | undefined): boolean {
  return accept?.includes('text/html') === true && bestAccepted(accept, HTML_OR_JSON) === HTML_FORMAT;
}

function formatByName(f: string, formats: readonly Format[]): Format {
  const name = f.toLowerCase().replace(/ /g, '+');
  const format = formats.find((o) => o.name === name || o.aliases?.includes(name));
  if (format) return format;
  throw badParameter('f', `must be one of ${listNames(formatNames(formats))}`);
}

/** Every value that `f` may have for these formats. */
export function formatNames(formats: readonly Format[]): string[] {
  return formats.flatMap((o) => [o.name, ...(o.aliases ?? [])]);
}

function essence(mediaType: string): string {
  const end = mediaType.indexOf(';');
  return end < 0 ? mediaType : mediaType.slice(0, end).trim();
}

interface AcceptRange {
  type: string;
  q: number;
}

function parseAccept(accept: string): AcceptRange[] {
  const ranges: AcceptRange[] = [];
  for (const part of accept.slice(0, 1024).split(',')) {
    const [type, ...rest] = part.split(';');
    if (!type?.trim()) continue;
    const weight = rest.map((p) => p.trim()).find((p) => p.startsWith('q='));
    const q = weight ? Number(weight.slice(2)) : 1;
    ranges.push({ type: type.trim().toLowerCase(), q: Number.isFinite(q) ? q : 0 });
  }
  return ranges;
}

/** Quality of a media type: the most specific matching range decides (RFC 9110, 12.5.1). */
function quality(type: string, ranges: readonly AcceptRange[]): { q: number; exact: boolean } {
  const major = `${type.slice(0, type.indexOf('/'))}/*`;
  const exact = ranges.find((r) => r.type === type);
  if (exact) return { q: exact.q, exact: true };
  const range = ranges.find((r) => r.type === major) ?? ranges.find((r) => r.type === '*/*');
  return { q: range?.q ?? 0, exact: false };
}

function bestAccepted(accept: string, formats: readonly Format[]): Format | undefined {
  const ranges = parseAccept(accept);
  let best: Format | undefined;
  let bestScore = 0;
  for (const format of formats) {
    for (const type of [essence(format.mediaType), ...(format.accepts ?? [])]) {
      const { q, exact } = quality(type, ranges);
      // A named type beats a wildcard of the same weight: browsers send text/html and */* together.
      const score = q > 0 ? q + (exact ? 0.0001 : 0) : 0;
      if (score > bestScore) {
        bestScore = score;
        best = format;
      }
    }
  }
  return best;
}
