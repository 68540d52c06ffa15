import { hasFeatures } from '../../../core/catalog/abilities.js';
import type { Collection } from '../../../core/catalog/collection.js';
import type { Box } from '../../../core/geometry/box.js';
import type { StyleLayer } from '../../../core/styles/model.js';
import { sitePath } from '../layout.js';
import type { PageLink } from '../links.js';

/** Items of STAC as far as pages show them. All members come from files, so each can be missing. */

export interface Asset {
  readonly href: string;
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly roles?: readonly string[];
  readonly [member: string]: unknown;
}

export interface ItemDocument {
  readonly id: string;
  readonly collection?: string;
  readonly bbox?: readonly number[];
  readonly properties: Readonly<Record<string, unknown>>;
  readonly links?: readonly PageLink[];
  readonly assets?: Readonly<Record<string, Asset>>;
  readonly stac_extensions?: readonly string[];
}

/** Outlines of extents and footprints, which can cover each other. */
export const OUTLINES: readonly StyleLayer[] = outlineStyle(1);

/** Outlines that are so thin and transparent that many of them do not hide the map. */
export function outlineStyle(count: number): readonly StyleLayer[] {
  const [opacity, width] = [Math.min(0.08, 1 / count), count > 40 ? 0.6 : 1.6];
  return [
    { id: 'area', type: 'fill', paint: { 'fill-color': '#d9561c', 'fill-opacity': opacity } },
    {
      id: 'outline',
      type: 'line',
      paint: { 'line-color': '#d9561c', 'line-width': width, 'line-opacity': count > 40 ? 0.4 : 1 },
    },
  ];
}

/** Title of a collection in its own document. */
export function stacTitle(collection: Collection): string {
  const own = hasFeatures(collection) ? collection.stac?.['title'] : undefined;
  return typeof own === 'string' && own !== '' ? own : collection.title;
}

/** Years of items without a time, which match every time. */
const WITHOUT_TIME = '0001-01-01T00:00:00Z';

export function itemTitle({ id, properties }: ItemDocument): string {
  const { title } = properties;
  return typeof title === 'string' && title !== '' ? title : id;
}

/** The time of an item, or its first and last time. Undefined without a time. */
export function itemTime({ properties }: ItemDocument): string | undefined {
  const { datetime, start_datetime: start, end_datetime: end } = properties;
  if (typeof datetime === 'string') return formatTime(datetime);
  if (typeof start !== 'string' || typeof end !== 'string' || start === WITHOUT_TIME) return undefined;
  return `${formatTime(start)} to ${formatTime(end)}`;
}

/** `2026-11-30`, or `2026-11-30 06:40 UTC` for a time that is not midnight. */
export function formatTime(iso: string): string {
  const [day, time = ''] = iso.split('T');
  return /^00:00(:00(\.0+)?)?Z?$/.test(time) || time === '' ? day! : `${day} ${time.slice(0, 5)} UTC`;
}

/** Longitudes and latitudes of an item in two dimensions. */
export function itemBox({ bbox }: ItemDocument): Box | undefined {
  if (!bbox?.every((value) => typeof value === 'number')) return undefined;
  if (bbox.length === 4) return bbox as unknown as Box;
  return bbox.length === 6 ? [bbox[0]!, bbox[1]!, bbox[3]!, bbox[4]!] : undefined;
}

const WEB_IMAGE = /^image\/(png|jpe?g|webp|gif|svg\+xml)\b/i;

/** Whether browsers display the asset, and this server sends it. Pages load nothing from other servers. */
export function isPreviewable({ href, type }: Asset, baseUrl: string): boolean {
  return href.startsWith(`${baseUrl}/`) && WEB_IMAGE.test(type ?? '');
}

/** Path of a small image of an item, if this server has one. */
export function findThumbnail(
  { assets = {} }: ItemDocument,
  baseUrl: string,
  width: number,
): string | undefined {
  const images = Object.values(assets).filter((asset) => isPreviewable(asset, baseUrl));
  const withRole = (role: string) => images.find(({ roles }) => roles?.includes(role));
  const image = withRole('thumbnail') ?? withRole('overview') ?? images[0];
  if (!image) return undefined;
  const path = `${sitePath(baseUrl)}${image.href.slice(baseUrl.length)}`;
  return /\/ogc\/maps\//.test(path) ? `${path}&width=${width}` : path;
}

const TYPE_NAMES: readonly (readonly [RegExp, string])[] = [
  [/^image\/tiff.*cloud-optimized/, 'Cloud optimized GeoTIFF'],
  [/^image\/tiff/, 'GeoTIFF'],
  [/^image\/jp2/, 'JPEG 2000'],
  [/^image\/png/, 'PNG image'],
  [/^image\/jpe?g/, 'JPEG image'],
  [/^image\/webp/, 'WebP image'],
  [/netcdf/, 'netCDF'],
  [/hdf5/, 'HDF5'],
  [/geo\+json/, 'GeoJSON'],
  [/tile\+json/, 'TileJSON'],
  [/geopackage/, 'GeoPackage'],
  [/parquet/, 'GeoParquet'],
  [/^application\/json/, 'JSON'],
  [/xml/, 'XML'],
  [/^text\/html/, 'HTML'],
  [/pdf/, 'PDF'],
  [/copc|laszip/, 'LAZ point cloud'],
];

/** Name of a media type for people. */
export function typeName(type: string | undefined): string | undefined {
  return type && (TYPE_NAMES.find(([pattern]) => pattern.test(type))?.[1] ?? type.split(';')[0]);
}

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'];

export function formatSize(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[power]}`;
}
