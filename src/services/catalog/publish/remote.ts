import { createHash } from 'node:crypto';
import { basename, extname } from 'node:path';
import { ApiError } from '../../../core/errors/errors.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import { isStacApi } from '../../../core/sources/sources.js';
import { resolveSourceUrl } from '../../storage/places.js';
import { archiveCollection, type MakeCollection, rasterCollection } from './collections.js';
import { ARCHIVE } from './formats.js';
import { type Found, INSPECT_DEADLINE_MS, type PublishDeps } from './source.js';
import { readStacApi } from './stac-api.js';

const PASSING: ReadonlySet<string> = new Set(['store-unavailable', 'deadline-exceeded']);

/** Contents of a URL, or the reason why it cannot be published. */
export async function readRemote(
  source: string,
  deps: Pick<PublishDeps, 'pools' | 'imagery'>,
): Promise<Found> {
  try {
    if (isStacApi(source)) return await readStacApi(source, deps);
    const url = resolveSourceUrl(source);
    const { hostname, pathname } = new URL(url);
    const extension = extname(pathname).toLowerCase();
    const name = basename(decodeURIComponent(pathname), extname(pathname));
    const make = /^\.tiff?$/.test(extension)
      ? await readRaster(url, name, deps)
      : await readArchive(url, name, extension, deps);
    return { collections: [{ name, group: hostname, make }], quarantined: [] };
  } catch (error) {
    const isExpected = error instanceof TaskFailure || error instanceof ApiError;
    const reason = isExpected ? error.message : 'The URL could not be read.';
    const passing = error instanceof TaskFailure && PASSING.has(error.code);
    return {
      collections: [],
      quarantined: [{ path: source, reason, ...(passing && { passing, isUnread: true }) }],
    };
  }
}

async function readRaster(
  url: string,
  name: string,
  { pools }: Pick<PublishDeps, 'pools'>,
): Promise<MakeCollection> {
  const source = { kind: 'remote', url } as const;
  const raster = await pools.run('raster.inspect', { source }, { deadlineMs: INSPECT_DEADLINE_MS });
  // The query is removed because it can contain a signature.
  return rasterCollection(raster, name, url.replace(/[?#].*$/, ''), computeVersion(url, raster.revision));
}

async function readArchive(
  url: string,
  name: string,
  extension: string,
  { pools }: Pick<PublishDeps, 'pools'>,
): Promise<MakeCollection> {
  // Only PMTiles is laid out so that a tile takes one or two ranges.
  if (ARCHIVE.get(extension) !== 'pmtiles')
    throw new TaskFailure('source-unreadable', 'Only GeoTIFF and PMTiles can be published from a URL.');
  const options = { deadlineMs: INSPECT_DEADLINE_MS };
  const archive = await pools.run('vector.archive', { path: url, container: 'pmtiles' }, options);
  return archiveCollection(archive, name, computeVersion(url, archive.revision));
}

function computeVersion(url: string, revision: string | undefined): string {
  return createHash('sha1').update(`${url}\u0000${revision}`).digest('hex').slice(0, 12);
}
