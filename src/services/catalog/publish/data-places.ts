import { realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { hasCoverage } from '../../../core/catalog/abilities.js';
import type { Collection } from '../../../core/catalog/collection.js';
import { listRasterLocations } from '../../../core/catalog/raster-sources.js';
import { isDatabase } from '../../../core/sources/database-url.js';
import { isRemote } from '../../../core/sources/sources.js';

/**
 * Location that data is read from. Layers whose places overlap show the same data, so one is a copy of the other.
 * `same-tables.ts` compares tables of databases.
 */
export interface DataPlace {
  /** Real path of a file or folder, or a URL without scheme, credentials and query. */
  readonly path: string;
  /** Device and inode: a file can have several names, and get one at any moment. */
  readonly inode?: string;
  /** The layer of another server. Default: all layers there. */
  readonly layer?: string;
}

/** Whether one place is the other, or is inside of it. */
export function overlap(a: DataPlace, b: DataPlace): boolean {
  const isSame = isInside(a.path, b.path) || isInside(b.path, a.path);
  if (!isSame && (a.inode === undefined || a.inode !== b.inode)) return false;
  return a.layer === undefined || b.layer === undefined || a.layer === b.layer;
}

const isInside = (path: string, container: string) =>
  path === container || path.startsWith(container.endsWith('/') ? container : `${container}/`);

/** The place of a file, folder or URL. For a deleted file, only its path. */
export async function findPlace(path: string): Promise<DataPlace> {
  if (isRemote(path)) return parseUrlPlace(path);
  try {
    const real = await realpath(path);
    const { dev, ino } = await stat(real, { bigint: true });
    return { path: real, inode: `${dev}:${ino}` };
  } catch {
    return { path: resolve(path) };
  }
}

/** The place of a URL without its scheme, default port, user and query: a query can be a signature. */
export function parseUrlPlace(url: string): DataPlace {
  if (!URL.canParse(url)) return { path: url };
  const { protocol, port, hostname, pathname } = new URL(url);
  const [, bucket] = /^(.+)\.s3(?:[.-][a-z0-9-]+)?\.amazonaws\.com$/.exec(hostname) ?? [];
  const isAws = bucket !== undefined || /^s3(?:[.-][a-z0-9-]+)?\.amazonaws\.com$/.test(hostname);
  const host = isAws ? 's3.amazonaws.com' : chooseHost(hostname);
  const isDefault = port === '' || port === (protocol === 'http:' ? '80' : '443');
  const path = decode(`${bucket === undefined ? '' : `/${bucket}`}${pathname}`).replace(/\/+$/, '');
  return { path: `url://${host}${isDefault ? '' : `:${port}`}${path}` };
}

const chooseHost = (hostname: string) =>
  /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname) ? 'localhost' : hostname.replace(/\.$/, '');

/** A key can be escaped in several ways. */
function decode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** The place of a layer of another server. */
export function buildServicePlace(address: URL, layer: string): DataPlace {
  return { path: parseUrlPlace(address.href).path + address.search, layer };
}

/** The places that a published collection is read from, but for tables of databases. */
export async function findPlaces(collection: Collection): Promise<DataPlace[]> {
  if (hasCoverage(collection))
    return Promise.all(listRasterLocations(collection.raster.source).map((path) => findPlace(path)));
  return isDatabase(collection.file) ? [] : [await findPlace(collection.file)];
}
