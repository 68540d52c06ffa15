/** Members of a STAC item that a mosaic needs. All of them are validated. */

import type { Box } from '../../../../core/geometry/box.js';
import type { Scene } from '../../../../core/stac/stac-scenes.js';
import type { AllowedHosts } from '../../../storage/remote/allowed-hosts.js';
import { object, parseJsonBox, parseLinks, type RemoteJson, string } from '../json.js';

const MAX_ID = 500;
const MAX_HREF = 8192;
/** Other addresses of one asset. */
const MAX_ALTERNATES = 16;
const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,18})?(Z|[+-]\d{2}:\d{2})$/i;

/** Returns the scene of an item, or the reason why it is not a scene. `page` is the URL from which it was read. */
export function parseScene(
  item: RemoteJson,
  page: string,
  assets: readonly string[],
  allowed: Pick<AllowedHosts, 'problemOf'>,
): Scene | string {
  const { id } = item;
  if (!isId(id)) return 'An item has no usable id.';
  const collection = isId(item['collection']) ? item['collection'] : '';
  const bbox = parsePlace(item);
  if (!bbox) return `Item ${id} has no usable bbox.`;
  const self = parseLinks(item, page).find(({ rel, href }) => rel === 'self' && /^https?:/.test(href))?.href;
  const hrefs: string[] = [];
  for (const asset of assets) {
    const addresses = readAddresses(object(object(item['assets'])[asset]), self ?? page);
    if (addresses.length === 0) return `Item ${id} has no asset '${asset}' with an address.`;
    const problems = addresses.map((href) =>
      /^https?:/.test(href) ? allowed.problemOf(new URL(href)) : undefined,
    );
    const readable = problems.indexOf(undefined);
    if (readable < 0) return `Asset '${asset}' of item ${id} may not be read: ${problems[0]}.`;
    hrefs.push(addresses[readable]!);
  }
  const properties = object(item['properties']);
  const acquired = findInstant(properties['datetime']) ?? findInstant(properties['start_datetime']);
  const cloudCover = properties['eo:cloud_cover'];
  const epsg = parseEpsg(properties, object(object(item['assets'])[assets[0]!]));
  return {
    id,
    collection,
    bbox,
    hrefs,
    ...(acquired === undefined ? {} : { acquired }),
    ...(typeof cloudCover === 'number' && cloudCover >= 0 && cloudCover <= 100 ? { cloudCover } : {}),
    ...(self === undefined ? {} : { self }),
    ...(epsg === undefined ? {} : { epsg }),
  };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what must not be there.
const UNPRINTABLE = /[\u0000-\u001f\u007f]/;

function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_ID && !UNPRINTABLE.test(value);
}

/** Returns the item's bbox, or otherwise the box of its geometry. */
function parsePlace(item: RemoteJson): Box | undefined {
  const box = parseJsonBox(item['bbox']) ?? boxAround(object(item['geometry'])['coordinates']);
  if (!box) return undefined;
  const [west, south, east, north] = box;
  const isOnGlobe = Math.max(Math.abs(west), Math.abs(east)) <= 180 && south >= -90 && north <= 90;
  return isOnGlobe && south <= north ? box : undefined;
}

/** Returns the box around all positions at any nesting depth. */
function boxAround(coordinates: unknown): Box | undefined {
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity];
  const left: unknown[] = [coordinates];
  while (left.length > 0) {
    const one = left.pop();
    if (!Array.isArray(one)) continue;
    const [x, y] = one;
    if (typeof x === 'number' && typeof y === 'number') {
      [west, south] = [Math.min(west, x), Math.min(south, y)];
      [east, north] = [Math.max(east, x), Math.max(north, y)];
    } else for (const part of one) left.push(part);
  }
  return west <= east ? [west, south, east, north] : undefined;
}

/** Returns the URL of the asset, followed by the URLs of the extension for alternate assets, in their order. */
function readAddresses(asset: RemoteJson, base: string): string[] {
  const alternates = Object.values(object(asset['alternate'])).slice(0, MAX_ALTERNATES);
  return [asset, ...alternates.map(object)].flatMap(({ href }) => findAddress(href, base) ?? []);
}

/** Absolute: over HTTP, or in a store. */
function findAddress(href: unknown, base: string): string | undefined {
  if (typeof href !== 'string' || href.length > MAX_HREF || !URL.canParse(href, base)) return undefined;
  if (/^(s3|az):\/\//i.test(href)) return href;
  const url = new URL(href, base);
  return /^https?:$/.test(url.protocol) ? url.href : undefined;
}

function findInstant(value: unknown): string | undefined {
  const text = string(value);
  if (text === undefined || !RFC3339.test(text) || Number.isNaN(Date.parse(text))) return undefined;
  return new Date(Date.parse(text)).toISOString();
}

/**
 * Returns the EPSG code of the projection extension: `proj:code` since 2.0, `proj:epsg` before. The asset precedes
 * the item.
 */
function parseEpsg(properties: RemoteJson, asset: RemoteJson): number | undefined {
  for (const one of [asset, properties]) {
    const [, code] = /^EPSG:(\d{4,6})$/i.exec(string(one['proj:code']) ?? '') ?? [];
    const epsg = code === undefined ? one['proj:epsg'] : Number(code);
    if (Number.isInteger(epsg) && (epsg as number) > 0) return epsg as number;
  }
  return undefined;
}
