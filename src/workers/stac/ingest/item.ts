import { depthOver } from '../../../core/features/feature-values.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { STAC_ASSET, type StacFile, type StacItem } from '../../../core/stac/stac.js';
import { geojsonToWkb } from '../../../native/index.js';
import { parseDateTimeMs } from '../columns.js';
import { localFile, type StacItemEntry, type StacJson } from './read.js';

/** Checked item of a foreign catalog, with hrefs that may be published. */
export interface TakenItem {
  item: StacItem;
  /** WKB in CRS84; null without a geometry. */
  wkb: Buffer | null;
  /** Local files by the name of their asset. */
  files: Record<string, StacFile>;
}

const MAX_ID = 256;
/** Schemes of hrefs that clients may follow. */
const FOLLOWED = /^(https?|s3|gs|az|abfss?|ftp):/i;
/** Links that describe the position of an item in its catalog, which differs on this server. */
const STRUCTURAL = new Set([
  'self',
  'root',
  'parent',
  'collection',
  'child',
  'item',
  'items',
  'next',
  'prev',
]);

/**
 * Returns a checked item. Throws an Error whose message is the reason of a refusal. `root` is the folder that must
 * contain local files.
 */
export function parseStacItem({ value, folder }: StacItemEntry, root: string | undefined): TakenItem {
  const item = asItem(value);
  const files: Record<string, StacFile> = {};
  const assets = Object.entries(getJsonObject(item['assets'])).flatMap(([key, asset]) => {
    const fields = getJsonObject(asset);
    const href = findHref(fields['href'], key, { folder, root, files });
    return href === undefined ? [] : [[key, { ...fields, href }] as const];
  });
  return {
    item: { ...item, links: buildLinks(item['links']), assets: Object.fromEntries(assets) },
    wkb: item.geometry && geojsonToWkb(item.geometry, { from: 'OGC:CRS84', to: 'OGC:CRS84' }),
    files,
  };
}

function asItem(value: unknown): StacItem {
  const item = getJsonObject(value);
  if (item['type'] !== 'Feature') throw new Error('it is not a GeoJSON feature');
  if (typeof item['stac_version'] !== 'string') throw new Error('it has no stac_version');
  const { id, geometry, properties } = item;
  if (typeof id !== 'string' || id === '' || id.length > MAX_ID)
    throw new Error(`its id is no text of 1 to ${MAX_ID} characters`);
  if (typeof properties !== 'object' || properties === null) throw new Error('it has no properties');
  if (geometry !== null && typeof geometry !== 'object') throw new Error('it has no geometry, nor null');
  if (depthOver(item, LIMITS.jsonDepth))
    throw new Error(`it is nested deeper than ${LIMITS.jsonDepth} levels`);
  requireTime(properties as StacJson);
  return item as unknown as StacItem;
}

function requireTime(properties: StacJson): void {
  const { datetime } = properties;
  if (datetime !== null && parseDateTimeMs(datetime) === undefined)
    throw new Error('its datetime is no RFC 3339 date-time');
  const range = [properties['start_datetime'], properties['end_datetime']].map(parseDateTimeMs);
  if (datetime === null && range.includes(undefined))
    throw new Error('its datetime is null, but it has no start_datetime and end_datetime');
}

/**
 * Returns the absolute form of an href. Undefined for unsafe hrefs, such as `javascript:`, and for local files that
 * are not published.
 */
function findHref(
  href: unknown,
  key: string,
  { folder, root, files }: { folder: string; root: string | undefined; files: Record<string, StacFile> },
): string | undefined {
  if (typeof href !== 'string') return undefined;
  if (FOLLOWED.test(href)) return href;
  const path = root === undefined ? undefined : localFile(href, folder, root).path;
  if (path === undefined || root === undefined) return undefined;
  files[key] = { path, root };
  return `${STAC_ASSET}/${encodeURIComponent(key)}`;
}

function buildLinks(links: unknown): object[] {
  if (!Array.isArray(links)) return [];
  return links.map(getJsonObject).filter(({ rel, href }) => {
    return (
      typeof rel === 'string' && !STRUCTURAL.has(rel) && typeof href === 'string' && /^https?:/i.test(href)
    );
  });
}

export function getJsonObject(value: unknown): StacJson {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as StacJson) : {};
}
